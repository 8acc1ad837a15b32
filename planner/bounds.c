/* Finding ranges. A comparison of sums is taken apart into terms, each of which reads one side; those of the build side
 * go to the left. What cannot be taken apart is no bound: a search tests every condition again on the rows of a range, and
 * who does not asks for an interval that says all. */
#include "planner/bounds.h"

#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/typed.h"
#include "planner/typed_range.h"
#include "runtime/base/vec.h"

enum {
    TERMS_MAX = 8, /* of a comparison: few enough for the slack of rounded bounds (search_word.c) */
    DIGITS_MAX = 36, /* of a term as an integer: eight of them fit 128 bits */
    DAY_DIGITS = 11
};
static const hd_i128 day_micros = (hd_i128)86400 * 1000000;

/* What a conjunct says: `of` is at most (high) or at least (low) bound.at. */
struct found {
    struct pl_sum of;
    struct pl_bound bound;
    bool low, is_float;
};
typedef HD_VEC(struct found) found_vec;

/* Conjuncts on columns of a join. */
struct finder {
    struct ctx *c;
    const struct fe_node *join;
    int lo, hi; /* build columns */
    bool squares; /* what sums of squares say counts */
    int from; /* the conjunct at hand */
    int *ends; /* [conjunct] that it is */
    found_vec v;
};

/* A comparison being taken apart. */
struct parts {
    const struct finder *f;
    int n;
    struct pl_term v[TERMS_MAX];
    bool arithmetic, single; /* single: in float32 */
};

/* ---- sums --------------------------------------------------------------------------------------------------- */

static bool is_exact(struct hd_type t)
{
    return hd_type_is_num(t) && !hd_type_is_float(t);
}

static int scale_of(struct hd_type t)
{
    return t.kind == HD_DECIMAL ? t.scale : 0;
}

/* A cast that leaves the number what it is. */
static bool keeps_number(const struct fe_expr *e)
{
    struct hd_type from = e->args[0]->type, to = e->type;
    return is_exact(from) && is_exact(to) && scale_of(to) >= scale_of(from);
}

static bool reads_build(const struct finder *f, const struct fe_expr *e)
{
    return pl_expr_uses(e, f->lo, f->hi);
}

static bool add_term(struct parts *p, const struct fe_expr *e, hd_i128 factor)
{
    const struct finder *f = p->f;
    bool probe = pl_expr_uses(e, 0, f->lo) || pl_expr_uses(e, f->hi, INT32_MAX);
    if (p->n == TERMS_MAX || (reads_build(f, e) && probe) || pl_typed_may_fail(f->c->plan, f->join, e))
        return false;
    p->v[p->n++] = (struct pl_term){.e = e, .factor = factor};
    return true;
}

static bool add_terms(struct parts *p, const struct fe_expr *e, hd_i128 factor);

static bool add_both(struct parts *p, const struct fe_expr *e, hd_i128 first, hd_i128 second)
{
    p->arithmetic = true;
    return add_terms(p, e->args[0], first) && add_terms(p, e->args[1], second);
}

static bool add_terms(struct parts *p, const struct fe_expr *e, hd_i128 factor)
{
    bool timestamp = e->type.kind == HD_TIMESTAMP, one_day = factor == 1 || factor == -1;
    if (e->op == FE_ADD)
        return add_both(p, e, factor, factor);
    if (e->op == FE_SUB || e->op == FE_DATE_DIFF)
        return add_both(p, e, factor, -factor);
    if (e->op == FE_ADD_DAYS && (!timestamp || one_day))
        return add_both(p, e, factor, timestamp ? factor * day_micros : factor);
    if (e->op == FE_ADD_MICROS)
        return add_both(p, e, factor, factor);
    if (e->op == FE_NEG) {
        p->arithmetic = true;
        return add_terms(p, e->args[0], -factor);
    }
    if (e->op == FE_CAST && keeps_number(e))
        return add_terms(p, e->args[0], factor);
    if (e->op == FE_CAST && timestamp && e->args[0]->type.kind == HD_DATE && one_day)
        return add_terms(p, e->args[0], factor * day_micros);
    return add_term(p, e, factor);
}

