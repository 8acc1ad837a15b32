/* The schema JSON of heddle_writer_open: tables as declared, keys, text format. And the parts
 * of it that catalog.json has too. */
#include <stdio.h>
#include <string.h>

#include "frontend/catalog_json.h"
#include "frontend/value.h"
#include "runtime/base/suggest.h"

/* ---- shared with the catalog ---------------------------------------------------------- */

int fe_read_list(const struct fe_json *v, const char *key, int max, struct fe_json *list, int *n)
{
    HD_TRY(fe_json_need(v, key, list));
    HD_TRY(fe_json_array(list));
    *n = fe_json_length(list);
    if (*n < 1 || *n > max)
        return fe_json_fail(list, "expected 1 to %d elements, found %d", max, *n);
    return 0;
}

/* Integers of other widths become the next wider ones. */
static bool widened(const struct fe_json *v, struct hd_type *out)
{
    static const struct {
        const char *name;
        enum hd_type_kind kind;
    } names[] = {{"int8", HD_INT32},   {"uint8", HD_INT32},  {"int16", HD_INT32},
                 {"uint16", HD_INT32}, {"uint32", HD_INT64}, {"uint64", HD_INT64}};
    const char *text;
    for (size_t i = 0; fe_json_kind(v) == FE_JSON_STRING && i < HD_COUNT(names); i++)
        if (fe_json_string(v, &text) == 0 && strcmp(text, names[i].name) == 0) {
            *out = hd_type_of(names[i].kind);
            return true;
        }
    return false;
}

int fe_read_column_head(const struct fe_json *v, bool declared, struct fe_table_column *c)
{
    struct fe_json m;
    HD_TRY(fe_json_need(v, "name", &m));
    HD_TRY(fe_json_name(&m, &c->name));
    HD_TRY(fe_json_need(v, "type", &m));
    if (!declared || !widened(&m, &c->type))
        HD_TRY(fe_type_read(&m, &c->type));
    return fe_json_opt_bool(v, "nullable", &c->nullable);
}

int fe_check_column_names(const struct fe_json *columns, const struct fe_table *t)
{
    for (int i = 0; i < t->ncols; i++)
        if (fe_table_find_column(t, t->cols[i].name) != i)
            return fe_json_fail(columns, "two columns are called \"%.100s\"", t->cols[i].name);
    return 0;
}

int fe_check_table_names(const struct fe_json *tables, int n, const struct fe_table *(*get)(const void *, int),
                         const void *set)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(get(set, i)->name, get(set, k)->name) == 0)
                return fe_json_fail(tables, "two tables are called \"%.100s\"", get(set, i)->name);
    return 0;
}

static int no_column(const struct fe_json *v, const struct fe_table *t, const char *name)
{
    struct hd_suggestion suggestion;
    hd_suggest_init(&suggestion, name);
    for (int i = 0; i < t->ncols; i++)
        hd_suggest_offer(&suggestion, t->cols[i].name);
    return fe_json_fail(v, "table \"%.100s\" has no column \"%.100s\"%s", t->name, name, hd_suggest_hint(&suggestion));
}

/* Distinct columns of t by name. */
static int read_column_list(const struct fe_json *v, const char *key, const struct fe_table *t, int **out, int *n)
{
    struct fe_json list, m;
    const char *name;
    HD_TRY(fe_read_list(v, key, FE_MAX_KEYS, &list, n));
    *out = HD_NEWN(v->r->arena, int, *n);
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(fe_json_string(&m, &name));
        int c = fe_table_find_column(t, name);
        if (c < 0)
            return no_column(&m, t, name);
        for (int k = 0; k < m.index; k++)
            if ((*out)[k] == c)
                return fe_json_fail(&m, "column \"%.100s\" is listed twice", name);
        if (t->cols[c].type.kind == HD_INTERVAL)
            return fe_json_fail(&m, "column \"%.100s\" is an interval, which no key has: equal ones may look different",
                                name);
        (*out)[m.index] = c;
    }
    return 0;
}

int fe_read_primary_key(const struct fe_json *table, struct fe_table *t)
{
    struct fe_json m;
    int *columns;
    if (!fe_json_get(table, "primary_key", &m))
        return 0;
    HD_TRY(read_column_list(table, "primary_key", t, &columns, &t->npk));
    t->pk = columns;
    return 0;
}

