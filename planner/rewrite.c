/* Aggregates arg_min and arg_max are said with min, in one of two ways; of all rows with the smallest `by` the smallest
 * x counts, so the answer is one whatever the order of rows.
 *
 * Packed: `by` and x as integers that order like them, one behind the other in one integer, of which the minimum has x.
 * It takes that both together have at most 38 digits, by facts or types.
 *
 * In two steps: the minimum of `by` for each group, then the minimum of x among the rows that have it. It serves every
 * type, reads the input twice and joins the groups. */
#include "planner/rewrite.h"

#include "planner/lower_ordinal.h"
#include "planner/rewrite_aggs.h"
#include "planner/rewrite_codes.h"
#include "planner/rewrite_first.h"
#include "planner/rewrite_fits.h"
#include "planner/rewrite_groups.h"
#include "planner/rewrite_intervals.h"
#include "planner/rewrite_keys.h"
#include "planner/rewrite_moments.h"
#include "planner/rewrite_node.h"
#include "planner/rewrite_ordered.h"
#include "planner/rewrite_ordinals.h"
#include "planner/rewrite_sets.h"
#include "planner/typed.h"
#include "runtime/base/vec.h"

/* ---- whether ----------------------------------------------------------------------------------------- */

static bool is_ranked(const struct fe_agg *a)
{
    return a->fn == FE_AGG_ARG_MIN || a->fn == FE_AGG_ARG_MAX;
}

static bool is_ranking(const struct fe_node *n)
{
    bool found = false;
    for (int i = 0; n->op == FE_AGGREGATE_OP && i < n->u.agg.naggs; i++)
        found |= is_ranked(&n->u.agg.aggs[i]);
    return found;
}

/* Something of it is said with other operators. */
static bool to_rewrite(const struct fe_node *n)
{
    bool found = is_ranking(n) || rw_is_set(n) || rw_has_sets(n) || rw_has_filters(n) || rw_has_moments(n) ||
                 rw_has_ordered(n) || rw_may_be_first(n) || rw_has_hidden_keys(n) || rw_has_fits(n) ||
                 rw_has_intervals(n) || rw_has_codes(n);
    for (int i = 0; i < n->ninputs; i++)
        found |= to_rewrite(n->inputs[i]);
    return found;
}

static bool plan_to_rewrite(const struct fe_plan *p)
{
    bool found = to_rewrite(p->root);
    for (int i = 0; i < p->nshared; i++)
        found |= to_rewrite(p->shared[i]);
    return found;
}

/* ---- nodes and expressions ------------------------------------------------------------------------------ */

static struct fe_expr *op(const struct rewriting *w, enum fe_op o, struct hd_type t, struct fe_expr *x,
                          struct fe_expr *y)
{
    bool nullable = o == FE_COALESCE ? x->nullable && y->nullable : x->nullable || (y && y->nullable);
    return pl_expr_node(w->a, o, t, nullable, x->path, y ? 2 : 1, x, y);
}

static const struct hd_type wide = {HD_DECIMAL, HD_DEC_MAX, 0};

static struct fe_expr *number(const struct rewriting *w, hd_i128 v, const char *path)
{
    struct fe_expr *e = pl_expr_node(w->a, FE_LIT, wide, false, path, 0, NULL, NULL);
    e->value = (struct fe_value){.type = wide, .i = v};
    return e;
}

/* ---- packed ---------------------------------------------------------------------------------------------- */

/* (by - its smallest value) * span + (x - its smallest value), of arg_max (by's largest value - by); NULL for x is
 * `null`, the last of its span. */
struct packing {
    bool packed;
    struct pl_range by, x;
    hd_i128 span, null;
};

static bool span_of(struct pl_range r, hd_i128 limit, hd_i128 *span)
{
    return r.known && r.lo >= -limit && !__builtin_sub_overflow(r.hi + 1, r.lo, span) && *span < limit;
}

