/* Words of sums and keys. Exact numbers are added up as integers of one scale, in 64 bits where facts tell that they fit,
 * else in 128, where nothing overflows (bounds.c saw to it); what does not fit the word then is its end. So a bound
 * raises nothing, and orders as the value does.
 *
 * float64. Values are compared as they are where the condition has no arithmetic. Else both the condition and the bound
 * are rounded, each of their at most 8 operations by 2^-53 of a value that is no larger than |b| + sum |p|, b being the
 * row's value and p the terms of the bound. Where |b| > 2 sum |p| the comparison is decided anyway, so the bound is moved
 * outward by 2^-47 sum |p|. Where sum |p| is not finite, or so large that a sum might not be, all rows are looked at.
 *
 * float32. Bounds are computed in float64; what the condition rounds by 2^-24, a slack of 2^-18 sum |p| covers. */
#include "planner/search_word.h"

#include "planner/build.h"
#include "planner/handle.h"
#include "planner/lower_arith.h"
#include "planner/lower_value.h"

static const double slack = 0x1p-47, room_max = 1e300, single_slack = 0x1p-18, single_room_max = 1e37;

static int op1(struct ctx *c, enum fe_op op, enum rt_phys ph, bool nullable, int a)
{
    return pb_op(c, op, ph, nullable, 1, &a);
}

static int op2(struct ctx *c, enum fe_op op, enum rt_phys ph, bool nullable, int a, int b)
{
    int args[2] = {a, b};
    return pb_op(c, op, ph, nullable, 2, args);
}

static struct pl_val word_of(struct ctx *c, int expr, enum rt_phys phys, bool nullable)
{
    struct pl_val v = {.expr = expr, .phys = RT_I64, .nullable = nullable, .type = hd_type_of(HD_INT64)};
    if (phys != RT_I64)
        v.expr = op1(c, FE_ORDER_WORD, RT_I64, nullable, expr);
    return v;
}

/* ---- exact numbers ------------------------------------------------------------------------------------------ */

static hd_i128 magnitude(hd_i128 v)
{
    return v < 0 ? -v : v;
}

/* No value of v is larger, whatever its sign. */
static hd_i128 largest(const struct pl_val *v)
{
    struct pl_range r = v->range.known ? v->range : range_of_type(v->type);
    return HD_MAX(magnitude(r.lo), magnitude(r.hi));
}

static int add_term(struct ctx *c, struct pl_val *sum, struct pl_val v, hd_i128 by, enum rt_phys phys)
{
    enum fe_op op = by < 0 && sum->expr >= 0 ? FE_SUB : FE_ADD;
    by = op == FE_SUB ? -by : by;
    HD_TRY(lx_as_phys(c, &v, phys));
    if (by != 1)
        v.expr = op2(c, FE_MUL, phys, v.nullable, v.expr, pb_const_int(c, phys, by));
    sum->nullable |= v.nullable;
    sum->expr = sum->expr < 0 ? v.expr : op2(c, op, phys, sum->nullable, sum->expr, v.expr);
    return 0;
}

/* The sum plus `more`, a number of units of its scale. */
static int exact_word(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_sum *s,
                      int scale, int more, struct pl_val *out)
{
    struct pl_val *v = HD_NEWN(c->a, struct pl_val, s->n), sum = {.expr = -1};
    hd_i128 most = magnitude(more);
    for (int i = 0; i < s->n; i++) {
        HD_TRY(lx_expr(c, p, env, s->v[i].e, &v[i]));
        most += largest(&v[i]) * magnitude(pl_unit(&s->v[i], scale));
    }
    enum rt_phys phys = most <= INT64_MAX ? RT_I64 : RT_I128;
    for (int i = 0; i < s->n; i++)
        HD_TRY(add_term(c, &sum, v[i], pl_unit(&s->v[i], scale), phys));
    if (more)
        sum.expr = op2(c, FE_ADD, phys, sum.nullable, sum.expr, pb_const_int(c, phys, more));
    *out = word_of(c, sum.expr, phys, sum.nullable);
    return 0;
}

