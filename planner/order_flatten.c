/* Takes joins apart. What stands between them is moved above: filters become conjuncts, and what projections compute is
 * put in where it is read. It stays in one piece, as a relation, where that is not sound or not wanted:
 *
 * - what may raise: rows that it reaches are those that filters and joins below have passed (docs/plan.md 2.2);
 * - joins with a strategy, a build side, `single` (unless there always is one row), `asof`, and full ones.
 *
 * A semi, anti, mark or left join looks at each row of its left side alone, and joins of other relations only repeat or
 * drop such rows; so it is moved as long as the rows have what its condition reads. */
#include "planner/order_flatten.h"

#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/typed.h"

/* ---- what is taken apart --------------------------------------------------------------------------------------- */

static bool any_fails(int n, struct fe_expr *const *e)
{
    for (int i = 0; i < n; i++)
        if (lx_may_fail(e[i]))
            return true;
    return false;
}

/* Of a grouping without keys there always is one row. */
static bool is_one_row(const struct fe_node *n)
{
    while (n->op == FE_PROJECT_OP)
        n = n->inputs[0];
    return n->op == FE_AGGREGATE_OP && n->u.agg.nkeys == 0 && n->u.agg.nsets <= 1;
}

static bool keys_move(const struct fe_node *n)
{
    bool one = !n->u.join.single || (n->u.join.kind == FE_INNER && is_one_row(n->inputs[1]));
    bool plain = n->u.join.strategy == FE_AUTO && n->u.join.build == FE_SIDE_AUTO && one && !n->u.join.asof[0] &&
                 n->u.join.kind != FE_FULL;
    return plain && !any_fails(n->u.join.nkeys, n->u.join.lkeys) && !any_fails(n->u.join.nkeys, n->u.join.rkeys);
}

static bool join_moves(const struct fe_node *n)
{
    return keys_move(n) && !(n->u.join.residual && lx_may_fail(n->u.join.residual));
}

/* A shared subplan that is used once is part of the plan around it. */
static const struct fe_node *used_once(const struct order_query *q, const struct fe_node *n)
{
    return n->op == FE_REF_OP && q->shared[n->u.ref.shared].uses == 1 ? q->plan->shared[n->u.ref.shared] : NULL;
}

