/* Substrait's binary form (protobuf) as the JSON value that its JSON form would be. Driven by substrait_fields.def; fields
 * that the table does not have are skipped, as protobuf's readers do. */
#ifndef HEDDLE_FRONTEND_SUBSTRAIT_BINARY_H
#define HEDDLE_FRONTEND_SUBSTRAIT_BINARY_H

#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/strbuf.h"

enum { SUB_MAX_DEPTH = 400 }; /* of messages in each other */

struct cJSON;

/* Whether bytes that are no JSON text may be a binary plan. */
bool sub_is_binary(const void *bytes, size_t size);
/* The tree lies in the arena. Failures are of class USER, with the byte in their path. */
int sub_read_binary(struct hd_arena *a, const void *bytes, size_t size, struct cJSON **out, struct hd_err *err);
/* The other way, of a tree of that form: names of fields as the table has them. */
int sub_write_binary(struct hd_arena *a, const struct cJSON *plan, struct hd_strbuf *out, struct hd_err *err);

/* Bytes as JSON has them, and back: out has room for as many bytes as the text has; false: it is none. */
char *sub_base64(struct hd_arena *a, const uint8_t *p, size_t n);
bool sub_read_base64(const char *s, uint8_t *out, size_t *n);

#endif
