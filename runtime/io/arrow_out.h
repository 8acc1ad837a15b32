/* Columns out as an Arrow stream. A batch's values are written once, into the buffers that its consumer gets: nothing is
 * copied behind that. The finished stream owns them, then each array that it gave its own. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_OUT_H
#define HEDDLE_RUNTIME_IO_ARROW_OUT_H

#include "runtime/base/err.h"
#include "runtime/base/type.h"
#include "include/heddle.h" /* of it, the Arrow structs only */

struct rt_out_column {
    const char *name;
    struct hd_type type;
    bool nullable;
};
/* What is to be known of a column of a batch before there is one. */
struct rt_out_size {
    bool nulls; /* it may have some: there is a bitmap */
    uint64_t text; /* STRING, BINARY: bytes of all rows that are not NULL, RT_OUT_TEXT_MAX at most */
};
/* Offsets of Arrow's "u" are 32 bits and signed. */
#define RT_OUT_TEXT_MAX ((uint64_t)INT32_MAX)
/* Where the values of one column go: into the buffers that the consumer reads, and releases. */
struct rt_out_buffers {
    void *values; /* BOOL bits, which are 0; STRING, BINARY int32_t offsets, one more than rows; INT32, DATE
                            int32_t; INT64, TIMESTAMP, TIME int64_t; DECIMAL hd_i128; FLOAT32 float; FLOAT64 double */
    uint8_t *valid; /* bits, which are 0, 1 = valid; NULL: no bitmap */
    char *text; /* STRING, BINARY */
    int64_t *null_count; /* 0 */
};

struct rt_arrow_out;
int rt_arrow_out_new(int ncols, const struct rt_out_column *cols, struct rt_arrow_out **out, struct hd_err *err);
/* Adds a batch of rows, whose values the caller writes before it finishes; sizes and to have one element a column. */
int rt_arrow_out_begin(struct rt_arrow_out *o, int64_t rows, const struct rt_out_size *sizes, struct rt_out_buffers *to,
                       struct hd_err *err);
/* Bytes held by the batches so far. */
uint64_t rt_arrow_out_bytes(const struct rt_arrow_out *o);
/* Turns o into a stream; o is gone. */
void rt_arrow_out_finish(struct rt_arrow_out *o, struct ArrowArrayStream *stream);
void rt_arrow_out_free(struct rt_arrow_out *o); /* instead of finish; NULL is fine */

#endif
