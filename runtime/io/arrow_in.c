#include "runtime/io/arrow_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"

/* ---- formats ------------------------------------------------------------------------------ */

static const struct {
    const char *text;
    enum rt_arrow_format format;
    enum hd_type_kind kind;
} formats[] = {
    {"b", RT_ARROW_BOOL, HD_BOOL},
    {"c", RT_ARROW_I8, HD_INT32},
    {"C", RT_ARROW_U8, HD_INT32},
    {"s", RT_ARROW_I16, HD_INT32},
    {"S", RT_ARROW_U16, HD_INT32},
    {"i", RT_ARROW_I32, HD_INT32},
    {"I", RT_ARROW_U32, HD_INT64},
    {"l", RT_ARROW_I64, HD_INT64},
    {"f", RT_ARROW_F32, HD_FLOAT64},
    {"g", RT_ARROW_F64, HD_FLOAT64},
    {"tdD", RT_ARROW_DATE, HD_DATE},
    {"tsu:", RT_ARROW_TIMESTAMP, HD_TIMESTAMP},
    {"tsu:UTC", RT_ARROW_TIMESTAMP, HD_TIMESTAMP},
    {"u", RT_ARROW_UTF8, HD_STRING},
    {"U", RT_ARROW_LARGE_UTF8, HD_STRING},
};

static bool parse_decimal(const char *text, struct hd_type *type)
{
    int p, s, bits = 128, end = -1;
    if (sscanf(text, "d:%d,%d%n", &p, &s, &end) != 2 || end < 0)
        return false;
    if (text[end] && (sscanf(text + end, ",%d", &bits) != 1 || bits != 128))
        return false;
    if (p < 1 || p > HD_DEC_MAX || s < 0 || s > p)
        return false;
    *type = hd_decimal(p, s);
    return true;
}

bool rt_arrow_format_parse(const char *text, enum rt_arrow_format *out, struct hd_type *type)
{
    for (size_t i = 0; i < HD_COUNT(formats); i++)
        if (strcmp(text, formats[i].text) == 0) {
            *out = formats[i].format;
            *type = hd_type_of(formats[i].kind);
            return true;
        }
    *out = RT_ARROW_DEC128;
    return parse_decimal(text, type);
}

static bool is_index(const char *text, enum rt_arrow_format *out)
{
    struct hd_type type;
    if (strcmp(text, "L") == 0) {
        *out = RT_ARROW_U64;
        return true;
    }
    return rt_arrow_format_parse(text, out, &type) && hd_type_is_int(type);
}

static bool fits(struct hd_type have, struct hd_type want)
{
    if (want.kind == HD_DECIMAL)
        return have.kind == HD_DECIMAL && have.scale == want.scale;
    return have.kind == want.kind || (have.kind == HD_INT32 && want.kind == HD_INT64);
}

/* ---- opening ------------------------------------------------------------------------------ */

static int bad_column(const struct fe_table *t, const char *column, const char *what,
                      struct hd_err *err)
{
    return HD_FAIL(err, USER, t->name, "column \"%s\": %s", column, what);
}

static int check_buffers(const struct fe_table *t, const char *name,
                         const struct ArrowArray *a, bool text, int64_t need,
                         struct hd_err *err)
{
    int64_t buffers = text ? 3 : 2;
    if (a->n_buffers != buffers)
        return bad_column(t, name, "wrong number of Arrow buffers", err);
    if (a->length < need || a->offset < 0)
        return bad_column(t, name, "Arrow array shorter than its batch", err);
    if (need && !a->buffers[1])
        return bad_column(t, name, "Arrow array without a data buffer", err);
    return 0;
}

