/* Subplans that give the same rows, operator by operator; trees of inner joins as wholes (share_block.c). */
#include "planner/share_match.h"

#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/rewrite_node.h"
#include "planner/typed.h"

static struct fe_node *copy_of(struct ctx *c, const struct fe_node *n, struct fe_node *left, struct fe_node *right)
{
    const struct rewriting w = {.a = c->a};
    struct fe_node *to = hd_dup(c->a, n, sizeof *n);
    to->inputs = rw_node(&w, n->op, n, 2, left, right)->inputs;
    share_tell(c, n, to);
    return to;
}

/* Each of n expressions of y, over columns, is one of x's: its place there, each place once. */
static bool find_all(int n, struct fe_expr *const *x, struct fe_expr *const *y, int *place)
{
    for (int i = 0; i < n; i++) {
        place[i] = -1;
        for (int k = 0; k < n && place[i] < 0; k++) {
            bool taken = false;
            for (int q = 0; q < i; q++)
                taken |= place[q] == k;
            if (!taken && fe_expr_eq(y[i], x[k]))
                place[i] = k;
        }
        if (place[i] < 0)
            return false;
    }
    return true;
}

static struct fe_expr **all_over(struct ctx *c, int n, struct fe_expr *const *e, struct fe_expr *const *columns)
{
    struct fe_expr **to = HD_NEWN(c->a, struct fe_expr *, n + 1);
    for (int i = 0; i < n; i++)
        to[i] = share_over(c, e[i], columns);
    return to;
}

/* ---- groupings -------------------------------------------------------------------------------------------------------------- */

/* What functions with an order or a filter say is said by others before joins are ordered. */
static bool is_plain(const struct fe_agg *a)
{
    return !a->filter && !a->nof && !a->q && !a->norder && !a->separator && !a->rows;
}

static bool all_plain(const struct fe_node *n)
{
    bool plain = n->u.agg.nsets == 0 && !n->u.agg.merges;
    for (int i = 0; i < n->u.agg.naggs; i++)
        plain &= is_plain(&n->u.agg.aggs[i]);
    return plain;
}

static bool same_expr(const struct fe_expr *a, const struct fe_expr *b)
{
    return a && b ? fe_expr_eq(a, b) : a == b;
}

static struct fe_agg agg_over(struct ctx *c, const struct fe_agg *a, struct fe_expr *const *columns)
{
    struct fe_agg to = *a;
    to.arg = a->arg ? share_over(c, a->arg, columns) : NULL;
    to.by = a->by ? share_over(c, a->by, columns) : NULL;
    return to;
}

/* Groups of a finer grouping tell it: exact sums add up, a minimum is one of minima. */
static bool adds_up(const struct fe_agg *a)
{
    if (a->distinct)
        return false;
    switch (fe_agg_merge(a->fn)) {
    case FE_MERGES_SAME:
    case FE_MERGES_COUNTS: return true;
    case FE_MERGES_SUMS: return !hd_type_is_float(a->type);
    case FE_MERGES_RATIO:
    case FE_MERGES_BY:
    case FE_MERGES_KEYS:
    case FE_MERGES_NOT: break;
    }
    return false;
}

/* The column of g that has aggregate a, which is added if there is none yet. */
static int column_of(struct fe_node *g, const struct fe_agg *a, const char *name)
{
    for (int i = 0; i < g->u.agg.naggs; i++) {
        const struct fe_agg *b = &g->u.agg.aggs[i];
        if (a->fn == b->fn && a->distinct == b->distinct && hd_type_eq(a->type, b->type) && same_expr(a->arg, b->arg) &&
            same_expr(a->by, b->by))
            return g->u.agg.nkeys + i;
    }
    const bool counts = fe_agg_merge(a->fn) == FE_MERGES_COUNTS;
    const bool nullable = !counts && (g->u.agg.nkeys == 0 || !a->arg || a->arg->nullable);
    g->u.agg.aggs[g->u.agg.naggs++] = *a;
    g->cols[g->ncols] = (struct fe_column){name, a->type, nullable};
    return g->ncols++;
}

/* y's aggregates, as columns of g, at columns[y's keys ..]. */
static void add_aggregates(struct ctx *c, struct fe_node *g, const struct fe_node *y, struct fe_expr *const *in,
                           struct fe_expr **columns)
{
    const struct rewriting w = {.a = c->a};
    for (int i = 0; i < y->u.agg.naggs; i++) {
        const struct fe_agg a = agg_over(c, &y->u.agg.aggs[i], in);
        const int at = column_of(g, &a, y->cols[y->u.agg.nkeys + i].name);
        columns[y->u.agg.nkeys + i] = rw_column(&w, g, at);
    }
}

