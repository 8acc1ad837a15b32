/* Buckets of equal width. What does not depend on the row is computed here, once: of floats n / (hi - lo); of exact
 * numbers a fixed-point factor, whose product is at most one bucket below the true one, so that a comparison of
 * products of 64 bits corrects it and nothing is divided per row. Widths of 2^63 and more take 128-bit steps. */
#include "planner/lower_bucket.h"

#include "frontend/bucket.h"
#include "frontend/value.h"
#include "planner/build.h"
#include "planner/lower_arith.h"

struct buckets {
    struct fe_value lo, hi;
    int n;
    hd_u128 width; /* hi - lo of exact numbers */
};

static int read_buckets(struct ctx *c, const struct fe_expr *e, const struct pl_val *v, struct buckets *b)
{
    struct hd_type type = fe_bucket_type(v[0].type);
    struct fe_value n = v[3].cval;
    if (!fe_value_cast(c->a, &v[1].cval, type, &b->lo) || !fe_value_cast(c->a, &v[2].cval, type, &b->hi))
        return HD_FAIL(c->err, USER, e->path,
                       "\"width_bucket\" expects bounds of at most 38 digits, with the scale of all");
    const char *misfit = fe_bucket_misfit(&b->lo, &b->hi, &n);
    if (misfit)
        return HD_FAIL(c->err, USER, e->path, "%s", misfit);
    b->n = (int)n.i;
    b->width = (hd_u128)b->hi.i - (hd_u128)b->lo.i;
    return 0;
}

static int float_constant(struct ctx *c, struct hd_type t, double f)
{
    struct fe_value v = {.type = t, .f = f};
    struct pl_val k = lx_const(c, &v);
    lx_realise(c, &k);
    return k.expr;
}

/* Of a value within the bounds: the product fits 128 bits. */
static hd_i128 bucket_of(const struct buckets *b, hd_i128 x)
{
    if (x < b->lo.i || x >= b->hi.i)
        return x < b->lo.i ? 0 : (hd_i128)b->n + 1;
    return 1 + (x - b->lo.i) * b->n / (hd_i128)b->width;
}

static struct pl_range bucket_range(const struct buckets *b, struct pl_range x)
{
    bool told = x.known && b->width > 0 && b->width >> 96 == 0;
    struct pl_range all = {true, 0, (hd_i128)b->n + 1};
    return told ? (struct pl_range){true, bucket_of(b, x.lo), bucket_of(b, x.hi)} : all;
}

static int float_args(struct ctx *c, const struct buckets *b, int *args)
{
    struct hd_type t = b->lo.type;
    struct fe_value n = {.type = hd_type_of(HD_INT64), .i = b->n};
    args[1] = float_constant(c, t, b->lo.f);
    args[2] = float_constant(c, t, b->hi.f);
    args[4] = float_constant(c, t, fe_bucket_factor(&b->lo, &b->hi, &n));
    return 5;
}

/* The factor has 32 bits behind the point where widths have no more (y * n then fits 64 bits, and so does y times the
 * factor), else 64, and none before it. */
static int exact_args(struct ctx *c, const struct buckets *b, enum rt_phys p, int *scale, int *args)
{
    bool small = b->width <= (hd_u128)1 << 32;
    *scale = small ? 32 : 64;
    args[1] = pb_const_int(c, p, b->lo.i);
    args[2] = pb_const_int(c, p, (hd_i128)b->width);
    if (p == RT_I128)
        return 4;
    args[4] = pb_const_int(c, p, (int64_t)(uint64_t)(((hd_u128)b->n << *scale) / b->width));
    return 5;
}

static enum rt_phys exact_class(const struct buckets *b, const struct pl_val *x)
{
    struct pl_range bounds = {true, b->lo.i, b->hi.i};
    bool wide = b->width >= (hd_u128)1 << 63;
    return wide ? RT_I128 : HD_MAX(HD_MAX(RT_I64, x->phys), lx_narrowest(bounds));
}

int lx_bucket(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    struct buckets b;
    int args[5], nargs, scale = 0;
    bool real = hd_type_is_float(v[0].type);
    HD_TRY(read_buckets(c, e, v, &b));
    lx_realise(c, &v[0]);
    enum rt_phys p = real ? lx_full_phys(v[0].type) : exact_class(&b, &v[0]);
    HD_TRY(lx_as_phys(c, &v[0], p));
    args[0] = v[0].expr;
    args[3] = pb_const_int(c, RT_I32, b.n);
    nargs = real ? float_args(c, &b, args) : exact_args(c, &b, p, &scale, args);
    *out = (struct pl_val){.phys = RT_I32, .nullable = v[0].nullable};
    out->range = bucket_range(&b, real ? (struct pl_range){false, 0, 0} : v[0].range);
    out->expr = pb_op(c, e->op, RT_I32, out->nullable, nargs, args);
    c->exprs.v[out->expr].scale = scale;
    return 0;
}
