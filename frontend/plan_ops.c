/* Reads every operator but the join: fields, expressions, output columns (docs/plan.md 1). */
#include <stdio.h>
#include <string.h>

#include "frontend/plan_read.h"
#include "frontend/value.h"
#include "runtime/base/suggest.h"
#include "runtime/base/vec.h"

/* ---- names ---------------------------------------------------------------------------- */

static const char *prefixed(struct fe_plan_reader *r, const char *alias, const char *name)
{
    return alias ? hd_asprintf(r->arena, "%s.%s", alias, name) : name;
}

static int read_alias(const struct fe_json *v, const char **out)
{
    struct fe_json m;
    *out = NULL;
    return fe_json_get(v, "alias", &m) ? fe_json_name(&m, out) : 0;
}

/* ---- scan, ref ------------------------------------------------------------------------ */

static int find_table(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_table **out)
{
    struct fe_json m;
    const char *name;
    char list[400] = "";
    HD_TRY(fe_json_need(v, "table", &m));
    HD_TRY(fe_json_string(&m, &name));
    *out = fe_catalog_find(r->cat, name);
    if (*out)
        return 0;
    for (int i = 0; i < r->cat->ntables && strlen(list) < 300; i++) {
        size_t k = strlen(list);
        snprintf(list + k, sizeof list - k, "%s%.80s", i ? ", " : "", r->cat->tables[i]->name);
    }
    if (!r->cat->ntables)
        return fe_json_fail(&m, "table \"%.100s\" not found; there are no tables", name);
    struct hd_suggestion suggestion;
    hd_suggest_init(&suggestion, name);
    for (int i = 0; i < r->cat->ntables; i++)
        hd_suggest_offer(&suggestion, r->cat->tables[i]->name);
    return fe_json_fail(&m, "table \"%.100s\" not found%s; tables are %s", name, hd_suggest_hint(&suggestion), list);
}

static struct fe_column *table_columns(struct fe_plan_reader *r, const struct fe_table *t)
{
    struct fe_column *cols = HD_NEWN(r->arena, struct fe_column, t->ncols);
    for (int i = 0; i < t->ncols; i++)
        cols[i] = (struct fe_column){t->cols[i].name, t->cols[i].type, t->cols[i].nullable};
    return cols;
}

static int read_scan_columns(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope, int **out,
                             int *n)
{
    struct fe_json list, m;
    const char *name;
    *n = 0;
    if (!fe_json_get(v, "columns", &list)) {
        *out = HD_NEWN(r->arena, int, scope->ncols);
        for (; *n < scope->ncols; (*n)++)
            (*out)[*n] = *n;
        return 0;
    }
    HD_TRY(fe_json_array(&list));
    *out = HD_NEWN(r->arena, int, fe_json_length(&list));
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(fe_json_string(&m, &name));
        HD_TRY(fe_scope_find(scope, name, fe_json_path(&m), -1, r->err, &(*out)[(*n)++]));
    }
    return 0;
}

int fe_read_SCAN(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "table", "alias", "columns", "filter", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_SCAN_OP, 0);
    const struct fe_table *t;
    const char *alias;
    int ncols;
    HD_TRY(find_table(r, v, &t));
    HD_TRY(read_alias(v, &alias));
    struct fe_scope scope = {t->ncols, table_columns(r, t), alias};
    HD_TRY(read_scan_columns(r, v, &scope, &n->u.scan.columns, &ncols));
    HD_TRY(fe_read_condition(r, v, "filter", &scope, &n->u.scan.filter));
    struct fe_column *cols = HD_NEWN(r->arena, struct fe_column, ncols);
    for (int i = 0; i < ncols; i++) {
        cols[i] = scope.cols[n->u.scan.columns[i]];
        cols[i].name = prefixed(r, alias, cols[i].name);
    }
    n->u.scan.table = t;
    n->u.scan.alias = alias;
    n->u.scan.all_columns = !fe_json_get(v, "columns", &(struct fe_json){0});
    *out = n;
    return fe_set_columns(r, v, n, ncols, cols);
}