static struct packing packing_of(const struct rewriting *w, const struct fe_node *in, const struct fe_agg *a)
{
    struct packing p = {.by = rw_ordinals(w, in, a->by), .x = rw_ordinals(w, in, a->arg)};
    const hd_i128 limit = hd_pow10(HD_DEC_MAX) - 1;
    hd_i128 all;
    if (!span_of(p.by, limit, &all) || !span_of(p.x, limit, &p.null))
        return p;
    p.span = p.null + a->arg->nullable;
    p.packed = !__builtin_mul_overflow(all, p.span, &all) && all <= limit;
    return p;
}

/* -0 and 0 are one value of `by`. */
static struct fe_expr *ranked_by(const struct rewriting *w, struct fe_expr *by)
{
    if (!hd_type_is_float(by->type))
        return by;
    struct fe_expr *zero = pl_expr_node(w->a, FE_LIT, by->type, false, by->path, 0, NULL, NULL);
    zero->value = (struct fe_value){.type = by->type};
    return op(w, FE_ADD, by->type, by, zero);
}

static struct fe_expr *packed(const struct rewriting *w, const struct fe_agg *a, const struct packing *p)
{
    const char *path = a->path;
    struct fe_expr *by = op(w, FE_ORDINAL, wide, ranked_by(w, a->by), NULL);
    struct fe_expr *x = op(w, FE_SUB, wide, op(w, FE_ORDINAL, wide, a->arg, NULL), number(w, p->x.lo, path));
    if (a->arg->nullable)
        x = op(w, FE_COALESCE, wide, x, number(w, p->null, path));
    by = a->fn == FE_AGG_ARG_MIN ? op(w, FE_SUB, wide, by, number(w, p->by.lo, path))
                                 : op(w, FE_SUB, wide, number(w, p->by.hi, path), by);
    return op(w, FE_ADD, wide, op(w, FE_MUL, wide, by, number(w, p->span, path)), x);
}

static struct fe_expr *unpacked(const struct rewriting *w, const struct fe_agg *a, const struct packing *p,
                                struct fe_expr *word)
{
    struct fe_expr *x = op(w, FE_MOD, wide, word, number(w, p->span, a->path));
    struct fe_expr *v = op(w, FE_OF_ORDINAL, a->type, op(w, FE_ADD, wide, x, number(w, p->x.lo, a->path)), NULL);
    if (!a->arg->nullable)
        return v;
    struct fe_expr *there = op(w, FE_LT, hd_type_of(HD_BOOL), x, number(w, p->null, a->path));
    return pl_expr_node(w->a, FE_CASE, a->type, true, a->path, 2, there, v);
}

/* ---- in two steps ------------------------------------------------------------------------------------------ */

/* What x is found by: min takes no bool, and to it -0 and 0 are one. */
static struct fe_expr *orderly(const struct rewriting *w, struct fe_expr *x)
{
    bool by_ordinal = x->type.kind == HD_BOOL || hd_type_is_float(x->type);
    return by_ordinal ? op(w, FE_ORDINAL, wide, x, NULL) : x;
}

/* What `by` is compared as. */
static struct fe_expr *comparable(const struct rewriting *w, struct fe_expr *by)
{
    return by->type.kind == HD_BOOL ? op(w, FE_ORDINAL, wide, by, NULL) : by;
}

static struct fe_expr *as_before(const struct rewriting *w, struct fe_expr *e, struct hd_type t)
{
    return hd_type_eq(e->type, t) ? e : op(w, FE_OF_ORDINAL, t, e, NULL);
}

/* ---- aggregates -------------------------------------------------------------------------------------------- */

struct ranking {
    struct rewriting *w;
    const struct fe_node *n; /* the aggregate */
    struct fe_node *in;
    struct packing *packing; /* [aggregate] */
    int *at; /* [aggregate]: column that has it, its word, or the minimum of its `by` */
    int *found; /* [aggregate], if not packed: column of the groups joined that has it */
};

static struct fe_node *grouping(const struct ranking *r, struct fe_node *in, int room)
{
    const struct fe_node *n = r->n;
    struct fe_node *g = rw_node(r->w, FE_AGGREGATE_OP, n, 1, in, NULL);
    g->u.agg.nkeys = g->ncols = n->u.agg.nkeys;
    g->u.agg.keys = n->u.agg.keys;
    g->u.agg.aggs = HD_NEWN(r->w->a, struct fe_agg, room + 1);
    g->cols = HD_NEWN(r->w->a, struct fe_column, n->u.agg.nkeys + room + 1);
    memcpy(g->cols, n->cols, sizeof *g->cols * (size_t)n->u.agg.nkeys);
    return g;
}

