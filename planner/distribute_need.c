/* What the cut plan has to know of the typed plan, as it is written: its operators are not yet said with others. */
#include <math.h>

#include "planner/distribute_fragment.h"
#include "planner/estimate.h"
#include "planner/need.h"
#include "planner/typed_range.h"

/* ---- columns that are read --------------------------------------------------------------------------------------- */

static void need_all(struct dist *d, const struct fe_node *n)
{
    for (int i = 0; i < n->ncols; i++)
        d->need[n->id][i] = true;
}

static void need_some(bool *need, const struct fe_expr *e)
{
    if (e)
        need_expr(need, e);
}

static void need_agg(bool *in, const struct fe_agg *g)
{
    need_some(in, g->arg);
    need_some(in, g->by);
    need_some(in, g->filter);
    for (int i = 0; i < g->norder; i++)
        need_some(in, g->order[i].expr);
}

static void need_join(struct dist *d, const struct fe_node *n)
{
    const struct fe_node *l = n->inputs[0], *r = n->inputs[1];
    bool *need = d->need[n->id], *nl = d->need[l->id], *nr = d->need[r->id];
    bool *both = HD_NEWN(d->a, bool, l->ncols + r->ncols + 1);
    bool one_side = n->u.join.kind == FE_SEMI || n->u.join.kind == FE_ANTI || n->u.join.kind == FE_MARK;
    for (int i = 0; i < (one_side ? l->ncols : n->ncols); i++)
        both[i] = need[i];
    need_some(both, n->u.join.residual);
    for (int i = 0; i < n->u.join.nkeys; i++) {
        need_expr(nl, n->u.join.lkeys[i]);
        need_expr(nr, n->u.join.rkeys[i]);
    }
    for (int i = 0; i < l->ncols; i++)
        nl[i] |= both[i];
    for (int i = 0; i < r->ncols; i++)
        nr[i] |= both[l->ncols + i];
    if (!n->u.join.asof[0])
        return;
    need_expr(nl, n->u.join.asof[0]);
    need_all(d, r); /* they break ties */
}

/* Either row may be the one that comes first. */
static void need_pairs(struct dist *d, const struct fe_node *n)
{
    int half = n->inputs[0]->ncols;
    bool *both = HD_NEWN(d->a, bool, n->ncols + 1);
    need_some(both, n->u.pairs.pred);
    for (int i = 0; i < n->ncols; i++)
        d->need[n->inputs[0]->id][i % half] |= both[i] || d->need[n->id][i];
}

static void need_below(struct dist *d, const struct fe_node *n)
{
    bool *need = d->need[n->id], *in = n->ninputs ? d->need[n->inputs[0]->id] : NULL;
    if (n->op == FE_FILTER_OP) {
        for (int i = 0; i < n->ncols; i++)
            in[i] |= need[i];
        need_expr(in, n->u.filter.pred);
    } else if (n->op == FE_PROJECT_OP) {
        for (int i = 0; i < n->ncols; i++)
            need_expr(in, n->u.project.exprs[i]);
    } else if (n->op == FE_JOIN_OP) {
        need_join(d, n);
    } else if (n->op == FE_PAIRS_OP) {
        need_pairs(d, n);
    } else if (n->op == FE_AGGREGATE_OP) {
        for (int i = 0; i < n->u.agg.nkeys; i++)
            need_expr(in, n->u.agg.keys[i]);
        for (int i = 0; i < n->u.agg.naggs; i++)
            need_agg(in, &n->u.agg.aggs[i]);
    } else if (n->op == FE_REF_OP) {
        const struct fe_node *s = d->plan->shared[n->u.ref.shared];
        for (int i = 0; i < n->ncols; i++)
            d->need[s->id][i] |= need[i];
    } else { /* all columns break ties, or make rows different, or are counted */
        for (int i = 0; i < n->ninputs; i++)
            need_all(d, n->inputs[i]);
    }
    for (int i = 0; i < n->ninputs; i++)
        need_below(d, n->inputs[i]);
}

