#include "runtime/io/arrow_in.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/io/arrow_check.h"

/* ---- opening ------------------------------------------------------------------------------ */

static bool fits(struct hd_type have, struct hd_type want)
{
    if (want.kind == HD_DECIMAL)
        return have.kind == HD_DECIMAL && have.scale == want.scale;
    return have.kind == want.kind || (have.kind == HD_INT32 && want.kind == HD_INT64) ||
           (have.kind == HD_FLOAT32 && want.kind == HD_FLOAT64);
}

static int bad_column(const struct fe_table *t, const char *column, const char *what, struct hd_err *err)
{
    return HD_FAIL(err, USER, t->name, "column \"%s\": %s", column, what);
}

/* What the schema's values are, behind dictionary and runs. */
static const struct ArrowSchema *values_of(const struct ArrowSchema *s)
{
    if (!s->dictionary && rt_arrow_is_runs(s->format))
        s = s->children[1];
    return s->dictionary ? s->dictionary : s;
}

void rt_arrow_column_type(const struct ArrowSchema *s, struct hd_type *type, bool *coded)
{
    enum rt_arrow_format format;
    const struct ArrowSchema *values = values_of(s);
    rt_arrow_format_parse(values->format, &format, type);
    *coded = s != values && rt_arrow_is_text(format);
}

/* What the column's format says; it may not be what the table wants. */
static int check_type(const struct fe_table *t, const struct fe_table_column *col, const struct ArrowSchema *s,
                      struct hd_err *err)
{
    struct hd_type type;
    enum rt_arrow_format format;
    char text[HD_TEXT_MAX];
    const struct ArrowSchema *values = values_of(s);
    rt_arrow_format_parse(values->format, &format, &type);
    if (format == RT_ARROW_NOTHING || fits(type, col->type))
        return 0;
    return HD_FAIL(err, USER, t->name, "column \"%s\" is %s, which Arrow format \"%s\"%s does not fit", col->name,
                   hd_type_text(col->type, text), values->format, s->dictionary ? " with a dictionary" : "");
}

static int open_column(struct rt_arrow_source *s, int column, const struct ArrowSchema *schema,
                       const struct ArrowArray *a, int64_t first, struct hd_err *err)
{
    struct rt_arrow_column *c = &s->columns[column];
    HD_TRY(check_type(s->table, &s->table->cols[column], schema, err));
    HD_TRY(rt_arrow_open_array(s, column, RT_ARROW_ROWS, schema, a, first, s->rows, c, err));
    return rt_arrow_check_nulls(s, column, err);
}

/* Mostly at the same position as in the batch. */
static int find_column(const struct fe_table *t, int64_t k, const char *name)
{
    if (k < t->ncols && strcmp(t->cols[k].name, name) == 0)
        return (int)k;
    for (int c = 0; c < t->ncols; c++)
        if (strcmp(t->cols[c].name, name) == 0)
            return c;
    return -1;
}