/* The terms of one side, times `by`. */
static struct pl_sum side(const struct parts *p, bool build, int by)
{
    struct pl_term *v = HD_NEWN(p->f->c->a, struct pl_term, TERMS_MAX);
    struct pl_sum s = {0, v};
    for (int i = 0; i < p->n; i++)
        if (reads_build(p->f, p->v[i].e) == build)
            v[s.n++] = (struct pl_term){p->v[i].e, p->v[i].factor * by, p->v[i].form};
    return s;
}

static bool is_constant(const struct pl_sum *s)
{
    for (int i = 0; i < s->n; i++)
        if (pl_expr_uses(s->v[i].e, 0, INT32_MAX))
            return false;
    return true;
}

bool pl_same_sum(const struct pl_sum *a, const struct pl_sum *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = a->v[i].factor == b->v[i].factor && a->v[i].form == b->v[i].form && fe_expr_eq(a->v[i].e, b->v[i].e);
    return same;
}

/* ---- comparisons -------------------------------------------------------------------------------------------- */

static bool is_ordered(struct hd_type t)
{
    return hd_type_is_num(t) || t.kind == HD_DATE || t.kind == HD_TIMESTAMP || t.kind == HD_TIME;
}

/* The sum of the parts is compared with 0 by op, LT, LE, GT or GE. greater: p's build terms came from the side that the
 * comparison wants to be the greater one. */
static void push_comparison(struct finder *to, const struct parts *p, enum fe_op op, bool greater, bool is_float)
{
    struct pl_sum of = side(p, true, 1);
    int by = of.n && of.v[0].factor < 0 ? -1 : 1;
    struct found f = {.of = side(p, true, by), .is_float = is_float};
    f.low = (op == FE_GT || op == FE_GE) == (by > 0);
    f.bound = (struct pl_bound){.at = side(p, false, -by),
                                .strict = op == FE_LT || op == FE_GT,
                                .rounded = is_float && p->arithmetic,
                                .single = p->single,
                                .with_nan = is_float && p->arithmetic && greater,
                                .from = to->from};
    bool plain = f.of.n == 1 && f.of.v[0].factor == 1;
    if (f.of.n == 0 || is_constant(&f.bound.at) || (is_float && !plain))
        return;
    hd_vec_push(to->c->a, &to->v, f);
}

static void push_comparisons(struct finder *f, const struct parts *p, enum fe_op op, bool left, bool is_float)
{
    if (op == FE_EQ) {
        push_comparison(f, p, FE_LE, false, is_float);
        push_comparison(f, p, FE_GE, false, is_float);
        return;
    }
    push_comparison(f, p, op, left == (op == FE_GT || op == FE_GE), is_float);
}

static bool is_sum(const struct fe_expr *e)
{
    return e->op == FE_ADD || e->op == FE_SUB || e->op == FE_NEG;
}

/* Floats are compared as they are where each side of the comparison reads one side of the join: nothing is rounded
 * then. A sum of the build side is taken apart as well, because its column may have another bound. */
static void compare(struct finder *f, enum fe_op op, const struct fe_expr *l, const struct fe_expr *r, bool negated)
{
    struct parts p = {.f = f, .arithmetic = negated, .single = l->type.kind == HD_FLOAT32}, whole = p;
    bool left = reads_build(f, l), is_float = hd_type_is_float(l->type);
    f->ends[f->from] += op == FE_EQ ? 2 : 1;
    if (!is_ordered(l->type) || (is_float && left == reads_build(f, r)))
        return; /* what was rounded cannot be taken to one side */
    bool as_is = is_float && !negated && add_term(&whole, l, 1) && add_term(&whole, r, -1);
    if ((!as_is || is_sum(left ? l : r)) && add_terms(&p, l, negated ? -1 : 1) && add_terms(&p, r, -1))
        push_comparisons(f, &p, op, left, is_float);
    if (as_is)
        push_comparisons(f, &whole, op, left, is_float);
}