/* ---- float64 ------------------------------------------------------------------------------------------------ */

static int const_f64(struct ctx *c, double f)
{
    int arg = pb_arg(c, (struct rt_arg){.kind = RT_ARG_CONST, .phys = RT_F64, .state = -1, .f = f, .s = ""});
    return pb_expr(c, (struct pl_expr){.op = FE_LIT, .phys = RT_F64, .arg = arg, .slot = -1, .state = -1});
}

static int as_f64(struct ctx *c, struct pl_val *v, const char *path)
{
    HD_TRY(lx_cast(c, v, hd_type_of(HD_FLOAT64), path));
    lx_realise(c, v);
    return 0;
}

/* The square of a number below 2^-74, a float32, is rounded to 0: what is so small is not told apart. */
static int magnitude_of(struct ctx *c, const struct pl_term *t, const struct pl_val *v)
{
    const double tiny = 0x1p-60;
    bool root = t->form == PL_TERM_ROOT;
    int e = op1(c, FE_ABS, RT_F64, v->nullable, v->expr);
    e = op2(c, FE_ADD, RT_F64, v->nullable, e, const_f64(c, root ? tiny * tiny : tiny));
    return root ? op1(c, FE_SQRT, RT_F64, v->nullable, e) : e;
}

/* The sum, and that of the magnitudes added to *room (expr -1: none yet). */
static int float_sum(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_sum *s,
                     struct pl_val *sum, struct pl_val *room)
{
    *sum = (struct pl_val){.expr = -1, .phys = RT_F64};
    for (int i = 0; i < s->n; i++) {
        struct pl_val v;
        HD_TRY(lx_expr(c, p, env, s->v[i].e, &v));
        HD_TRY(as_f64(c, &v, s->v[i].e->path));
        if (s->v[i].form != PL_TERM_SELF)
            v.expr = magnitude_of(c, &s->v[i], &v);
        int large = op1(c, FE_ABS, RT_F64, v.nullable, v.expr);
        if (s->v[i].factor < 0)
            v.expr = op1(c, FE_NEG, RT_F64, v.nullable, v.expr);
        sum->nullable |= v.nullable;
        sum->expr = sum->expr < 0 ? v.expr : op2(c, FE_ADD, RT_F64, sum->nullable, sum->expr, v.expr);
        room->nullable |= v.nullable;
        room->expr = room->expr < 0 ? large : op2(c, FE_ADD, RT_F64, room->nullable, room->expr, large);
    }
    return 0;
}

/* The sums of all rounded bounds' magnitudes: one of them that is not finite opens all ends. */
static int float_room(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_interval *x,
                      struct pl_val *room)
{
    struct pl_val sum;
    *room = (struct pl_val){.expr = -1, .phys = RT_F64};
    for (int i = 0; i < x->nlow; i++)
        if (x->low[i].rounded)
            HD_TRY(float_sum(c, p, env, &x->low[i].at, &sum, room));
    for (int i = 0; i < x->nhigh; i++)
        if (x->high[i].rounded)
            HD_TRY(float_sum(c, p, env, &x->high[i].at, &sum, room));
    return 0;
}

static int float_word(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_bound *b,
                      const struct pl_val *room, bool low, struct pl_val *out)
{
    struct pl_val sum, own = {.expr = -1};
    HD_TRY(float_sum(c, p, env, &b->at, &sum, &own));
    if (!b->rounded) {
        *out = word_of(c, sum.expr, RT_F64, sum.nullable);
        return 0;
    }
    bool null = room->nullable;
    int by = op2(c, FE_MUL, RT_F64, null, room->expr, const_f64(c, b->single ? single_slack : slack));
    int moved = op2(c, low ? FE_SUB : FE_ADD, RT_F64, null, sum.expr, by);
    int finite = op2(c, FE_LT, RT_BOOL, null, room->expr, const_f64(c, b->single ? single_room_max : room_max));
    int args[4] = {finite, op1(c, FE_ORDER_WORD, RT_I64, null, moved), op1(c, FE_NOT, RT_BOOL, null, finite),
                   pb_const_int(c, RT_I64, low ? INT64_MIN : INT64_MAX)};
    *out = (struct pl_val){.phys = RT_I64, .nullable = true, .type = hd_type_of(HD_INT64)};
    out->expr = null ? pb_op(c, FE_CASE, RT_I64, true, 4, args)
                     : pb_op(c, FE_CASE, RT_I64, false, 3, (int[]){args[0], args[1], args[3]});
    out->nullable = null;
    return 0;
}

