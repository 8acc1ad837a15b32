/* Finding ranges. A comparison of sums is taken apart into terms, each of which reads one side; those of the build side
 * go to the left. What cannot be taken apart is no bound, which costs time and changes no answer: every condition is
 * tested again on the rows of a range. */
#include "planner/bounds.h"

#include "planner/estimate.h"
#include "planner/typed.h"
#include "runtime/base/vec.h"

enum {
    TERMS_MAX = 8, /* of a comparison: few enough for the slack of rounded bounds (search_word.c) */
    DIGITS_MAX = 36, /* of a term as an integer: eight of them fit 128 bits */
    DAY_DIGITS = 11
};
static const hd_i128 day_micros = (hd_i128)86400 * 1000000;

/* A comparison being taken apart. */
struct parts {
    struct hd_arena *a;
    int lo, hi; /* build columns */
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

static bool add_term(struct parts *p, const struct fe_expr *e, hd_i128 factor)
{
    bool build = pl_expr_uses(e, p->lo, p->hi);
    bool probe = pl_expr_uses(e, 0, p->lo) || pl_expr_uses(e, p->hi, INT32_MAX);
    if (p->n == TERMS_MAX || (build && probe) || lx_may_fail(e))
        return false;
    p->v[p->n++] = (struct pl_term){e, factor};
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

static bool reads(const struct parts *p, const struct pl_term *t)
{
    return pl_expr_uses(t->e, p->lo, p->hi);
}

/* The terms of one side, times `by`. */
static struct pl_sum side(const struct parts *p, bool build, int by)
{
    struct pl_term *v = HD_NEWN(p->a, struct pl_term, TERMS_MAX);
    struct pl_sum s = {0, v};
    for (int i = 0; i < p->n; i++)
        if (reads(p, &p->v[i]) == build)
            v[s.n++] = (struct pl_term){p->v[i].e, p->v[i].factor * by};
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
        same = a->v[i].factor == b->v[i].factor && fe_expr_eq(a->v[i].e, b->v[i].e);
    return same;
}

/* ---- comparisons -------------------------------------------------------------------------------------------- */

/* What a conjunct says: `of` is at most (high) or at least (low) bound.at. */
struct found {
    struct pl_sum of;
    struct pl_bound bound;
    bool low, is_float;
};
typedef HD_VEC(struct found) found_vec;

static bool is_ordered(struct hd_type t)
{
    return hd_type_is_num(t) || t.kind == HD_DATE || t.kind == HD_TIMESTAMP;
}

/* The sum of the parts is compared with 0 by op, LT, LE, GT or GE. greater: p's build terms came from the side that the
 * comparison wants to be the greater one. */
static void push_comparison(const struct parts *p, enum fe_op op, bool greater, bool is_float, int from, found_vec *out)
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
                                .from = from};
    bool plain = f.of.n == 1 && f.of.v[0].factor == 1;
    if (f.of.n == 0 || is_constant(&f.bound.at) || (is_float && !plain))
        return;
    hd_vec_push(p->a, out, f);
}

static void compare(struct hd_arena *a, int lo, int hi, enum fe_op op, const struct fe_expr *l, const struct fe_expr *r,
                    bool negated, int from, found_vec *out)
{
    struct parts p = {.a = a, .lo = lo, .hi = hi, .arithmetic = negated, .single = l->type.kind == HD_FLOAT32};
    bool left = pl_expr_uses(l, lo, hi), is_float = hd_type_is_float(l->type);
    if (!is_ordered(l->type) || !add_terms(&p, l, negated ? -1 : 1) || !add_terms(&p, r, -1))
        return;
    if (is_float && left == pl_expr_uses(r, lo, hi))
        return; /* what was rounded cannot be taken to one side */
    if (op == FE_EQ) {
        push_comparison(&p, FE_LE, false, is_float, from, out);
        push_comparison(&p, FE_GE, false, is_float, from, out);
        return;
    }
    push_comparison(&p, op, left == (op == FE_GT || op == FE_GE), is_float, from, out);
}

static enum fe_op mirrored(enum fe_op op)
{
    return op == FE_LT ? FE_GT : op == FE_LE ? FE_GE : op == FE_GT ? FE_LT : op == FE_GE ? FE_LE : op;
}

/* |x| <= d is x <= d and -x <= d. */
static void find_in(struct hd_arena *a, int lo, int hi, const struct fe_expr *e, int from, found_vec *out)
{
    if (!fe_op_compares(e->op) || e->op == FE_NE)
        return;
    const struct fe_expr *l = e->args[0], *r = e->args[1];
    enum fe_op op = e->op;
    if (r->op == FE_ABS && l->op != FE_ABS) {
        l = e->args[1];
        r = e->args[0];
        op = mirrored(op);
    }
    if (l->op != FE_ABS || (op != FE_LT && op != FE_LE)) {
        compare(a, lo, hi, op, l, r, false, from, out);
        return;
    }
    compare(a, lo, hi, op, l->args[0], r, false, from, out);
    compare(a, lo, hi, op, l->args[0], r, true, from, out);
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

const struct pl_interval *pl_find_interval(struct hd_arena *a, const struct fe_expr *const *v, int n, int lo, int hi,
                                           const struct pl_interval **reach)
{
    found_vec f = {0};
    const struct pl_interval *best = NULL;
    for (int i = 0; i < n; i++)
        find_in(a, lo, hi, v[i], i, &f);
    *reach = NULL;
    for (int i = 0; i < f.n; i++) {
        const struct pl_interval *x = gather(a, &f, &f.v[i]);
        if (ends(x) > ends(best))
            best = x;
    }
    const struct pl_interval *near = with_end(a, &f, false), *far = with_end(a, &f, true);
    if (ends(best) > 1 || !near || !far)
        return best;
    *reach = far;
    return near;
}
