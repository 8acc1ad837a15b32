/* Casts that give NULL where they fail: the cast of those values alone that fit. Numbers are compared with the first
 * and the last that fit before they are cast, so that the cast behind has a range that needs no check. */
#include "planner/lower_try.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "frontend/value.h"
#include "planner/build.h"
#include "planner/lower_arith.h"

/* An operator of values that may have none. */
static void partial(struct ctx *c, enum fe_op op, enum rt_phys p, int n, const struct pl_val *v, struct pl_val *out)
{
    int args[3];
    for (int i = 0; i < n; i++)
        args[i] = v[i].expr;
    *out = (struct pl_val){.phys = p, .nullable = true, .type = v->type};
    out->expr = pb_op(c, op, p, true, n, args);
}

/* v where it lies between two constants of its type, else NULL. */
static int within(struct ctx *c, struct pl_val *v, struct fe_value lo, struct fe_value hi)
{
    struct pl_val all[3] = {*v, lx_const(c, &lo), lx_const(c, &hi)};
    HD_TRY(lx_as_phys(c, &all[1], v->phys));
    HD_TRY(lx_as_phys(c, &all[2], v->phys));
    partial(c, FE_WITHIN, v->phys, 3, all, v);
    return 0;
}

/* ---- bounds ------------------------------------------------------------------------------------------ */

static int scale_of(struct hd_type t)
{
    return t.kind == HD_DECIMAL ? t.scale : 0;
}

/* The number farthest from 0, on the side of `limit`, that rounded half away from zero to 10^by units is no farther than it. */
static hd_i128 farthest(hd_i128 limit, int by)
{
    hd_i128 f = hd_pow10(by > 0 ? by : -by), r, half = f / 2 - 1;
    const hd_i128 all = hd_pow10(HD_DEC_MAX) - 1;
    if (by >= 0)
        return limit / f;
    if (__builtin_mul_overflow(limit, f, &r) || r > all || r < -all)
        return limit < 0 ? -all : all;
    r += limit < 0 ? -half : half;
    return r > all ? all : r < -all ? -all : r;
}

/* Exact numbers of type `from` whose cast fits. */
static struct pl_range fitting(struct hd_type from, struct hd_type to)
{
    struct pl_range r = range_of_type(to), all = range_of_type(from);
    int by = scale_of(to) - scale_of(from);
    r.lo = HD_MAX(farthest(r.lo, by), all.lo);
    r.hi = HD_MIN(farthest(r.hi, by), all.hi);
    return r;
}

static bool real_fits(struct ctx *c, double x, struct hd_type to)
{
    struct fe_value v = {.type = hd_type_of(HD_FLOAT64), .f = x}, out;
    return fe_value_cast(c->a, &v, to, &out);
}

/* The float64 farthest from 0, on the side of `limit`, that rounds to no more units of the type: the last one in front of
 * half a unit beyond it. */
static double farthest_real(struct ctx *c, hd_i128 limit, struct hd_type to)
{
    char text[HD_TEXT_MAX + 16];
    struct fe_value v;
    hd_dec_text(limit, 0, text);
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "5e-%d", scale_of(to) + 1);
    if (!fe_value_parse(c->a, hd_type_of(HD_FLOAT64), text, strlen(text), &v))
        HD_BUG("a bound that is no number: %s", text);
    return real_fits(c, v.f, to) ? v.f : nextafter(v.f, 0);
}

/* ---- what fits --------------------------------------------------------------------------------------- */

static int keep_exact(struct ctx *c, struct pl_val *v, struct hd_type to)
{
    struct pl_range fit = fitting(v->type, to), r = v->range.known ? v->range : range_of_type(v->type);
    struct fe_value lo = {.type = v->type, .i = HD_MAX(r.lo, fit.lo)}, hi = lo;
    hi.i = HD_MIN(r.hi, fit.hi);
    if (r.lo >= fit.lo && r.hi <= fit.hi)
        return 0;
    if (lo.i > hi.i) { /* no value is within these */
        lo.i = 1;
        hi.i = 0;
    }
    HD_TRY(within(c, v, lo, hi));
    v->range = (struct pl_range){true, HD_MIN(lo.i, hi.i), hi.i};
    return lx_as_phys(c, v, HD_MIN(v->phys, lx_narrowest(v->range)));
}

static int keep_real(struct ctx *c, struct pl_val *v, struct hd_type to, const char *path)
{
    const struct hd_type real = hd_type_of(HD_FLOAT64);
    struct pl_range r = range_of_type(to);
    HD_TRY(lx_cast(c, v, real, path)); /* every float32 is a float64 */
    return within(c, v, (struct fe_value){.type = real, .f = farthest_real(c, r.lo, to)},
                  (struct fe_value){.type = real, .f = farthest_real(c, r.hi, to)});
}

int lx_try_cast(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    struct fe_value k;
    struct hd_type from = v->type, to = e->type;
    *out = *v;
    if (v->is_const) {
        if (!fe_value_cast(c->a, &v->cval, to, &k))
            k = (struct fe_value){.type = to, .is_null = true};
        *out = lx_const(c, &k);
    } else if (hd_type_is_text(from)) {
        HD_TRY(lx_as_string(c, v));
        partial(c, from.kind == HD_BINARY ? FE_TRY_DECODE : FE_TRY_FROM_STRING, lx_full_phys(to), 1, v, out);
        c->exprs.v[out->expr].in_type = from;
        c->exprs.v[out->expr].out_type = to;
        out->range = range_of_type(to);
    } else if (to.kind == HD_FLOAT32) {
        partial(c, FE_TRY_TO_F32, RT_F32, 1, v, out);
    } else {
        HD_TRY(hd_type_is_float(from) ? keep_real(c, out, to, e->path) : keep_exact(c, out, to));
        return lx_cast(c, out, to, e->path);
    }
    out->type = to;
    return 0;
}
