/* Tables: stored ones, and values in the plan. */
#include <string.h>

#include "frontend/substrait_read.h"

/* ---- fields of a table ------------------------------------------------------------------- */

struct schema {
    int n;
    const char **names;
    struct fe_json types; /* list */
};

static int read_schema(struct sub *t, const struct fe_json *v, struct fe_json *base, struct fe_json *body,
                       struct schema *out)
{
    struct fe_json names, m;
    HD_TRY(fe_json_need(v, "baseSchema", base));
    *out = (struct schema){0};
    if (!sub_list(base, "names", &names))
        return 0;
    out->n = fe_json_length(&names);
    out->names = HD_NEWN(t->arena, const char *, out->n);
    int i = 0;
    for (bool more = fe_json_first(&names, &m); more; more = fe_json_next(&m))
        HD_TRY(fe_json_name(&m, &out->names[i++]));
    HD_TRY(fe_json_need(base, "struct", body));
    HD_TRY(fe_json_need(body, "types", &out->types));
    if (fe_json_length(&out->types) != out->n)
        return sub_refuse(t, &out->types,
                          "expected a type for each of %d names (tables without nested types), found %d", out->n,
                          fe_json_length(&out->types));
    return 0;
}

/* Numbers of the fields that are asked for. */
static int read_projection(struct sub *t, const struct fe_json *v, int n, int *nfields, int64_t **fields)
{
    struct fe_json mask, select, items, m, child;
    bool projected = fe_json_get(v, "projection", &mask) && fe_json_get(&mask, "select", &select);
    bool some = projected && sub_list(&select, "structItems", &items);
    *nfields = projected ? some ? fe_json_length(&items) : 0 : n;
    *fields = HD_NEWN(t->arena, int64_t, *nfields + 1);
    for (int i = 0; !projected && i < n; i++)
        (*fields)[i] = i;
    int i = 0;
    for (bool more = some && fe_json_first(&items, &m); more; more = fe_json_next(&m), i++) {
        if (fe_json_get(&m, "child", &child))
            return sub_refuse(t, &child, "fields of values are not supported");
        HD_TRY(sub_int(&m, "field", &(*fields)[i]));
        if ((*fields)[i] < 0 || (*fields)[i] >= n)
            return fe_json_fail(&m, "expected a field below %d, found %lld", n, (long long)(*fields)[i]);
    }
    return 0;
}

/* ---- stored tables ----------------------------------------------------------------------- */

static int table_name(struct sub *t, const struct fe_json *v, const char **out)
{
    struct fe_json names, m;
    HD_TRY(fe_json_need(v, "names", &names));
    if (fe_json_length(&names) == 0)
        return fe_json_fail(&names, "expected a name");
    for (bool more = fe_json_first(&names, &m); more; more = fe_json_next(&m)) /* the last: no catalogs, no schemas */
        HD_TRY(fe_json_name(&m, out));
    (void)t;
    return 0;
}

static const char *alias_of(struct sub *t, const char *table, const struct schema *s)
{
    bool free = true;
    for (int i = 0; i < s->n; i++)
        free &= sub_take_name(t, s->names[i]);
    return free ? NULL : sub_new_name(t, hd_asprintf(t->arena, "%s_2", table));
}

static struct cJSON *scan(struct sub *t, const char *table, const char *alias)
{
    struct cJSON *node = sub_make_op(t, "scan");
    fe_put(node, "table", fe_make_string(t->arena, table));
    if (alias)
        fe_put(node, "alias", fe_make_string(t->arena, alias));
    return node;
}

/* One that asks for no field is read by its first column, for the number of its rows. */
static void put_columns(struct sub *t, const struct schema *s, int n, const int64_t *fields, struct sub_rel *out,
                        const char **all)
{
    struct cJSON *columns = fe_make_list(t->arena);
    bool *listed = HD_NEWN(t->arena, bool, s->n + 1);
    out->n = n;
    out->cols = HD_NEWN(t->arena, const char *, n + 1);
    out->exact = n > 0;
    for (int i = 0; i < n; i++) {
        out->cols[i] = all[fields[i]];
        if (listed[fields[i]])
            out->exact = false;
        else
            fe_push(columns, fe_make_string(t->arena, s->names[fields[i]]));
        listed[fields[i]] = true;
    }
    if (n == 0)
        fe_push(columns, fe_make_string(t->arena, s->names[0]));
    fe_put(out->node, "columns", columns);
}

static int read_filter(struct sub *t, const struct fe_json *v, const char **all, int n, struct sub_rel *out)
{
    struct fe_json m;
    struct cJSON *x;
    struct sub_rel table = {.node = out->node, .n = n, .cols = all};
    struct sub_scope s = {.input = &table, .place = "a read"};
    if (!fe_json_get(v, "filter", &m))
        return 0;
    HD_TRY(sub_expr(t, &m, &s, &x));
    if (table.node != out->node)
        return sub_refuse(t, &m, "subqueries are not supported in a read");
    fe_put(out->node, "filter", x);
    return 0;
}