int fe_read_REF(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "name", "alias", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_REF_OP, 0);
    struct fe_json m;
    const char *name, *alias;
    HD_TRY(fe_json_need(v, "name", &m));
    HD_TRY(fe_json_string(&m, &name));
    HD_TRY(read_alias(v, &alias));
    HD_TRY(fe_read_shared(r, &m, name, &n->u.ref.shared));
    const struct fe_node *s = r->plan->shared[n->u.ref.shared];
    struct fe_column *cols = hd_dup(r->arena, s->cols, (size_t)s->ncols * sizeof *s->cols);
    for (int i = 0; i < s->ncols; i++)
        cols[i].name = prefixed(r, alias, cols[i].name);
    *out = n;
    return fe_set_columns(r, v, n, s->ncols, cols);
}

/* ---- filter, project -------------------------------------------------------- */

int fe_read_FILTER(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "input", "pred", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_FILTER_OP, 1);
    struct fe_json pred;
    HD_TRY(fe_read_input(r, v, "input", &n->inputs[0]));
    struct fe_scope scope = fe_scope_of(n->inputs[0]);
    struct fe_below below;
    HD_TRY(fe_json_need(v, "pred", &pred));
    fe_subplans_below(&below, r, v, &n->inputs[0], &scope, true);
    HD_TRY(fe_read_condition(r, v, "pred", &scope, &n->u.filter.pred));
    HD_TRY(fe_set_columns(r, v, n, n->inputs[0]->ncols, n->inputs[0]->cols));
    *out = fe_subplans_filtered(&below, v, n);
    return 0;
}

struct outputs {
    int n;
    struct fe_expr **exprs;
    struct fe_column *cols;
};

static void add_output(struct outputs *o, struct fe_expr *e, const char *name)
{
    o->exprs[o->n] = e;
    o->cols[o->n++] = (struct fe_column){name, e->type, e->nullable};
}

static int read_column_name(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                            struct fe_expr **out)
{
    const char *name, *path = fe_json_path(v);
    int col;
    HD_TRY(fe_json_string(v, &name));
    HD_TRY(fe_scope_find(scope, name, path, -1, r->err, &col));
    *out = fe_expr_column(r->arena, col, &scope->cols[col], path);
    return 0;
}

/* "name" or {"expr": ..., "as": "name"} */
static int read_output(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                       struct outputs *o)
{
    struct fe_json expr, as;
    struct fe_expr *e;
    const char *name;
    if (fe_json_kind(v) == FE_JSON_STRING) {
        HD_TRY(read_column_name(r, v, scope, &e));
        add_output(o, e, scope->cols[e->col].name);
        return 0;
    }
    if (fe_json_kind(v) != FE_JSON_OBJECT)
        return fe_json_expected(v, "a column name or {\"expr\": ..., \"as\": ...}");
    HD_TRY(fe_json_object(v, "expr", "as", NULL));
    HD_TRY(fe_json_need(v, "expr", &expr));
    HD_TRY(fe_json_need(v, "as", &as));
    HD_TRY(fe_json_name(&as, &name));
    HD_TRY(fe_read_expr(r, &expr, scope, NULL, NULL, &e));
    add_output(o, e, name);
    return 0;
}

static int read_outputs(struct fe_plan_reader *r, const struct fe_json *list, const struct fe_scope *scope,
                        struct outputs *o)
{
    struct fe_json m;
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m))
        HD_TRY(read_output(r, &m, scope, o));
    return 0;
}

static struct outputs new_outputs(struct fe_plan_reader *r, int cap)
{
    return (struct outputs){0, HD_NEWN(r->arena, struct fe_expr *, cap), HD_NEWN(r->arena, struct fe_column, cap)};
}

static void add_all_columns(struct fe_plan_reader *r, struct outputs *o, const struct fe_node *input, const char *path)
{
    for (int i = 0; i < input->ncols; i++)
        add_output(o, fe_expr_column(r->arena, i, &input->cols[i], path), input->cols[i].name);
}

int fe_read_PROJECT(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "input", "exprs", "keep", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_PROJECT_OP, 1);
    struct fe_json list;
    bool keep = false;
    HD_TRY(fe_read_input(r, v, "input", &n->inputs[0]));
    HD_TRY(fe_json_opt_bool(v, "keep", &keep));
    HD_TRY(fe_json_need(v, "exprs", &list));
    HD_TRY(fe_json_array(&list));
    struct fe_scope scope = fe_scope_of(n->inputs[0]);
    struct fe_below below;
    struct outputs o = new_outputs(r, scope.ncols + fe_json_length(&list));
    if (keep)
        add_all_columns(r, &o, n->inputs[0], n->path);
    fe_subplans_below(&below, r, v, &n->inputs[0], &scope, false);
    HD_TRY(read_outputs(r, &list, &scope, &o));
    n->u.project.exprs = o.exprs;
    *out = n;
    return fe_set_columns(r, v, n, o.n, o.cols);
}

