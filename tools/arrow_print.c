/* Three printers, each a visitor of a stream. */
#include "tools/arrow_print.h"

#include <string.h>

#include "tools/text.h"
#include "tools/text_table.h"

struct printer {
    FILE *f;
    bool more; /* JSON: a row was printed */
    struct text_table table;
};

/* ---- CSV: RFC 4180 with LF; NULL is empty, the empty string is "" ---- */

static void csv_text(const char *s, size_t n, FILE *f)
{
    bool plain = n > 0;
    for (size_t i = 0; plain && i < n; i++)
        plain = s[i] != ',' && s[i] != '"' && s[i] != '\n' && s[i] != '\r';
    if (plain) {
        fwrite_unlocked(s, 1, n, f);
        return;
    }
    putc_unlocked('"', f);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"')
            putc_unlocked('"', f);
        putc_unlocked(s[i], f);
    }
    putc_unlocked('"', f);
}

static void csv_begin(void *user, const struct arrow_columns *c)
{
    FILE *f = ((struct printer *)user)->f;
    for (int i = 0; i < c->n; i++) {
        if (i)
            putc_unlocked(',', f);
        csv_text(c->at[i].name, strlen(c->at[i].name), f);
    }
    putc_unlocked('\n', f);
}

static void csv_row(void *user, const struct arrow_columns *c, const struct ArrowArray *batch, int64_t row)
{
    FILE *f = ((struct printer *)user)->f;
    struct arrow_text t;
    for (int i = 0; i < c->n; i++) {
        if (i)
            putc_unlocked(',', f);
        if (arrow_cell(&c->at[i], batch, i, row, &t))
            csv_text(t.s, t.n, f);
    }
    putc_unlocked('\n', f);
}

static const struct arrow_visitor csv_visitor = {csv_begin, csv_row, NULL};

/* ---- JSON ---- */

static void json_begin(void *user, const struct arrow_columns *c)
{
    FILE *f = ((struct printer *)user)->f;
    char type[ARROW_TYPE_MAX];
    fputs("{\"columns\":[", f);
    for (int i = 0; i < c->n; i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", f);
        text_put_json(f, c->at[i].name, strlen(c->at[i].name));
        fprintf(f, ",\"type\":\"%s\",\"nullable\":%s}", arrow_type_text(&c->at[i], type),
                c->at[i].nullable ? "true" : "false");
    }
    fputs("],\n\"rows\":[", f);
}

/* Whether a reader that keeps numbers as doubles gets the value exactly. */
static bool is_json_number(enum arrow_kind kind, const struct ArrowArray *batch, int column, int64_t row,
                           const struct arrow_text *t)
{
    const int64_t exact = INT64_C(1) << 53;
    switch (kind) {
    case ARROW_BOOL:
    case ARROW_INT32: return true;
    case ARROW_INT64: {
        int64_t v = arrow_int64(batch, column, row);
        return v >= -exact && v <= exact;
    }
    case ARROW_FLOAT32:
    case ARROW_FLOAT64: return !memchr(t->s, 'n', t->n); /* nan, inf */
    case ARROW_DECIMAL:
    case ARROW_DATE:
    case ARROW_TIMESTAMP:
    case ARROW_TIME:
    case ARROW_STRING:
    case ARROW_INTERVAL:
    case ARROW_BINARY: break;
    }
    return false;
}

static void json_row(void *user, const struct arrow_columns *c, const struct ArrowArray *batch, int64_t row)
{
    struct printer *j = user;
    struct arrow_text t;
    fputs_unlocked(j->more ? ",\n[" : "\n[", j->f);
    j->more = true;
    for (int i = 0; i < c->n; i++) {
        if (i)
            putc_unlocked(',', j->f);
        if (!arrow_cell(&c->at[i], batch, i, row, &t))
            fputs_unlocked("null", j->f);
        else if (is_json_number(c->at[i].kind, batch, i, row, &t))
            fwrite_unlocked(t.s, 1, t.n, j->f);
        else
            text_put_json(j->f, t.s, t.n);
    }
    putc_unlocked(']', j->f);
}

static void json_end(void *user, const struct arrow_columns *c, int64_t rows)
{
    (void)c;
    (void)rows;
    fputs("\n]}\n", ((struct printer *)user)->f);
}

static const struct arrow_visitor json_visitor = {json_begin, json_row, json_end};

/* ---- table ---- */

static void table_begin(void *user, const struct arrow_columns *c)
{
    struct printer *p = user;
    for (int i = 0; i < c->n; i++) {
        enum arrow_kind kind = c->at[i].kind;
        text_table_column(&p->table, c->at[i].name,
                          kind == ARROW_INT32 || kind == ARROW_INT64 || kind == ARROW_DECIMAL ||
                              kind == ARROW_FLOAT32 || kind == ARROW_FLOAT64);
    }
}

static void table_row(void *user, const struct arrow_columns *c, const struct ArrowArray *batch, int64_t row)
{
    struct printer *p = user;
    struct arrow_text t;
    for (int i = 0; i < c->n; i++) {
        if (arrow_cell(&c->at[i], batch, i, row, &t))
            text_table_cell(&p->table, t.s, t.n);
        else
            text_table_text(&p->table, "NULL");
    }
}

static void table_end(void *user, const struct arrow_columns *c, int64_t rows)
{
    struct printer *p = user;
    (void)c;
    text_table_end(&p->table);
    fprintf(p->f, "(%lld row%s)\n", (long long)rows, rows == 1 ? "" : "s");
}

static const struct arrow_visitor table_visitor = {table_begin, table_row, table_end};

int arrow_print(struct ArrowArrayStream *stream, const char *format, FILE *f, int64_t *rows, struct cli_error *err)
{
    struct printer p = {.f = f};
    text_table_init(&p.table, f);
    const struct arrow_visitor *v = strcmp(format, "csv") == 0    ? &csv_visitor
                                    : strcmp(format, "json") == 0 ? &json_visitor
                                                                  : &table_visitor;
    int rc = arrow_visit(stream, v, &p, rows, err);
    text_table_release(&p.table);
    return rc;
}
