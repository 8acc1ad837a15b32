/* Values of one field of rows, moved to where a column of an Arrow batch has them. Any threads, different rows each. */
#ifndef HEDDLE_RUNTIME_EXEC_ROWS_MOVE_H
#define HEDDLE_RUNTIME_EXEC_ROWS_MOVE_H

#include "runtime/io/arrow_out.h"
#include "runtime/spec.h"

/* One field of n rows, stride bytes apart. */
struct rt_row_values {
    const struct rt_field *f;
    const unsigned char *rows;
    size_t stride, n;
};

/* Bytes of strings and dictionary entries that are not NULL. */
uint64_t rt_row_text_bytes(const struct rt_row_values *v);
/* How many of the rows have not more than so many together. */
size_t rt_row_text_fit(const struct rt_row_values *v, uint64_t bytes);
/* Into the batch's rows from `first` on, a multiple of 8; text from text_at on. Returns how many are NULL. */
int64_t rt_row_values_move(const struct rt_row_values *v, struct hd_type type, const struct rt_out_buffers *to,
                           size_t first, uint64_t text_at);

#endif