/* ---- aggregate ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int args;
    bool distinct;
} aggs[] = {
#define T_AGG(id, name, args, distinct, merges) {name, args, distinct},
#include "frontend/aggs.def"
};

static int read_agg_fn(const struct fe_json *v, enum fe_agg_fn *out)
{
    /* count without an argument is its own function inside; `any` is the planner's. */
    enum fe_agg_fn fns[FE_AGG_COUNT_OF];
    const char *names[FE_AGG_COUNT_OF];
    struct fe_json fn, arg;
    int n = 0, k = 0;
    for (enum fe_agg_fn i = 0; i < FE_AGG_COUNT_OF; i++)
        if (i != FE_AGG_COUNT_STAR && i != FE_AGG_ANY) {
            fns[n] = i;
            names[n++] = aggs[i].name;
        }
    HD_TRY(fe_json_need(v, "fn", &fn));
    HD_TRY(fe_read_choice(&fn, names, n, &k));
    *out = fns[k];
    if (*out == FE_AGG_COUNT && !fe_json_get(v, "arg", &arg))
        *out = FE_AGG_COUNT_STAR;
    return 0;
}

struct hd_type fe_sum_type(struct hd_type t)
{
    if (t.kind == HD_INT32)
        return hd_type_of(HD_INT64);
    return hd_type_is_float(t) ? hd_type_of(HD_FLOAT64) : hd_decimal(HD_DEC_MAX, t.scale);
}

struct hd_type fe_avg_type(struct hd_type t)
{
    return hd_type_is_float(t) ? hd_type_of(HD_FLOAT64) : hd_decimal(HD_DEC_MAX, HD_MAX(6, t.scale));
}

int fe_agg_type(const struct fe_json *v, struct fe_agg *g)
{
    char found[HD_TEXT_MAX];
    struct hd_type t = g->arg ? g->arg->type : hd_type_of(HD_INT64);
    switch (g->fn) {
    case FE_AGG_COUNT_STAR:
    case FE_AGG_GROUPING:
    case FE_AGG_COUNT_IF:
    case FE_AGG_APPROX_COUNT_DISTINCT:
    case FE_AGG_COUNT: g->type = hd_type_of(HD_INT64); return 0;
    case FE_AGG_SUM:
    case FE_AGG_AVG:
        if (t.kind == HD_INTERVAL && g->distinct)
            return fe_json_fail(v, "equal intervals may look different, so %s takes no \"distinct\" of them",
                                aggs[g->fn].name);
        if (t.kind == HD_INTERVAL) {
            g->type = t;
            return 0;
        }
        if (!hd_type_is_num(t))
            return fe_json_fail(v, "%s expects a number, found %s", aggs[g->fn].name, hd_type_text(t, found));
        g->type = g->fn == FE_AGG_SUM ? fe_sum_type(t) : fe_avg_type(t);
        return 0;
    case FE_AGG_MIN:
    case FE_AGG_MAX:
        if (t.kind == HD_BOOL)
            return fe_json_fail(v, "%s expects any type but bool", aggs[g->fn].name);
        g->type = t;
        return 0;
    case FE_AGG_BIT_AND:
    case FE_AGG_BIT_OR:
    case FE_AGG_BIT_XOR:
        if (!hd_type_is_int(t))
            return fe_json_fail(v, "%s expects an integer, found %s", aggs[g->fn].name, hd_type_text(t, found));
        g->type = hd_type_of(HD_INT64);
        return 0;
    case FE_AGG_BOOL_AND:
    case FE_AGG_BOOL_OR:
    case FE_AGG_ARG_MIN:
    case FE_AGG_ARG_MAX: g->type = t; return 0;
#define T_AGG(id, ...)
#define T_MOMENT(id, ...) case FE_AGG_##id:
#include "frontend/aggs.def"
        if (!hd_type_is_num(t) || (g->by && !hd_type_is_num(g->by->type)))
            return fe_json_fail(v, "%s expects numbers, found %s", aggs[g->fn].name,
                                hd_type_text(hd_type_is_num(t) ? g->by->type : t, found));
        g->type = hd_type_of(g->fn == FE_AGG_REGR_COUNT ? HD_INT64 : HD_FLOAT64);
        return 0;
    case FE_AGG_MEDIAN:
    case FE_AGG_QUANTILE_CONT:
        if (t.kind == HD_INTERVAL && g->fn == FE_AGG_MEDIAN) {
            g->type = t;
            return 0;
        }
        if (!hd_type_is_num(t))
            return fe_json_fail(v, "%s expects a number, found %s; quantile_disc takes values of any type",
                                aggs[g->fn].name, hd_type_text(t, found));
        g->type = t.kind == HD_DECIMAL ? fe_avg_type(t) : hd_type_of(HD_FLOAT64);
        return 0;
    case FE_AGG_STRING_AGG:
        if (t.kind != HD_STRING)
            return fe_json_fail(v, "%s expects a string, found %s", aggs[g->fn].name, hd_type_text(t, found));
        g->type = t;
        return 0;
    case FE_AGG_QUANTILE_DISC:
    case FE_AGG_MODE:
    case FE_AGG_FIRST:
    case FE_AGG_LAST: g->type = t; return 0;
    case FE_AGG_ANY:
    case FE_AGG_COUNT_OF: break;
    }
    HD_BUG("type of an aggregate of the planner");
}