static bool types_join(struct hd_type a, struct hd_type b)
{
    if (hd_type_is_int(a) && hd_type_is_int(b))
        return true;
    return a.kind == b.kind && a.scale == b.scale;
}

static int check_references(const struct fe_json *v, const struct fe_table *t, const struct fe_foreign_key *f,
                            int n_parent)
{
    if (n_parent != f->n_columns)
        return fe_json_fail(v, "%d columns reference %d columns", f->n_columns, n_parent);
    for (int i = 0; i < f->n_columns; i++) {
        const struct fe_table_column *c = &t->cols[f->columns[i]];
        const struct fe_table_column *p = &f->parent->cols[f->parent_columns[i]];
        char ct[HD_TEXT_MAX], pt[HD_TEXT_MAX];
        if (!types_join(c->type, p->type))
            return fe_json_fail(v, "column \"%.60s\" is %s, the referenced \"%.60s\" is %s", c->name,
                                hd_type_text(c->type, ct), p->name, hd_type_text(p->type, pt));
    }
    return 0;
}

static int read_foreign_key(const struct fe_json *v, const struct fe_table *t,
                            const struct fe_table *(*find)(const void *, const char *), const void *set, bool more,
                            struct fe_foreign_key *f)
{
    struct fe_json m;
    const char *name;
    int *columns, *parents, n_parent;
    HD_TRY(more ? fe_json_object(v, "columns", "table", "references", "index", "max_children", "long_parents", NULL)
                : fe_json_object(v, "columns", "table", "references", NULL));
    HD_TRY(read_column_list(v, "columns", t, &columns, &f->n_columns));
    HD_TRY(fe_json_need(v, "table", &m));
    HD_TRY(fe_json_string(&m, &name));
    f->columns = columns;
    f->parent = find(set, name);
    if (!f->parent)
        return fe_json_fail(&m, "table \"%.100s\" not found", name);
    HD_TRY(read_column_list(v, "references", f->parent, &parents, &n_parent));
    f->parent_columns = parents;
    f->max_children = -1;
    return check_references(v, t, f, n_parent);
}

int fe_read_foreign_keys(const struct fe_json *table, struct fe_table *t,
                         const struct fe_table *(*find)(const void *, const char *), const void *set, bool more)
{
    struct fe_json list, m;
    int n;
    if (!fe_json_get(table, "foreign_keys", &list))
        return 0;
    HD_TRY(fe_json_array(&list));
    n = fe_json_length(&list);
    if (n > FE_MAX_KEYS)
        return fe_json_fail(&list, "expected at most %d foreign keys, found %d", FE_MAX_KEYS, n);
    t->fks = HD_NEWN(table->r->arena, struct fe_foreign_key, n);
    for (bool go = fe_json_first(&list, &m); go; go = fe_json_next(&m))
        HD_TRY(read_foreign_key(&m, t, find, set, more, &t->fks[t->nfks++]));
    return 0;
}

/* ---- partitions ------------------------------------------------------------------------ */

int fe_read_partition(const struct fe_json *v, struct fe_partition *out)
{
    struct fe_json m;
    int64_t number = 0, of = 0;
    if (!fe_json_get(v, "partition", &m))
        return 0;
    HD_TRY(fe_json_object(&m, "number", "of", NULL));
    HD_TRY(fe_json_opt_int(&m, "of", 1, FE_MAX_SEGMENTS, &of));
    HD_TRY(fe_json_opt_int(&m, "number", 0, HD_MAX(of, 1) - 1, &number));
    if (!of)
        return fe_json_fail(&m, "expected \"number\" and \"of\"");
    *out = (struct fe_partition){(int)number, (int)of};
    return 0;
}

int fe_read_divided(const struct fe_json *table, const struct fe_partition *of, struct fe_table *t)
{
    struct fe_json m;
    const char *name;
    t->cut = -1;
    if (!fe_json_get(table, "cut_by", &m))
        return 0;
    if (!of->of)
        return fe_json_fail(&m, "only a table of segments, or of a partition, is cut");
    t->divided = true;
    if (fe_json_kind(&m) == FE_JSON_NULL)
        return 0;
    HD_TRY(fe_json_string(&m, &name));
    t->cut = fe_table_find_column(t, name);
    return t->cut < 0 ? no_column(&m, t, name) : 0;
}