/* x of what both inputs can be made of, with room for y's aggregates. */
static struct fe_node *grouping(struct ctx *c, const struct fe_node *x, const struct share_match *in, int room)
{
    struct fe_node *g = copy_of(c, x, in->n, NULL);
    g->u.agg.keys = all_over(c, x->u.agg.nkeys, x->u.agg.keys, in->of[0]);
    g->u.agg.aggs = HD_NEWN(c->a, struct fe_agg, x->u.agg.naggs + room + 1);
    g->cols = HD_NEWN(c->a, struct fe_column, x->ncols + room + 1);
    memcpy(g->cols, x->cols, sizeof *g->cols * (size_t)x->ncols);
    for (int i = 0; i < x->u.agg.naggs; i++)
        g->u.agg.aggs[i] = agg_over(c, &x->u.agg.aggs[i], in->of[0]);
    return g;
}

/* y as a grouping of x's groups. */
static bool coarser(struct ctx *c, struct fe_node *g, const struct fe_node *y, const struct share_match *in,
                    struct share_match *out)
{
    const struct rewriting w = {.a = c->a};
    const int nk = y->u.agg.nkeys;
    struct fe_expr **keys = all_over(c, nk, y->u.agg.keys, in->of[1]),
                   **columns = HD_NEWN(c->a, struct fe_expr *, y->ncols + 1);
    for (int i = 0; i < y->u.agg.naggs; i++)
        if (!adds_up(&y->u.agg.aggs[i]))
            return false;
    for (int i = 0; i < nk; i++) {
        int at = 0;
        while (at < g->u.agg.nkeys && !fe_expr_eq(keys[i], g->u.agg.keys[at]))
            at++;
        if (at == g->u.agg.nkeys)
            return false;
        columns[i] = rw_column(&w, g, at);
    }
    add_aggregates(c, g, y, in->of[1], columns);
    struct fe_node *to = hd_dup(c->a, y, sizeof *y);
    to->u.agg.merges = y->u.agg.naggs > 0;
    to->u.agg.keys = columns;
    to->u.agg.aggs = hd_dup(c->a, y->u.agg.aggs, sizeof *to->u.agg.aggs * (size_t)y->u.agg.naggs);
    for (int i = 0; i < y->u.agg.naggs; i++) {
        struct fe_agg *a = &to->u.agg.aggs[i];
        const bool counts = fe_agg_merge(a->fn) == FE_MERGES_COUNTS;
        a->arg = counts ? NULL : columns[nk + i];
        a->rows = counts ? columns[nk + i] : NULL;
    }
    out->n = g;
    out->of[0] = rw_columns(&w, g);
    out->coarser = to;
    return true;
}

static bool match_groupings(struct ctx *c, const struct fe_node *x, const struct fe_node *y, bool within,
                            struct share_match *out)
{
    const struct rewriting w = {.a = c->a};
    const int nk = x->u.agg.nkeys;
    struct share_match in;
    *out = (struct share_match){0};
    if (!all_plain(x) || !all_plain(y) || y->u.agg.nkeys > nk || (within && y->u.agg.nkeys < nk) ||
        !share_match(c, x->inputs[0], y->inputs[0], true, &in))
        return false;
    struct fe_node *g = grouping(c, x, &in, y->u.agg.naggs);
    if (y->u.agg.nkeys < nk)
        return coarser(c, g, y, &in, out);
    int *place = HD_NEWN(c->a, int, nk + 1);
    if (!find_all(nk, g->u.agg.keys, all_over(c, nk, y->u.agg.keys, in.of[1]), place))
        return false;
    out->n = g;
    out->of[1] = HD_NEWN(c->a, struct fe_expr *, y->ncols + 1);
    for (int i = 0; i < nk; i++)
        out->of[1][i] = rw_column(&w, g, place[i]);
    add_aggregates(c, g, y, in.of[1], out->of[1]);
    out->of[0] = rw_columns(&w, g);
    return true;
}

/* ---- joins that are not inner ------------------------------------------------------------------------------------------------- */

