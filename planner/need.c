/* Which output columns of each typed node somebody above reads, and whose order the result shows. */
#include "planner/need.h"

#include "planner/ctx.h"

/* ---- columns ---- */

void need_expr(bool *need, const struct fe_expr *e)
{
    if (e->op == FE_COL)
        need[e->col] = true;
    for (int i = 0; i < e->nargs; i++)
        need_expr(need, e->args[i]);
}

/* Of right rows that are equally near the first by its columns counts: those up to the last one that is read. */
int need_ties(const struct ctx *c, const struct fe_node *n)
{
    int columns = n->inputs[1]->ncols;
    while (columns > 0 && !c->need[n->id][n->inputs[0]->ncols + columns - 1])
        columns--;
    return columns;
}

static void need_join(struct ctx *c, const struct fe_node *n, bool *l, bool *r)
{
    const bool *need = c->need[n->id];
    int nl = n->inputs[0]->ncols, nr = n->inputs[1]->ncols;
    bool *both = HD_NEWN(c->a, bool, nl + nr);
    bool left_only = n->u.join.kind == FE_SEMI || n->u.join.kind == FE_ANTI || n->u.join.kind == FE_MARK;
    for (int i = 0; i < n->ncols; i++)
        if (need[i] && i < (left_only ? nl : nl + nr))
            both[i] = true;
    if (n->u.join.residual)
        need_expr(both, n->u.join.residual);
    for (int i = 0; i < nl; i++)
        l[i] |= both[i];
    for (int i = 0; i < nr; i++)
        r[i] |= both[nl + i];
    for (int i = 0; i < n->u.join.nkeys; i++) {
        need_expr(l, n->u.join.lkeys[i]);
        need_expr(r, n->u.join.rkeys[i]);
    }
    if (n->u.join.asof[0]) {
        need_expr(l, n->u.join.asof[0]);
        need_expr(r, n->u.join.asof[1]);
        for (int i = need_ties(c, n) - 1; i >= 0; i--)
            r[i] = true;
    }
}

static void need_pairs(struct ctx *c, const struct fe_node *n, bool *in)
{
    bool *both = hd_dup(c->a, c->need[n->id], sizeof *both * (size_t)(n->ncols + 1));
    if (n->u.pairs.pred)
        need_expr(both, n->u.pairs.pred);
    for (int i = 0; i < n->ncols; i++)
        in[i % (n->ncols / 2)] |= both[i];
}

/* Limits of searches are of order keys. */
static void need_value(const struct fe_window *w, int value, bool *in)
{
    const struct fe_window_value *v = &w->values[value];
    need_expr(in, v->arg);
    for (int k = 0; k < 2 && fe_window_is_of_others(v); k++)
        need_expr(in, w->values[v->of[k]].arg);
}

/* What somebody reads, orders or takes from other rows; where rows that tie are told apart, all of them. */
static void need_window(const struct fe_node *n, bool *need, bool *in)
{
    const struct fe_window *w = n->u.sort.window;
    for (int i = w->ncolumns - 1; i >= 0; i--) {
        const struct fe_window_value *v = w->columns[i].value >= 0 ? &w->values[w->columns[i].value] : NULL;
        if (!need[n->inputs[0]->ncols + i])
            continue;
        if (w->columns[i].at.base == FE_WINDOW_COMPUTED)
            need_expr(need, w->numbers[w->columns[i].at.of]);
        if (v && fe_window_is_difference(v) && v->fn == FE_AGG_AVG)
            need_expr(need, w->numbers[v->of[1]]);
        if (v && v->distinct && v->fn == FE_AGG_AVG)
            need_expr(need, w->numbers[v->count]);
    }
    for (int i = 0; i < n->inputs[0]->ncols; i++)
        in[i] |= need[i];
    for (int i = 0; i < n->u.sort.nkeys; i++)
        need_expr(in, n->u.sort.keys[i].expr);
    for (int i = 0; i < w->ncolumns; i++)
        if (need[n->inputs[0]->ncols + i] && w->columns[i].value >= 0)
            need_value(w, w->columns[i].value, in);
}

