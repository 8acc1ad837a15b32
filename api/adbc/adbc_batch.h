/* A batch of nested rows, written value by value: what ADBC's metadata functions give. */
#ifndef HEDDLE_ADBC_BATCH_H
#define HEDDLE_ADBC_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "api/adbc/adbc.h"

struct adbc_buffer {
    char *p;
    size_t n, room;
};
struct adbc_column {
    char format[16], name[40];
    bool required; /* not nullable */
    int nchildren;
    struct adbc_column **children;
    int64_t length, nulls;
    struct adbc_buffer valid, offsets, data; /* valid: a byte a row; union: offsets, and types in data */
    bool failed;                             /* no memory; asked at the end */
};

/* The columns of a row: `name:format` with blanks between, `!` before the name where there are no NULLs; a nested format
 * (+s +l +m +ud) has its children in parentheses behind it. The text is the program's own. NULL: no memory. */
struct adbc_column *adbc_batch_new(const char *columns);
void adbc_batch_free(struct adbc_column *c); /* NULL is fine */
/* Child number i. */
struct adbc_column *adbc_child(struct adbc_column *c, int i);

/* One more value. NULL text is a NULL. */
void adbc_put_text(struct adbc_column *c, const char *s);
void adbc_put_int(struct adbc_column *c, int64_t v); /* any integer or bool format */
void adbc_put_double(struct adbc_column *c, double v);
void adbc_put_null(struct adbc_column *c); /* of any format but a union */
/* Of a struct or a list: what its children got since the last one. */
void adbc_put_nested(struct adbc_column *c);
/* Of a union: its child number i got a value. */
void adbc_put_member(struct adbc_column *c, int i);

/* The rows as a stream of one batch; c is gone in any case. */
AdbcStatusCode adbc_batch_finish(struct adbc_column *c, struct ArrowArrayStream *out, struct AdbcError *e);

#endif