/* The same match with all columns of both sides computed: an outer join makes them NULL as wholes. */
static void compute_columns(struct ctx *c, const struct fe_node *const *sides, struct share_match *m)
{
    const struct rewriting w = {.a = c->a};
    const int room = m->n->ncols + sides[0]->ncols + sides[1]->ncols;
    struct fe_node *p = rw_node(&w, FE_PROJECT_OP, m->n, 1, m->n, NULL);
    p->cols = HD_NEWN(c->a, struct fe_column, room + 1);
    p->u.project.exprs = HD_NEWN(c->a, struct fe_expr *, room + 1);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sides[s]->ncols; i++) {
            int at = 0;
            while (at < p->ncols && !fe_expr_eq(p->u.project.exprs[at], m->of[s][i]))
                at++;
            if (at == p->ncols) {
                p->u.project.exprs[p->ncols] = m->of[s][i];
                p->cols[p->ncols] = sides[s]->cols[i];
                p->cols[p->ncols++].nullable = m->of[s][i]->nullable;
            }
            m->of[s][i] = rw_column(&w, p, at);
        }
    m->n = p;
}

static bool same_join(const struct fe_node *x, const struct fe_node *y)
{
    return x->u.join.kind == y->u.join.kind && x->u.join.strategy == y->u.join.strategy &&
           x->u.join.build == y->u.join.build && x->u.join.single == y->u.join.single && !x->u.join.asof[0] &&
           !y->u.join.asof[0] && x->u.join.nkeys == y->u.join.nkeys && !x->u.join.residual == !y->u.join.residual &&
           !(x->u.join.residual && (lx_may_fail(x->u.join.residual) || lx_may_fail(y->u.join.residual)));
}

static bool same_keys(struct ctx *c, const struct fe_node *x, const struct fe_node *y, const struct share_match *in)
{
    for (int i = 0; i < x->u.join.nkeys; i++)
        if (x->u.join.null_equal[i] != y->u.join.null_equal[i] || lx_may_fail(x->u.join.lkeys[i]) ||
            lx_may_fail(x->u.join.rkeys[i]) ||
            !fe_expr_eq(share_over(c, x->u.join.lkeys[i], in[0].of[0]),
                        share_over(c, y->u.join.lkeys[i], in[0].of[1])) ||
            !fe_expr_eq(share_over(c, x->u.join.rkeys[i], in[1].of[0]), share_over(c, y->u.join.rkeys[i], in[1].of[1])))
            return false;
    return true;
}

/* Columns of a side's node behind the join: those of both inputs, maybe made NULL. */
static struct fe_expr **columns_behind(struct ctx *c, const struct fe_node *n, const struct fe_node *const *of,
                                       const struct share_match *in, int side, bool condition)
{
    const int nl = in[0].n->ncols, room = of[0]->ncols + of[1]->ncols;
    struct fe_expr **to = HD_NEWN(c->a, struct fe_expr *, room + 2);
    for (int i = 0; i < of[0]->ncols; i++)
        to[i] = in[0].of[side][i];
    for (int i = 0; i < of[1]->ncols; i++)
        to[of[0]->ncols + i] = pl_expr_shifted(c->a, in[1].of[side][i], nl);
    if (condition || n->u.join.kind == FE_INNER)
        return to;
    const struct rewriting w = {.a = c->a};
    for (int i = 0; i < room && to[i]->op == FE_COL; i++)
        if (to[i]->col < n->ncols && n->u.join.kind != FE_MARK)
            to[i] = rw_column(&w, n, to[i]->col);
    if (n->u.join.kind == FE_MARK)
        to[of[0]->ncols] = rw_column(&w, n, n->ncols - 1);
    return to;
}

static struct fe_node *join_over(struct ctx *c, const struct fe_node *x, const struct share_match *in)
{
    struct fe_node *n = copy_of(c, x, in[0].n, in[1].n);
    const int nl = in[0].n->ncols, nr = in[1].n->ncols;
    const enum fe_join_kind kind = x->u.join.kind;
    const bool left_only = kind == FE_SEMI || kind == FE_ANTI || kind == FE_MARK;
    n->u.join.lkeys = all_over(c, x->u.join.nkeys, x->u.join.lkeys, in[0].of[0]);
    n->u.join.rkeys = all_over(c, x->u.join.nkeys, x->u.join.rkeys, in[1].of[0]);
    n->ncols = nl + (left_only ? kind == FE_MARK : nr);
    n->cols = HD_NEWN(c->a, struct fe_column, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++) {
        n->cols[i] = i < nl ? in[0].n->cols[i] : left_only ? x->cols[x->ncols - 1] : in[1].n->cols[i - nl];
        n->cols[i].nullable |=
            i < nl ? kind == FE_RIGHT || kind == FE_FULL : !left_only && (kind == FE_LEFT || kind == FE_FULL);
    }
    return n;
}

