/* Typed column arrays out as an Arrow stream. Batches are added while a query runs and copied
 * at once; the finished stream owns them, independent of where they came from. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_OUT_H
#define HEDDLE_RUNTIME_IO_ARROW_OUT_H

#include "runtime/base/err.h"
#include "runtime/base/type.h"
#include "include/heddle.h" /* of it, the Arrow structs only */
#include "runtime/store/store_stage.h" /* struct rt_str */

struct rt_out_column {
    const char *name;
    struct hd_type type;
    bool nullable;
};
/* The values of one column in a batch. */
struct rt_out_values {
    /* BOOL uint8_t; INT32, DATE int32_t; INT64, TIMESTAMP int64_t; DECIMAL hd_i128; FLOAT32 float; FLOAT64
     * double; STRING struct rt_str. What stands in NULL rows does not matter. */
    const void *values;
    const uint8_t *valid; /* a byte per row, 1 = valid; NULL: no NULLs */
};

struct rt_arrow_out;
int rt_arrow_out_new(int ncols, const struct rt_out_column *cols, struct rt_arrow_out **out, struct hd_err *err);
/* Adds a batch of rows; v has one element a column. A batch holds less than 2 GiB of text a
 * column; rows in excess are put in batches of their own. */
int rt_arrow_out_add(struct rt_arrow_out *o, int64_t rows, const struct rt_out_values *v, struct hd_err *err);
/* Bytes held by the batches so far. */
uint64_t rt_arrow_out_bytes(const struct rt_arrow_out *o);
/* Turns o into a stream; o is gone. */
void rt_arrow_out_finish(struct rt_arrow_out *o, struct ArrowArrayStream *stream);
void rt_arrow_out_free(struct rt_arrow_out *o); /* instead of finish; NULL is fine */

#endif
