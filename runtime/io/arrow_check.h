/* The one validator of Arrow data, for every way in. Arrow structs come from other programs:
 * nothing of them is read before it was checked, and where the C data interface can show that
 * they lie, they are refused by one error with table, column and 1-based row. It cannot show how
 * large a buffer is: that is the producer's promise. Rows that are NULL may hold anything. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_CHECK_H
#define HEDDLE_RUNTIME_IO_ARROW_CHECK_H

#include "runtime/io/arrow_in.h"

/* A struct of named columns, each of an accepted format. */
int rt_arrow_check_schema(const char *table, const struct ArrowSchema *s, struct hd_err *err);
/* Lengths, offsets, counts and pointers of the batch and its children, for a checked schema. Its
 * rows become the table's from first_row on. */
int rt_arrow_check_batch(const char *table, const struct ArrowSchema *s, const struct ArrowArray *batch,
                         int64_t first_row, struct hd_err *err);
/* The same of a batch whose buffers are in the memory of a device, as far as it can be told without reading them. */
int rt_arrow_check_device_batch(const char *table, const struct ArrowSchema *s, const struct ArrowArray *batch,
                                int64_t first_row, struct hd_err *err);
/* Values of a column, or of its dictionary, or of its runs: string offsets and views, values in their type's range,
 * indices in the dictionary, UTF-8. One pass at about the speed of memory. */
int rt_arrow_check_values(const struct rt_arrow_source *s, int column, const struct rt_arrow_column *c, int64_t rows,
                          enum rt_arrow_part part, struct hd_err *err);
int rt_arrow_check_strings(const struct rt_arrow_source *s, int column, const struct rt_arrow_column *c, int64_t rows,
                           enum rt_arrow_part part, struct hd_err *err);
/* NULLs where the opened column may have some. */
int rt_arrow_check_nulls(const struct rt_arrow_source *s, int column, struct hd_err *err);
/* Error about value i: "row 3: column "c": what". */
int rt_arrow_bad_value(const struct rt_arrow_source *s, int column, enum rt_arrow_part part, int64_t i,
                       const char *what, struct hd_err *err);

/* NULLs among bits [from, from + n); NULL bits: none. */
int64_t rt_arrow_count_nulls(const uint8_t *bits, int64_t from, int64_t n);

#endif