static bool has_column(const int *columns, int n, int column)
{
    for (int i = 0; i < n; i++)
        if (columns[i] == column)
            return true;
    return false;
}

/* A partition sees its own rows alone: of keys it can know what all have with the values of one range. */
static int check_divided(const struct fe_json *v, const struct fe_table *t)
{
    for (int k = 0; k < t->nfks && !t->divided; k++)
        if (t->fks[k].parent->divided)
            return fe_json_fail(v, "a foreign key leads to table \"%.60s\", which is divided, and this one is not",
                                t->fks[k].parent->name);
    if (!t->divided)
        return 0;
    if (t->cut < 0 || t->cols[t->cut].nullable ||
        (!hd_type_is_int(t->cols[t->cut].type) && t->cols[t->cut].type.kind != HD_DATE))
        return fe_json_fail(v, "\"cut_by\": expected a column of ints or dates that is never NULL");
    if (t->npk && !has_column(t->pk, t->npk, t->cut))
        return fe_json_fail(v, "the primary key has not the column \"%.60s\", by which the table is cut",
                            t->cols[t->cut].name);
    return 0;
}

/* ---- text format ---------------------------------------------------------------------- */

static int read_byte(const struct fe_json *v, const char *key, bool optional, char *out)
{
    struct fe_json m;
    const char *s;
    if (!fe_json_get(v, key, &m))
        return 0;
    HD_TRY(fe_json_string(&m, &s));
    bool bad = strlen(s) > 1 || (unsigned char)*s >= 0x80 || *s == '\n' || *s == '\r';
    if (bad || (!*s && !optional))
        return fe_json_expected(&m, optional ? "one ASCII character or \"\"" : "one ASCII character");
    *out = *s;
    return 0;
}

static int check_format(const struct fe_json *v, const struct fe_text_format *f)
{
    if (f->delimiter == f->quote)
        return fe_json_fail(v, "delimiter and quote must differ, found '%c' for both", f->quote);
    for (const char *p = f->null_text; *p; p++)
        if (*p == f->delimiter || *p == '\n' || *p == '\r')
            return fe_json_fail(v, "\"null\" may contain neither the delimiter nor a line end");
    return 0;
}

/* Keys that are absent keep what *f has. */
static int read_format(const struct fe_json *v, struct fe_text_format *f)
{
    struct fe_json m;
    if (!fe_json_get(v, "format", &m))
        return 0;
    HD_TRY(fe_json_object(&m, "delimiter", "quote", "header", "trailing_delimiter", "null", NULL));
    HD_TRY(read_byte(&m, "delimiter", false, &f->delimiter));
    HD_TRY(read_byte(&m, "quote", true, &f->quote));
    HD_TRY(fe_json_opt_bool(&m, "header", &f->header));
    HD_TRY(fe_json_opt_bool(&m, "trailing_delimiter", &f->trailing_delimiter));
    HD_TRY(fe_json_opt_string(&m, "null", &f->null_text));
    return check_format(&m, f);
}

/* ---- the document --------------------------------------------------------------------- */

static const struct fe_table *get_table(const void *set, int i)
{
    return &((const struct fe_schema *)set)->tables[i].table;
}

static const struct fe_table *find_table(const void *set, const char *name)
{
    const struct fe_schema *s = set;
    for (int i = 0; i < s->ntables; i++)
        if (strcmp(s->tables[i].table.name, name) == 0)
            return &s->tables[i].table;
    return NULL;
}

static int read_columns(const struct fe_json *v, bool pack, struct fe_table *t)
{
    struct fe_json list, m;
    int n;
    HD_TRY(fe_read_list(v, "columns", FE_MAX_COLUMNS, &list, &n));
    t->cols = HD_NEWN(v->r->arena, struct fe_table_column, n);
    t->ncols = n;
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(fe_json_object(&m, "name", "type", "nullable", "packed", NULL));
        HD_TRY(fe_read_column_head(&m, true, &t->cols[m.index]));
        t->cols[m.index].pack = pack;
        HD_TRY(fe_json_opt_bool(&m, "packed", &t->cols[m.index].pack));
        t->cols[m.index].facts.nulls = -1;
        t->cols[m.index].facts.distinct = -1;
        t->cols[m.index].facts.max_mult = -1;
    }
    return fe_check_column_names(&list, t);
}

