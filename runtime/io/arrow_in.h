/* Arrow batches as rows of a table. Columns are matched by name. Accepted beside the formats of
 * include/heddle.h: whatever Arrow has for the same values (docs/embedding.md). */
#ifndef HEDDLE_RUNTIME_IO_ARROW_IN_H
#define HEDDLE_RUNTIME_IO_ARROW_IN_H

#include "include/heddle.h" /* of it, the Arrow structs only */
#include "runtime/io/arrow_format.h"
#include "runtime/store/store_stage.h"

/* Which part of a column an array is. */
enum rt_arrow_part { RT_ARROW_ROWS, RT_ARROW_ENTRIES /* of a dictionary */, RT_ARROW_RUNS /* their values */ };

/* One column of a batch. Runs are opened as a dictionary of their values; dictionaries of other values than strings are
 * opened as their values. */
struct rt_arrow_column {
    enum rt_arrow_format format; /* of the values, or of the indices of a dictionary */
    const struct ArrowArray *array;
    const void *data; /* values, offsets, views, indices */
    const char *bytes; /* behind offsets */
    int64_t width; /* bytes of a value, where the format says it */
    int64_t offset; /* of the batch's row 0 in data and validity */
    const uint8_t *validity; /* NULL: no NULLs */
    int64_t nulls;
    bool dictionary;
    uint32_t nentries;
    struct rt_str *entries; /* heap */
    void *own_data, *own_validity; /* heap, if the batch has none in this form */
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
/* Type of the values of a column whose schema was checked, and whether they are strings behind a dictionary or runs. */
void rt_arrow_column_type(const struct ArrowSchema *s, struct hd_type *type, bool *coded);
/* Opens rows [first, first + rows) of an array that rt_arrow_check_batch has seen, and checks their values. */
int rt_arrow_open_array(const struct rt_arrow_source *s, int column, enum rt_arrow_part part,
                        const struct ArrowSchema *schema, const struct ArrowArray *a, int64_t first, int64_t rows,
                        struct rt_arrow_column *c, struct hd_err *err);
void rt_arrow_column_close(struct rt_arrow_column *c);
/* String i of a column of strings without a dictionary. */
struct rt_str rt_arrow_string(const struct rt_arrow_column *c, int64_t i);
/* Index i of a dictionary's. */
int64_t rt_arrow_index(const struct rt_arrow_column *c, int64_t i);
void rt_arrow_source_close(struct rt_arrow_source *s); /* also of one that is all zero */

#endif
