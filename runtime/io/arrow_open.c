/* Arrow arrays as columns: values as they are, dictionaries, runs. What a column cannot be read from directly is put
 * in memory of its own: rows of runs get indices, as if their values were a dictionary, and dictionaries of other
 * values than strings are written out. */
#include <stdlib.h>

#include "runtime/base/fault.h"
#include "runtime/io/arrow_check.h"

static int no_memory(const struct rt_arrow_source *s, struct hd_err *err)
{
    return HD_FAIL(err, RESOURCE, s->table->name, "out of memory for an Arrow column");
}

void rt_arrow_column_close(struct rt_arrow_column *c)
{
    free(c->entries);
    free(c->own_data);
    free(c->own_validity);
    c->entries = NULL;
    c->own_data = c->own_validity = NULL;
}

int64_t rt_arrow_index(const struct rt_arrow_column *c, int64_t i)
{
    i += c->offset;
    switch (rt_arrow_width(c->format)) {
    case 1: return rt_arrow_u8(c->data, i);
    case 2: return rt_arrow_u16(c->data, i);
    case 4: return rt_arrow_u32(c->data, i);
    }
    return rt_arrow_i64(c->data, i);
}

static bool is_valid(const struct rt_arrow_column *c, int64_t i)
{
    return !c->validity || rt_arrow_bit(c->validity, c->offset + i);
}

/* ---- codes ---------------------------------------------------------------------------------- */

static bool coded_row_is_valid(const struct rt_arrow_column *c, const struct rt_arrow_column *e, int64_t i)
{
    return is_valid(c, i) && is_valid(e, rt_arrow_index(c, i));
}

/* Moves data and bitmap to the byte where the rows begin, so that what is made of them is not larger. */
static void rebase(struct rt_arrow_column *c)
{
    int64_t first = c->offset & 7;
    if (!c->data) /* no rows */
        return;
    c->data = (const char *)c->data + (c->offset - first) * rt_arrow_width(c->format);
    if (c->validity)
        c->validity += c->offset >> 3;
    c->offset = first;
}

/* A row whose entry is NULL is NULL. */
static int join_validity(struct rt_arrow_column *c, const struct rt_arrow_column *e, int64_t rows)
{
    int64_t nulls = 0;
    uint8_t *bits = hd_try_calloc((size_t)(c->offset + rows) / 8 + 1, 1);
    if (!bits)
        return -1;
    for (int64_t i = 0; i < rows; i++)
        if (coded_row_is_valid(c, e, i))
            bits[(c->offset + i) >> 3] |= (uint8_t)(1 << ((c->offset + i) & 7));
        else
            nulls++;
    c->own_validity = bits;
    c->validity = bits;
    c->nulls = nulls;
    return 0;
}

/* Values of the entries in place of codes; bits become bytes. */
static int write_out(struct rt_arrow_column *c, const struct rt_arrow_column *e, int64_t rows)
{
    enum rt_arrow_format format = e->format == RT_ARROW_BOOL ? RT_ARROW_U8 : e->format;
    int64_t width = rt_arrow_width(format);
    char *out = hd_try_calloc((size_t)(c->offset + rows + 1), (size_t)HD_MAX(width, 1));
    if (!out)
        return -1;
    for (int64_t i = 0; i < rows; i++) {
        if (!is_valid(c, i) || format == RT_ARROW_NOTHING)
            continue;
        int64_t k = e->offset + rt_arrow_index(c, i);
        char *to = out + (c->offset + i) * width;
        if (e->format == RT_ARROW_BOOL)
            *to = rt_arrow_bit(e->data, k);
        else
            memcpy(to, (const char *)e->data + k * width, (size_t)width);
    }
    free(c->own_data);
    c->data = c->own_data = out;
    c->format = format;
    c->dictionary = false;
    return 0;
}

/* The column's codes mean entries of e, which may itself have a dictionary (of strings). */
static int decode(struct rt_arrow_column *c, const struct rt_arrow_column *e, int64_t rows)
{
    rebase(c);
    if (e->nulls && join_validity(c, e, rows) != 0)
        return -1;
    if (!e->dictionary && !rt_arrow_is_text(e->format))
        return write_out(c, e, rows);
    c->entries = hd_try_malloc((c->nentries + (size_t)1) * sizeof *c->entries);
    if (!c->entries)
        return -1;
    for (uint32_t k = 0; k < c->nentries; k++)
        c->entries[k] = !is_valid(e, k) ? (struct rt_str){"", 0}
                        : e->dictionary ? e->entries[rt_arrow_index(e, k)]
                                        : rt_arrow_string(e, k);
    return 0;
}