static enum fe_op mirrored(enum fe_op op)
{
    return op == FE_LT ? FE_GT : op == FE_LE ? FE_GE : op == FE_GT ? FE_LT : op == FE_GE ? FE_LE : op;
}

/* ---- sums of squares ---------------------------------------------------------------------------------------- */

static bool is_square(const struct fe_expr *e)
{
    return e->op == FE_MUL && fe_expr_eq(e->args[0], e->args[1]);
}

static bool is_sum_of_squares(const struct fe_expr *e)
{
    if (e->op == FE_ADD)
        return is_sum_of_squares(e->args[0]) && is_sum_of_squares(e->args[1]);
    return is_square(e);
}

/* x <= end, or -x <= end. */
static void push_side(struct finder *f, enum fe_op op, const struct fe_expr *x, const struct pl_term *end, int sign)
{
    struct parts p = {.f = f, .arithmetic = true, .single = x->type.kind == HD_FLOAT32};
    if (!add_terms(&p, x, sign) || p.n == TERMS_MAX)
        return;
    p.v[p.n++] = *end;
    push_comparison(f, &p, op, false, true);
}

static void push_squares(struct finder *f, enum fe_op op, const struct fe_expr *e, const struct pl_term *end)
{
    for (int i = 0; e->op == FE_ADD && i < e->nargs; i++)
        push_squares(f, op, e->args[i], end);
    if (e->op == FE_ADD)
        return;
    push_side(f, op, e->args[0], end, 1);
    push_side(f, op, e->args[0], end, -1);
}

/* x * x + y * y <= r, or its root <= r: no square is larger than the sum, as rounding never makes one of two numbers that
 * are not negative larger than their sum. So |x| is at most the root of |r|, or |r|. */
static void find_squares(struct finder *f, enum fe_op op, const struct fe_expr *sum, const struct fe_expr *r)
{
    struct pl_term end = {.e = r, .factor = -1, .form = PL_TERM_ROOT};
    const struct fe_plan *plan = f->c->plan;
    while (sum->op == FE_CAST && hd_type_is_float(sum->args[0]->type) && sum->type.kind == HD_FLOAT64)
        sum = sum->args[0];
    if (sum->op == FE_SQRT) {
        sum = sum->args[0];
        end.form = PL_TERM_MAGNITUDE;
    }
    if (!f->squares || !hd_type_is_float(sum->type) || !is_sum_of_squares(sum) || reads_build(f, r) ||
        pl_typed_may_fail(plan, f->join, sum) || pl_typed_may_fail(plan, f->join, r))
        return;
    push_squares(f, op, sum, &end);
}

/* |x| <= d is x <= d and -x <= d. */
static void find_in(struct finder *f, const struct fe_expr *e)
{
    if (!fe_op_compares(e->op) || e->op == FE_NE)
        return;
    const struct fe_expr *l = e->args[0], *r = e->args[1];
    enum fe_op op = e->op;
    if (op == FE_LT || op == FE_LE)
        find_squares(f, op, l, r);
    if (op == FE_GT || op == FE_GE)
        find_squares(f, mirrored(op), r, l);
    if (r->op == FE_ABS && l->op != FE_ABS) {
        l = e->args[1];
        r = e->args[0];
        op = mirrored(op);
    }
    if (l->op != FE_ABS || (op != FE_LT && op != FE_LE)) {
        compare(f, op, l, r, false);
        return;
    }
    compare(f, op, l->args[0], r, false);
    compare(f, op, l->args[0], r, true);
}

static struct finder found_in(struct ctx *c, const struct fe_node *join, const struct fe_expr *const *v, int n, int lo,
                              int hi, bool squares)
{
    struct finder f = {.c = c, .join = join, .lo = lo, .hi = hi, .squares = squares, .ends = HD_NEWN(c->a, int, n + 1)};
    for (int i = 0; i < n; i++) {
        f.from = i;
        find_in(&f, v[i]);
    }
    return f;
}