static int push(struct fe_node *g, struct fe_agg a, const char *name, bool nullable)
{
    g->u.agg.aggs[g->u.agg.naggs++] = a;
    g->cols[g->ncols] = (struct fe_column){name, a.type, nullable};
    return g->ncols++;
}

static int push_extreme(struct fe_node *g, enum fe_agg_fn fn, struct fe_expr *arg, const struct fe_agg *of,
                        const char *name)
{
    for (int i = 0; i < g->u.agg.naggs; i++)
        if (g->u.agg.aggs[i].fn == fn && fe_expr_eq(g->u.agg.aggs[i].arg, arg))
            return g->u.agg.nkeys + i;
    return push(g, (struct fe_agg){.fn = fn, .arg = arg, .type = arg->type, .path = of->path}, name, true);
}

/* The groups: aggregates that are not ranked, words, minima (maxima) of what others are ranked by. */
static struct fe_node *first_step(const struct ranking *r)
{
    const struct fe_node *n = r->n;
    struct fe_node *g = grouping(r, r->in, n->u.agg.naggs);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        const struct fe_column *c = &n->cols[n->u.agg.nkeys + i];
        if (!is_ranked(a))
            r->at[i] = push(g, *a, c->name, c->nullable);
        else if (r->packing[i].packed)
            r->at[i] = push_extreme(g, FE_AGG_MIN, packed(r->w, a, &r->packing[i]), a, c->name);
        else
            r->at[i] =
                push_extreme(g, a->fn == FE_AGG_ARG_MIN ? FE_AGG_MIN : FE_AGG_MAX, comparable(r->w, a->by), a, c->name);
    }
    return g;
}

static bool in_two_steps(const struct ranking *r, int i)
{
    return is_ranked(&r->n->u.agg.aggs[i]) && !r->packing[i].packed;
}

/* What is ranked by the column that `first` is ranked by, among the rows that have it. */
static struct fe_node *second_step(const struct ranking *r, struct fe_node *groups, int first, int base)
{
    const struct fe_node *n = r->n;
    struct rewriting *w = r->w;
    const struct fe_agg *f = &n->u.agg.aggs[first];
    struct fe_node *rows = rw_join(w, FE_SEMI, rw_copy(w, r->in), rw_copy(w, groups), n->u.agg.nkeys, n->u.agg.keys,
                                   comparable(w, f->by), r->at[first]);
    struct fe_node *g = grouping(r, rows, n->u.agg.naggs);
    for (int i = first; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        if (in_two_steps(r, i) && r->at[i] == r->at[first])
            r->found[i] = base + push_extreme(g, FE_AGG_MIN, orderly(w, a->arg), a, n->cols[n->u.agg.nkeys + i].name);
    }
    return g;
}

/* Groups joined with those of the second steps, one for each column that rows are ranked by. */
static struct fe_node *joined(const struct ranking *r, struct fe_node *groups)
{
    const struct fe_node *n = r->n;
    struct rewriting *w = r->w;
    int nk = n->u.agg.nkeys;
    struct fe_expr **keys = HD_NEWN(w->a, struct fe_expr *, nk + 1);
    struct fe_node *shared = rw_share(w, groups, "groups"), *all = rw_copy(w, shared);
    for (int i = 0; i < nk; i++)
        keys[i] = rw_column(w, groups, i);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        if (!in_two_steps(r, i) || r->found[i] >= 0)
            continue;
        struct fe_node *more = second_step(r, shared, i, all->ncols);
        all = rw_join(w, nk ? FE_LEFT : FE_INNER, all, more, nk, keys, NULL, 0);
        all->u.join.single = nk == 0;
    }
    return all;
}