static bool match_joins(struct ctx *c, const struct fe_node *x, const struct fe_node *y, struct share_match *out)
{
    struct share_match in[2];
    if (!same_join(x, y))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!share_match(c, x->inputs[i], y->inputs[i], true, &in[i]))
            return false;
        compute_columns(c, (const struct fe_node *const[]){x->inputs[i], y->inputs[i]}, &in[i]);
    }
    if (!same_keys(c, x, y, in))
        return false;
    struct fe_node *n = join_over(c, x, in);
    const struct fe_node *of[2] = {x, y};
    struct fe_expr *residual[2] = {0};
    *out = (struct share_match){.n = n};
    for (int s = 0; s < 2; s++) {
        const struct fe_node *const inputs[2] = {of[s]->inputs[0], of[s]->inputs[1]};
        if (of[s]->u.join.residual)
            residual[s] = share_over(c, of[s]->u.join.residual, columns_behind(c, n, inputs, in, s, true));
        out->of[s] = columns_behind(c, n, inputs, in, s, false);
    }
    n->u.join.residual = residual[0];
    return same_expr(residual[0], residual[1]);
}

/* ---- unions ----------------------------------------------------------------------------------------------------------------------- */

/* y's columns in the order of x's: column i of y is the same one of x in all inputs, or there is no match. */
static bool match_unions(struct ctx *c, const struct fe_node *x, const struct fe_node *y, struct share_match *out)
{
    const struct rewriting w = {.a = c->a};
    if (x->ninputs != y->ninputs)
        return false;
    struct share_match *in = HD_NEWN(c->a, struct share_match, x->ninputs);
    for (int k = 0; k < x->ninputs; k++)
        if (!share_match(c, x->inputs[k], y->inputs[k], true, &in[k]))
            return false;
    struct fe_node *n = hd_dup(c->a, x, sizeof *x);
    n->inputs = HD_NEWN(c->a, struct fe_node *, x->ninputs + 1);
    *out = (struct share_match){.n = n};
    out->of[0] = rw_columns(&w, x);
    out->of[1] = HD_NEWN(c->a, struct fe_expr *, y->ncols + 1);
    for (int i = 0; i < y->ncols; i++) {
        for (int at = 0; at < x->ncols && !out->of[1][i]; at++) {
            bool same = true;
            for (int k = 0; k < x->ninputs; k++)
                same &= fe_expr_eq(in[k].of[0][at], in[k].of[1][i]);
            out->of[1][i] = same ? rw_column(&w, x, at) : NULL;
        }
        if (!out->of[1][i])
            return false;
    }
    for (int k = 0; k < x->ninputs; k++) {
        struct fe_node *p = rw_node(&w, FE_PROJECT_OP, x->inputs[k], 1, in[k].n, NULL);
        rw_set_columns(&w, p, x->inputs[k]);
        p->u.project.exprs = in[k].of[0];
        n->inputs[k] = p;
    }
    share_tell(c, x, n);
    return true;
}

/* ---- all ---------------------------------------------------------------------------------------------------------------------------- */

static bool match_references(struct ctx *c, const struct fe_node *x, const struct fe_node *y, struct share_match *out)
{
    const struct rewriting w = {.a = c->a};
    if (x->u.ref.shared != y->u.ref.shared)
        return false;
    *out = (struct share_match){.n = hd_dup(c->a, x, sizeof *x)};
    out->of[0] = rw_columns(&w, x);
    out->of[1] = rw_columns(&w, x);
    return true;
}

bool share_match(struct ctx *c, const struct fe_node *x, const struct fe_node *y, bool within, struct share_match *out)
{
    const bool block = x->op == FE_PROJECT_OP || x->op == FE_FILTER_OP || x->op == FE_SCAN_OP || share_is_inner(x);
    if (block)
        return share_block(c, x, y, within, share_match, out);
    if (x->op != y->op)
        return y->op == FE_PROJECT_OP || y->op == FE_FILTER_OP ? share_block(c, x, y, within, share_match, out) : false;
    switch (x->op) {
    case FE_REF_OP: return match_references(c, x, y, out);
    case FE_JOIN_OP: return match_joins(c, x, y, out);
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP: return match_groupings(c, x, y, within, out);
    case FE_UNION_ALL_OP: return match_unions(c, x, y, out);
    case FE_SCAN_OP:
    case FE_FILTER_OP:
    case FE_PROJECT_OP:
    case FE_VALUES_OP:
    case FE_PAIRS_OP:
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_WINDOW_OP:
    case FE_REPEAT_OP:
    case FE_LIMIT_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    return false;
}
