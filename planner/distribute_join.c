/* A join, of whose sides one or both are spread over workers. Rows of both that could match have to meet:
 *
 *   both are spread by columns that the join equates: they do already
 *   one is spread, every worker has the other: they do, but what comes of rows without a match is known only where that
 *     row's other side is whole; so the side whose such rows stay, or that is tested for matches, is the spread one
 *   every worker has the left one of a semi or anti join, and the right one is spread: each worker sends the keys of left rows
 *     that it has a match for (a semijoin reduction: Bernstein and Chiu, Using Semi-Joins to Solve Relational Queries, 1981)
 *   neither is spread, and pairs are looped over: one is dealt to the workers, if that gains
 *   else both are shuffled by columns that the join equates; or one side, the smaller one if there is a choice, goes to
 *   every worker; or both go to one, whatever sends least
 *
 * A side that is a table, of which an index finds the rows that the other one leads to, costs what it takes to find those, wherever
 * they are: so it is mostly the side that leads to them by whose key both are spread. */
#include "planner/distribute_join.h"

#include "frontend/json_make.h"
#include "planner/cost.h"
#include "planner/distribute_own.h"
#include "planner/range.h"

static bool left_only(enum fe_join_kind k)
{
    return k == FE_SEMI || k == FE_ANTI || k == FE_MARK;
}

/* The left side may be spread while every worker has the right one; likewise the other way. */
static bool may_spread(const struct fe_node *n, enum fe_side side)
{
    switch (n->u.join.kind) {
    case FE_INNER: return side == FE_SIDE_LEFT || (!n->u.join.single && !n->u.join.asof[0]);
    case FE_LEFT:
    case FE_SEMI:
    case FE_ANTI:
    case FE_MARK: return side == FE_SIDE_LEFT;
    case FE_RIGHT: return side == FE_SIDE_RIGHT;
    case FE_FULL: return false;
    }
    HD_BUG("join kind %d", (int)n->u.join.kind);
}

static bool is_by(const struct dist_rel *rel, const struct fe_expr *e)
{
    e = pl_uncast(e);
    return e->op == FE_COL && rel->by[e->col];
}

/* Rows that match are on one worker. */
static bool meet(const struct fe_node *n, const struct dist_rel *l, const struct dist_rel *r)
{
    for (int i = 0; i < n->u.join.nkeys && l->way == r->way; i++)
        if (is_by(l, n->u.join.lkeys[i]) && is_by(r, n->u.join.rkeys[i]))
            return true;
    return false;
}

/* The sides whose columns are those of a row, never NULLs instead. */
static bool keeps(const struct fe_node *n, enum fe_side side)
{
    enum fe_join_kind k = n->u.join.kind;
    if (side == FE_SIDE_LEFT)
        return k != FE_RIGHT && k != FE_FULL;
    return k == FE_INNER || k == FE_RIGHT;
}

/* What says on which worker a row of the join is: columns that do on one side, and those that an inner join equates. */
static bool *by_of(struct dist *d, const struct fe_node *n, const struct dist_rel *l, const struct dist_rel *r)
{
    int nl = l->node->ncols, nr = left_only(n->u.join.kind) ? 0 : r->node->ncols;
    bool *by = HD_NEWN(d->a, bool, n->ncols + 1);
    for (int i = 0; i < nl; i++)
        by[i] = l->split && l->by[i] && keeps(n, FE_SIDE_LEFT);
    for (int i = 0; i < nr; i++)
        by[nl + i] = r->split && r->by[i] && keeps(n, FE_SIDE_RIGHT);
    for (int i = 0; i < n->u.join.nkeys && n->u.join.kind == FE_INNER; i++) {
        const struct fe_expr *x = pl_uncast(n->u.join.lkeys[i]), *y = pl_uncast(n->u.join.rkeys[i]);
        if (x->op != FE_COL || y->op != FE_COL)
            continue;
        bool either = by[x->col] || by[nl + y->col];
        by[x->col] = by[nl + y->col] = either;
    }
    return by;
}

/* Of the right side of a semi, anti or mark join it does not matter how often a row is there. */
static struct dist_rel gather_side(struct dist *d, const struct fe_node *n, struct dist_rel rel, enum fe_side side)
{
    bool set = side == FE_SIDE_RIGHT && left_only(n->u.join.kind);
    return dist_cut(d, rel, set ? DIST_GATHER_SET : DIST_GATHER, dist_rows(d, rel.node));
}

