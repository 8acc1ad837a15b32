/* Arrow batches as rows of a table. Columns are matched by name. Accepted beside the formats of
 * include/heddle.h: narrower whole numbers for int32 and int64, "f" for float64 as well as float32. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_IN_H
#define HEDDLE_RUNTIME_IO_ARROW_IN_H

#include "include/heddle.h" /* of it, the Arrow structs only */
#include "runtime/io/arrow_format.h"
#include "runtime/store/store_stage.h"

/* One column of a batch. */
struct rt_arrow_column {
    enum rt_arrow_format format; /* of the values, or of the indices of a dictionary */
    const struct ArrowArray *array;
    int64_t offset;          /* of the batch's row 0 in the buffers */
    const uint8_t *validity; /* NULL: no NULLs */
    int64_t nulls;
    bool dictionary;
    enum rt_arrow_format entry_format;
    uint32_t nentries;
    struct rt_str *entries; /* heap */
};

struct rt_arrow_source {
    struct rt_row_source base; /* first: its fill casts back */
    const struct fe_table *table;
    int64_t rows, first_row;
    struct rt_arrow_column *columns; /* in the table's order */
};
/* Checks schema and batch, and every value of it, before the first row is read (arrow_check.h);
 * the batch must hold the table's columns, and lives until close. */
int rt_arrow_source_open(struct rt_arrow_source *s, const struct fe_table *t, const struct ArrowSchema *schema,
                         const struct ArrowArray *batch, int64_t first_row, struct hd_err *err);
void rt_arrow_source_close(struct rt_arrow_source *s); /* also of one that is all zero */

#endif
