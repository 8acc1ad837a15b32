/* Reads result streams of the Arrow C Data Interface: types, NULLs, values as text.
 * The text form is that of the plan language's casts to string (docs/plan.md). */
#ifndef HEDDLE_TOOLS_ARROW_READ_H
#define HEDDLE_TOOLS_ARROW_READ_H

#include "tools/cli.h"

enum arrow_kind {
    ARROW_BOOL,
    ARROW_INT32,
    ARROW_INT64,
    ARROW_DECIMAL,
    ARROW_FLOAT32,
    ARROW_FLOAT64,
    ARROW_DATE,
    ARROW_TIMESTAMP,
    ARROW_TIME,
    ARROW_STRING,
    ARROW_BINARY,
    ARROW_INTERVAL
};

struct arrow_column {
    const char *name; /* in the schema that the columns came from */
    enum arrow_kind kind;
    int precision, scale; /* decimal */
    bool nullable;
};
struct arrow_columns {
    int n;
    struct arrow_column *at;
    struct ArrowSchema schema; /* owned */
};
/* "decimal(12,2)" or "date". */
enum { ARROW_TYPE_MAX = 24 };
const char *arrow_type_text(const struct arrow_column *c, char buf[ARROW_TYPE_MAX]);

/* A value as text: s points into the batch or into buf; of binary, until the next value of the thread. */
struct arrow_text {
    const char *s;
    size_t n;
    char buf[80];
};
/* False if the value is NULL. */
bool arrow_cell(const struct arrow_column *c, const struct ArrowArray *batch, int column, int64_t row,
                struct arrow_text *out);
/* Values of bool and int64 columns that are not NULL. */
int64_t arrow_int64(const struct ArrowArray *batch, int column, int64_t row);

/* What is called for a stream's rows; any member may be NULL. */
struct arrow_visitor {
    void (*begin)(void *user, const struct arrow_columns *c);
    void (*row)(void *user, const struct arrow_columns *c, const struct ArrowArray *batch, int64_t row);
    void (*end)(void *user, const struct arrow_columns *c, int64_t rows);
};
/* Reads the stream to its end and releases it, also on failure. rows may be NULL. */
int arrow_visit(struct ArrowArrayStream *stream, const struct arrow_visitor *v, void *user, int64_t *rows,
                struct cli_error *err);

#endif