/* Both are spread and do not meet: one of them comes to be whole, if that is enough. */
static void gather_one(struct dist *d, const struct fe_node *n, struct dist_rel *l, struct dist_rel *r)
{
    bool left = may_spread(n, FE_SIDE_LEFT), right = may_spread(n, FE_SIDE_RIGHT);
    bool gather_right = left && (!right || dist_bytes(d, r->node) <= dist_bytes(d, l->node));
    if (gather_right)
        *r = gather_side(d, n, *r, FE_SIDE_RIGHT);
    else
        *l = gather_side(d, n, *l, FE_SIDE_LEFT);
}

/* The bytes that are sent to every worker where rows are gathered: of sides that are spread, and of which one has to be
 * whole. */
static double gathered_bytes(const struct dist *d, const struct fe_node *n, const struct dist_rel *l,
                             const struct dist_rel *r)
{
    bool left = may_spread(n, FE_SIDE_LEFT), right = may_spread(n, FE_SIDE_RIGHT);
    double bl = dist_bytes(d, l->node), br = dist_bytes(d, r->node);
    if (!l->split || !r->split)
        return l->split && !left ? bl : r->split && !right ? br : 0;
    return left && right ? HD_MIN(bl, br) : left ? br : right ? bl : bl + br;
}

/* Columns that the join equates; of several pairs with one column each counts. */
struct equated {
    int n, *lcol, *rcol;
    struct fe_expr **left, **right;
};

static struct equated equated_columns(struct dist *d, const struct fe_node *n)
{
    int keys = n->u.join.nkeys;
    struct equated e = {0, HD_NEWN(d->a, int, keys + 1), HD_NEWN(d->a, int, keys + 1),
                        HD_NEWN(d->a, struct fe_expr *, keys + 1), HD_NEWN(d->a, struct fe_expr *, keys + 1)};
    for (int i = 0; i < keys; i++) {
        const struct fe_expr *x = pl_uncast(n->u.join.lkeys[i]), *y = pl_uncast(n->u.join.rkeys[i]);
        if (x->op != FE_COL || y->op != FE_COL)
            continue;
        e.left[e.n] = (struct fe_expr *)(uintptr_t)x;
        e.right[e.n] = (struct fe_expr *)(uintptr_t)y;
        e.lcol[e.n] = x->col;
        e.rcol[e.n++] = y->col;
    }
    return e;
}

static bool shuffle_by(struct dist *d, struct dist_rel *l, struct dist_rel *r, int n, const int *lcol, const int *rcol)
{
    int way = ++d->ways;
    *l = dist_spread(d, *l, n, lcol, way);
    *r = dist_spread(d, *r, n, rcol, way);
    return true;
}

static bool spread_by_keys(struct dist *d, const struct fe_node *n, struct dist_rel *l, struct dist_rel *r)
{
    struct equated e = equated_columns(d, n);
    for (int i = 0; i < e.n; i++)
        if (dist_divides(d, l->node, 1, &e.left[i]) && dist_divides(d, r->node, 1, &e.right[i]))
            return shuffle_by(d, l, r, 1, &e.lcol[i], &e.rcol[i]);
    if (e.n > 1 && dist_divides(d, l->node, e.n, e.left) && dist_divides(d, r->node, e.n, e.right))
        return shuffle_by(d, l, r, e.n, e.lcol, e.rcol);
    return false;
}

/* Both are shuffled by columns that the join equates, if that sends less to a worker than gathering. */
static bool shuffle_both(struct dist *d, const struct fe_node *n, struct dist_rel *l, struct dist_rel *r)
{
    bool left = may_spread(n, FE_SIDE_LEFT), right = may_spread(n, FE_SIDE_RIGHT);
    bool exceeds = (!left || dist_exceeds(d, r->node)) && (!right || dist_exceeds(d, l->node));
    double sent = (dist_bytes(d, l->node) + dist_bytes(d, r->node)) / d->workers;
    if (!exceeds && sent >= gathered_bytes(d, n, l, r))
        return false;
    return spread_by_keys(d, n, l, r);
}