static bool takes_bool(enum fe_agg_fn fn)
{
    return fn == FE_AGG_COUNT_IF || fn == FE_AGG_BOOL_AND || fn == FE_AGG_BOOL_OR;
}

static bool is_of_bits(enum fe_agg_fn fn)
{
    return fn == FE_AGG_BIT_AND || fn == FE_AGG_BIT_OR || fn == FE_AGG_BIT_XOR;
}

static bool is_count(enum fe_agg_fn fn)
{
    return fn == FE_AGG_COUNT || fn == FE_AGG_COUNT_STAR || fn == FE_AGG_COUNT_IF || fn == FE_AGG_GROUPING ||
           fn == FE_AGG_REGR_COUNT || fn == FE_AGG_APPROX_COUNT_DISTINCT;
}

static int read_agg_args(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                         const struct fe_node *n, const struct fe_column *keys, struct fe_agg *g)
{
    struct fe_json arg, by;
    const struct hd_type condition = hd_type_of(HD_BOOL);
    if (g->fn == FE_AGG_GROUPING) {
        HD_TRY(fe_json_need(v, "arg", &arg));
        HD_TRY(fe_read_grouping(r, &arg, n, keys, g));
    } else if (takes_bool(g->fn)) {
        HD_TRY(fe_json_need(v, "arg", &arg));
        HD_TRY(fe_read_expr(r, &arg, scope, &condition, "a condition (bool)", &g->arg));
    } else if (aggs[g->fn].args) {
        HD_TRY(fe_json_need(v, "arg", &arg));
        HD_TRY(fe_read_expr(r, &arg, scope, NULL, NULL, &g->arg));
    }
    if (aggs[g->fn].args > 1) {
        HD_TRY(fe_json_need(v, "by", &by));
        HD_TRY(fe_read_expr(r, &by, scope, NULL, NULL, &g->by));
        g->by = fe_expr_key(r->arena, g->by);
        return 0;
    }
    if (fe_json_get(v, "by", &by))
        return fe_json_fail(&by, "\"by\" belongs to functions of two arguments, not to %s", aggs[g->fn].name);
    return 0;
}

