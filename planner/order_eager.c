/* Eager aggregation (Yan and Larson, Eager Aggregation and Lazy Aggregation, VLDB 1995) below a left join: where the keys of
 * a grouping tell each row of the left side, and aggregates read the right side alone, a group is one row of the left side
 * with all that it meets. So the right side is grouped by its keys of the join, and each row of the left side finds one
 * group or none: rows are not joined that are added up at once. In place of a group that is not there stands what the
 * aggregate says of a row of NULLs.
 *
 * The left side is a table of which nothing is dropped, so that few groups are made in vain. An aggregate that may raise
 * is moved only where a declared foreign key says that each group has its row on the left. Where the right side's rows
 * stand in the order of the key their sums are added up beside the rows of the left side anyway (architecture.md, "Folds"). */
#include "planner/order_eager.h"

#include "frontend/catalog.h"
#include "planner/estimate.h"
#include "planner/order_unique.h"
#include "planner/rewrite_node.h"
#include "planner/typed.h"

struct eager {
    struct hd_arena *a;
    const struct fe_node *n, *join; /* the grouping; the join below it and projections */
    int nleft;
};

/* ---- whether it can be done ------------------------------------------------------------------------------------------ */

/* The column of the join that e, over the grouping's input, is; -1: something else. */
static int join_column(const struct eager *g, const struct fe_expr *e)
{
    for (const struct fe_node *in = g->n->inputs[0]; e->op == FE_COL && in != g->join; in = in->inputs[0])
        e = in->u.project.exprs[e->col];
    return e->op == FE_COL ? e->col : -1;
}

static bool keys_move(const struct fe_node *join)
{
    for (int i = 0; i < join->u.join.nkeys; i++) {
        const struct fe_expr *l = join->u.join.lkeys[i], *r = join->u.join.rkeys[i];
        if (join->u.join.null_equal[i] || lx_may_fail(l) || lx_may_fail(r) || hd_type_is_float(r->type))
            return false;
    }
    return join->u.join.nkeys > 0;
}

static bool join_moves(const struct fe_node *join)
{
    return join->op == FE_JOIN_OP && join->u.join.kind == FE_LEFT && !join->u.join.single && !join->u.join.asof[0] &&
           !join->u.join.residual && join->u.join.strategy == FE_AUTO && join->u.join.build == FE_SIDE_AUTO &&
           join->inputs[0]->op == FE_SCAN_OP && !join->inputs[0]->u.scan.filter && keys_move(join);
}

static bool keys_tell_left(const struct eager *g, const struct fe_plan *plan)
{
    bool *key = HD_NEWN(g->a, bool, g->nleft + 1);
    for (int i = 0; i < g->n->u.agg.nkeys; i++) {
        int c = join_column(g, g->n->u.agg.keys[i]);
        if (c < 0 || c >= g->nleft)
            return false;
        key[c] = true;
    }
    return order_is_unique(plan, g->join->inputs[0], key);
}

/* The foreign key that the join goes by; NULL: none. */
static const struct fe_foreign_key *foreign_key(const struct fe_node *join)
{
    const struct fe_expr *l = join->u.join.lkeys[0], *r = join->u.join.rkeys[0];
    const struct fe_node *left = join->inputs[0], *right = join->inputs[1];
    if (join->u.join.nkeys != 1 || l->op != FE_COL || r->op != FE_COL || right->op != FE_SCAN_OP)
        return NULL;
    const struct fe_table *t = right->u.scan.table;
    for (int i = 0; i < t->nfks; i++) {
        const struct fe_foreign_key *f = &t->fks[i];
        if (f->n_columns == 1 && f->columns[0] == right->u.scan.columns[r->col] && f->parent == left->u.scan.table &&
            f->parent_columns[0] == left->u.scan.columns[l->col])
            return f;
    }
    return NULL;
}

static bool agg_moves(const struct eager *g, const struct fe_agg *a, bool certain)
{
    if (a->by || a->filter || a->rows || a->nof)
        return false;
    if (a->arg && join_column(g, a->arg) < g->nleft)
        return false;
    switch (a->fn) {
    case FE_AGG_COUNT_STAR:
    case FE_AGG_COUNT:
    case FE_AGG_MIN:
    case FE_AGG_MAX: return true;
    case FE_AGG_SUM:
    case FE_AGG_AVG: return certain || hd_type_is_float(a->type);
    case FE_AGG_BIT_OR:
    case FE_AGG_BIT_XOR:
    case FE_AGG_ANY:
#define T_AGG(id, ...) case FE_AGG_##id:
#include "frontend/aggs_said.def"
    case FE_AGG_COUNT_OF: break;
    }
    return false;
}