/* The column of a table, below filters and projections, that a column of n is; table NULL: there is none. */
static struct fe_key_place place_of(const struct fe_node *n, int column)
{
    while (n->op == FE_FILTER_OP || (n->op == FE_PROJECT_OP && n->u.project.exprs[column]->op == FE_COL)) {
        column = n->op == FE_PROJECT_OP ? n->u.project.exprs[column]->col : column;
        n = n->inputs[0];
    }
    if (n->op != FE_SCAN_OP)
        return (struct fe_key_place){0};
    return (struct fe_key_place){n->u.scan.table, n->u.scan.columns[column]};
}

/* Rows of the table that rel scans are found by an index on that column: they need no state. */
static bool is_indexed(const struct dist_rel *rel, int column)
{
    struct fe_key_place at = place_of(rel->node, column);
    for (int i = 0; at.table && i < at.table->nkeyidx; i++)
        if (at.table->keyidx[i].column == at.column)
            return true;
    return false;
}

static bool has_index(struct dist *d, const struct fe_node *n, const struct dist_rel *l, const struct dist_rel *r)
{
    struct equated e = equated_columns(d, n);
    return e.n == 1 && (is_indexed(l, e.lcol[0]) || is_indexed(r, e.rcol[0]));
}

/* Passes, where every one has both sides, and either would be too large a state: each keeps its part of both. */
static bool keep_parts(struct dist *d, const struct fe_node *n, struct dist_rel *l, struct dist_rel *r)
{
    bool exceeds = dist_exceeds(d, l->node) && dist_exceeds(d, r->node);
    return dist_in_passes(d) && !l->split && !r->split && exceeds && !has_index(d, n, l, r) &&
           spread_by_keys(d, n, l, r);
}

/* A join by any condition of sides that nobody has spread: a block nested loop, whose outer side, the larger one if there is
 * a choice, is dealt to the workers, and whose inner side goes to all. */
static void deal_outer(struct dist *d, const struct fe_node *n, struct dist_rel *l, struct dist_rel *r)
{
    bool left = may_spread(n, FE_SIDE_LEFT), right = may_spread(n, FE_SIDE_RIGHT), loop = !n->u.join.nkeys;
    if (d->workers == 1 || dist_in_passes(d) || l->split || r->split || !loop || n->u.join.asof[0] || !(left || right))
        return;
    if (!dist_gains_by_turns(d, l->node, r->node))
        return;
    if (left && (!right || dist_rows(d, l->node) >= dist_rows(d, r->node)))
        *l = dist_shuffle_in_turns(d, *l);
    else
        *r = dist_shuffle_in_turns(d, *r);
}

/* Brings the sides to where rows that could match meet. */
static void bring(struct dist *d, const struct fe_node *n, struct dist_rel *l, struct dist_rel *r)
{
    if (keep_parts(d, n, l, r))
        return;
    deal_outer(d, n, l, r);
    if (l->split && r->split) {
        if (meet(n, l, r) || shuffle_both(d, n, l, r))
            return;
        gather_one(d, n, l, r);
    }
    /* A table in one piece is not too large for a worker that shuffles it; what lies in segments may be to be gathered. */
    if (d->segments && l->split != r->split && shuffle_both(d, n, l, r))
        return;
    if (l->split && !may_spread(n, FE_SIDE_LEFT))
        *l = gather_side(d, n, *l, FE_SIDE_LEFT);
    if (r->split && !may_spread(n, FE_SIDE_RIGHT))
        *r = gather_side(d, n, *r, FE_SIDE_RIGHT);
    if (l->split)
        *r = dist_everywhere(d, *r);
    if (r->split)
        *l = dist_everywhere(d, *l);
}

/* ---- semijoin reduction ------------------------------------------------------------------------- */

/* Matched keys, of all workers. */
static double reduced_rows(const struct dist *d, const struct fe_node *n)
{
    return HD_MIN(dist_rows(d, n->inputs[0]) * d->workers, dist_rows(d, n->inputs[1]));
}

/* Of a spread right side only the keys matter that left rows have, of which every worker may find its own: that takes less
 * than `sent` bytes a worker, and no more left rows are gone through than right ones. */
