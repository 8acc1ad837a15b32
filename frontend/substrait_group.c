/* Groupings and set operations. */
#include <stdio.h>
#include <string.h>

#include "frontend/substrait_read.h"
#include "runtime/base/vec.h"

/* ---- keys -------------------------------------------------------------------------------- */

struct key {
    struct cJSON *expr;
    const char *name;
};
struct group {
    struct sub_rel input;
    struct sub_scope scope;
    HD_VEC(struct key) keys; /* each once, where `merge` */
    HD_VEC(int) fields;      /* of the grouping expressions, which key */
    struct cJSON *sets;      /* lists of names */
    int nsets;
    bool by_reference, merge;
};

static int find_key(struct sub *t, struct group *g, struct cJSON *x)
{
    const char *column = sub_column_of(x);
    for (int i = 0; i < g->keys.n; i++)
        if (fe_same_json(g->keys.v[i].expr, x)) {
            if (g->merge)
                return i;
            column = NULL;
        }
    hd_vec_push(t->arena, &g->keys, (struct key){x, column ? column : sub_new_name(t, "key")});
    return g->keys.n - 1;
}

static int read_expressions(struct sub *t, const struct fe_json *list, struct group *g)
{
    struct fe_json m;
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m)) {
        struct cJSON *x;
        HD_TRY(sub_expr(t, &m, &g->scope, &x));
        int k = find_key(t, g, x);
        hd_vec_push(t->arena, &g->fields, k);
    }
    return 0;
}

static void add_to_set(struct sub *t, const struct group *g, int key, struct cJSON *set)
{
    for (const struct cJSON *there = fe_first_json(set); there; there = fe_next_json(there))
        if (strcmp(fe_text_of(there), g->keys.v[key].name) == 0)
            return;
    fe_push(set, fe_make_string(t->arena, g->keys.v[key].name));
}

/* A set says its expressions, or which of the relation's they are. */
static int read_set(struct sub *t, const struct fe_json *v, struct group *g)
{
    struct fe_json list, m;
    struct cJSON *set = fe_make_list(t->arena);
    if (g->by_reference && sub_list(v, "expressionReferences", &list)) {
        for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
            int64_t k;
            HD_TRY(fe_json_int(&m, 0, g->fields.n - 1, &k));
            add_to_set(t, g, g->fields.v[k], set);
        }
    } else if (!g->by_reference && sub_list(v, "groupingExpressions", &list)) {
        int from = g->fields.n;
        HD_TRY(read_expressions(t, &list, g));
        for (int i = from; i < g->fields.n; i++)
            add_to_set(t, g, g->fields.v[i], set);
    }
    fe_push(g->sets, set);
    g->nsets++;
    return 0;
}

static int read_groupings(struct sub *t, const struct fe_json *v, struct group *g)
{
    struct fe_json list, m;
    g->sets = fe_make_list(t->arena);
    bool several = sub_list(v, "groupings", &list) && fe_json_length(&list) > 1;
    g->by_reference = sub_list(v, "groupingExpressions", &list);
    g->merge = !several || !g->by_reference || t->producer == SUB_DATAFUSION;
    if (g->by_reference)
        HD_TRY(read_expressions(t, &list, g));
    bool some = sub_list(v, "groupings", &list);
    for (bool more = some && fe_json_first(&list, &m); more; more = fe_json_next(&m))
        HD_TRY(read_set(t, &m, g));
    return 0;
}

static struct cJSON *key_list(struct sub *t, const struct group *g)
{
    struct cJSON *list = fe_make_list(t->arena);
    for (int i = 0; i < g->keys.n; i++) {
        const char *column = sub_column_of(g->keys.v[i].expr);
        if (column && strcmp(column, g->keys.v[i].name) == 0) {
            fe_push(list, fe_make_string(t->arena, g->keys.v[i].name));
            continue;
        }
        struct cJSON *key = fe_make_object(t->arena);
        fe_put(key, "expr", g->keys.v[i].expr);
        fe_put(key, "as", fe_make_string(t->arena, g->keys.v[i].name));
        fe_push(list, key);
    }
    return list;
}

/* ---- measures ---------------------------------------------------------------------------- */

