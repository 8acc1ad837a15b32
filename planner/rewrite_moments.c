/* Sums of squares and products of deviations from the mean, in one of two ways; neither cancels, whatever the mean, and
 * neither depends on the order of rows beyond what docs/plan.md 1.2 says.
 *
 * Exactly: sums of x, y, x * y of integers (decimals without their point) in 128 bits. With q = sum(x) / n rounded, r =
 * sum(x) - n q and s, t likewise of y, the sum of (x - q)(y - s) is sum(xy) - q sum(y) - s r, an integer, and r t / n
 * less is the sum about the means: of a variance it takes off no more than half.
 *
 * In two steps, of floats and of numbers too large for that: means first, then sums of deviations from them, which takes
 * reading the input twice, and the correction that makes the rounding of the means harmless (Chan, Golub, LeVeque 1983,
 * equation 1.7). Values that are all one deviate by nothing, which is told by minimum and maximum. */
#include "planner/rewrite_moments.h"

#include <string.h>

#include "planner/rewrite_ordinals.h"
#include "planner/typed.h"

enum { PUSHED = 11 }; /* aggregates that one is said with, at most */

static const hd_i128 EXACT_MAX = 10000000000000; /* its square by 10^12 rows stays below 10^38 */

struct variable {
    struct fe_expr *x; /* NULL in rows that do not count */
    bool exact;
    struct fe_expr *mean; /* over the rows joined, if not exact */
};

struct moments {
    struct rewriting *w;
    const struct fe_node *n; /* the aggregate */
    struct variable *vars; /* [2 * aggregate]: x; y behind it */
    struct fe_node *g; /* the one that is made */
};

bool rw_has_moments(const struct fe_node *n)
{
    bool found = false;
    for (int i = 0; n->op == FE_AGGREGATE_OP && i < n->u.agg.naggs; i++)
        found |= fe_agg_is_moment(n->u.agg.aggs[i].fn);
    return found;
}

/* ---- expressions ------------------------------------------------------------------------------------------- */

static const struct hd_type wide = {HD_DECIMAL, HD_DEC_MAX, 0}, real = {HD_FLOAT64, 0, 0}, truth = {HD_BOOL, 0, 0};

static struct fe_expr *op(const struct moments *m, enum fe_op o, struct hd_type t, struct fe_expr *x, struct fe_expr *y)
{
    return pl_expr_node(m->w->a, o, t, x->nullable || (y && y->nullable), x->path, y ? 2 : 1, x, y);
}

static struct fe_expr *when(const struct moments *m, struct fe_expr *condition, struct fe_expr *x,
                            struct fe_expr *other)
{
    struct fe_expr *e =
        pl_expr_node(m->w->a, FE_CASE, x->type, !other || x->nullable || other->nullable, x->path, 2, condition, x);
    if (!other)
        return e;
    struct fe_expr **args = HD_NEWN(m->w->a, struct fe_expr *, 3);
    args[0] = condition;
    args[1] = x;
    args[2] = other;
    e->args = args;
    e->nargs = 3;
    return e;
}

static struct fe_expr *number(const struct moments *m, double v, const char *path)
{
    struct fe_expr *e = pl_expr_node(m->w->a, FE_LIT, real, false, path, 0, NULL, NULL);
    e->value = (struct fe_value){.type = real, .f = v};
    return e;
}

static struct fe_expr *cast(const struct moments *m, struct fe_expr *e, struct hd_type t)
{
    return hd_type_eq(e->type, t) ? e : op(m, FE_CAST, t, e, NULL);
}

static struct fe_expr *ratio(const struct moments *m, struct fe_expr *x, struct fe_expr *y)
{
    return op(m, FE_DIV, real, x, y);
}

static struct fe_expr *times(const struct moments *m, struct hd_type t, struct fe_expr *x, struct fe_expr *y)
{
    return op(m, FE_MUL, t, x, y);
}

static struct fe_expr *minus(const struct moments *m, struct hd_type t, struct fe_expr *x, struct fe_expr *y)
{
    return op(m, FE_SUB, t, x, y);
}

static struct fe_expr *is_more(const struct moments *m, struct fe_expr *x, double than)
{
    return op(m, FE_GT, truth, x, number(m, than, x->path));
}

static double power_of_ten(int k)
{
    double v = 1;
    for (; k > 22; k -= 22)
        v *= 1e22;
    for (; k > 0; k--)
        v *= 10;
    return v;
}

/* ---- what is accumulated ------------------------------------------------------------------------------------- */

static int scale_of(const struct variable *v)
{
    return v->x->type.kind == HD_DECIMAL ? v->x->type.scale : 0;
}