static int read_agg(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                    const struct fe_node *n, const struct fe_column *keys, struct fe_agg *g, struct fe_column *col)
{
    struct fe_json as, distinct, filter;
    HD_TRY(fe_json_object(v, "fn", "arg", "by", "filter", "as", "distinct", "q", "order", "separator", NULL));
    HD_TRY(read_agg_fn(v, &g->fn));
    g->path = fe_json_path(v);
    HD_TRY(read_agg_args(r, v, scope, n, keys, g));
    HD_TRY(fe_json_opt_bool(v, "distinct", &g->distinct));
    if (g->distinct && !aggs[g->fn].distinct) {
        fe_json_get(v, "distinct", &distinct);
        return fe_json_fail(&distinct,
                            "\"distinct\" is for count, sum, avg, bit_xor and string_agg with an "
                            "argument, found %s",
                            aggs[g->fn].name);
    }
    HD_TRY(fe_read_ordered(r, v, scope, g));
    if (g->fn == FE_AGG_GROUPING && fe_json_get(v, "filter", &filter))
        return fe_json_fail(&filter, "\"filter\" is for functions of rows, found %s", aggs[g->fn].name);
    HD_TRY(fe_read_condition(r, v, "filter", scope, &g->filter));
    HD_TRY(fe_agg_type(v, g));
    if (g->arg && g->arg->type.kind == HD_FLOAT32 && (g->fn == FE_AGG_SUM || g->fn == FE_AGG_AVG))
        g->arg = fe_expr_cast(r->arena, g->arg, hd_type_of(HD_FLOAT64)); /* which they add up in */
    if (is_of_bits(g->fn))
        g->arg = fe_expr_cast(r->arena, g->arg, g->type);
    if (g->fn == FE_AGG_APPROX_COUNT_DISTINCT || (g->fn == FE_AGG_COUNT && g->distinct))
        g->arg = fe_expr_key(r->arena, g->arg);
    HD_TRY(fe_json_need(v, "as", &as));
    *col = (struct fe_column){NULL, g->type,
                              !is_count(g->fn) && (fe_has_empty_set(n) || g->filter || fe_agg_is_moment(g->fn) ||
                                                   g->arg->nullable || (g->by && g->by->nullable))};
    return fe_json_name(&as, &col->name);
}

static int read_aggs(struct fe_plan_reader *r, const struct fe_json *list, const struct fe_scope *scope,
                     struct fe_node *n, struct fe_column *cols)
{
    struct fe_json m;
    n->u.agg.aggs = HD_NEWN(r->arena, struct fe_agg, fe_json_length(list));
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m)) {
        int k = n->u.agg.naggs++;
        HD_TRY(read_agg(r, &m, scope, n, cols, &n->u.agg.aggs[k], &cols[n->u.agg.nkeys + k]));
    }
    return 0;
}

int fe_read_AGGREGATE(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "input", "keys", "sets", "rollup", "cube", "aggs", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_AGGREGATE_OP, 1);
    struct fe_json keys, list;
    HD_TRY(fe_read_input(r, v, "input", &n->inputs[0]));
    struct fe_scope scope = fe_scope_of(n->inputs[0]);
    bool has_keys = fe_json_get(v, "keys", &keys);
    HD_TRY(has_keys ? fe_json_array(&keys) : 0);
    HD_TRY(fe_json_need(v, "aggs", &list));
    HD_TRY(fe_json_array(&list));
    int nkeys = has_keys ? fe_json_length(&keys) : 0, naggs = fe_json_length(&list);
    struct outputs o = new_outputs(r, nkeys + naggs);
    if (has_keys)
        HD_TRY(read_outputs(r, &keys, &scope, &o));
    n->u.agg.nkeys = o.n;
    n->u.agg.keys = o.exprs;
    HD_TRY(fe_read_sets(r, v, n, o.cols));
    HD_TRY(read_aggs(r, &list, &scope, n, o.cols));
    *out = n;
    return fe_set_columns(r, v, n, nkeys + naggs, o.cols);
}

/* ---- sort, limit ---------------------------------------------------------------------- */

static int read_nulls(const struct fe_json *v, bool *first)
{
    static const char *const choices[] = {"last", "first"};
    struct fe_json m;
    int k = 0;
    if (fe_json_get(v, "nulls", &m))
        HD_TRY(fe_read_choice(&m, choices, 2, &k));
    *first = k == 1;
    return 0;
}

static int read_stated_key(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                           struct fe_sort_key *k)
{
    struct fe_json expr;
    if (fe_json_kind(v) == FE_JSON_STRING)
        return read_column_name(r, v, scope, &k->expr);
    if (fe_json_kind(v) != FE_JSON_OBJECT)
        return fe_json_expected(v, "a column name or {\"expr\": ..., \"desc\": ...}");
    HD_TRY(fe_json_object(v, "expr", "desc", "nulls", NULL));
    HD_TRY(fe_json_need(v, "expr", &expr));
    HD_TRY(fe_read_expr(r, &expr, scope, NULL, NULL, &k->expr));
    HD_TRY(fe_json_opt_bool(v, "desc", &k->desc));
    return read_nulls(v, &k->nulls_first);
}