static int read_measure(struct sub *t, const struct fe_json *v, struct group *g, struct cJSON *aggs, const char **name)
{
    struct fe_json call, filter;
    struct cJSON *f, *x;
    HD_TRY(fe_json_need(v, "measure", &call));
    HD_TRY(sub_aggregate(t, &call, &g->scope, false, &f));
    if (fe_json_get(v, "filter", &filter)) {
        HD_TRY(sub_expr(t, &filter, &g->scope, &x));
        fe_put(f, "filter", x);
    }
    *name = sub_new_name(t, fe_member_text(f, "fn"));
    fe_put(f, "as", fe_make_string(t->arena, *name));
    fe_push(aggs, f);
    return 0;
}

/* Bits of keys that a row's set lacks, as DataFusion's own column has it. */
static const char *add_grouping(struct sub *t, const struct group *g, struct cJSON *aggs)
{
    struct cJSON *f = fe_make_object(t->arena), *names = fe_make_list(t->arena);
    const char *name = sub_new_name(t, "grouping");
    for (int i = 0; i < g->keys.n; i++)
        fe_push(names, fe_make_string(t->arena, g->keys.v[i].name));
    fe_put(f, "fn", fe_make_string(t->arena, "grouping"));
    fe_put(f, "arg", names);
    fe_put(f, "as", fe_make_string(t->arena, name));
    fe_push(aggs, f);
    return name;
}

static struct cJSON *integer(struct sub *t, int64_t i, const char *type)
{
    struct cJSON *x = fe_make_object(t->arena);
    fe_put(x, "lit", fe_make_text(t->arena, hd_asprintf(t->arena, "%lld", (long long)i)));
    fe_put(x, "type", fe_make_string(t->arena, type));
    return x;
}

static int64_t lacking(const struct group *g, const struct cJSON *set)
{
    int64_t bits = 0;
    for (int i = 0; i < g->keys.n; i++) {
        bool has = false;
        for (const struct cJSON *m = fe_first_json(set); m; m = fe_next_json(m))
            has |= strcmp(fe_text_of(m), g->keys.v[i].name) == 0;
        bits = bits << 1 | !has;
    }
    return bits;
}

/* The number of the row's set, as Substrait has it behind the measures. */
static const char *add_set_number(struct sub *t, const struct group *g, const char *grouping, struct sub_rel *out)
{
    struct cJSON *choice = sub_call(t, "case", NULL), *node = sub_make_op(t, "project"), *list = fe_make_list(t->arena);
    struct cJSON *e = fe_make_object(t->arena);
    const char *name = sub_new_name(t, "grouping_set");
    int i = 0;
    for (const struct cJSON *set = fe_first_json(g->sets); set; set = fe_next_json(set), i++) {
        sub_add_arg(choice, sub_call(t, "=", sub_make_col(t, grouping), integer(t, lacking(g, set), "int64"), NULL));
        sub_add_arg(choice, integer(t, i, "int32"));
    }
    fe_put(e, "expr", choice);
    fe_put(e, "as", fe_make_string(t->arena, name));
    fe_push(list, e);
    fe_put(node, "input", out->node);
    fe_put(node, "keep", fe_make_bool(t->arena, true));
    fe_put(node, "exprs", list);
    out->node = node;
    return name;
}

struct fields {
    const char **v;
    int n;
};

static void add_field(struct fields *f, const char *name)
{
    if (name)
        f->v[f->n++] = name;
}

static int read_measures(struct sub *t, const struct fe_json *v, struct group *g, struct cJSON *aggs, struct fields *f)
{
    struct fe_json list, m;
    bool some = sub_list(v, "measures", &list);
    f->v = HD_NEWN(t->arena, const char *, some ? fe_json_length(&list) : 1);
    for (bool more = some && fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        const char *name;
        HD_TRY(read_measure(t, &m, g, aggs, &name));
        add_field(f, name);
    }
    return 0;
}

/* DataFusion has the keys once, its grouping id, the measures; Substrait all expressions, the measures, the set's number. */
static void put_fields(struct sub *t, const struct group *g, const struct fields *measures, const char *grouping,
                       struct sub_rel *out)
{
    bool own = t->producer == SUB_DATAFUSION;
    struct fields f = {HD_NEWN(t->arena, const char *, g->keys.n + g->fields.n + measures->n + 2), 0};
    for (int i = 0; i < (own ? g->keys.n : g->fields.n); i++)
        add_field(&f, g->keys.v[own ? i : g->fields.v[i]].name);
    if (own)
        add_field(&f, grouping);
    for (int i = 0; i < measures->n; i++)
        add_field(&f, measures->v[i]);
    if (!own && grouping)
        add_field(&f, add_set_number(t, g, grouping, out));
    out->cols = f.v;
    out->n = f.n;
    out->exact = !grouping || own;
    for (int i = 0; i < g->fields.n && !own; i++)
        out->exact &= g->fields.v[i] == i;
}

