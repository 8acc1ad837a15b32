/* Cuts the text of a JSON object into its members. A member's value stays the bytes that were
 * written, so that who reads it sees what its author wrote: a tree of cJSON keeps numbers as
 * doubles, one of equal keys, and strings up to a NUL. */
#ifndef HEDDLE_TOOLS_JSON_SLICE_H
#define HEDDLE_TOOLS_JSON_SLICE_H

#include "tools/cli.h"

struct json_slice {
    const char *s; /* into the text; NULL: no such member */
    size_t n;
};

/* Walks over the members of an object that is all of the text, strict JSON (RFC 8259, UTF-8, no
 * NUL):
 *   json_cut_open(&c, text, n, err), then json_cut_next(&c, &key, &value) until it is not 1. */
struct json_cut {
    const char *text, *p, *end;
    bool behind; /* a member was read */
    struct cli_error *err;
};
int json_cut_open(struct json_cut *c, const char *text, size_t n, struct cli_error *err);
/* 1: a member; 0: the end; -1: failed. */
int json_cut_next(struct json_cut *c, struct json_slice *key, struct json_slice *value);

/* The same of an object with none but the given keys, each at most once. out[k]: value of keys[k];
 * after a failure what was read before it. */
int json_slice_object(const char *text, size_t n, const char *const *keys, int n_keys, struct json_slice *out,
                      struct cli_error *err);
/* A copy on the heap. */
char *json_slice_copy(struct json_slice v);
/* What a JSON string stands for, on the heap; NULL if the value is no string. */
char *json_slice_string(struct json_slice v);

#endif