/* A column of the groups. */
static struct fe_expr *accumulated(const struct moments *m, enum fe_agg_fn fn, struct fe_expr *arg)
{
    struct fe_node *g = m->g;
    bool counts = fn == FE_AGG_COUNT;
    for (int i = 0; i < g->u.agg.naggs; i++)
        if (g->u.agg.aggs[i].fn == fn && !g->u.agg.aggs[i].distinct && fe_expr_eq(g->u.agg.aggs[i].arg, arg) &&
            hd_type_eq(g->u.agg.aggs[i].type, counts ? hd_type_of(HD_INT64) : arg->type))
            return rw_column(m->w, g, g->u.agg.nkeys + i);
    struct fe_agg a = {.fn = fn, .arg = arg, .type = counts ? hd_type_of(HD_INT64) : arg->type, .path = arg->path};
    g->u.agg.aggs[g->u.agg.naggs++] = a;
    g->cols[g->ncols] = (struct fe_column){"moment", a.type, !counts};
    return rw_column(m->w, g, g->ncols++);
}

/* How many values of v there are; NULL if none. */
static struct fe_expr *count_of(const struct moments *m, const struct variable *v, struct hd_type t)
{
    struct fe_expr *n = accumulated(m, FE_AGG_COUNT, v->x),
                   *zero = pl_expr_node(m->w->a, FE_LIT, n->type, false, n->path, 0, NULL, NULL);
    zero->value = (struct fe_value){.type = n->type};
    return when(m, op(m, FE_GT, truth, n, zero), cast(m, n, t), NULL);
}

static struct fe_expr *integer(const struct moments *m, const struct variable *v)
{
    return op(m, FE_ORDINAL, wide, v->x, NULL);
}

static struct fe_expr *sum(const struct moments *m, const struct variable *v)
{
    return accumulated(m, FE_AGG_SUM, v->exact ? integer(m, v) : v->x);
}

static struct fe_expr *mean(const struct moments *m, const struct variable *v)
{
    struct fe_expr *n = count_of(m, v, real);
    if (v->exact && scale_of(v))
        n = times(m, real, n, number(m, power_of_ten(scale_of(v)), n->path));
    return ratio(m, cast(m, sum(m, v), real), n);
}

/* ---- sums of products of deviations ---------------------------------------------------------------------------- */

/* The mean of v's integers, rounded; what n of it leave of their sum. */
static struct fe_expr *rounded(const struct moments *m, const struct variable *v)
{
    return op(m, FE_DIV, wide, sum(m, v), count_of(m, v, wide));
}

static struct fe_expr *left_over(const struct moments *m, const struct variable *v)
{
    return minus(m, wide, sum(m, v), times(m, wide, rounded(m, v), count_of(m, v, wide)));
}

static struct fe_expr *exact_products(const struct moments *m, const struct variable *x, const struct variable *y)
{
    struct fe_expr *r = left_over(m, x), *t = left_over(m, y);
    struct fe_expr *all = accumulated(m, FE_AGG_SUM, times(m, wide, integer(m, x), integer(m, y)));
    all = minus(m, wide, all, times(m, wide, rounded(m, x), sum(m, y)));
    all = minus(m, wide, all, times(m, wide, rounded(m, y), r));
    struct fe_expr *less = ratio(m, times(m, real, cast(m, r, real), cast(m, t, real)), count_of(m, x, real));
    struct fe_expr *e = minus(m, real, cast(m, all, real), less);
    int scale = scale_of(x) + scale_of(y);
    return scale ? ratio(m, e, number(m, power_of_ten(scale), e->path)) : e;
}

static struct fe_expr *deviation(const struct moments *m, const struct variable *v)
{
    return minus(m, real, v->x, v->mean);
}

static struct fe_expr *extreme(const struct moments *m, enum fe_agg_fn fn, const struct variable *v)
{
    return accumulated(m, fn, v->x);
}

/* 0, or NaN if some value is infinite or NaN, where one of x and y is always the same. */
static struct fe_expr *float_products(const struct moments *m, const struct variable *x, const struct variable *y)
{
    struct fe_expr *lo = extreme(m, FE_AGG_MIN, x), *hi = extreme(m, FE_AGG_MAX, x);
    struct fe_expr *low = extreme(m, FE_AGG_MIN, y), *high = extreme(m, FE_AGG_MAX, y);
    struct fe_expr *differ = op(m, FE_AND, truth, op(m, FE_LT, truth, lo, hi), op(m, FE_LT, truth, low, high));
    struct fe_expr *d = deviation(m, x), *e = deviation(m, y);
    struct fe_expr *all = accumulated(m, FE_AGG_SUM, times(m, real, d, e));
    struct fe_expr *less = times(m, real, accumulated(m, FE_AGG_SUM, d), accumulated(m, FE_AGG_SUM, e));
    all = minus(m, real, all, ratio(m, less, count_of(m, x, real)));
    if (x == y)
        all = when(m, is_more(m, all, 0), all, number(m, 0, all->path));
    return when(m, differ, all, times(m, real, minus(m, real, lo, hi), minus(m, real, low, high)));
}