static struct rt_str string_at(enum rt_arrow_format f, const struct ArrowArray *a, int64_t i,
                               bool *ok)
{
    int64_t from, to;
    if (f == RT_ARROW_UTF8) {
        const int32_t *o = a->buffers[1];
        from = o[i];
        to = o[i + 1];
    } else {
        const int64_t *o = a->buffers[1];
        from = o[i];
        to = o[i + 1];
    }
    if (from < 0 || to < from || to - from > UINT32_MAX || (to > from && !a->buffers[2])) {
        *ok = false;
        return (struct rt_str){"", 0};
    }
    if (to == from)
        return (struct rt_str){"", 0};
    return (struct rt_str){(const char *)a->buffers[2] + from, (uint32_t)(to - from)};
}

static int open_dictionary(struct rt_arrow_column *c, const struct fe_table *t,
                           const char *name, const struct ArrowSchema *s, struct hd_err *err)
{
    const struct ArrowArray *d = c->array->dictionary;
    enum rt_arrow_format f;
    struct hd_type type;
    if (!d || !rt_arrow_format_parse(s->format, &f, &type) || type.kind != HD_STRING)
        return bad_column(t, name, "only dictionaries of strings are accepted", err);
    HD_TRY(check_buffers(t, name, d, true, d->length, err));
    if (d->null_count != 0 && d->buffers[0])
        return HD_FAIL(err, UNSUPPORTED, t->name, "column \"%s\": dictionary with NULLs",
                       name);
    if (d->length > INT32_MAX)
        return HD_FAIL(err, UNSUPPORTED, t->name, "column \"%s\": dictionary too large", name);
    c->nentries = (uint32_t)d->length;
    c->entries = hd_try_malloc((c->nentries + (size_t)1) * sizeof *c->entries);
    if (!c->entries)
        return HD_FAIL(err, RESOURCE, t->name, "out of memory for a dictionary");
    bool ok = true;
    for (uint32_t k = 0; k < c->nentries; k++)
        c->entries[k] = string_at(f, d, d->offset + k, &ok);
    return ok ? 0 : bad_column(t, name, "bad string offsets in the dictionary", err);
}

static int open_column(struct rt_arrow_column *c, const struct fe_table *t, int column,
                       const struct ArrowSchema *s, const struct ArrowArray *a,
                       const struct ArrowArray *batch, struct hd_err *err)
{
    const struct fe_table_column *col = &t->cols[column];
    struct hd_type type = hd_type_of(HD_STRING);
    char text[HD_TEXT_MAX];
    c->array = a;
    c->dictionary = s->dictionary != NULL;
    bool ok = c->dictionary ? is_index(s->format, &c->format)
                            : rt_arrow_format_parse(s->format, &c->format, &type);
    if (!ok || !fits(type, col->type))
        return HD_FAIL(err, USER, t->name,
                       "column \"%s\" is %s, which Arrow format \"%s\"%s does not fit",
                       col->name, hd_type_text(col->type, text), s->format,
                       c->dictionary ? " with a dictionary" : "");
    bool strings = !c->dictionary && type.kind == HD_STRING;
    HD_TRY(check_buffers(t, col->name, a, strings, batch->offset + batch->length, err));
    c->offset = a->offset + batch->offset;
    c->validity = a->null_count == 0 ? NULL : a->buffers[0];
    return c->dictionary ? open_dictionary(c, t, col->name, s->dictionary, err) : 0;
}

static int find_column(const struct fe_table *t, const char *name)
{
    for (int c = 0; c < t->ncols; c++)
        if (name && strcmp(t->cols[c].name, name) == 0)
            return c;
    return -1;
}