static bool may_reduce(const struct dist *d, const struct fe_node *n, const struct dist_rel *l,
                       const struct dist_rel *r)
{
    bool tests = n->u.join.kind == FE_SEMI || n->u.join.kind == FE_ANTI;
    if (!tests || l->split || !r->split || n->u.join.residual || !n->u.join.nkeys || dist_in_passes(d))
        return false;
    double left = dist_rows(d, n->inputs[0]), right = dist_rows(d, n->inputs[1]);
    double gathered = dist_bytes(d, r->node), shuffled = (dist_bytes(d, l->node) + gathered) / d->workers;
    double keys = reduced_rows(d, n) * (gathered / right);
    return left <= right / d->workers && keys < HD_MIN(gathered, shuffled);
}

static const char *key_name(struct dist *d, int i)
{
    return hd_asprintf(d->a, "key_%d", i);
}

/* Keys of left rows for which a worker's right rows have a match, each once: the right side of the join's rest, whose
 * conditions become those of the keys. */
static struct cJSON *matched_keys(struct dist *d, const struct cJSON *op, const struct dist_rel *l, struct cJSON *right)
{
    struct cJSON *exprs = fe_make_list(d->a),
                 *semi = dist_over(d->a, op, "right", right, "left", "kind", "strategy", "build", NULL);
    int i = 0;
    for (const struct cJSON *pair = fe_first_json(fe_member(op, "on")); pair; pair = fe_next_json(pair))
        fe_push(exprs, dist_as(d->a, fe_copy_json(d->a, fe_first_json(pair)), key_name(d, i++)));
    fe_put(semi, "left", fe_copy_json(d->a, l->op));
    fe_put(semi, "kind", fe_make_string(d->a, "semi"));
    struct cJSON *keys = dist_new_op(d->a, "project", semi);
    fe_put(keys, "exprs", exprs);
    return dist_new_op(d->a, "distinct", keys);
}

static struct cJSON *conditions_of_keys(struct dist *d, const struct cJSON *op)
{
    struct cJSON *on = fe_make_list(d->a);
    int i = 0;
    for (const struct cJSON *pair = fe_first_json(fe_member(op, "on")); pair; pair = fe_next_json(pair)) {
        struct cJSON *both = fe_make_list(d->a);
        fe_push(both, fe_copy_json(d->a, fe_first_json(pair)));
        fe_push(both, dist_col(d->a, key_name(d, i++)));
        const struct cJSON *option = fe_next_json(fe_next_json(fe_first_json(pair)));
        if (option)
            fe_push(both, fe_copy_json(d->a, option));
        fe_push(on, both);
    }
    return on;
}

/* The right side is those keys then. The join's operator for them. */
static const struct cJSON *reduce(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel *l,
                                  struct dist_rel *r)
{
    *l = dist_everywhere(d, *l);
    dist_work(d, l, dist_rows(d, l->node));
    dist_work(d, r, dist_rows(d, r->node));
    r->op = matched_keys(d, op, l, r->op);
    *r = dist_cut_all(d, *r, reduced_rows(d, n));
    return dist_over(d->a, op, "on", conditions_of_keys(d, op), NULL);
}

/* Either side may be the one that is stored: the smaller one is. */
static void add_table(struct dist *d, const struct dist_rel *l, const struct dist_rel *r, struct dist_rel *out)
{
    double bl = dist_bytes(d, l->node) / (l->split ? d->workers : 1),
           br = dist_bytes(d, r->node) / (r->split ? d->workers : 1);
    struct dist_rel table = bl < br ? *l : *r;
    dist_state(d, &table, table.node);
    out->state_bytes = HD_MAX(table.state_bytes, HD_MAX(l->state_bytes, r->state_bytes));
}

/* ---- sides that are tables ---------------------------------------------------------------------- */

