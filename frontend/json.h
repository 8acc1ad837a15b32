/* Typed access to JSON text, through cJSON. A value carries the frames that lead to
 * it (on the caller's stack), rendered as a JSON path only when something fails. Keys are
 * compared case-sensitively; unknown and duplicate keys are errors. Numbers are doubles in
 * cJSON, so integers of 2^53 and beyond, and all decimals, are written as strings. */
#ifndef HEDDLE_FRONTEND_JSON_H
#define HEDDLE_FRONTEND_JSON_H

#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/guard.h"

enum {
    FE_JSON_MAX_DEPTH = 256,
    FE_JSON_MAX_BYTES = 256 << 20,
    FE_JSON_MAX_MEMBERS = 1024 /* of an object whose keys are free names */
};

struct cJSON;
struct fe_subplans;

struct fe_json_reader {
    struct hd_arena *arena; /* strings and paths are copied here */
    struct hd_err *err;
    enum hd_err_class class; /* of every failure */
    const char *prefix;      /* before the JSON path, e.g. a file name; may be NULL */
    int max_depth;           /* of the text; 0: FE_JSON_MAX_DEPTH */
    struct fe_subplans *subplans; /* of the operator whose expressions are being read; NULL: they have none */
    struct cJSON *root;
    struct hd_cleanup guarded;
};

struct fe_json {
    const struct cJSON *item;
    const struct fe_json *up; /* NULL for the root; must outlive this value */
    const char *key;          /* NULL in an array */
    int index;
    struct fe_json_reader *r;
};

enum fe_json_kind { FE_JSON_NULL, FE_JSON_BOOL, FE_JSON_NUMBER, FE_JSON_STRING, FE_JSON_ARRAY, FE_JSON_OBJECT };

/* Checks the text strictly (grammar, depth, size, UTF-8, no NUL); reports line and column. */
int fe_json_check(const char *text, size_t n, int max_depth, enum hd_err_class c, const char *path, struct hd_err *err);

/* The reader's first five fields are the caller's; close frees the tree, after failure too. */
int fe_json_open(struct fe_json_reader *r, const char *text, struct fe_json *root);
void fe_json_close(struct fe_json_reader *r);

enum fe_json_kind fe_json_kind(const struct fe_json *v);
/* Path in the arena. */
const char *fe_json_path(const struct fe_json *v);
int fe_json_fail(const struct fe_json *v, const char *fmt, ...) HD_PRINTF(2, 3);
/* "expected `what`, found ..." */
int fe_json_expected(const struct fe_json *v, const char *what);

/* The value must be an object with none but the named keys, each at most once; NULL ends. */
int fe_json_object(const struct fe_json *v, ...) __attribute__((sentinel));
/* The value must be an object with distinct, non-empty, freely chosen keys. */
int fe_json_map(const struct fe_json *v);
int fe_json_array(const struct fe_json *v);
int fe_json_length(const struct fe_json *v);

/* Member of an object; false if absent. */
bool fe_json_get(const struct fe_json *v, const char *key, struct fe_json *out);
/* Member that must be there. */
int fe_json_need(const struct fe_json *v, const char *key, struct fe_json *out);
/* Iterates over members or elements:
 * for (bool more = fe_json_first(v, &e); more; more = fe_json_next(&e)) */
bool fe_json_first(const struct fe_json *v, struct fe_json *out);
bool fe_json_next(struct fe_json *e);

int fe_json_string(const struct fe_json *v, const char **out); /* copied to the arena */
int fe_json_name(const struct fe_json *v, const char **out);   /* a non-empty string */
int fe_json_bool(const struct fe_json *v, bool *out);
int fe_json_double(const struct fe_json *v, double *out);
/* A number or a string of digits within [min, max]. */
int fe_json_int(const struct fe_json *v, int64_t min, int64_t max, int64_t *out);
/* The same for 128-bit values up to 10^38-1 in magnitude. */
int fe_json_i128(const struct fe_json *v, hd_i128 *out);

/* Optional members: *out keeps its value if the key is absent. */
int fe_json_opt_string(const struct fe_json *v, const char *key, const char **out);
int fe_json_opt_bool(const struct fe_json *v, const char *key, bool *out);
int fe_json_opt_int(const struct fe_json *v, const char *key, int64_t min, int64_t max, int64_t *out);

#endif