/* The only set does not have all keys: the others are NULL. */
static bool lacks_keys(const struct group *g)
{
    int n = 0;
    for (const struct cJSON *m = g->nsets == 1 ? fe_first_json(fe_first_json(g->sets)) : NULL; m; m = fe_next_json(m))
        n++;
    return g->nsets == 1 && n < g->keys.n;
}

int sub_aggregate_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    struct group g = {0};
    struct cJSON *aggs = fe_make_list(t->arena);
    struct fields measures = {0};
    HD_TRY(sub_input(t, v, "input", &g.input));
    g.scope = (struct sub_scope){.input = &g.input, .place = "an aggregate"};
    HD_TRY(read_groupings(t, v, &g));
    const char *grouping = g.nsets > 1 && g.keys.n ? add_grouping(t, &g, aggs) : NULL;
    HD_TRY(read_measures(t, v, &g, aggs, &measures));
    out->node = sub_make_op(t, "aggregate");
    fe_put(out->node, "input", g.input.node);
    if (g.keys.n)
        fe_put(out->node, "keys", key_list(t, &g));
    if (g.nsets > 1 || lacks_keys(&g))
        fe_put(out->node, "sets", g.sets);
    fe_put(out->node, "aggs", aggs);
    put_fields(t, &g, &measures, grouping, out);
    out->one_row = g.keys.n == 0 && g.nsets < 2;
    return 0;
}

/* ---- set operations ---------------------------------------------------------------------- */

static const struct set_op {
    const char *name, *heddle;
    bool all, pairs; /* pairs: of more than two inputs it means something else */
} set_ops[] = {{"SET_OP_UNION_ALL", "union_all", false, false},
               {"SET_OP_UNION_DISTINCT", "union", false, false},
               {"SET_OP_INTERSECTION_MULTISET", "intersect", false, false},
               {"SET_OP_INTERSECTION_MULTISET_ALL", "intersect", true, false},
               {"SET_OP_INTERSECTION_PRIMARY", "intersect", false, true},
               {"SET_OP_MINUS_PRIMARY", "except", false, false},
               {"SET_OP_MINUS_PRIMARY_ALL", "except", true, false},
               {"SET_OP_MINUS_MULTISET", "except", false, true}};

/* Rows of nothing have a column all the same. */
static void give_column(struct sub *t, struct sub_rel *r)
{
    struct cJSON *node = sub_make_op(t, "project"), *exprs = fe_make_list(t->arena), *e = fe_make_object(t->arena);
    fe_put(e, "expr", integer(t, 0, "int32"));
    fe_put(e, "as", fe_make_string(t->arena, sub_new_name(t, "nothing")));
    fe_push(exprs, e);
    fe_put(node, "input", r->node);
    fe_put(node, "exprs", exprs);
    r->node = node;
}

static int set_input(struct sub *t, const struct fe_json *v, struct cJSON *inputs, struct sub_rel *out)
{
    struct sub_rel r;
    HD_TRY(t->rel(t, v, &r));
    if (r.n == 0)
        give_column(t, &r);
    sub_narrow(t, &r);
    if (!fe_first_json(inputs))
        *out = r;
    else if (r.n != out->n)
        return fe_json_fail(v, "expected %d fields as of the first input, found %d", out->n, r.n);
    fe_push(inputs, r.node);
    return 0;
}

int sub_set_rel(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    struct fe_json list, m;
    const struct set_op *op = NULL;
    const char *name = sub_text(v, "op");
    struct cJSON *inputs = fe_make_list(t->arena);
    for (size_t i = 0; i < HD_COUNT(set_ops); i++)
        if (strcmp(set_ops[i].name, name) == 0)
            op = &set_ops[i];
    HD_TRY(fe_json_need(v, "inputs", &list));
    if (!op || (op->pairs && fe_json_length(&list) > 2))
        return sub_refuse(t, v, "expected a set operation that is supported, found \"%.60s\" of %d inputs", name,
                          fe_json_length(&list));
    if (fe_json_length(&list) < 2)
        return fe_json_fail(&list, "expected two inputs or more");
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m))
        HD_TRY(set_input(t, &m, inputs, out));
    out->node = sub_make_op(t, op->heddle);
    fe_put(out->node, "inputs", inputs);
    if (op->all)
        fe_put(out->node, "all", fe_make_bool(t->arena, true));
    out->one_row = false;
    return 0;
}