/* Ties of an interval by its length are broken by the columns that are left, the interval's own among them. */
static int read_sort_key(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                         struct fe_sort_key *k)
{
    HD_TRY(read_stated_key(r, v, scope, k));
    k->expr = fe_expr_key(r->arena, k->expr);
    return 0;
}

static bool sorts_by(const struct fe_node *n, int col)
{
    for (int i = 0; i < n->u.sort.nstated; i++)
        if (n->u.sort.keys[i].expr->op == FE_COL && n->u.sort.keys[i].expr->col == col)
            return true;
    return false;
}

/* Rows that tie are ordered by the columns that are left, so that a result is one list of
 * rows and not one of several. */
static void add_tie_breakers(struct fe_plan_reader *r, struct fe_node *n, const struct fe_scope *scope)
{
    for (int c = 0; c < scope->ncols; c++)
        if (!sorts_by(n, c))
            n->u.sort.keys[n->u.sort.nkeys++] =
                (struct fe_sort_key){fe_expr_column(r->arena, c, &scope->cols[c], n->path), false, false};
}

static int read_limits(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n)
{
    HD_TRY(fe_read_integer(r, v, "limit", FE_CONSTANT_ROWS, &n->u.sort.limit));
    HD_TRY(fe_read_integer(r, v, "offset", FE_CONSTANT_ROWS, &n->u.sort.offset));
    if (n->u.sort.offset && n->u.sort.offset->op == FE_LIT && !n->u.sort.offset->value.i)
        n->u.sort.offset = NULL;
    return 0;
}

int fe_read_SORT(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "input", "keys", "limit", "offset", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_SORT_OP, 1);
    struct fe_json keys, m;
    HD_TRY(fe_read_input(r, v, "input", &n->inputs[0]));
    struct fe_scope scope = fe_scope_of(n->inputs[0]);
    HD_TRY(fe_json_need(v, "keys", &keys));
    HD_TRY(fe_json_array(&keys));
    if (!fe_json_length(&keys))
        return fe_json_fail(&keys, "expected at least one sort key");
    n->u.sort.keys = HD_NEWN(r->arena, struct fe_sort_key, fe_json_length(&keys) + scope.ncols);
    for (bool more = fe_json_first(&keys, &m); more; more = fe_json_next(&m))
        HD_TRY(read_sort_key(r, &m, &scope, &n->u.sort.keys[n->u.sort.nkeys++]));
    n->u.sort.nstated = n->u.sort.nkeys;
    add_tie_breakers(r, n, &scope);
    HD_TRY(read_limits(r, v, n));
    *out = n;
    return fe_set_columns(r, v, n, scope.ncols, scope.cols);
}

/* ---- top, distinct ------------------------------------------------------------------- */

static int read_stated_group(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                             struct fe_sort_key *k)
{
    struct fe_json expr;
    if (fe_json_kind(v) == FE_JSON_STRING)
        return read_column_name(r, v, scope, &k->expr);
    if (fe_json_kind(v) != FE_JSON_OBJECT)
        return fe_json_expected(v, "a column name or {\"expr\": ...}");
    HD_TRY(fe_json_object(v, "expr", NULL));
    HD_TRY(fe_json_need(v, "expr", &expr));
    return fe_read_expr(r, &expr, scope, NULL, NULL, &k->expr);
}

static int read_group_key(struct fe_plan_reader *r, const struct fe_json *v, const struct fe_scope *scope,
                          struct fe_sort_key *k)
{
    HD_TRY(read_stated_group(r, v, scope, k));
    k->expr = fe_expr_key(r->arena, k->expr);
    return 0;
}

