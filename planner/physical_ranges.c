/* Aggregates over an inner join by a range, without its pairs. With the build side sorted by the compared value, a
 * probe row's pairs are rows that lie side by side: their number is a difference of two positions, a sum over them a
 * difference of two running sums, and where the range begins with the first row, minimum and maximum are running ones.
 * What is asked of the probe side is asked once for each of its rows, weighted by the number of pairs. Exact sums
 * stay exact, and raise if and only if the whole leaves its type; of float64 only those of the probe side are made
 * so, because a difference of running sums would round by what lies outside the range. */
#include "planner/physical_ranges.h"

#include "planner/bounds.h"
#include "planner/cost.h"
#include "planner/estimate.h"
#include "planner/physical_agg.h"
#include "planner/typed.h"
#include "planner/typed_range.h"

enum { EXPR_NODES = 1000 }; /* of an expression that projections are put into */

/* ---- expressions through projections --------------------------------------------------------------------------- */

/* Columns of the aggregate's input as expressions over the join's. */
struct view {
    struct ctx *c;
    const struct fe_node *join;
    struct fe_expr **map;
};

static struct fe_expr *seen_through(struct view *v, const struct fe_expr *e)
{
    if (e->op == FE_COL)
        return v->map[e->col];
    struct fe_expr *to = hd_dup(v->c->a, e, sizeof *e);
    to->args = HD_NEWN(v->c->a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        to->args[i] = seen_through(v, e->args[i]);
    return to;
}

static void count_nodes(const struct fe_expr *e, int *left)
{
    if (--*left < 0)
        return;
    for (int i = 0; i < e->nargs; i++)
        count_nodes(e->args[i], left);
}

static bool is_large(const struct fe_expr *e)
{
    int left = EXPR_NODES;
    count_nodes(e, &left);
    return left < 0;
}

/* ---- the join below -------------------------------------------------------------------------------------------- */

static const struct fe_node *below(const struct ctx *c, const struct fe_node *n)
{
    while (n->op == FE_REF_OP && c->shared[n->u.ref.shared].uses == 1)
        n = c->plan->shared[n->u.ref.shared];
    return n;
}

static const struct fe_node *find_join(const struct ctx *c, const struct fe_node *n)
{
    const struct fe_node *j = below(c, n->inputs[0]);
    while (j->op == FE_PROJECT_OP || j->op == FE_FILTER_OP)
        j = below(c, j->inputs[0]);
    bool inner = j->op == FE_JOIN_OP && j->u.join.kind == FE_INNER && j->u.join.nkeys == 0 && !j->u.join.single;
    return inner ? j : NULL;
}

/* Fills the view of n's rows; conjuncts of filters on the way, and the join's, go to v. */
static bool look_through(struct view *w, const struct fe_node *n, const struct fe_expr ***v, int *count)
{
    struct ctx *c = w->c;
    n = below(c, n);
    if (n->op == FE_JOIN_OP) {
        w->map = HD_NEWN(c->a, struct fe_expr *, n->ncols + 1);
        for (int i = 0; i < n->ncols; i++)
            w->map[i] = pl_col_node(c->a, i, n->cols[i].type, n->cols[i].nullable, n->path);
        if (n->u.join.residual)
            pl_conjuncts(c->a, n->u.join.residual, v, count);
        return true;
    }
    if (!look_through(w, n->inputs[0], v, count))
        return false;
    if (n->op == FE_FILTER_OP) {
        struct fe_expr *pred = seen_through(w, n->u.filter.pred);
        pl_conjuncts(c->a, pred, v, count);
        return !is_large(pred);
    }
    struct fe_expr **to = HD_NEWN(c->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++) {
        if (!c->need[n->id][i]) {
            to[i] = pl_col_node(c->a, 0, n->cols[i].type, true, n->path);
            continue;
        }
        to[i] = seen_through(w, n->u.project.exprs[i]);
        if (is_large(to[i]))
            return false;
    }
    w->map = to;
    return true;
}

/* ---- the range ------------------------------------------------------------------------------------------------- */

static bool uses_probe(const struct pl_ranges *r, const struct fe_expr *e)
{
    return r->swapped ? pl_expr_uses(e, r->nleft, r->ncols) : pl_expr_uses(e, 0, r->nleft);
}

static bool uses_build(const struct pl_ranges *r, const struct fe_expr *e)
{
    return r->swapped ? pl_expr_uses(e, 0, r->nleft) : pl_expr_uses(e, r->nleft, r->ncols);
}

static struct fe_expr *cast_to(struct ctx *c, struct fe_expr *x, struct hd_type t)
{
    return hd_type_eq(x->type, t) ? x : pl_expr_node(c->a, FE_CAST, t, x->nullable, x->path, 1, x, NULL);
}

/* A float32 as float64, which is the same number. */
static struct fe_expr *widened(struct ctx *c, struct fe_expr *x)
{
    return x->type.kind == HD_FLOAT32 ? cast_to(c, x, hd_type_of(HD_FLOAT64)) : x;
}

static void push(struct ctx *c, const struct fe_expr ***v, int *n, const struct fe_expr *e)
{
    hd_grow1(c->a, *v, *n);
    (*v)[(*n)++] = e;
}

/* Conjuncts on both sides become the range, those on one side filters. */
static const char *find_range(const struct view *w, struct pl_over_pairs *o, const struct fe_expr *const *v, int n)
{
    struct pl_ranges *r = &o->r;
    const struct fe_expr **both = NULL;
    const char *why = NULL;
    int nboth = 0, lo = r->swapped ? 0 : r->nleft;
    for (int i = 0; i < n; i++) {
        bool probe = uses_probe(r, v[i]), build = uses_build(r, v[i]);
        if (pl_typed_may_fail(w->c->plan, w->join, v[i]))
            return "a condition may raise";
        if (probe && build)
            push(w->c, &both, &nboth, v[i]);
        else if (build)
            push(w->c, &o->build_only, &o->nbuild, v[i]);
        else
            push(w->c, &o->probe_only, &o->nprobe, v[i]);
    }
    r->range = pl_find_exact_interval(w->c, w->join, both, nboth, lo, r->swapped ? r->nleft : r->ncols, &why);
    return why;
}

/* ---- aggregates ------------------------------------------------------------------------------------------------ */

static struct hd_type exact_type(struct hd_type t)
{
    return hd_decimal(HD_DEC_MAX, t.kind == HD_DECIMAL ? t.scale : 0);
}

static bool is_float(struct hd_type t)
{
    return t.kind == HD_FLOAT64 || t.kind == HD_FLOAT32;
}

/* Of as many values as rows have numbers, no sum leaves 38 digits. */
static bool adds_up(const struct view *v, const struct fe_expr *x)
{
    const struct pl_range rows = {true, -INT32_MAX, INT32_MAX};
    struct pl_range sum = range_binary(FE_MUL, pl_typed_range(v->c->plan, v->join, x), rows);
    return !is_float(x->type) && range_within(sum, range_of_type(exact_type(x->type)));
}

static struct fe_expr *zero(struct ctx *c, struct hd_type t, const char *path)
{
    struct fe_expr *e = pl_expr_node(c->a, FE_LIT, t, false, path, 0, NULL, NULL);
    e->value = (struct fe_value){.type = t};
    return e;
}

static struct fe_expr *when(struct ctx *c, struct fe_expr *condition, struct fe_expr *yes, struct fe_expr *no)
{
    struct fe_expr *e = pl_expr_node(c->a, FE_CASE, yes->type, yes->nullable || !no || no->nullable, yes->path,
                                     no ? 3 : 2, condition, yes);
    e->args = HD_NEWN(c->a, struct fe_expr *, 3);
    e->args[0] = condition;
    e->args[1] = yes;
    e->args[2] = no;
    return e;
}

static struct fe_expr *is_null(struct ctx *c, struct fe_expr *x)
{
    return pl_expr_node(c->a, FE_IS_NULL, hd_type_of(HD_BOOL), false, x->path, 1, x, NULL);
}

static struct fe_expr *pairs(struct ctx *c, const struct pl_ranges *r, const char *path)
{
    return pl_col_node(c->a, r->ncols, hd_type_of(HD_INT64), false, path);
}

/* The column with what a running field is for a range. */
static struct fe_expr *running(const struct view *v, struct pl_ranges *r, enum rt_merge merge, struct fe_expr *arg,
                               struct hd_type t)
{
    struct ctx *c = v->c;
    int i = 0;
    while (i < r->nrunning && (r->running[i].merge != merge || !fe_expr_eq(r->running[i].arg, arg)))
        i++;
    if (i == r->nrunning) {
        hd_grow1(c->a, r->running, r->nrunning);
        r->running[r->nrunning++] = (struct pl_running){merge, arg, t, pl_typed_range(v->c->plan, v->join, arg)};
    }
    return pl_col_node(c->a, r->ncols + 1 + i, t, merge != RT_MERGE_SUM, arg->path);
}

/* Of how many pairs the build value is not NULL. */
static struct fe_expr *build_count(const struct view *v, struct pl_ranges *r, struct fe_expr *x)
{
    struct ctx *c = v->c;
    const struct hd_type t = hd_type_of(HD_INT64);
    struct fe_expr *one = zero(c, t, x->path);
    one->value.i = 1;
    if (!x->nullable)
        return pairs(c, r, x->path);
    return running(v, r, RT_MERGE_SUM, when(c, is_null(c, x), zero(c, t, x->path), one), t);
}

static struct fe_expr *build_sum(const struct view *v, struct pl_ranges *r, struct fe_expr *x)
{
    struct ctx *c = v->c;
    struct hd_type t = exact_type(x->type);
    if (!x->nullable)
        return running(v, r, RT_MERGE_SUM, x, t);
    struct fe_expr *or_zero = pl_expr_node(c->a, FE_COALESCE, x->type, false, x->path, 2, x, zero(c, x->type, x->path));
    struct fe_expr *any = pl_expr_node(c->a, FE_GT, hd_type_of(HD_BOOL), false, x->path, 2, build_count(v, r, x),
                                       zero(c, hd_type_of(HD_INT64), x->path));
    return when(c, any, running(v, r, RT_MERGE_SUM, or_zero, t), NULL);
}

static const char *of_build(const struct view *v, struct pl_ranges *r, enum fe_agg_fn fn, struct fe_expr *x,
                            struct pl_weighted_agg *to)
{
    bool two_sided = r->range->nlow && r->range->nhigh;
    if (pl_typed_may_fail(v->c->plan, v->join, x))
        return "an argument of the build side may raise";
    switch (fn) {
    case FE_AGG_COUNT: to->count = build_count(v, r, x); return NULL;
    case FE_AGG_SUM:
    case FE_AGG_AVG:
        if (!adds_up(v, x))
            return is_float(x->type) ? "differences of float64 sums are not exact" : "sums may be too wide";
        to->value = build_sum(v, r, x);
        to->count = build_count(v, r, x);
        return NULL;
    case FE_AGG_MIN:
    case FE_AGG_MAX:
        if (two_sided || hd_type_is_text(x->type) || x->type.kind == HD_FLOAT32)
            return two_sided ? "a minimum or maximum needs a range with one end" : "a minimum or maximum of that type";
        to->value = running(v, r, fn == FE_AGG_MIN ? RT_MERGE_MIN : RT_MERGE_MAX, x, x->type);
        return NULL;
    case FE_AGG_BIT_OR:
    case FE_AGG_BIT_XOR: return "aggregates of bits";
#define T_AGG(id, ...) case FE_AGG_##id:
#include "frontend/aggs_said.def"
    case FE_AGG_COUNT_STAR:
    case FE_AGG_ANY:
    case FE_AGG_COUNT_OF: break;
    }
    HD_BUG("aggregate %d", (int)fn);
}

/* x for each pair of its row. */
static struct fe_expr *times_pairs(struct ctx *c, const struct pl_ranges *r, struct fe_expr *x)
{
    bool exact = x->type.kind != HD_FLOAT64;
    struct hd_type t = exact ? exact_type(x->type) : x->type, n = exact ? hd_decimal(HD_DEC_MAX, 0) : x->type;
    return pl_expr_node(c->a, FE_MUL, t, x->nullable, x->path, 2, cast_to(c, x, t),
                        cast_to(c, pairs(c, r, x->path), n));
}

static struct fe_expr *probe_count(struct ctx *c, const struct pl_ranges *r, struct fe_expr *x)
{
    struct fe_expr *n = pairs(c, r, x->path);
    return x->nullable ? when(c, is_null(c, x), zero(c, n->type, x->path), n) : n;
}

static const char *of_probe(const struct view *v, const struct pl_ranges *r, enum fe_agg_fn fn, struct fe_expr *x,
                            struct pl_weighted_agg *to)
{
    struct ctx *c = v->c;
    switch (fn) {
    case FE_AGG_COUNT: to->count = probe_count(c, r, x); return NULL;
    case FE_AGG_SUM:
    case FE_AGG_AVG:
        x = widened(c, x);
        if (!adds_up(v, x) && x->type.kind != HD_FLOAT64)
            return "sums may be too wide";
        to->type = x->type;
        to->value = times_pairs(c, r, x);
        to->count = probe_count(c, r, x);
        return NULL;
    case FE_AGG_MIN:
    case FE_AGG_MAX: to->value = x; return NULL;
    case FE_AGG_BIT_OR:
    case FE_AGG_BIT_XOR: return "aggregates of bits";
#define T_AGG(id, ...) case FE_AGG_##id:
#include "frontend/aggs_said.def"
    case FE_AGG_COUNT_STAR:
    case FE_AGG_ANY:
    case FE_AGG_COUNT_OF: break;
    }
    HD_BUG("aggregate %d", (int)fn);
}

static const char *weigh(struct view *v, struct pl_ranges *r, const struct fe_agg *a, struct pl_weighted_agg *to)
{
    struct ctx *c = v->c;
    if (a->distinct)
        return "an argument is distinct";
    if (!a->arg) {
        to->count = pairs(c, r, a->path);
        return NULL;
    }
    struct fe_expr *x = seen_through(v, a->arg);
    to->type = x->type;
    if (is_large(x))
        return "an expression is too large";
    if (!uses_build(r, x))
        return of_probe(v, r, a->fn, x, to);
    return uses_probe(r, x) ? "an argument reads both sides" : of_build(v, r, a->fn, x, to);
}

static const char *weigh_all(struct view *v, const struct fe_node *n, struct pl_over_pairs *o)
{
    struct ctx *c = v->c;
    int nk = n->u.agg.nkeys, na = n->u.agg.naggs;
    const char *why = NULL;
    o->w.keys = HD_NEWN(c->a, struct fe_expr *, nk + 1);
    o->w.aggs = HD_NEWN(c->a, struct pl_weighted_agg, na + 1);
    for (int i = 0; i < nk && !why; i++) {
        o->w.keys[i] = seen_through(v, n->u.agg.keys[i]);
        if (uses_build(&o->r, o->w.keys[i]))
            why = "groups are told apart by the build side";
    }
    for (int i = 0; i < na && !why; i++)
        if (c->need[n->id][nk + i])
            why = weigh(v, &o->r, &n->u.agg.aggs[i], &o->w.aggs[i]);
    return why;
}

/* ---- what is cheaper ------------------------------------------------------------------------------------------- */

/* With one of the sides as the build side. */
static void look_at_side(struct ctx *c, const struct fe_node *n, bool swapped, struct pl_over_pairs *o)
{
    const struct fe_node *j = o->join;
    const struct fe_expr **v = NULL;
    int count = 0;
    struct view view = {.c = c, .join = j};
    enum fe_side asked = swapped ? FE_SIDE_LEFT : FE_SIDE_RIGHT;
    o->r = (struct pl_ranges){.swapped = swapped, .nleft = j->inputs[0]->ncols, .ncols = j->ncols};
    o->why_not = NULL;
    if (j->u.join.build != FE_SIDE_AUTO && j->u.join.build != asked)
        o->why_not = "the plan asks for the other side";
    else if (!look_through(&view, n->inputs[0], &v, &count))
        o->why_not = "an expression is too large";
    if (!o->why_not)
        o->why_not = find_range(&view, o, v, count);
    if (!o->why_not)
        o->why_not = weigh_all(&view, n, o);
    double build = est_rows(c, j->inputs[!swapped]), probe = est_rows(c, j->inputs[swapped]);
    int ends = o->r.range ? (o->r.range->nlow > 0) + (o->r.range->nhigh > 0) : 0;
    bool in_order =
        ends && pl_comes_by(j->inputs[!swapped], o->r.range, swapped ? 0 : o->r.nleft, c->opt.on_gpu || o->nbuild);
    o->loop = pl_cost_loop(build * probe, count);
    o->ranges = o->band = -1;
    if (ends)
        o->band = pl_cost_search(build, in_order, probe, build * probe * pl_range_share(ends), count);
    if (!o->why_not)
        o->ranges = pl_cost_search(build, in_order, probe, 0, 0);
}

void pl_look_at_pairs(struct ctx *c, const struct fe_node *n, struct pl_over_pairs *o)
{
    *o = (struct pl_over_pairs){
        .join = n->op == FE_AGGREGATE_OP ? find_join(c, n) : NULL, .ranges = -1, .band = -1, .loop = -1};
    if (!o->join)
        return;
    if (o->join->u.join.strategy != FE_AUTO) {
        o->why_not = "the plan asks for it";
        return;
    }
    struct pl_over_pairs left = *o;
    look_at_side(c, n, false, o);
    look_at_side(c, n, true, &left);
    if (!left.why_not && (o->why_not || left.ranges < o->ranges))
        *o = left;
    if (!o->why_not && o->ranges >= HD_MIN(o->loop, o->band))
        o->why_not = "there are few";
}

/* ---- the nodes ------------------------------------------------------------------------------------------------- */

struct pl_node *pl_aggregate_ranges(struct ctx *c, const struct fe_node *n, struct pl_over_pairs *o,
                                    struct pl_node *const *sides)
{
    struct pl_ranges *r = &o->r;
    const char *path = o->join->path;
    int left = 0, right = r->nleft;
    r->probe = pl_node_filter(c, sides[r->swapped], o->probe_only, o->nprobe, r->swapped ? right : left, path);
    r->build = pl_node_filter(c, sides[!r->swapped], o->build_only, o->nbuild, r->swapped ? left : right, path);
    struct pl_node *inputs[2] = {r->build, r->probe};
    struct pl_node *p = pl_node_new(c, PL_NODE_RANGES, NULL, 2, inputs);
    p->path = path;
    p->label = fe_relop_name(FE_JOIN_OP);
    p->rows = r->probe->rows;
    p->u.ranges = *r;
    p = pl_physical_aggregate(c, n, p);
    p->u.agg.weighted = hd_dup(c->a, &o->w, sizeof o->w);
    return p;
}

void pl_tell_pairs(struct ctx *c, struct pl_node *p, const struct pl_over_pairs *o)
{
    static const char all[] = "visited", none[] = "told by running fields";
    struct pl_decision *d = pl_decide(c, p, "pairs");
    if (o->why_not)
        pl_decide_way(c, d, all, -1, NULL);
    pl_decide_way(c, d, none, o->ranges, o->why_not);
    if (o->band >= 0)
        pl_decide_way(c, d, "those of each range", o->band, NULL);
    if (o->loop >= 0)
        pl_decide_way(c, d, "all of them in a loop", o->loop, NULL);
    pl_decide_take(d, o->why_not ? all : none);
}
