/* The choice of a scheme: the plan is cut by each, and the cheapest cut stays. */
#include "planner/distribute.h"

#include <string.h>

#include "frontend/catalog.h"
#include "frontend/json_make.h"
#include "planner/distribute_walk.h"
#include "planner/estimate.h"

struct tables {
    HD_VEC(const struct fe_table *) v;
};

static void collect(struct hd_arena *a, struct tables *t, const struct fe_node *n)
{
    bool there = n->op != FE_SCAN_OP;
    for (int i = 0; i < t->v.n && !there; i++)
        there = t->v.v[i] == n->u.scan.table;
    if (!there)
        hd_vec_push(a, &t->v, n->u.scan.table);
    for (int i = 0; i < n->ninputs; i++)
        collect(a, t, n->inputs[i]);
}

/* What no name of a table, or of a parameter, begins with. */
static const char *free_prefix(struct hd_arena *a, const char *wanted, const char *const *names, int n)
{
    char *prefix = hd_strdup(a, wanted);
    for (int i = 0; i < n; i++)
        if (strncmp(names[i], prefix, strlen(prefix)) == 0) {
            prefix = hd_asprintf(a, "%s_", prefix);
            i = -1;
        }
    return prefix;
}

static void name_prefixes(struct dist *d, const struct fe_catalog *cat)
{
    const char **tables = HD_NEWN(d->a, const char *, cat->ntables + 1);
    const char **params = HD_NEWN(d->a, const char *, d->plan->nparams + 1);
    for (int i = 0; i < cat->ntables; i++)
        tables[i] = cat->tables[i]->name;
    for (int i = 0; i < d->plan->nparams; i++)
        params[i] = d->plan->params[i].name;
    d->table_prefix = free_prefix(d->a, "fragment_", tables, cat->ntables);
    d->param_prefix = free_prefix(d->a, "worker", params, d->plan->nparams);
}

/* The plan cut by a scheme; NULL: not at all. */
static struct dist cut(const struct dist *from, const struct pl_scheme *s)
{
    struct dist d = *from;
    d.scheme = s;
    d.shared = HD_NEWN(d.a, struct dist_shared, d.plan->nshared + 1);
    struct dist_rel root = dist_walk(&d, fe_member(d.tree, "root"), d.plan->root, "$.root");
    dist_cut_all(&d, root, dist_rows(&d, root.node));
    return d;
}

/* The column of a base table whose values an output column of n has; table NULL: there is none. */
static struct pl_scheme origin(const struct fe_node *n, int column)
{
    const struct fe_expr *e;
    switch (n->op) {
    case FE_SCAN_OP: return (struct pl_scheme){.table = n->u.scan.table, .column = n->u.scan.columns[column]};
    case FE_FILTER_OP: return origin(n->inputs[0], column);
    case FE_PROJECT_OP:
        e = n->u.project.exprs[column];
        return e->op == FE_COL ? origin(n->inputs[0], e->col) : (struct pl_scheme){0};
    case FE_AGGREGATE_OP:
        e = column < n->u.agg.nkeys && n->u.agg.nsets == 0 ? n->u.agg.keys[column] : NULL;
        return e && e->op == FE_COL ? origin(n->inputs[0], e->col) : (struct pl_scheme){0};
    case FE_JOIN_OP:
        if (column < n->inputs[0]->ncols)
            return origin(n->inputs[0], column);
        return n->u.join.kind == FE_MARK ? (struct pl_scheme){0} : origin(n->inputs[1], column - n->inputs[0]->ncols);
    case FE_REF_OP:
    case FE_PAIRS_OP:
    case FE_DISTINCT_OP:
    case FE_SORT_OP:
    case FE_LIMIT_OP:
    case FE_TOP_OP:
    case FE_WINDOW_OP:
    case FE_UNION_ALL_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_REPEAT_OP:
    case FE_VALUES_OP:
    case FE_RELOP_COUNT: break;
    }
    return (struct pl_scheme){0};
}

/* The sort of all rows in whose order the result shows them. */
static const struct fe_node *find_shown_sort(const struct fe_node *n)
{
    while (n->op == FE_PROJECT_OP || n->op == FE_FILTER_OP)
        n = n->inputs[0];
    return n->op == FE_SORT_OP && fe_limit(n) < 0 && fe_offset(n) == 0 ? n : NULL;
}