/* ---- intervals ---------------------------------------------------------------------------------------------- */

int sw_word(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_interval *x,
            struct pl_val *out)
{
    struct pl_val none = {.expr = -1};
    if (x->is_float)
        return float_word(c, p, env, &(struct pl_bound){.at = x->of}, &none, true, out);
    return exact_word(c, p, env, &x->of, x->scale, 0, out);
}

/* The innermost bound of an end. inside: the first or last word that an open bound leaves. */
static int innermost(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_interval *x,
                     const struct pl_val *room, bool low, bool inside, struct pl_val *out)
{
    const struct pl_bound *v = low ? x->low : x->high;
    int n = low ? x->nlow : x->nhigh, open = pb_const_int(c, RT_I64, low ? INT64_MIN : INT64_MAX);
    *out = (struct pl_val){.expr = open, .phys = RT_I64, .type = hd_type_of(HD_INT64)};
    for (int i = 0; i < n; i++) {
        struct pl_val one;
        if (x->is_float)
            HD_TRY(float_word(c, p, env, &v[i], room, low, &one));
        else
            HD_TRY(exact_word(c, p, env, &v[i].at, x->scale, v[i].strict && inside ? (low ? 1 : -1) : 0, &one));
        bool both = i > 0 && out->nullable && one.nullable; /* of a NULL and a value the value is taken */
        if (i > 0)
            one.expr = op2(c, low ? FE_GREATEST : FE_LEAST, RT_I64, both, out->expr, one.expr);
        one.nullable = i > 0 ? both : one.nullable;
        *out = one;
    }
    return 0;
}

int sw_bounds(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_interval *x,
              struct pl_val *low, struct pl_val *high)
{
    struct pl_val room = {.expr = -1};
    if (x->is_float)
        HD_TRY(float_room(c, p, env, x, &room));
    HD_TRY(innermost(c, p, env, x, &room, true, true, low));
    return innermost(c, p, env, x, &room, false, true, high);
}

int sw_end(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_interval *x, bool low,
           struct pl_val *out)
{
    const struct pl_val none = {.expr = -1};
    return innermost(c, p, env, x, &none, low, false, out);
}

/* ---- keys --------------------------------------------------------------------------------------------------- */

struct pl_val sw_key(struct ctx *c, struct pl_val v)
{
    if (v.phys < RT_I64)
        lx_as_phys(c, &v, RT_I64);
    if (v.phys == RT_F32)
        as_f64(c, &v, ""); /* which cannot fail */
    return word_of(c, v.expr, v.phys, v.nullable);
}

struct pl_val sw_hash(struct ctx *c, const struct pl_val *v, int n, const bool *null_equal)
{
    int *args = HD_NEWN(c->a, int, n + 1), needed = -1;
    for (int i = 0; i < n; i++) {
        args[i] = v[i].expr;
        if (!v[i].nullable || (null_equal && null_equal[i]))
            continue;
        int there = op1(c, FE_NOT, RT_BOOL, false, op1(c, FE_IS_NULL, RT_BOOL, false, v[i].expr));
        needed = needed < 0 ? there : op2(c, FE_AND, RT_BOOL, false, needed, there);
    }
    int hash = pb_op(c, FE_HASH_WORD, RT_I64, false, n, args);
    struct pl_val out = word_of(c, hash, RT_I64, needed >= 0);
    if (needed >= 0)
        out.expr = op2(c, FE_CASE, RT_I64, true, needed, hash);
    return out;
}