static void need_below(struct ctx *c, const struct fe_node *n)
{
    bool *need = c->need[n->id];
    bool *in = n->ninputs ? c->need[n->inputs[0]->id] : NULL;
    switch (n->op) {
    case FE_FILTER_OP:
        for (int i = 0; i < n->ncols; i++)
            in[i] |= need[i];
        need_expr(in, n->u.filter.pred);
        break;
    case FE_REPEAT_OP:
        for (int i = 0; i < n->ncols; i++)
            in[i] |= need[i];
        need_expr(in, n->u.repeat.count);
        break;
    case FE_PROJECT_OP:
        for (int i = 0; i < n->ncols; i++)
            if (need[i])
                need_expr(in, n->u.project.exprs[i]);
        break;
    case FE_JOIN_OP: need_join(c, n, in, c->need[n->inputs[1]->id]); break;
    case FE_PAIRS_OP: need_pairs(c, n, in); break;
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP:
        for (int i = 0; i < n->u.agg.nkeys; i++)
            need_expr(in, n->u.agg.keys[i]);
        for (int i = 0; i < n->u.agg.naggs; i++)
            if (n->u.agg.aggs[i].arg && need[n->u.agg.nkeys + i])
                need_expr(in, n->u.agg.aggs[i].arg);
        for (int i = 0; i < n->u.agg.naggs; i++)
            if (n->u.agg.aggs[i].rows && need[n->u.agg.nkeys + i])
                need_expr(in, n->u.agg.aggs[i].rows);
        break;
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_LIMIT_OP: /* ties are broken by all columns: all are kept, so all are needed */
        for (int i = 0; i < n->ncols; i++)
            in[i] = need[i] = true;
        for (int i = 0; i < n->u.sort.nkeys; i++)
            need_expr(in, n->u.sort.keys[i].expr);
        break;
    case FE_WINDOW_OP: need_window(n, need, in); break;
    case FE_UNION_ALL_OP:
        for (int k = 0; k < n->ninputs; k++)
            for (int i = 0; i < n->ncols; i++)
                c->need[n->inputs[k]->id][i] |= need[i];
        break;
    case FE_REF_OP: {
        bool *sub = c->need[c->plan->shared[n->u.ref.shared]->id];
        for (int i = 0; i < n->ncols; i++)
            sub[i] |= need[i];
        c->shared[n->u.ref.shared].uses++;
        break;
    }
    case FE_SCAN_OP:
    case FE_VALUES_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    for (int i = 0; i < n->ninputs; i++)
        need_below(c, n->inputs[i]);
}

static void need_alloc(struct ctx *c, const struct fe_node *n)
{
    c->need[n->id] = HD_NEWN(c->a, bool, n->ncols + 1);
    for (int i = 0; i < n->ninputs; i++)
        need_alloc(c, n->inputs[i]);
}

void pl_need_columns(struct ctx *c, const struct fe_node *root)
{
    c->need = HD_NEWN(c->a, bool *, c->plan->nnodes + 1);
    need_alloc(c, root);
    for (int i = 0; i < c->plan->nshared; i++)
        need_alloc(c, c->plan->shared[i]);
    for (int i = 0; i < root->ncols; i++)
        c->need[root->id][i] = true;
    need_below(c, root);
    /* shared plans refer backwards only: the last one's needs are complete first */
    for (int i = c->plan->nshared - 1; i >= 0; i--)
        need_below(c, c->plan->shared[i]);
}

/* ---- order ---- */

/* Nodes between the root and a sort whose order the result shows. */
static void mark_ordered(struct ctx *c, const struct fe_node *n)
{
    c->ordered[n->id] = true;
    if (n->op == FE_PROJECT_OP || n->op == FE_FILTER_OP || n->op == FE_LIMIT_OP)
        mark_ordered(c, n->inputs[0]);
    if (n->op == FE_REF_OP && c->plan->nshared)
        mark_ordered(c, c->plan->shared[n->u.ref.shared]);
}

void pl_need_order(struct ctx *c, const struct fe_node *root)
{
    c->ordered = HD_NEWN(c->a, bool, c->plan->nnodes + 1);
    mark_ordered(c, root);
}