static bool moves(const struct order_query *q, const struct fe_node *n)
{
    const struct fe_node *once = used_once(q, n);
    if (once)
        return moves(q, once);
    switch (n->op) {
    case FE_JOIN_OP: return join_moves(n);
    case FE_FILTER_OP: return !lx_may_fail(n->u.filter.pred);
    case FE_PROJECT_OP:
        return !any_fails(n->ncols, n->u.project.exprs) && (n->inputs[0]->op == FE_SCAN_OP || moves(q, n->inputs[0]));
    case FE_SCAN_OP:
    case FE_REF_OP:
    case FE_VALUES_OP:
    case FE_PAIRS_OP:
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP:
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_WINDOW_OP:
    case FE_REPEAT_OP:
    case FE_LIMIT_OP:
    case FE_UNION_ALL_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    return false;
}

/* Relations that n is taken apart into. */
static int count_sources(const struct order_query *q, const struct fe_node *n)
{
    if (!moves(q, n))
        return 1;
    if (used_once(q, n))
        return count_sources(q, used_once(q, n));
    int left = count_sources(q, n->inputs[0]);
    if (n->op != FE_JOIN_OP)
        return left;
    return left + (n->u.join.kind == FE_INNER ? count_sources(q, n->inputs[1]) : 1);
}

/* Its condition may raise, which is tested of the rows that are left at the end. */
static bool may_raise(const struct fe_node *n)
{
    return n->op == FE_FILTER_OP ? lx_may_fail(n->u.filter.pred)
                                 : n->u.join.residual && n->u.join.kind == FE_INNER && lx_may_fail(n->u.join.residual);
}

bool order_may_flatten(const struct order_query *q, const struct fe_node *n)
{
    if (n->op != FE_JOIN_OP && n->op != FE_FILTER_OP)
        return false;
    int count = 0;
    for (int i = 0; i < n->ninputs; i++)
        count += count_sources(q, n->inputs[i]);
    bool can = moves(q, n) || (may_raise(n) && (n->op == FE_FILTER_OP || keys_move(n)));
    return can && count <= ORDER_RELATIONS;
}

/* ---- columns ---------------------------------------------------------------------------------------------------- */

order_set order_relations_of(const struct order_query *q, const struct fe_expr *e)
{
    order_set s = e->op == FE_COL ? order_of(q->columns.v[e->col].relation) : 0;
    for (int i = 0; i < e->nargs; i++)
        s |= order_relations_of(q, e->args[i]);
    return s;
}

struct fe_expr *order_put_in(const struct order_query *q, const struct fe_expr *e, struct fe_expr *const *map)
{
    if (e->op == FE_COL)
        return map[e->col];
    struct fe_expr *to = hd_dup(q->a, e, sizeof *e);
    to->args = HD_NEWN(q->a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        to->args[i] = order_put_in(q, e->args[i], map);
    return to;
}

static void add_column(struct order_query *q, struct fe_column c, int relation)
{
    hd_vec_push(q->a, &q->columns, (struct order_column_of){c, relation});
}

static int add_source(struct order_query *q, const struct fe_node *n, enum fe_join_kind kind,
                      const struct fe_node *join)
{
    int k = q->sources.n;
    struct order_source s = {.orig = n, .base = q->columns.n, .kind = kind, .join = join};
    s.n = s.inside = q->inside(q->data, n);
    hd_vec_push(q->a, &q->sources, s);
    for (int i = 0; i < n->ncols; i++)
        add_column(q, n->cols[i], k);
    if (kind == FE_MARK)
        add_column(q, join->cols[join->ncols - 1], k);
    return k;
}

/* Columns of a relation, for what is behind its join (outside) or part of its condition. */
static void source_columns(const struct order_query *q, const struct order_source *s, int n, bool outside,
                           struct fe_expr **out)
{
    for (int i = 0; i < n; i++) {
        const struct fe_column *c = &q->columns.v[s->base + i].c;
        out[i] = pl_col_node(q->a, s->base + i, c->type, c->nullable || (outside && s->kind == FE_LEFT), s->n->path);
    }
}

/* ---- terms ------------------------------------------------------------------------------------------------------ */

static void set_sides(struct order_query *q, struct order_term *t)
{
    if (t->e->op != FE_EQ)
        return;
    for (int i = 0; i < 2; i++)
        t->of[i] = order_relations_of(q, t->e->args[i]);
    if (!t->of[0] || !t->of[1] || (t->of[0] & t->of[1]))
        return;
    struct hd_type type = t->e->args[0]->type; /* decimals that compare differ in precision at most */
    type.precision = HD_MAX(type.precision, t->e->args[1]->type.precision);
    for (int i = 0; i < 2; i++) {
        struct fe_expr *x = t->e->args[i];
        bool same = hd_type_eq(x->type, type);
        t->sides[i] = same ? x : pl_expr_node(q->a, FE_CAST, type, x->nullable, x->path, 1, x, NULL);
    }
}

void order_add_term(struct order_query *q, struct fe_expr *e, int owner, bool implied)
{
    struct order_term t = {.e = e, .owner = owner, .class = -1, .implied = implied, .from = -1, .share = 1};
    t.relations = order_relations_of(q, e);
    set_sides(q, &t);
    hd_vec_push(q->a, &q->terms, t);
}

/* Those that may raise, which only the root has, come behind all others, in their order: so each is guarded by what
 * guards it as the plan is written. */
static void add_conjuncts(struct order_query *q, const struct fe_expr *e, struct fe_expr *const *map, int owner)
{
    const struct fe_expr **v = NULL;
    int n = 0;
    pl_conjuncts(q->a, e, &v, &n);
    for (int i = 0; i < n; i++) {
        struct fe_expr *to = order_put_in(q, v[i], map);
        if (lx_may_fail(v[i]))
            hd_vec_push(q->a, &q->last, to);
        else
            order_add_term(q, to, owner, false);
    }
}

static void add_keys(struct order_query *q, const struct fe_node *n, struct fe_expr *const *left,
                     struct fe_expr *const *right, int owner)
{
    for (int i = 0; i < n->u.join.nkeys; i++) {
        struct fe_expr *l = order_put_in(q, n->u.join.lkeys[i], left), *r = order_put_in(q, n->u.join.rkeys[i], right);
        bool null_equal = n->u.join.null_equal[i] && l->nullable && r->nullable;
        order_add_term(q, pl_key_equal(q->a, l, r, n->path, null_equal), owner, false);
        struct order_term *t = &q->terms.v[q->terms.n - 1];
        t->null_equal = null_equal;
        t->of[0] = order_relations_of(q, l);
        t->of[1] = order_relations_of(q, r);
        bool apart = t->of[0] && t->of[1] && !(t->of[0] & t->of[1]);
        t->sides[0] = apart ? l : NULL;
        t->sides[1] = apart ? r : NULL;
    }
}

/* ---- operators ---------------------------------------------------------------------------------------------------- */

static struct fe_expr **flatten(struct order_query *q, const struct fe_node *n);

static order_set sources_from(const struct order_query *q, int first)
{
    order_set s = 0;
    for (int i = first; i < q->sources.n; i++)
        s |= order_of(i);
    return s;
}

static void add_written(struct order_query *q, order_set left, order_set right)
{
    hd_vec_push(q->a, &q->written, (struct order_pair){left, right});
}

static struct fe_expr **flatten_inner(struct order_query *q, const struct fe_node *n)
{
    int nl = n->inputs[0]->ncols, nr = n->inputs[1]->ncols, first = q->sources.n;
    struct fe_expr **left = flatten(q, n->inputs[0]);
    int second = q->sources.n;
    struct fe_expr **right = flatten(q, n->inputs[1]), **both = HD_NEWN(q->a, struct fe_expr *, nl + nr + 1);
    memcpy(both, left, sizeof *both * (size_t)nl);
    memcpy(both + nl, right, sizeof *both * (size_t)nr);
    add_written(q, sources_from(q, first) & ~sources_from(q, second), sources_from(q, second));
    add_keys(q, n, left, right, -1);
    if (n->u.join.residual)
        add_conjuncts(q, n->u.join.residual, both, -1);
    return both;
}

/* What conjuncts of the join read on its left side; if they read nothing, any of it will do. */
static order_set needs_of(const struct order_query *q, int source, int first_term, order_set left)
{
    order_set needs = 0;
    for (int i = first_term; i < q->terms.n; i++)
        needs |= q->terms.v[i].relations & ~order_of(source);
    for (order_set s = left; !needs && s; s &= s - 1)
        if (q->sources.v[order_first(s)].kind == FE_INNER)
            needs = s & (~s + 1);
    return needs;
}

/* A semi, anti, mark, left or right join: the other side of it is one relation. */
static struct fe_expr **flatten_dependent(struct order_query *q, const struct fe_node *n)
{
    bool swap = n->u.join.kind == FE_RIGHT;
    enum fe_join_kind kind = swap ? FE_LEFT : n->u.join.kind;
    int nl = n->inputs[0]->ncols, nr = n->inputs[1]->ncols, first = q->sources.n, term = q->terms.n;
    struct fe_expr **kept = flatten(q, n->inputs[swap]);
    order_set left = sources_from(q, first);
    term = q->terms.n;
    int k = add_source(q, n->inputs[!swap], kind, n), nk = n->inputs[!swap]->ncols;
    struct fe_expr **own = HD_NEWN(q->a, struct fe_expr *, nk + 1),
                   **both = HD_NEWN(q->a, struct fe_expr *, nl + nr + 1);
    source_columns(q, &q->sources.v[k], nk, false, own);
    memcpy(both + (swap ? nl : 0), kept, sizeof *both * (size_t)(swap ? nr : nl));
    memcpy(both + (swap ? 0 : nl), own, sizeof *both * (size_t)nk);
    add_keys(q, n, swap ? own : kept, swap ? kept : own, k);
    if (n->u.join.residual)
        add_conjuncts(q, n->u.join.residual, both, k);
    q->sources.v[k].needs = needs_of(q, k, term, left);
    add_written(q, left, order_of(k));
    source_columns(q, &q->sources.v[k], nk + (kind == FE_MARK), true, kind == FE_MARK ? own : both + (swap ? 0 : nl));
    if (kind == FE_MARK)
        both[nl] = own[nk];
    return both;
}

static struct fe_expr **flatten_project(struct order_query *q, const struct fe_node *n)
{
    struct fe_expr **in = flatten(q, n->inputs[0]), **out = HD_NEWN(q->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        out[i] = order_put_in(q, n->u.project.exprs[i], in);
    return out;
}

static struct fe_expr **relation(struct order_query *q, const struct fe_node *n)
{
    struct fe_expr **out = HD_NEWN(q->a, struct fe_expr *, n->ncols + 1);
    int k = add_source(q, n, FE_INNER, NULL);
    source_columns(q, &q->sources.v[k], n->ncols, true, out);
    return out;
}

static struct fe_expr **flatten(struct order_query *q, const struct fe_node *n)
{
    if (used_once(q, n))
        return flatten(q, used_once(q, n));
    if (n != q->root && !moves(q, n))
        return relation(q, n);
    if (n->op == FE_PROJECT_OP)
        return flatten_project(q, n);
    if (n->op == FE_JOIN_OP)
        return n->u.join.kind == FE_INNER ? flatten_inner(q, n) : flatten_dependent(q, n);
    struct fe_expr **in = flatten(q, n->inputs[0]);
    add_conjuncts(q, n->u.filter.pred, in, -1);
    return in;
}

void order_flatten(struct order_query *q)
{
    q->map = flatten(q, q->root);
}