static int named_table(struct sub *t, const struct fe_json *v, const struct fe_json *table, struct sub_rel *out)
{
    struct fe_json base, body;
    struct schema s;
    const char *name;
    int n;
    int64_t *fields;
    HD_TRY(table_name(t, table, &name));
    HD_TRY(read_schema(t, v, &base, &body, &s));
    if (s.n == 0)
        return sub_refuse(t, &base, "tables without columns are not supported");
    HD_TRY(read_projection(t, v, s.n, &n, &fields));
    const char *alias = alias_of(t, name, &s), **all = HD_NEWN(t->arena, const char *, s.n);
    for (int i = 0; i < s.n; i++) {
        all[i] = alias ? hd_asprintf(t->arena, "%s.%s", alias, s.names[i]) : s.names[i];
        sub_take_name(t, all[i]);
    }
    out->node = scan(t, name, alias);
    put_columns(t, &s, n, fields, out, all);
    return read_filter(t, v, all, s.n, out);
}

/* ---- values ------------------------------------------------------------------------------ */

static int value(struct sub *t, const struct fe_json *v, bool expressions, struct cJSON **out)
{
    struct fe_json m;
    struct sub_scope nothing = {.place = "a table of values"};
    if (!expressions)
        return sub_literal_value(t, v, out);
    if (fe_json_get(v, "literal", &m))
        return sub_literal_value(t, &m, out);
    struct cJSON *x;
    HD_TRY(sub_expr(t, v, &nothing, &x));
    *out = fe_make_object(t->arena);
    fe_put(*out, "expr", x);
    return 0;
}

static int value_row(struct sub *t, const struct fe_json *v, bool expressions, int n, struct cJSON **out)
{
    struct fe_json fields, m;
    struct cJSON *x;
    *out = fe_make_list(t->arena);
    bool some = sub_list(v, "fields", &fields);
    if ((some ? fe_json_length(&fields) : 0) != n)
        return fe_json_fail(v, "expected %d fields, found %d", n, some ? fe_json_length(&fields) : 0);
    for (bool more = some && fe_json_first(&fields, &m); more; more = fe_json_next(&m)) {
        HD_TRY(value(t, &m, expressions, &x));
        fe_push(*out, x);
    }
    if (n == 0)
        fe_push(*out, fe_make_number(t->arena, 0));
    return 0;
}

static int value_columns(struct sub *t, const struct schema *s, struct cJSON *columns, struct sub_rel *out)
{
    struct fe_json m;
    int i = 0;
    out->n = s->n;
    out->cols = HD_NEWN(t->arena, const char *, s->n + 1);
    for (bool more = s->n && fe_json_first(&s->types, &m); more; more = fe_json_next(&m), i++) {
        const char *type;
        struct cJSON *c = fe_make_object(t->arena);
        HD_TRY(sub_type(t, &m, &type));
        out->cols[i] = sub_new_name(t, s->names[i]);
        fe_put(c, "name", fe_make_string(t->arena, out->cols[i]));
        fe_put(c, "type", fe_make_string(t->arena, type));
        fe_push(columns, c);
    }
    if (s->n)
        return 0;
    struct cJSON *c = fe_make_object(t->arena); /* rows of nothing have a column all the same */
    fe_put(c, "name", fe_make_string(t->arena, sub_new_name(t, "nothing")));
    fe_put(c, "type", fe_make_string(t->arena, "int32"));
    fe_push(columns, c);
    return 0;
}

static int virtual_table(struct sub *t, const struct fe_json *v, const struct fe_json *table, struct sub_rel *out)
{
    struct fe_json base, body, list, m;
    struct schema s;
    struct cJSON *columns = fe_make_list(t->arena), *rows = fe_make_list(t->arena), *row;
    HD_TRY(read_schema(t, v, &base, &body, &s));
    HD_TRY(value_columns(t, &s, columns, out));
    bool expressions = sub_list(table, "expressions", &list), some = expressions || sub_list(table, "values", &list);
    for (bool more = some && fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(value_row(t, &m, expressions, s.n, &row));
        fe_push(rows, row);
    }
    out->one_row = some && fe_json_length(&list) == 1;
    out->exact = s.n > 0;
    out->node = sub_make_op(t, "values");
    fe_put(out->node, "columns", columns);
    fe_put(out->node, "rows", rows);
    return 0;
}

/* What a projection leaves of the values. */
static int choose(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    int n;
    int64_t *fields;
    struct fe_json m;
    if (fe_json_get(v, "filter", &m))
        return sub_refuse(t, &m, "a filter of a table of values is not supported in its read");
    HD_TRY(read_projection(t, v, out->n, &n, &fields));
    const char **cols = HD_NEWN(t->arena, const char *, n + 1);
    for (int i = 0; i < n; i++)
        cols[i] = out->cols[fields[i]];
    out->exact &= n == out->n && memcmp(cols, out->cols, (size_t)n * sizeof *cols) == 0;
    out->cols = cols;
    out->n = n;
    return 0;
}

int sub_read_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    static const char *const names[] = {"namedTable", "virtualTable"};
    int k;
    struct fe_json table;
    HD_TRY(sub_kind(v, names, (int)HD_COUNT(names), "a table", &k, &table));
    if (k == 0)
        return named_table(t, v, &table, out);
    HD_TRY(virtual_table(t, v, &table, out));
    return choose(t, v, out);
}