/* ---- widths ------------------------------------------------------------------------------------------------- */

static int digits_of(struct hd_type t)
{
    return t.kind == HD_DECIMAL ? t.precision : t.kind == HD_INT32 || t.kind == HD_DATE ? 10 : 19;
}

static int largest_scale(const struct pl_sum *s, int scale)
{
    for (int i = 0; i < s->n; i++)
        scale = HD_MAX(scale, scale_of(s->v[i].e->type));
    return scale;
}

/* As integers of that scale, the terms and their sum fit 128 bits. */
static bool fits(const struct pl_sum *s, int scale)
{
    bool plain = s->n == 1 && s->v[0].factor == 1 && scale_of(s->v[0].e->type) == scale;
    for (int i = 0; i < s->n && !plain; i++) {
        bool days = s->v[i].factor != 1 && s->v[i].factor != -1;
        struct hd_type t = s->v[i].e->type;
        if (digits_of(t) + scale - scale_of(t) + (days ? DAY_DIGITS : 0) > DIGITS_MAX)
            return false;
    }
    return true;
}

/* ---- intervals ---------------------------------------------------------------------------------------------- */

static void push_bound(struct hd_arena *a, struct pl_bound **v, int *n, const struct pl_bound *b)
{
    hd_grow1(a, *v, *n);
    (*v)[(*n)++] = *b;
}

/* A NaN that makes one comparison true, and another one false, is in no pair; where only the first kind is, it must not
 * end the range before NaN, the largest value. */
static bool excludes_nan(const found_vec *f, const struct pl_sum *of)
{
    for (int i = 0; i < f->n; i++)
        if (pl_same_sum(&f->v[i].of, of) && f->v[i].bound.rounded && !f->v[i].bound.with_nan)
            return true;
    return false;
}

static bool has_root(const struct pl_sum *s)
{
    bool has = false;
    for (int i = 0; i < s->n; i++)
        has |= s->v[i].form != PL_TERM_SELF;
    return has;
}

static struct pl_interval *gather(struct hd_arena *a, const found_vec *f, const struct found *first)
{
    struct pl_interval *x = HD_NEW(a, struct pl_interval);
    *x = (struct pl_interval){.of = first->of, .is_float = first->is_float};
    bool nan_out = !x->is_float || excludes_nan(f, &x->of);
    x->scale = largest_scale(&x->of, 0);
    for (int i = 0; i < f->n; i++)
        if (pl_same_sum(&f->v[i].of, &x->of))
            x->scale = largest_scale(&f->v[i].bound.at, x->scale);
    if (!x->is_float && !fits(&x->of, x->scale))
        return x;
    for (int i = 0; i < f->n; i++) {
        const struct found *g = &f->v[i];
        bool usable = x->is_float ? g->low || nan_out || !g->bound.with_nan : fits(&g->bound.at, x->scale);
        if (!pl_same_sum(&g->of, &x->of) || !usable)
            continue;
        x->squares |= has_root(&g->bound.at);
        if (g->low)
            push_bound(a, &x->low, &x->nlow, &g->bound);
        else
            push_bound(a, &x->high, &x->nhigh, &g->bound);
    }
    return x;
}

static int ends(const struct pl_interval *x)
{
    return x ? (x->nlow > 0) + (x->nhigh > 0) : 0;
}

/* One with the lower end alone, or with the upper one. */
static const struct pl_interval *with_end(struct hd_arena *a, const found_vec *f, bool low)
{
    for (int i = 0; i < f->n; i++) {
        const struct pl_interval *x = gather(a, f, &f->v[i]);
        if (low ? x->nlow > 0 && !x->nhigh : x->nhigh > 0 && !x->nlow)
            return x;
    }
    return NULL;
}

