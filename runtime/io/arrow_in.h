/* Arrow batches as rows of a table. Columns are matched by name. Accepted beside the formats of
 * include/heddle.h: narrower whole numbers for int32 and int64, "f" for float64. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_IN_H
#define HEDDLE_RUNTIME_IO_ARROW_IN_H

#include "include/heddle.h" /* of it, the Arrow structs only */
#include "runtime/store/store_stage.h"

enum rt_arrow_format {
    RT_ARROW_BOOL,
    RT_ARROW_I8,
    RT_ARROW_U8,
    RT_ARROW_I16,
    RT_ARROW_U16,
    RT_ARROW_I32,
    RT_ARROW_U32,
    RT_ARROW_I64,
    RT_ARROW_U64,
    RT_ARROW_F32,
    RT_ARROW_F64,
    RT_ARROW_DEC128,
    RT_ARROW_DATE,
    RT_ARROW_TIMESTAMP,
    RT_ARROW_UTF8,
    RT_ARROW_LARGE_UTF8
};

/* One column of a batch. */
struct rt_arrow_column {
    enum rt_arrow_format format; /* of the values, or of the indices of a dictionary */
    const struct ArrowArray *array;
    int64_t offset;          /* of the batch's row 0 in the buffers */
    const uint8_t *validity; /* NULL: no NULLs */
    bool dictionary;
    uint32_t nentries;
    struct rt_str *entries; /* heap */
};

struct rt_arrow_source {
    struct rt_row_source base; /* first: its fill casts back */
    const struct fe_table *table;
    int64_t first_row;               /* for messages */
    struct rt_arrow_column *columns; /* in the table's order */
};
/* The batch must be a struct array of the table's columns; it is read until close. */
int rt_arrow_source_open(struct rt_arrow_source *s, const struct fe_table *t,
                         const struct ArrowSchema *schema, const struct ArrowArray *batch,
                         int64_t first_row, struct hd_err *err);
void rt_arrow_source_close(struct rt_arrow_source *s);

/* What the format of a column without its dictionary means; false if it is not accepted. */
bool rt_arrow_format_parse(const char *text, enum rt_arrow_format *out, struct hd_type *type);

#endif