/* The rows of rel's table that so many rows of the other side lead to by an index on that column. */
static struct dist_met met_by(const struct dist *d, const struct dist_rel *rel, int column, double rows)
{
    const struct pl_rates *r = pl_rates(false); /* as in the choice of an index (physical_join.c) */
    struct fe_key_place at = place_of(rel->node, column);
    double all = at.table ? (double)at.table->rows : 0, keys = is_indexed(rel, column) ? all : 0, columns = 1;
    double ns = pl_cost_key_index(r, all, rows);
    for (int i = 0; i < rel->node->ncols; i++)
        columns += d->need[rel->node->id][i];
    for (int i = 0; at.table && i < at.table->nfks; i++) {
        const struct fe_foreign_key *f = &at.table->fks[i];
        if (f->n_columns != 1 || f->columns[0] != at.column || !f->offsets || f->parent->rows == 0)
            continue;
        keys = (double)f->parent->rows;
        ns = pl_cost_foreign_key(r, all / keys, f->child_rows != NULL, (int)columns, rows);
    }
    double through = pl_cost_build(r, all, 0, dist_rows(d, rel->node));
    return keys > 0 && ns < through ? (struct dist_met){HD_MIN(rows / keys, 1), ns / through} : DIST_ALL;
}

/* Of a side that is on each worker: its rows there. */
static double worker_rows(const struct dist *d, const struct dist_rel *rel)
{
    return dist_rows(d, rel->node) / (rel->split ? d->workers : 1);
}

/* Which rows of a side that is a table the other one leads to. A join looks up either side, or the right one where it keeps left rows
 * without a match, and goes through the other. */
struct met_sides {
    struct dist_met left, right;
};

static struct dist_met cheaper(struct dist_met a, struct dist_met b)
{
    return b.cost < a.cost ? b : a;
}

static struct met_sides meet_sides(struct dist *d, const struct fe_node *n, const struct dist_rel *l,
                                   const struct dist_rel *r)
{
    struct equated e = equated_columns(d, n);
    struct met_sides met = {DIST_ALL, DIST_ALL};
    for (int i = 0; i < e.n; i++) {
        if (l->of_table && n->u.join.kind == FE_INNER)
            met.left = cheaper(met.left, met_by(d, l, e.lcol[i], worker_rows(d, r)));
        if (r->of_table)
            met.right = cheaper(met.right, met_by(d, r, e.rcol[i], worker_rows(d, l)));
    }
    if (met.left.cost < met.right.cost)
        met.right = DIST_ALL;
    else
        met.left = DIST_ALL;
    return met;
}

static struct dist_rel settle_side(struct dist *d, struct dist_rel rel, struct dist_met *met)
{
    struct dist_rel out = dist_settle(d, rel, *met);
    if (out.op != rel.op) /* what a fragment sends has no index */
        *met = DIST_ALL;
    return out;
}

/* Rows of a side, as far as they are met. before: the side until it was brought to the other one, for which a fragment goes
 * through all of a table. */
static void work_of_side(struct dist *d, const struct dist_rel *before, const struct dist_rel *rel, double rows,
                         struct dist_met met)
{
    bool brought = rel->op != before->op;
    double all = rel->split ? rows / d->workers : rows;
    d->cost += brought ? before->pending + all : HD_MIN(all, met.rows * rows);
}

/* ---- the join ----------------------------------------------------------------------------------- */

struct dist_rel dist_join(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel left,
                          struct dist_rel right)
{
    struct met_sides met = meet_sides(d, n, &left, &right);
    left = settle_side(d, left, &met.left);
    right = settle_side(d, right, &met.right);
    const struct dist_rel l = left, r = right;
    bool reduced = may_reduce(d, n, &left, &right);
    if (reduced)
        op = reduce(d, op, n, &left, &right);
    else
        bring(d, n, &left, &right);
    work_of_side(d, &l, &left, dist_rows(d, left.node), met.left);
    work_of_side(d, &r, &right, reduced ? reduced_rows(d, n) : dist_rows(d, right.node), met.right);
    /* A strategy may need what a fragment's result does not have, such as an index: each fragment's planner chooses. */
    struct cJSON *v = d->workers > 1 ? dist_over(d->a, op, "left", left.op, "right", "strategy", "build", NULL)
                                     : dist_over(d->a, op, "left", left.op, "right", NULL);
    fe_put(v, "right", right.op);
    struct dist_rel out = {.op = v, .node = n, .split = left.split || right.split, .plain = left.plain && right.plain};
    out.way = left.split ? left.way : right.way;
    add_table(d, &left, &right, &out);
    out.by = out.split ? by_of(d, n, &left, &right) : NULL;
    return out;
}
