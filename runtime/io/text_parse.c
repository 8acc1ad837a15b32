#include "runtime/io/text_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/base/utf8.h"

/* A column under construction: as wide as the working form that it will be copied to. */
struct text_column {
    enum rt_work_form form;
    void *values;
    uint64_t *valid; /* NULL: not nullable */
    int64_t nulls;
};

struct text_rows {
    struct rt_row_source base; /* first: its fill casts back */
    const struct text_file *file;
    int64_t capacity; /* rows that the columns have memory for */
    struct text_column *columns;
    bool foreign;          /* somewhere in the piece are bytes that are no UTF-8 */
    struct hd_arena arena; /* texts that had doubled quotes */
};

/* ---- fields --------------------------------------------------------------------------------- */

/* Behind a field: its delimiter, the end of its line, or the end of the text. */
static const char *end_field(const struct fe_text_format *v, const char **p, const char *end, int64_t *lines,
                             struct text_field *f)
{
    const char *s = *p;
    f->last = true;
    if (s == end)
        return NULL;
    if (*s == v->delimiter) {
        f->last = false;
        *p = s + 1;
        return NULL;
    }
    if (*s == '\r' && s + 1 < end && s[1] == '\n')
        s++;
    if (*s != '\n')
        return "text behind a quoted field";
    ++*lines;
    *p = s + 1;
    return NULL;
}

static const char *quoted_field(const struct fe_text_format *v, const char **p, const char *end, int64_t *lines,
                                struct text_field *f)
{
    const char *s = *p + 1;
    int64_t inside = 0;
    f->s = s;
    f->quoted = true;
    for (;; s++) {
        if (s >= end)
            return "quoted field without an end";
        inside += *s == '\n';
        if (*s != v->quote)
            continue;
        if (s + 1 < end && s[1] == v->quote) {
            f->doubled = true;
            s++;
            continue;
        }
        break;
    }
    f->n = (size_t)(s - f->s);
    *p = s + 1;
    *lines += inside;
    return end_field(v, p, end, lines, f);
}

const char *text_next_field(const struct fe_text_format *v, const char **p, const char *end, int64_t *lines,
                            struct text_field *f)
{
    const char *s = *p;
    f->quoted = f->doubled = false;
    if (v->quote && s < end && *s == v->quote)
        return quoted_field(v, p, end, lines, f);
    f->s = s;
    while (s < end && *s != v->delimiter && *s != '\n')
        s++;
    f->n = (size_t)(s - f->s);
    *p = s;
    bool line_end = s == end || *s == '\n';
    if (line_end && f->n && s[-1] == '\r')
        f->n--;
    if (v->quote && f->n && memchr(f->s, v->quote, f->n))
        return "quote inside an unquoted field";
    return end_field(v, p, end, lines, f);
}

/* ---- values --------------------------------------------------------------------------------- */

static struct rt_str undouble(struct text_rows *r, const struct text_field *f, char quote)
{
    char *out = hd_alloc(&r->arena, f->n);
    uint32_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        out[n++] = f->s[i];
        i += f->s[i] == quote;
    }
    return (struct rt_str){out, n};
}

/* Hexadecimal digits as the bytes that they mean. */
static bool put_bytes(struct text_rows *r, const struct text_field *f, struct rt_str *to)
{
    char *out = hd_alloc(&r->arena, f->n / 2 + 1);
    int64_t n = f->n > UINT32_MAX || f->doubled ? -1 : hd_hex_parse(f->s, f->n, out);
    *to = (struct rt_str){out, (uint32_t)n};
    return n >= 0;
}

static bool is_null(const struct fe_text_format *v, const struct text_field *f)
{
    return !f->quoted && strlen(v->null_text) == f->n && memcmp(v->null_text, f->s, f->n) == 0;
}