static int open_dictionary(const struct rt_arrow_source *s, int column, enum rt_arrow_part part,
                           const struct ArrowSchema *schema, int64_t rows, struct rt_arrow_column *c,
                           struct hd_err *err)
{
    struct rt_arrow_column e = {0};
    const struct ArrowArray *d = c->array->dictionary;
    c->dictionary = true;
    c->nentries = (uint32_t)d->length;
    int rc = rt_arrow_open_array(s, column, RT_ARROW_ENTRIES, schema->dictionary, d, 0, d->length, &e, err);
    if (rc == 0)
        rc = rt_arrow_check_values(s, column, c, rows, part, err);
    if (rc == 0 && decode(c, &e, rows) != 0)
        rc = no_memory(s, err);
    rt_arrow_column_close(&e);
    return rc;
}

/* ---- runs ----------------------------------------------------------------------------------- */

static int64_t run_end(const struct ArrowArray *ends, int width, int64_t k)
{
    const void *p = ends->buffers[1];
    k += ends->offset;
    return width == 2 ? rt_arrow_i16(p, k) : width == 4 ? rt_arrow_i32(p, k) : rt_arrow_i64(p, k);
}

/* Ends ascend, and the last is not before the last row. */
static int check_ends(const struct rt_arrow_source *s, int column, const struct ArrowArray *ends, int width,
                      int64_t rows, struct hd_err *err)
{
    int64_t before = 0;
    for (int64_t k = 0; k < ends->length; k++) {
        int64_t end = run_end(ends, width, k);
        if (end <= before)
            return rt_arrow_bad_value(s, column, RT_ARROW_RUNS, k, "its end is not behind the one before", err);
        before = end;
    }
    if (before >= rows)
        return 0;
    return HD_FAIL(err, DATA, s->table->name, "column \"%s\": the last run ends at %lld, before row %lld",
                   s->table->cols[column].name, (long long)before, (long long)rows);
}

/* The run of each row from `first` on. */
static void number_runs(const struct ArrowArray *ends, int width, int64_t first, int64_t rows, uint32_t *codes)
{
    for (int64_t k = 0, row = first; k < ends->length && row < first + rows; k++)
        for (int64_t end = run_end(ends, width, k); row < end && row < first + rows; row++)
            codes[row - first] = (uint32_t)k;
}

static int open_runs(const struct rt_arrow_source *s, int column, const struct ArrowSchema *schema, int64_t first,
                     int64_t rows, struct rt_arrow_column *c, struct hd_err *err)
{
    const struct ArrowArray *ends = c->array->children[0], *values = c->array->children[1];
    const char *format = schema->children[0]->format;
    int width = *format == 's' ? 2 : *format == 'i' ? 4 : 8;
    struct rt_arrow_column e = {0};
    first = rows ? first + c->array->offset : 0;
    HD_TRY(check_ends(s, column, ends, width, first + rows, err));
    uint32_t *codes = hd_try_calloc((size_t)rows + 1, sizeof *codes);
    if (!codes)
        return no_memory(s, err);
    c->own_data = codes;
    c->data = codes;
    c->format = RT_ARROW_U32;
    c->offset = 0;
    c->dictionary = true;
    c->nentries = (uint32_t)ends->length;
    number_runs(ends, width, first, rows, codes);
    int rc = rt_arrow_open_array(s, column, RT_ARROW_RUNS, schema->children[1], values, 0, ends->length, &e, err);
    if (rc == 0 && decode(c, &e, rows) != 0)
        rc = no_memory(s, err);
    rt_arrow_column_close(&e);
    return rc;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static int open_nothing(const struct rt_arrow_source *s, int64_t rows, struct rt_arrow_column *c, struct hd_err *err)
{
    c->own_validity = hd_try_calloc((size_t)rows / 8 + 1, 1);
    if (!c->own_validity)
        return no_memory(s, err);
    c->validity = c->own_validity;
    c->nulls = rows;
    c->offset = 0;
    return 0;
}

int rt_arrow_open_array(const struct rt_arrow_source *s, int column, enum rt_arrow_part part,
                        const struct ArrowSchema *schema, const struct ArrowArray *a, int64_t first, int64_t rows,
                        struct rt_arrow_column *c, struct hd_err *err)
{
    struct hd_type type;
    c->array = a;
    if (!schema->dictionary && rt_arrow_is_runs(schema->format))
        return open_runs(s, column, schema, first, rows, c, err);
    rt_arrow_format_parse(schema->format, &c->format, &type);
    if (!schema->dictionary && c->format == RT_ARROW_NOTHING)
        return open_nothing(s, rows, c, err);
    c->offset = rows ? a->offset + first : 0;
    c->data = a->buffers[1];
    c->bytes = a->n_buffers > 2 ? a->buffers[2] : NULL;
    c->nulls = rt_arrow_count_nulls(a->buffers[0], c->offset, rows);
    c->validity = c->nulls ? a->buffers[0] : NULL;
    if (c->format == RT_ARROW_FIXED)
        c->width = rt_arrow_fixed_bytes(schema->format);
    if (schema->dictionary)
        return open_dictionary(s, column, part, schema, rows, c, err);
    return rt_arrow_check_values(s, column, c, rows, part, err);
}