static bool prepare(struct dist *d, const struct fe_node *n)
{
    bool sets = n->op == FE_UNION_OP || n->op == FE_INTERSECT_OP || n->op == FE_EXCEPT_OP;
    d->need[n->id] = HD_NEWN(d->a, bool, n->ncols + 1);
    for (int i = 0; i < n->ninputs; i++)
        sets |= prepare(d, n->inputs[i]);
    if (n->op == FE_REF_OP)
        sets |= d->set_op[d->plan->shared[n->u.ref.shared]->id];
    return d->set_op[n->id] = sets;
}

void dist_need(struct dist *d)
{
    const struct fe_plan *p = d->plan;
    d->need = HD_NEWN(d->a, bool *, p->nnodes + 1);
    d->set_op = HD_NEWN(d->a, bool, p->nnodes + 1);
    d->rows = HD_NEWN(d->a, double, p->nnodes + 1);
    d->work = HD_NEWN(d->a, double, p->nnodes + 1);
    for (int i = 0; i < p->nnodes; i++)
        d->work[i] = -1;
    for (int i = 0; i < p->nshared; i++)
        prepare(d, p->shared[i]);
    prepare(d, p->root);
    need_all(d, p->root);
    need_below(d, p->root);
    /* References point backwards only: what the last one needs is complete first. */
    for (int i = p->nshared - 1; i >= 0; i--)
        need_below(d, p->shared[i]);
}

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

/* An expression can have so many by its range; one that nobody bounds as many as its type. */
static double values_of(const struct dist *d, const struct fe_node *input, const struct fe_expr *e)
{
    struct pl_range r = pl_typed_range(d->plan, input, e);
    return r.known ? (double)r.hi - (double)r.lo + 2 : INFINITY; /* and NULL */
}

/* Groups that keys make of rows of `input`. */
static double groups_of(const struct dist *d, const struct fe_node *input, int nkeys, struct fe_expr *const *keys)
{
    double rows = dist_rows(d, input), groups = 1;
    for (int i = 0; i < nkeys; i++) {
        struct est_key k = d->set_op[input->id] ? (struct est_key){-1, 0} : est_key(d->c, input, keys[i]);
        groups *= k.distinct < 0 ? HD_MIN(HD_MAX(1, rows * 0.3), values_of(d, input, keys[i])) : HD_MAX(1, k.distinct);
    }
    return HD_MAX(1, HD_MIN(groups, rows));
}

bool dist_divides(const struct dist *d, const struct fe_node *n, int nkeys, struct fe_expr *const *keys)
{
    return groups_of(d, n, nkeys, keys) >= 2.0 * d->workers;
}

static double rows_of(const struct dist *d, const struct fe_node *n)
{
    double rows = 0;
    if (n->op == FE_AGGREGATE_OP || n->op == FE_DISTINCT_OP)
        return groups_of(d, n->inputs[0], n->u.agg.nkeys, n->u.agg.keys);
    if (n->op == FE_PROJECT_OP)
        return dist_rows(d, n->inputs[0]);
    if (n->op == FE_SORT_OP || n->op == FE_LIMIT_OP)
        return fe_limit(n) < 0 ? dist_rows(d, n->inputs[0]) : HD_MIN(dist_rows(d, n->inputs[0]), (double)fe_limit(n));
    if (n->op == FE_REF_OP)
        return dist_rows(d, d->plan->shared[n->u.ref.shared]);
    if (!d->set_op[n->id])
        return est_rows(d->c, n);
    bool adds = n->op == FE_UNION_OP || n->op == FE_UNION_ALL_OP;
    for (int i = 0; i < n->ninputs; i++) {
        double in = dist_rows(d, n->inputs[i]);
        rows = adds ? rows + in : HD_MAX(rows, in);
    }
    return rows;
}

double dist_rows(const struct dist *d, const struct fe_node *n)
{
    if (d->rows[n->id] == 0)
        d->rows[n->id] = HD_MAX(1, rows_of(d, n));
    return d->rows[n->id];
}