static struct fe_expr *products(const struct moments *m, const struct variable *x, const struct variable *y)
{
    return x->exact ? exact_products(m, x, y) : float_products(m, x, y);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* By n, or by n - 1 where there are two rows or more. */
static struct fe_expr *per_row(const struct moments *m, struct fe_expr *products, const struct variable *x, bool sample)
{
    struct fe_expr *n = count_of(m, x, real);
    if (!sample)
        return ratio(m, products, n);
    return when(m, is_more(m, n, 1), ratio(m, products, minus(m, real, n, number(m, 1, n->path))), NULL);
}

static struct fe_expr *root(const struct moments *m, struct fe_expr *e)
{
    return op(m, FE_SQRT, real, e, NULL);
}

static struct fe_expr *slope(const struct moments *m, const struct variable *x, const struct variable *y)
{
    struct fe_expr *xx = products(m, x, x);
    return when(m, is_more(m, xx, 0), ratio(m, products(m, x, y), xx), NULL);
}

static struct fe_expr *correlation(const struct moments *m, const struct variable *x, const struct variable *y)
{
    struct fe_expr *xx = products(m, x, x), *yy = products(m, y, y);
    struct fe_expr *vary = op(m, FE_AND, truth, is_more(m, xx, 0), is_more(m, yy, 0));
    return when(m, vary, ratio(m, products(m, x, y), times(m, real, root(m, xx), root(m, yy))), NULL);
}

/* 1 where y is always the same. */
static struct fe_expr *determination(const struct moments *m, const struct variable *x, const struct variable *y)
{
    struct fe_expr *xx = products(m, x, x), *yy = products(m, y, y), *xy = products(m, x, y);
    struct fe_expr *part = times(m, real, ratio(m, xy, xx), ratio(m, xy, yy));
    return when(m, is_more(m, xx, 0), when(m, is_more(m, yy, 0), part, number(m, 1, xx->path)), NULL);
}

static struct fe_expr *result(const struct moments *m, enum fe_agg_fn fn, const struct variable *x,
                              const struct variable *y)
{
    switch (fn) {
    case FE_AGG_VAR_POP: return per_row(m, products(m, x, x), x, false);
    case FE_AGG_VAR_SAMP: return per_row(m, products(m, x, x), x, true);
    case FE_AGG_STDDEV_POP: return root(m, per_row(m, products(m, x, x), x, false));
    case FE_AGG_STDDEV_SAMP: return root(m, per_row(m, products(m, x, x), x, true));
    case FE_AGG_COVAR_POP: return per_row(m, products(m, x, y), x, false);
    case FE_AGG_COVAR_SAMP: return per_row(m, products(m, x, y), x, true);
    case FE_AGG_CORR: return correlation(m, x, y);
    case FE_AGG_REGR_SLOPE: return slope(m, x, y);
    case FE_AGG_REGR_INTERCEPT: return minus(m, real, mean(m, y), times(m, real, slope(m, x, y), mean(m, x)));
    case FE_AGG_REGR_COUNT: return accumulated(m, FE_AGG_COUNT, x->x);
    case FE_AGG_REGR_R2: return determination(m, x, y);
    case FE_AGG_REGR_AVGX: return mean(m, x);
    case FE_AGG_REGR_AVGY: return mean(m, y);
    case FE_AGG_REGR_SXX: return products(m, x, x);
    case FE_AGG_REGR_SYY: return products(m, y, y);
    case FE_AGG_REGR_SXY: return products(m, x, y);
#define T_MOMENT(id, ...)
#define T_AGG(id, ...) case FE_AGG_##id:
#include "frontend/aggs.def"
    case FE_AGG_COUNT_OF: break;
    }
    HD_BUG("moment %d", (int)fn);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* x in rows where y is there, too. */
static struct fe_expr *beside(const struct moments *m, struct fe_expr *x, struct fe_expr *y)
{
    if (!y || !y->nullable)
        return x;
    struct fe_expr *null = pl_expr_node(m->w->a, FE_IS_NULL, truth, false, y->path, 1, y, NULL);
    return when(m, op(m, FE_NOT, truth, null, NULL), x, NULL);
}

static bool is_exact(const struct moments *m, const struct fe_expr *x)
{
    struct pl_range r = {0};
    if (!hd_type_is_float(x->type))
        r = rw_ordinals(m->w, m->n->inputs[0], x);
    return r.known && r.lo >= -EXACT_MAX && r.hi <= EXACT_MAX;
}

static bool find_variables(struct moments *m)
{
    bool floats = false;
    for (int i = 0; i < m->n->u.agg.naggs; i++) {
        const struct fe_agg *a = &m->n->u.agg.aggs[i];
        struct variable *x = &m->vars[2 * i], *y = x + 1;
        if (!fe_agg_is_moment(a->fn))
            continue;
        x->x = beside(m, a->by ? a->by : a->arg, a->by ? a->arg : NULL);
        y->x = a->by ? beside(m, a->arg, a->by) : x->x;
        x->exact = y->exact = is_exact(m, x->x) && is_exact(m, y->x);
        if (x->exact)
            continue;
        floats = true;
        x->x = cast(m, x->x, real);
        y->x = cast(m, y->x, real);
    }
    return floats;
}

static struct fe_node *grouping(const struct moments *m, struct fe_node *in)
{
    const struct fe_node *n = m->n;
    int nk = n->u.agg.nkeys, room = n->u.agg.naggs * PUSHED;
    struct fe_node *g = rw_node(m->w, FE_AGGREGATE_OP, n, 1, in, NULL);
    g->u.agg.nkeys = g->ncols = nk;
    g->u.agg.keys = n->u.agg.keys;
    g->u.agg.aggs = HD_NEWN(m->w->a, struct fe_agg, room + 1);
    g->cols = HD_NEWN(m->w->a, struct fe_column, nk + room + 1);
    memcpy(g->cols, n->cols, sizeof *g->cols * (size_t)nk);
    return g;
}

/* The input's rows, and the means of their groups behind them. */
static struct fe_node *with_means(struct moments *m)
{
    int nk = m->n->u.agg.nkeys, na = m->n->u.agg.naggs;
    struct fe_node *in = rw_share(m->w, m->n->inputs[0], "input");
    m->g = grouping(m, rw_copy(m->w, in));
    int *at = HD_NEWN(m->w->a, int, 2 * na + 1);
    for (int i = 0; i < 2 * na; i++)
        if (m->vars[i].x && !m->vars[i].exact) {
            struct fe_expr *e = accumulated(m, FE_AGG_AVG, m->vars[i].x);
            at[i] = e->col;
        }
    struct fe_node *rows = rw_join(m->w, FE_INNER, rw_copy(m->w, in), m->g, nk, m->n->u.agg.keys, NULL, 0);
    rows->u.join.single = nk == 0;
    for (int i = 0; i < 2 * na; i++)
        if (m->vars[i].x && !m->vars[i].exact)
            m->vars[i].mean = rw_column(m->w, rows, in->ncols + at[i]);
    return rows;
}

struct fe_node *rw_moments(struct rewriting *w, struct fe_node *n,
                           struct fe_node *(*rest)(struct rewriting *w, struct fe_node *n))
{
    int nk = n->u.agg.nkeys, na = n->u.agg.naggs;
    struct moments m = {.w = w, .n = n, .vars = HD_NEWN(w->a, struct variable, 2 * na + 1)};
    struct fe_node *in = find_variables(&m) ? with_means(&m) : n->inputs[0];
    struct fe_expr **exprs = HD_NEWN(w->a, struct fe_expr *, n->ncols + 1);
    m.g = grouping(&m, in);
    for (int i = 0; i < na; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        if (fe_agg_is_moment(a->fn))
            continue;
        m.g->u.agg.aggs[m.g->u.agg.naggs++] = *a;
        m.g->cols[m.g->ncols] = n->cols[nk + i];
        exprs[nk + i] = rw_column(w, m.g, m.g->ncols++);
    }
    for (int i = 0; i < na; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        const struct variable *x = &m.vars[2 * i];
        if (fe_agg_is_moment(a->fn))
            exprs[nk + i] = result(&m, a->fn, x, x + 1);
    }
    for (int i = 0; i < nk; i++)
        exprs[i] = rw_column(w, m.g, i);
    struct fe_node *p = rw_node(w, FE_PROJECT_OP, n, 1, rest(w, m.g), NULL);
    rw_set_columns(w, p, n);
    p->u.project.exprs = exprs;
    return p;
}