int fe_read_order(struct fe_plan_reader *r, const struct fe_json *v, const char *group, const struct fe_scope *scope,
                  struct fe_node *n)
{
    struct fe_json keys, order, m;
    bool grouped = group && fe_json_get(v, group, &keys), ordered = fe_json_get(v, "order", &order);
    HD_TRY(grouped ? fe_json_array(&keys) : 0);
    HD_TRY(ordered ? fe_json_array(&order) : 0);
    if (ordered && !fe_json_length(&order))
        return fe_json_fail(&order, "expected at least one sort key");
    int cap = (grouped ? fe_json_length(&keys) : 0) + (ordered ? fe_json_length(&order) : 0) + scope->ncols + 1;
    n->u.sort.keys = HD_NEWN(r->arena, struct fe_sort_key, cap);
    for (bool more = grouped && fe_json_first(&keys, &m); more; more = fe_json_next(&m))
        HD_TRY(read_group_key(r, &m, scope, &n->u.sort.keys[n->u.sort.nkeys++]));
    n->u.sort.ngroup = n->u.sort.nkeys;
    for (bool more = ordered && fe_json_first(&order, &m); more; more = fe_json_next(&m))
        HD_TRY(read_sort_key(r, &m, scope, &n->u.sort.keys[n->u.sort.nkeys++]));
    n->u.sort.nstated = n->u.sort.nkeys;
    add_tie_breakers(r, n, scope);
    return 0;
}

int fe_read_TOP(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    static const char *const choices[] = {"cut", "keep"};
    HD_TRY(fe_json_object(v, "op", "comment", "input", "keys", "order", "limit", "offset", "ties", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_TOP_OP, 1);
    struct fe_json m;
    int ties = 0;
    HD_TRY(fe_read_input(r, v, "input", &n->inputs[0]));
    struct fe_scope scope = fe_scope_of(n->inputs[0]);
    HD_TRY(fe_json_need(v, "order", &m));
    HD_TRY(fe_read_order(r, v, "keys", &scope, n));
    HD_TRY(fe_json_need(v, "limit", &m));
    HD_TRY(read_limits(r, v, n));
    if (fe_json_get(v, "ties", &m))
        HD_TRY(fe_read_choice(&m, choices, 2, &ties));
    n->u.sort.keep = ties == 1;
    *out = n;
    return fe_set_columns(r, v, n, scope.ncols, scope.cols);
}

/* The first row of each group. */
static int read_distinct_on(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    struct fe_node *n = fe_new_node(r, v, FE_TOP_OP, 1);
    struct fe_json on;
    fe_json_get(v, "on", &on);
    HD_TRY(fe_json_array(&on));
    if (!fe_json_length(&on))
        return fe_json_fail(&on, "expected at least one key");
    HD_TRY(fe_read_input(r, v, "input", &n->inputs[0]));
    struct fe_scope scope = fe_scope_of(n->inputs[0]);
    HD_TRY(fe_read_order(r, v, "on", &scope, n));
    if (n->u.sort.nkeys == n->u.sort.ngroup) /* rows of a group are equal */
        n->u.sort.keys[n->u.sort.nkeys++] = n->u.sort.keys[0];
    if (n->u.sort.nstated == n->u.sort.ngroup)
        n->u.sort.nstated++;
    n->u.sort.limit = fe_constant_int(r, v, 1);
    *out = n;
    return fe_set_columns(r, v, n, scope.ncols, scope.cols);
}

int fe_read_DISTINCT(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    struct fe_json m;
    HD_TRY(fe_json_object(v, "op", "comment", "input", "on", "order", NULL));
    if (fe_json_get(v, "on", &m))
        return read_distinct_on(r, v, out);
    if (fe_json_get(v, "order", &m))
        return fe_json_fail(&m, "\"order\" belongs to \"on\"; without it rows that are equal are one");
    struct fe_node *n = fe_new_node(r, v, FE_DISTINCT_OP, 1);
    HD_TRY(fe_read_input(r, v, "input", &n->inputs[0]));
    struct outputs o = new_outputs(r, n->inputs[0]->ncols);
    add_all_columns(r, &o, n->inputs[0], n->path);
    n->u.agg.nkeys = o.n;
    n->u.agg.keys = o.exprs;
    *out = n;
    return fe_set_columns(r, v, n, o.n, o.cols);
}

int fe_read_LIMIT(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "input", "limit", "offset", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_LIMIT_OP, 1);
    struct fe_json limit;
    HD_TRY(fe_read_input(r, v, "input", &n->inputs[0]));
    HD_TRY(fe_json_need(v, "limit", &limit));
    HD_TRY(read_limits(r, v, n));
    *out = n;
    return fe_set_columns(r, v, n, n->inputs[0]->ncols, n->inputs[0]->cols);
}