static int read_table(const struct fe_json *v, const struct fe_text_format *common, bool pack,
                      const struct fe_partition *partition, struct fe_schema_table *t)
{
    struct fe_json m;
    HD_TRY(fe_json_object(v, "name", "rows", "cut_by", "columns", "primary_key", "foreign_keys", "format", NULL));
    HD_TRY(fe_json_need(v, "name", &m));
    HD_TRY(fe_json_name(&m, &t->table.name));
    t->path = fe_json_path(v);
    t->rows = -1;
    HD_TRY(fe_json_opt_int(v, "rows", 0, FE_MAX_ROWS, &t->rows));
    t->format = *common;
    HD_TRY(read_format(v, &t->format));
    HD_TRY(read_columns(v, pack, &t->table));
    HD_TRY(fe_read_divided(v, partition, &t->table));
    return fe_read_primary_key(v, &t->table);
}

/* After all tables, because a key may refer to a later one. */
static int read_all_foreign_keys(const struct fe_json *tables, struct fe_schema *s)
{
    struct fe_json m;
    for (bool more = fe_json_first(tables, &m); more; more = fe_json_next(&m))
        HD_TRY(fe_read_foreign_keys(&m, &s->tables[m.index].table, find_table, s, false));
    for (bool more = fe_json_first(tables, &m); more; more = fe_json_next(&m))
        HD_TRY(check_divided(&m, &s->tables[m.index].table));
    return 0;
}

static int read_schema(const struct fe_json *v, struct fe_schema *s)
{
    /* As dbgen writes: fields end with '|', no quotes, no header. */
    struct fe_text_format format = {'|', 0, false, true, ""};
    struct fe_json list, m;
    bool pack = false;
    int n;
    HD_TRY(fe_json_object(v, "tables", "format", "packed", "segment_rows", "partition", NULL));
    HD_TRY(fe_json_opt_bool(v, "packed", &pack));
    s->segment_rows = FE_TABLE_MAX_ROWS;
    HD_TRY(fe_json_opt_int(v, "segment_rows", 1, FE_TABLE_MAX_ROWS, &s->segment_rows));
    HD_TRY(fe_read_partition(v, &s->partition));
    HD_TRY(read_format(v, &format));
    HD_TRY(fe_read_list(v, "tables", FE_MAX_TABLES, &list, &n));
    s->tables = HD_NEWN(v->r->arena, struct fe_schema_table, n);
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m))
        HD_TRY(read_table(&m, &format, pack, &s->partition, &s->tables[s->ntables++]));
    HD_TRY(fe_check_table_names(&list, n, get_table, s));
    return read_all_foreign_keys(&list, s);
}

static const struct fe_table *find_in_catalog(const void *set, const char *name)
{
    return fe_catalog_find(set, name);
}

static int read_keys(const struct fe_json *v, struct fe_table *t, const struct fe_catalog *others)
{
    HD_TRY(fe_json_object(v, "primary_key", "foreign_keys", NULL));
    HD_TRY(fe_read_primary_key(v, t));
    return fe_read_foreign_keys(v, t, find_in_catalog, others, false);
}

int fe_keys_read(struct hd_arena *a, const char *json, struct fe_table *t, const struct fe_catalog *others,
                 struct hd_err *err)
{
    struct fe_json_reader r = {.arena = a, .err = err, .class = HD_ERR_USER};
    struct fe_json root;
    int rc = fe_json_open(&r, json, &root);
    if (rc == 0)
        rc = read_keys(&root, t, others);
    fe_json_close(&r);
    return rc;
}

int fe_schema_read(struct hd_arena *a, const char *json, struct fe_schema **out, struct hd_err *err)
{
    struct fe_json_reader r = {.arena = a, .err = err, .class = HD_ERR_USER};
    struct fe_schema *s = HD_NEW(a, struct fe_schema);
    struct fe_json root;
    int rc = fe_json_open(&r, json, &root);
    if (rc == 0)
        rc = read_schema(&root, s);
    fe_json_close(&r);
    if (rc == 0)
        *out = s;
    return rc;
}