static struct fe_node *results(const struct ranking *r, struct fe_node *all)
{
    const struct fe_node *n = r->n;
    struct fe_node *p = rw_node(r->w, FE_PROJECT_OP, n, 1, all, NULL);
    p->ncols = n->ncols;
    p->cols = n->cols;
    p->u.project.exprs = HD_NEWN(r->w->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < n->u.agg.nkeys; i++)
        p->u.project.exprs[i] = rw_column(r->w, all, i);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        struct fe_expr **to = &p->u.project.exprs[n->u.agg.nkeys + i];
        *to = rw_column(r->w, all, in_two_steps(r, i) ? r->found[i] : r->at[i]);
        if (is_ranked(a))
            *to = r->packing[i].packed ? unpacked(r->w, a, &r->packing[i], *to) : as_before(r->w, *to, a->type);
    }
    return p;
}

static struct fe_node *ranked(struct rewriting *w, const struct fe_node *n)
{
    int na = n->u.agg.naggs;
    bool twice = false;
    struct ranking r = {.w = w, .n = n, .in = n->inputs[0]};
    r.packing = HD_NEWN(w->a, struct packing, na + 1);
    r.at = HD_NEWN(w->a, int, na + 1);
    r.found = HD_NEWN(w->a, int, na + 1);
    for (int i = 0; i < na; i++) {
        r.found[i] = -1;
        if (is_ranked(&n->u.agg.aggs[i]))
            r.packing[i] = packing_of(w, r.in, &n->u.agg.aggs[i]);
        twice |= in_two_steps(&r, i);
    }
    if (!twice)
        return results(&r, first_step(&r));
    r.in = rw_share(w, r.in, "input");
    return results(&r, joined(&r, first_step(&r)));
}

/* ---- plans ------------------------------------------------------------------------------------------------- */

/* An aggregate without grouping sets. */
static struct fe_node *ranks(struct rewriting *w, struct fe_node *n)
{
    return is_ranking(n) ? ranked(w, n) : n;
}

static struct fe_node *unordered(struct rewriting *w, struct fe_node *n)
{
    return rw_has_moments(n) ? rw_moments(w, n, ranks) : ranks(w, n);
}

static struct fe_node *plainly(struct rewriting *w, struct fe_node *n)
{
    return rw_has_ordered(n) ? rw_ordered(w, n, unordered) : unordered(w, n);
}

static struct fe_node *aggregate(struct rewriting *w, struct fe_node *n)
{
    return rw_has_sets(n) ? rw_grouping_sets(w, n, plainly) : plainly(w, n);
}

static struct fe_node *rewritten(struct rewriting *w, const struct fe_node *n)
{
    if (rw_has_intervals(n))
        n = rw_intervals(w, n);
    struct fe_node *to = hd_dup(w->a, n, sizeof *n);
    to->inputs = HD_NEWN(w->a, struct fe_node *, n->ninputs + 1);
    for (int i = 0; i < n->ninputs; i++)
        to->inputs[i] = rewritten(w, n->inputs[i]);
    if (n->op == FE_REF_OP)
        to->u.ref.shared = w->moved[n->u.ref.shared];
    if (rw_has_codes(to))
        return rw_codes(w, to);
    if (rw_has_fits(to))
        return rw_fits(w, to);
    if (rw_is_set(n))
        return rw_set(w, to);
    if (rw_is_first(w, to))
        return rw_first(w, to);
    if (rw_has_hidden_keys(to))
        return rw_hidden_keys(w, to);
    return rw_has_filters(n) ? rw_filters(w, to, aggregate) : aggregate(w, to);
}

const struct fe_plan *pl_rewrite(struct hd_arena *a, const struct fe_plan *plan)
{
    if (!plan_to_rewrite(plan))
        return plan;
    struct rewriting w = {.a = a, .plan = hd_dup(a, plan, sizeof *plan)};
    w.plan->nshared = 0;
    w.moved = HD_NEWN(a, int, plan->nshared + 1);
    for (int i = 0; i < plan->nshared; i++) {
        struct fe_node *n = rewritten(&w, plan->shared[i]); /* which may need others before it */
        w.moved[i] = rw_add_shared(&w, plan->shared_names[i], n);
    }
    w.plan->root = rewritten(&w, plan->root);
    rw_renumber(w.plan);
    return w.plan;
}