static bool put_value(struct text_rows *r, int column, int64_t row, const struct text_field *f)
{
    const struct fe_text_format *v = r->file->format;
    struct text_column *x = &r->columns[column];
    hd_i128 wide;
    double real;
    if (x->valid && is_null(v, f)) {
        x->valid[row >> 6] &= ~((uint64_t)1 << (row & 63));
        x->nulls++;
        return true;
    }
    if (x->form == RT_WORK_STR) {
        struct rt_str *to = (struct rt_str *)x->values + row;
        if (r->file->table->cols[column].type.kind == HD_BINARY)
            return put_bytes(r, f, to);
        if (f->n > UINT32_MAX || (r->foreign && hd_utf8_check(f->s, f->n) < f->n))
            return false;
        *to = f->doubled ? undouble(r, f, v->quote) : (struct rt_str){f->s, (uint32_t)f->n};
        return true;
    }
    if (f->doubled || !text_parse_value(r->file->table->cols[column].type, f->s, f->n, &wide, &real))
        return false;
    if (x->form == RT_WORK_I64)
        ((int64_t *)x->values)[row] = (int64_t)wide;
    else if (x->form == RT_WORK_I128)
        ((hd_i128 *)x->values)[row] = wide;
    else if (x->form == RT_WORK_F32)
        ((float *)x->values)[row] = (float)real;
    else
        ((double *)x->values)[row] = real;
    return true;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static const char *place(const struct text_file *f, int64_t line, char buf[4200])
{
    snprintf(buf, 4200, "%s:%lld", f->path, (long long)line);
    return buf;
}

static int bad_value(const struct text_rows *r, int column, int field, int64_t line, const struct text_field *f,
                     struct hd_err *err)
{
    char where[4200], type[HD_TEXT_MAX];
    const struct fe_table_column *c = &r->file->table->cols[column];
    int shown = (int)HD_MIN(f->n, 60);
    size_t good = hd_utf8_check(f->s, f->n);
    place(r->file, line, where);
    if (good < f->n)
        return HD_FAIL(err, DATA, where,
                       "column \"%s\" (field %d): the text is not UTF-8: byte 0x%02x behind %zu "
                       "others",
                       c->name, field + 1, (unsigned char)f->s[good], good);
    if (!c->nullable && is_null(r->file->format, f))
        return HD_FAIL(err, DATA, where,
                       "column \"%s\" (field %d): \"%.*s\" means NULL, and the column is not "
                       "nullable (type %s)",
                       c->name, field + 1, shown, f->s, hd_type_text(c->type, type));
    return HD_FAIL(err, DATA, where, "column \"%s\" (field %d): expected %s, found \"%.*s%s\"", c->name, field + 1,
                   hd_type_text(c->type, type), shown, f->s, f->n > 60 ? "..." : "");
}

static int bad_line(const struct text_rows *r, int64_t line, const char *what, struct hd_err *err)
{
    char where[4200];
    return HD_FAIL(err, DATA, place(r->file, line, where), "%s", what);
}

static int bad_count(const struct text_rows *r, int64_t line, const char *found, struct hd_err *err)
{
    char where[4200];
    return HD_FAIL(err, DATA, place(r->file, line, where), "expected %d fields, found %s", r->file->table->ncols,
                   found);
}

/* Field k was the last of its line, but should not have been. */
static int short_line(const struct text_rows *r, int k, const struct text_field *f, int64_t line, struct hd_err *err)
{
    const struct fe_text_format *v = r->file->format;
    bool ended = v->trailing_delimiter && f->n == 0 && !f->quoted;
    char text[64];
    if (k + 1 == r->file->table->ncols && !ended) {
        snprintf(text, sizeof text, "line does not end with '%c' (\"trailing_delimiter\")", v->delimiter);
        return bad_line(r, line, text, err);
    }
    snprintf(text, sizeof text, "%d", ended ? k : k + 1);
    return bad_count(r, line, text, err);
}

/* Behind the last column's field: nothing, or a delimiter and nothing. */
static int end_row(struct text_rows *r, const struct text_field *last, const char **p, const char *end, int64_t start,
                   int64_t *line, struct hd_err *err)
{
    const struct fe_text_format *v = r->file->format;
    struct text_field f;
    if (last->last)
        return 0;
    if (!v->trailing_delimiter)
        return bad_count(r, start, "more", err);
    const char *wrong = text_next_field(v, p, end, line, &f);
    if (wrong)
        return bad_line(r, start, wrong, err);
    return f.last && f.n == 0 && !f.quoted ? 0 : bad_count(r, start, "more", err);
}

static int parse_row(struct text_rows *r, int64_t row, const char **p, const char *end, int64_t *line,
                     struct hd_err *err)
{
    const struct text_file *file = r->file;
    int n = file->table->ncols, must_go_on = file->format->trailing_delimiter ? n : n - 1;
    int64_t start = *line;
    struct text_field f = {0};
    for (int k = 0; k < n; k++) {
        const char *wrong = text_next_field(file->format, p, end, line, &f);
        if (wrong)
            return bad_line(r, start, wrong, err);
        if (f.last && k < must_go_on)
            return short_line(r, k, &f, start, err);
        int column = file->order ? file->order[k] : k;
        if (!put_value(r, column, row, &f))
            return bad_value(r, column, k, start, &f, err);
    }
    return end_row(r, &f, p, end, start, line, err);
}

/* ---- memory --------------------------------------------------------------------------------- */

static enum rt_work_form form_of(struct hd_type t)
{
    if (hd_type_is_text(t))
        return RT_WORK_STR;
    if (hd_type_is_float(t))
        return t.kind == HD_FLOAT32 ? RT_WORK_F32 : RT_WORK_F64;
    bool wide = (t.kind == HD_DECIMAL && t.precision > 18) || t.kind == HD_INTERVAL;
    return wide ? RT_WORK_I128 : RT_WORK_I64;
}

static size_t form_size(enum rt_work_form f)
{
    static const size_t sizes[] = {[RT_WORK_I64] = 8,
                                   [RT_WORK_I128] = sizeof(hd_i128),
                                   [RT_WORK_F64] = 8,
                                   [RT_WORK_F32] = 4,
                                   [RT_WORK_STR] = sizeof(struct rt_str)};
    return sizes[f];
}

static void release_columns(struct text_rows *r)
{
    for (int c = 0; c < r->file->table->ncols; c++) {
        free(r->columns[c].values);
        free(r->columns[c].valid);
        r->columns[c].values = NULL;
        r->columns[c].valid = NULL;
    }
    r->capacity = 0;
}

static bool reserve(struct text_rows *r, int64_t rows)
{
    const struct fe_table *t = r->file->table;
    bool ok = true;
    if (rows <= r->capacity)
        return true;
    release_columns(r);
    rows += rows / 8; /* the next piece may have a few more */
    for (int c = 0; c < t->ncols; c++) {
        struct text_column *x = &r->columns[c];
        x->values = hd_try_malloc((size_t)rows * form_size(x->form));
        if (t->cols[c].nullable)
            x->valid = hd_try_malloc(((size_t)rows + 63) / 64 * 8);
        ok &= x->values && (x->valid || !t->cols[c].nullable);
    }
    r->capacity = ok ? rows : 0;
    return ok;
}

static bool reset(struct text_rows *r, int64_t rows)
{
    hd_arena_rewind(&r->arena, (struct hd_arena_mark){0});
    if (!reserve(r, rows))
        return false;
    for (int c = 0; c < r->file->table->ncols; c++) {
        struct text_column *x = &r->columns[c];
        x->nulls = 0;
        if (x->valid)
            memset(x->valid, 0xff, ((size_t)rows + 63) / 64 * 8);
    }
    return true;
}

void text_rows_free(struct text_rows *r)
{
    if (!r)
        return;
    if (r->columns)
        release_columns(r);
    free(r->columns);
    hd_arena_release(&r->arena);
    free(r);
}

/* ---- as a source ---------------------------------------------------------------------------- */

static void fill_validity(const struct text_column *x, int64_t from, struct rt_work *w)
{
    w->nulls = 0;
    if (!x->nulls)
        return;
    memset(w->valid, 0, ((size_t)w->n + 63) / 64 * 8);
    for (int i = 0; i < w->n; i++) {
        uint64_t valid = rt_bit(x->valid, from + i);
        w->valid[i >> 6] |= valid << (i & 63);
        w->nulls += !valid;
    }
}

static void fill(const struct rt_row_source *base, int column, int64_t from, struct rt_work *w)
{
    const struct text_rows *r = (const struct text_rows *)base;
    const struct text_column *x = &r->columns[column];
    size_t size = form_size(x->form);
    w->form = x->form;
    fill_validity(x, from, w);
    /* all value arrays of a work share their memory */
    memcpy(w->i128, (const char *)x->values + (size_t)from * size, (size_t)w->n * size);
}

const struct rt_row_source *text_rows_source(const struct text_rows *r)
{
    return &r->base;
}

struct text_rows *text_rows_new(const struct text_file *f)
{
    struct text_rows *r = hd_try_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->base.fill = fill;
    r->file = f;
    hd_arena_init(&r->arena);
    r->columns = hd_try_calloc((size_t)f->table->ncols, sizeof *r->columns);
    for (int c = 0; r->columns && c < f->table->ncols; c++)
        r->columns[c].form = form_of(f->table->cols[c].type);
    if (r->columns)
        return r;
    text_rows_free(r);
    return NULL;
}

int text_parse(struct text_rows *r, const struct text_piece *piece, struct hd_err *err)
{
    const char *p = piece->from;
    int64_t line = piece->line;
    if (!reset(r, piece->rows))
        return HD_FAIL(err, RESOURCE, r->file->path, "out of memory for %lld rows", (long long)piece->rows);
    size_t bytes = (size_t)(piece->to - piece->from);
    r->foreign = !hd_is_ascii(piece->from, bytes) && hd_utf8_check(piece->from, bytes) < bytes;
    for (int64_t row = 0; row < piece->rows; row++)
        HD_TRY(parse_row(r, row, &p, piece->to, &line, err));
    if (p != piece->to) /* what counted the rows saw other quotes than we did */
        return bad_line(r, line, "quotes do not match", err);
    return 0;
}