static int open_columns(struct rt_arrow_source *s, const struct ArrowSchema *schema,
                        const struct ArrowArray *batch, struct hd_err *err)
{
    const struct fe_table *t = s->table;
    for (int64_t k = 0; k < schema->n_children; k++) {
        const struct ArrowSchema *child = schema->children[k];
        int c = find_column(t, child->name);
        if (c < 0)
            return bad_column(t, child->name ? child->name : "", "not in the table", err);
        if (s->columns[c].array)
            return bad_column(t, child->name, "twice in the batch", err);
        HD_TRY(open_column(&s->columns[c], t, c, child, batch->children[k], batch, err));
    }
    for (int c = 0; c < t->ncols; c++)
        if (!s->columns[c].array)
            return bad_column(t, t->cols[c].name, "missing in the batch", err);
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool bit(const uint8_t *bits, int64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}

static void fill_validity(const struct rt_arrow_column *c, int64_t at, struct rt_work *w)
{
    w->nulls = 0;
    if (!c->validity)
        return;
    memset(w->valid, 0, ((size_t)w->n + 63) / 64 * 8);
    for (int i = 0; i < w->n; i++) {
        uint64_t valid = bit(c->validity, at + i);
        w->valid[i >> 6] |= valid << (i & 63);
        w->nulls += !valid;
    }
}

static bool present(const struct rt_work *w, int i)
{
    return !w->nulls || rt_bit(w->valid, i);
}

#define COPY(T, to)                                                                           \
    for (int i = 0; i < w->n; i++)                                                            \
    to[i] = ((const T *)p)[at + i]

static void fill_ints(const struct rt_arrow_column *c, int64_t at, struct rt_work *w)
{
    const void *p = c->array->buffers[1];
    w->form = RT_WORK_I64;
    switch (c->format) {
    case RT_ARROW_BOOL:
        for (int i = 0; i < w->n; i++)
            w->i64[i] = bit(p, at + i);
        break;
    case RT_ARROW_I8: COPY(int8_t, w->i64); break;
    case RT_ARROW_U8: COPY(uint8_t, w->i64); break;
    case RT_ARROW_I16: COPY(int16_t, w->i64); break;
    case RT_ARROW_U16: COPY(uint16_t, w->i64); break;
    case RT_ARROW_I32:
    case RT_ARROW_DATE: COPY(int32_t, w->i64); break;
    case RT_ARROW_U32: COPY(uint32_t, w->i64); break;
    case RT_ARROW_I64:
    case RT_ARROW_U64:
    case RT_ARROW_TIMESTAMP: memcpy(w->i64, (const int64_t *)p + at, (size_t)w->n * 8); break;
    case RT_ARROW_F32:
    case RT_ARROW_F64:
    case RT_ARROW_DEC128:
    case RT_ARROW_UTF8:
    case RT_ARROW_LARGE_UTF8: HD_BUG("not an integer format");
    }
}

static void fill_floats(const struct rt_arrow_column *c, int64_t at, struct rt_work *w)
{
    const void *p = c->array->buffers[1];
    w->form = RT_WORK_F64;
    if (c->format == RT_ARROW_F32)
        COPY(float, w->f64);
    else
        memcpy(w->f64, (const double *)p + at, (size_t)w->n * 8);
}

static int bad_row(const struct rt_arrow_source *s, int column, int64_t row, const char *what,
                   struct hd_err *err)
{
    return HD_FAIL(err, DATA, s->table->name, "row %lld: column \"%s\": %s",
                   (long long)(s->first_row + row), s->table->cols[column].name, what);
}

static int fill_decimals(const struct rt_arrow_source *s, int column, int64_t from, int64_t at,
                         struct rt_work *w, struct hd_err *err)
{
    const char *p = s->columns[column].array->buffers[1];
    struct hd_type type = s->table->cols[column].type;
    hd_i128 limit = hd_pow10(type.precision) - 1;
    bool wide = type.precision > 18;
    int bad = -1;
    w->form = wide ? RT_WORK_I128 : RT_WORK_I64;
    for (int i = 0; i < w->n; i++) {
        hd_i128 v;
        memcpy(&v, p + (at + i) * 16, sizeof v); /* Arrow promises 8-byte alignment only */
        if ((v > limit || v < -limit) && present(w, i))
            bad = i;
        if (wide)
            w->i128[i] = v;
        else
            w->i64[i] = (int64_t)v;
    }
    char text[HD_TEXT_MAX], what[96];
    if (bad < 0)
        return 0;
    snprintf(what, sizeof what, "value does not fit %s", hd_type_text(type, text));
    return bad_row(s, column, from + bad, what, err);
}

static int fill_strings(const struct rt_arrow_source *s, int column, int64_t from, int64_t at,
                        struct rt_work *w, struct hd_err *err)
{
    const struct rt_arrow_column *c = &s->columns[column];
    w->form = RT_WORK_STR;
    for (int i = 0; i < w->n; i++) {
        bool ok = true;
        if (present(w, i))
            w->str[i] = string_at(c->format, c->array, at + i, &ok);
        if (!ok)
            return bad_row(s, column, from + i, "bad string offsets", err);
    }
    return 0;
}

/* Codes stay codes while the dictionary is small; the stage renumbers them. */
static int fill_codes(const struct rt_arrow_source *s, int column, int64_t from, int64_t at,
                      struct rt_work *w, struct hd_err *err)
{
    const struct rt_arrow_column *c = &s->columns[column];
    bool expand = c->nentries > RT_BLOCK_ROWS;
    fill_ints(c, at, w);
    for (int i = 0; i < w->n; i++)
        if (present(w, i) && (uint64_t)w->i64[i] >= c->nentries)
            return bad_row(s, column, from + i, "index outside the dictionary", err);
    for (int i = 0; !expand && i < w->n; i++)
        w->codes[i] = present(w, i) ? (uint32_t)w->i64[i] : 0;
    for (int i = w->n - 1; expand && i >= 0;
         i--) /* in place: strings are wider than indices */
        w->str[i] = present(w, i) ? c->entries[w->i64[i]] : (struct rt_str){"", 0};
    w->form = expand ? RT_WORK_STR : RT_WORK_CODES;
    w->entries = c->entries;
    w->nentries = c->nentries;
    return 0;
}

static int fill(const struct rt_row_source *base, int column, int64_t from, struct rt_work *w,
                struct hd_err *err)
{
    const struct rt_arrow_source *s = (const struct rt_arrow_source *)base;
    const struct rt_arrow_column *c = &s->columns[column];
    int64_t at = c->offset + from;
    fill_validity(c, at, w);
    if (c->dictionary)
        return fill_codes(s, column, from, at, w, err);
    switch (c->format) {
    case RT_ARROW_DEC128: return fill_decimals(s, column, from, at, w, err);
    case RT_ARROW_UTF8:
    case RT_ARROW_LARGE_UTF8: return fill_strings(s, column, from, at, w, err);
    case RT_ARROW_F32:
    case RT_ARROW_F64: fill_floats(c, at, w); return 0;
    case RT_ARROW_BOOL:
    case RT_ARROW_I8:
    case RT_ARROW_U8:
    case RT_ARROW_I16:
    case RT_ARROW_U16:
    case RT_ARROW_I32:
    case RT_ARROW_U32:
    case RT_ARROW_I64:
    case RT_ARROW_U64:
    case RT_ARROW_DATE:
    case RT_ARROW_TIMESTAMP: break;
    }
    fill_ints(c, at, w);
    return 0;
}

int rt_arrow_source_open(struct rt_arrow_source *s, const struct fe_table *t,
                         const struct ArrowSchema *schema, const struct ArrowArray *batch,
                         int64_t first_row, struct hd_err *err)
{
    *s = (struct rt_arrow_source){.base = {fill}, .table = t, .first_row = first_row};
    if (strcmp(schema->format, "+s") != 0)
        return HD_FAIL(err, USER, t->name, "expected a struct array (\"+s\"), found \"%s\"",
                       schema->format);
    if (batch->n_children != schema->n_children || batch->length < 0 || batch->offset < 0)
        return HD_FAIL(err, USER, t->name, "Arrow array and schema do not match");
    if (batch->null_count > 0 && batch->n_buffers > 0 && batch->buffers[0])
        return HD_FAIL(err, UNSUPPORTED, t->name, "batch with NULL rows");
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
        free(s->columns[c].entries);
    free(s->columns);
    s->columns = NULL;
}