const struct pl_interval *pl_find_interval(struct ctx *c, const struct fe_node *join, const struct fe_expr *const *v,
                                           int n, int lo, int hi, bool squares, const struct pl_interval **reach)
{
    struct finder f = found_in(c, join, v, n, lo, hi, squares);
    const struct pl_interval *best = NULL;
    *reach = NULL;
    for (int i = 0; i < f.v.n; i++) {
        const struct pl_interval *x = gather(c->a, &f.v, &f.v.v[i]);
        if (ends(x) > ends(best))
            best = x;
    }
    const struct pl_interval *near = with_end(c->a, &f.v, false), *far = with_end(c->a, &f.v, true);
    if (ends(best) > 1 || !near || !far)
        return best;
    *reach = far;
    return near;
}

/* ---- intervals that say all --------------------------------------------------------------------------------- */

/* Bounds that say what conjunct i does. */
static int said(const struct pl_interval *x, int i)
{
    int n = 0;
    for (int k = 0; k < x->nlow; k++)
        n += x->low[k].from == i && !x->low[k].rounded;
    for (int k = 0; k < x->nhigh; k++)
        n += x->high[k].from == i && !x->high[k].rounded;
    return n;
}

hd_i128 pl_unit(const struct pl_term *t, int scale)
{
    return t->factor * hd_pow10(scale - scale_of(t->e->type));
}

/* The sum is its word. */
static bool has_word(const struct finder *f, const struct pl_interval *x, const struct pl_sum *s)
{
    const struct pl_range all = {true, INT64_MIN, INT64_MAX};
    struct pl_range sum = {true, 0, 0};
    for (int i = 0; i < s->n && !x->is_float; i++) {
        hd_i128 unit = pl_unit(&s->v[i], x->scale);
        struct pl_range term = pl_typed_range(f->c->plan, f->join, s->v[i].e);
        sum = range_binary(FE_ADD, sum, range_binary(FE_MUL, term, (struct pl_range){true, unit, unit}));
    }
    return range_within(sum, all);
}

static const char *lacks_word(const struct finder *f, const struct pl_interval *x)
{
    bool fit = has_word(f, x, &x->of);
    for (int i = 0; i < x->nlow; i++)
        fit = fit && has_word(f, x, &x->low[i].at);
    for (int i = 0; i < x->nhigh; i++)
        fit = fit && has_word(f, x, &x->high[i].at);
    return fit ? NULL : "values of the range do not fit 64 bits";
}

static bool one_kind(const struct pl_bound *v, int n)
{
    for (int i = 1; i < n; i++)
        if (v[i].strict != v[0].strict)
            return false;
    return true;
}

static const char *lacks(const struct finder *f, const struct pl_interval *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!f->ends[i] || said(x, i) < f->ends[i])
            return "the condition is not a range of one build value";
    if (!one_kind(x->low, x->nlow) || !one_kind(x->high, x->nhigh))
        return "an end of the range has open and closed bounds";
    return lacks_word(f, x);
}

const struct pl_interval *pl_find_exact_interval(struct ctx *c, const struct fe_node *join,
                                                 const struct fe_expr *const *v, int n, int lo, int hi,
                                                 const char **why_not)
{
    struct finder f = found_in(c, join, v, n, lo, hi, false);
    *why_not = "the condition is not a range of one build value";
    for (int i = 0; i < f.v.n; i++) {
        const struct pl_interval *x = gather(c->a, &f.v, &f.v.v[i]);
        *why_not = lacks(&f, x, n);
        if (!*why_not)
            return x;
    }
    return NULL;
}

bool pl_comes_by(const struct fe_node *n, const struct pl_interval *x, int lo, bool every)
{
    const struct pl_term *t = &x->of.v[0];
    if (x->of.n != 1 || t->factor < 0 || t->e->op != FE_COL)
        return false;
    struct fe_expr e = *t->e;
    e.col -= lo;
    return est_in_order(n, &e, every);
}