static int open_columns(struct rt_arrow_source *s, const struct ArrowSchema *schema, const struct ArrowArray *batch,
                        struct hd_err *err)
{
    const struct fe_table *t = s->table;
    for (int64_t k = 0; k < schema->n_children; k++) {
        const struct ArrowSchema *child = schema->children[k];
        int c = find_column(t, k, child->name);
        if (c < 0)
            return bad_column(t, child->name, "not in the table", err);
        if (s->columns[c].array)
            return bad_column(t, child->name, "twice in the batch", err);
        HD_TRY(open_column(s, c, child, batch->children[k], batch->offset, err));
    }
    for (int c = 0; c < t->ncols; c++)
        if (!s->columns[c].array)
            return bad_column(t, t->cols[c].name, "missing in the batch", err);
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

static void fill_validity(const struct rt_arrow_column *c, int64_t at, struct rt_work *w)
{
    w->nulls = 0;
    if (!c->validity)
        return;
    memset(w->valid, 0, ((size_t)w->n + 63) / 64 * 8);
    for (int i = 0; i < w->n; i++) {
        uint64_t valid = rt_arrow_bit(c->validity, at + i);
        w->valid[i >> 6] |= valid << (i & 63);
        w->nulls += !valid;
    }
}

static bool present(const struct rt_work *w, int i)
{
    return !w->nulls || rt_bit(w->valid, i);
}

#define COPY(T, to) \
    for (int i = 0; i < w->n; i++) \
    to[i] = rt_arrow_##T(p, at + i)

static void fill_ints(const struct rt_arrow_column *c, int64_t at, struct rt_work *w)
{
    const void *p = c->data;
    w->form = RT_WORK_I64;
    if (rt_arrow_layout(c->format) == RT_ARROW_LAYOUT_UNIT) {
        for (int i = 0; i < w->n; i++) /* NULLs may be anything */
            if (!rt_arrow_from_unit(c->format, p, at + i, &w->i64[i]))
                w->i64[i] = 0;
        return;
    }
    switch (c->format) {
    case RT_ARROW_BOOL:
        for (int i = 0; i < w->n; i++)
            w->i64[i] = rt_arrow_bit(p, at + i);
        return;
    case RT_ARROW_I8: COPY(i8, w->i64); return;
    case RT_ARROW_U8: COPY(u8, w->i64); return;
    case RT_ARROW_I16: COPY(i16, w->i64); return;
    case RT_ARROW_U16: COPY(u16, w->i64); return;
    case RT_ARROW_I32:
    case RT_ARROW_DATE: COPY(i32, w->i64); return;
    case RT_ARROW_U32: COPY(u32, w->i64); return;
    case RT_ARROW_I64:
    case RT_ARROW_U64:
    case RT_ARROW_TIME:
    case RT_ARROW_TIMESTAMP: memcpy(w->i64, (const char *)p + at * 8, (size_t)w->n * 8); return;
    case RT_ARROW_SECONDS:
    case RT_ARROW_MILLIS:
    case RT_ARROW_NANOS:
    case RT_ARROW_SECONDS32:
    case RT_ARROW_MILLIS32:
    case RT_ARROW_DATE_MILLIS:
    case RT_ARROW_MONTHS:
    case RT_ARROW_DAY_MILLIS:
    case RT_ARROW_MONTH_DAY_NANOS:
    case RT_ARROW_F16:
    case RT_ARROW_F32:
    case RT_ARROW_F64:
    case RT_ARROW_DEC32:
    case RT_ARROW_DEC64:
    case RT_ARROW_DEC128:
    case RT_ARROW_DEC256:
    case RT_ARROW_UTF8:
    case RT_ARROW_LARGE_UTF8:
    case RT_ARROW_VIEW:
    case RT_ARROW_FIXED:
    case RT_ARROW_NOTHING:
    case RT_ARROW_FORMAT_COUNT: HD_BUG("not an integer format");
    }
}

static void fill_floats(const struct rt_arrow_source *s, int column, int64_t at, struct rt_work *w)
{
    const struct rt_arrow_column *c = &s->columns[column];
    const void *p = c->data;
    bool single = s->table->cols[column].type.kind == HD_FLOAT32;
    w->form = single ? RT_WORK_F32 : RT_WORK_F64;
    if (c->format == RT_ARROW_F16 && single)
        COPY(f16, w->f32);
    else if (c->format == RT_ARROW_F16)
        COPY(f16, w->f64);
    else if (single)
        memcpy(w->f32, (const char *)p + at * 4, (size_t)w->n * 4);
    else if (c->format == RT_ARROW_F32)
        COPY(f32, w->f64);
    else
        memcpy(w->f64, (const char *)p + at * 8, (size_t)w->n * 8);
}

static void fill_decimals(const struct rt_arrow_source *s, int column, int64_t at, struct rt_work *w)
{
    const struct rt_arrow_column *c = &s->columns[column];
    bool wide = s->table->cols[column].type.precision > 18;
    w->form = wide ? RT_WORK_I128 : RT_WORK_I64;
    for (int i = 0; c->format == RT_ARROW_DEC128 && !wide && i < w->n; i++)
        w->i64[i] = rt_arrow_i64(c->data, 2 * (at + i)); /* the low half */
    for (int i = 0; (c->format != RT_ARROW_DEC128 || wide) && i < w->n; i++) {
        hd_i128 v;
        if (!rt_arrow_decimal(c->format, c->data, at + i, &v))
            v = 0; /* a NULL */
        if (wide)
            w->i128[i] = v;
        else
            w->i64[i] = (int64_t)v;
    }
}

static void fill_intervals(const struct rt_arrow_column *c, int64_t at, struct rt_work *w)
{
    w->form = RT_WORK_I128;
    for (int i = 0; i < w->n; i++)
        if (!rt_arrow_interval(c->format, c->data, at + i, &w->i128[i]))
            w->i128[i] = 0; /* a NULL */
}

static void fill_strings(const struct rt_arrow_column *c, int64_t from, struct rt_work *w)
{
    w->form = RT_WORK_STR;
    for (int i = 0; i < w->n; i++)
        if (present(w, i))
            w->str[i] = rt_arrow_string(c, from + i);
}

/* All rows are NULL. */
static void fill_nothing(struct hd_type type, struct rt_work *w)
{
    bool wide = (type.kind == HD_DECIMAL && type.precision > 18) || type.kind == HD_INTERVAL;
    w->form = hd_type_is_text(type)     ? RT_WORK_STR
              : type.kind == HD_FLOAT32 ? RT_WORK_F32
              : type.kind == HD_FLOAT64 ? RT_WORK_F64
              : wide                    ? RT_WORK_I128
                                        : RT_WORK_I64;
    memset(w->i128, 0, (size_t)w->n * sizeof *w->i128);
}

/* Codes stay codes while the dictionary is small; the stage renumbers them. */
static void fill_codes(const struct rt_arrow_column *c, int64_t from, struct rt_work *w)
{
    bool expand = c->nentries > RT_BLOCK_ROWS;
    for (int i = 0; i < w->n; i++)
        w->i64[i] = rt_arrow_index(c, from + i);
    for (int i = 0; !expand && i < w->n; i++)
        w->codes[i] = present(w, i) ? (uint32_t)w->i64[i] : 0;
    for (int i = w->n - 1; expand && i >= 0; i--) /* in place: strings are wider than indices */
        w->str[i] = present(w, i) ? c->entries[w->i64[i]] : (struct rt_str){"", 0};
    w->form = expand ? RT_WORK_STR : RT_WORK_CODES;
    w->entries = c->entries;
    w->nentries = c->nentries;
}

static void fill(const struct rt_row_source *base, int column, int64_t from, struct rt_work *w)
{
    const struct rt_arrow_source *s = (const struct rt_arrow_source *)base;
    const struct rt_arrow_column *c = &s->columns[column];
    int64_t at = c->offset + from;
    fill_validity(c, at, w);
    if (c->dictionary) {
        fill_codes(c, from, w);
        return;
    }
    switch (rt_arrow_layout(c->format)) {
    case RT_ARROW_LAYOUT_INT:
    case RT_ARROW_LAYOUT_UNIT: fill_ints(c, at, w); break;
    case RT_ARROW_LAYOUT_FLOAT: fill_floats(s, column, at, w); break;
    case RT_ARROW_LAYOUT_DECIMAL: fill_decimals(s, column, at, w); break;
    case RT_ARROW_LAYOUT_INTERVAL: fill_intervals(c, at, w); break;
    case RT_ARROW_LAYOUT_STRING:
    case RT_ARROW_LAYOUT_FIXED:
    case RT_ARROW_LAYOUT_VIEW: fill_strings(c, from, w); break;
    case RT_ARROW_LAYOUT_NOTHING: fill_nothing(s->table->cols[column].type, w); break;
    }
}

int rt_arrow_source_open(struct rt_arrow_source *s, const struct fe_table *t, const struct ArrowSchema *schema,
                         const struct ArrowArray *batch, int64_t first_row, struct hd_err *err)
{
    *s = (struct rt_arrow_source){.base = {fill}, .table = t, .first_row = first_row};
    HD_TRY(rt_arrow_check_schema(t->name, schema, err));
    HD_TRY(rt_arrow_check_batch(t->name, schema, batch, first_row, err));
    s->rows = batch->length;
    s->columns = hd_try_calloc((size_t)t->ncols, sizeof *s->columns);
    if (!s->columns)
        return HD_FAIL(err, RESOURCE, t->name, "out of memory");
    if (open_columns(s, schema, batch, err) == 0)
        return 0;
    rt_arrow_source_close(s);
    return -1;
}

void rt_arrow_source_close(struct rt_arrow_source *s)
{
    for (int c = 0; s->columns && c < s->table->ncols; c++)
        rt_arrow_column_close(&s->columns[c]);
    free(s->columns);
    s->columns = NULL;
}