/* Where states have to be small: ranges of the first key of the result's order, so that each worker sorts its own rows. */
static int add_sort_scheme(const struct dist *d, struct pl_scheme *schemes, int n)
{
    const struct fe_node *sort = d->shown_sort;
    const struct fe_sort_key *key = sort ? &sort->u.sort.keys[0] : NULL;
    if (!key || key->expr->op != FE_COL)
        return n;
    struct pl_scheme s = origin(sort->inputs[0], key->expr->col);
    if (!s.table || !pl_scheme_may_range(s.table, s.column, d->workers))
        return n;
    s.in_order = true;
    s.descending = key->desc;
    schemes[n] = s;
    return n + 1;
}

/* States that fit, or the smallest ones, come before cost. */
static bool is_better(const struct dist *x, const struct dist *y)
{
    double a = HD_MAX(x->state_bytes, x->memory), b = HD_MAX(y->state_bytes, y->memory);
    return x->memory > 0 && a != b ? a < b : x->cost < y->cost;
}

static bool is_divided(const struct dist *d)
{
    for (int i = 0; i < d->fragments.n; i++)
        if (d->fragments.v[i].every)
            return true;
    return false;
}

static int cut_best(const struct dist *start, const struct pl_distribute_options *opt, struct dist *out,
                    struct hd_err *err)
{
    struct tables t = {0};
    struct pl_scheme *schemes;
    collect(start->a, &t, start->plan->root);
    for (int i = 0; i < start->plan->nshared; i++)
        collect(start->a, &t, start->plan->shared[i]);
    int n = pl_schemes(start->a, t.v.v, t.v.n, opt->workers, &schemes);
    n = add_sort_scheme(start, schemes, n);
    *out = cut(start, NULL);
    bool any = dist_in_passes(out) && is_divided(out);
    for (int i = 0; i < n && opt->workers > 1 && !opt->segments; i++) {
        HD_TRY(pl_scheme_cut(start->a, &schemes[i], t.v.v, t.v.n, opt->workers, opt->value, err));
        struct dist d = cut(start, &schemes[i]);
        if (!any || is_better(&d, out))
            *out = d;
        any = true;
    }
    if (out->may_part && !dist_in_passes(out)) {
        struct dist parted = *start;
        parted.part_groups = true;
        parted = cut(&parted, out->scheme);
        if (is_better(&parted, out))
            *out = parted;
    }
    return 0;
}

/* Of schemes that tables of the chosen cut have of their own. */
static int cut_own(const struct dist *d, pl_value_fn value, struct hd_err *err)
{
    for (int i = 0; i < d->fragments.n; i++) {
        struct pl_scheme *s = d->fragments.v[i].own;
        if (s)
            HD_TRY(pl_scheme_cut(d->a, s, &s->table, 1, d->workers, value, err));
    }
    return 0;
}

int pl_distribute(struct hd_arena *a, const struct fe_plan *plan, const struct cJSON *tree,
                  const struct fe_catalog *cat, const struct pl_distribute_options *opt, struct cJSON **out,
                  struct hd_err *err)
{
    struct ctx *c = HD_NEW(a, struct ctx);
    c->a = a;
    c->plan = plan;
    c->err = err;
    c->opt = (struct pl_options){.touch_dict = opt->touch_dict};
    c->est = HD_NEWN(a, struct est_node, plan->nnodes + 1);
    struct dist start = {.a = a, .c = c, .plan = plan, .tree = tree, .workers = opt->workers, .memory = opt->memory},
                best;
    start.segments = opt->segments;
    start.gpus = opt->gpus;
    start.link = opt->link;
    start.divide = opt->divide;
    start.streams = opt->streams;
    dist_need(&start);
    name_prefixes(&start, cat);
    start.shown_sort = opt->memory > 0 ? find_shown_sort(plan->root) : NULL;
    HD_TRY(cut_best(&start, opt, &best, err));
    HD_TRY(cut_own(&best, opt->value, err));
    *out = dist_document(&best);
    return 0;
}