static bool can_move(const struct eager *g, const struct fe_plan *plan)
{
    const struct fe_foreign_key *f = foreign_key(g->join);
    const bool certain = f && !g->join->u.join.rkeys[0]->nullable, clustered = f && f->offsets && !f->child_rows;
    for (int i = 0; i < g->n->u.agg.naggs; i++)
        if (!agg_moves(g, &g->n->u.agg.aggs[i], certain))
            return false;
    return !clustered && g->n->u.agg.naggs > 0 && keys_tell_left(g, plan);
}

/* ---- what is made ------------------------------------------------------------------------------------------------------- */

static struct fe_node *grouped(const struct eager *g)
{
    const struct rewriting w = {.a = g->a};
    const struct fe_node *join = g->join;
    const int nk = join->u.join.nkeys, naggs = g->n->u.agg.naggs;
    struct fe_node *n = rw_node(&w, FE_AGGREGATE_OP, g->n, 1, join->inputs[1], NULL);
    n->u.agg.nkeys = nk;
    n->u.agg.keys = join->u.join.rkeys;
    n->u.agg.naggs = naggs;
    n->u.agg.aggs = hd_dup(g->a, g->n->u.agg.aggs, sizeof *n->u.agg.aggs * (size_t)(naggs + 1));
    n->ncols = nk + naggs;
    n->cols = HD_NEWN(g->a, struct fe_column, n->ncols + 1);
    for (int i = 0; i < nk; i++)
        n->cols[i] = (struct fe_column){
            .name = "key", .type = join->u.join.rkeys[i]->type, .nullable = join->u.join.rkeys[i]->nullable};
    for (int i = 0; i < naggs; i++) {
        struct fe_agg *a = &n->u.agg.aggs[i];
        n->cols[nk + i] = g->n->cols[g->n->u.agg.nkeys + i];
        if (a->arg)
            a->arg = rw_column(&w, join->inputs[1], join_column(g, a->arg) - g->nleft);
    }
    return n;
}

/* What stands where a group is not: a row of NULLs counts as a row, but has no value. */
static struct fe_expr *or_of_nulls(const struct eager *g, const struct fe_agg *a, struct fe_expr *e)
{
    if (a->fn != FE_AGG_COUNT && a->fn != FE_AGG_COUNT_STAR)
        return e;
    struct fe_expr *none = pl_expr_node(g->a, FE_LIT, e->type, false, e->path, 0, NULL, NULL);
    none->value = (struct fe_value){.type = e->type, .i = a->fn == FE_AGG_COUNT_STAR};
    return pl_expr_node(g->a, FE_COALESCE, e->type, false, e->path, 2, e, none);
}

static struct fe_node *joined(const struct eager *g)
{
    const struct rewriting w = {.a = g->a};
    const int nk = g->join->u.join.nkeys;
    struct fe_node *left = g->join->inputs[0], *right = grouped(g),
                   *join = rw_join(&w, FE_LEFT, left, right, 0, NULL, NULL, 0),
                   *n = rw_node(&w, FE_PROJECT_OP, g->n, 1, join, NULL);
    join->path = g->join->path;
    join->u.join.nkeys = nk;
    join->u.join.lkeys = g->join->u.join.lkeys;
    join->u.join.rkeys = HD_NEWN(g->a, struct fe_expr *, nk + 1);
    join->u.join.null_equal = HD_NEWN(g->a, bool, nk + 1);
    for (int i = 0; i < nk; i++)
        join->u.join.rkeys[i] = rw_column(&w, right, i);
    rw_set_columns(&w, n, g->n);
    n->u.project.exprs = HD_NEWN(g->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < g->n->u.agg.nkeys; i++)
        n->u.project.exprs[i] = rw_column(&w, join, join_column(g, g->n->u.agg.keys[i]));
    for (int i = 0; i < g->n->u.agg.naggs; i++)
        n->u.project.exprs[g->n->u.agg.nkeys + i] =
            or_of_nulls(g, &g->n->u.agg.aggs[i], rw_column(&w, join, left->ncols + nk + i));
    return n;
}

struct fe_node *order_eager(struct hd_arena *a, const struct fe_plan *plan, const struct fe_node *n)
{
    struct eager g = {.a = a, .n = n, .join = n->inputs[0]};
    while (g.join->op == FE_PROJECT_OP)
        g.join = g.join->inputs[0];
    if (n->u.agg.nkeys == 0 || n->u.agg.nsets > 1 || n->u.agg.merges || !join_moves(g.join))
        return NULL;
    g.nleft = g.join->inputs[0]->ncols;
    return can_move(&g, plan) ? joined(&g) : NULL;
}
