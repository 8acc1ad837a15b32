/* Operators of bits, and hashes. Facts give the range of the result, and so whether a shift may lose bits. */
#include "planner/lower_bits.h"

#include "planner/build.h"
#include "planner/lower_arith.h"

static struct pl_range range_of(const struct fe_expr *e, const struct pl_val *v)
{
    const struct pl_range minus_one = {true, -1, -1};
    if (e->op == FE_BIT_NOT) /* -1 - x */
        return range_binary(FE_SUB, minus_one, v->range);
    return range_bits(e->op, v[0].range, v[1].range);
}

static bool are_values(const struct pl_val *v, int n)
{
    for (int i = 0; i < n; i++)
        if (!v[i].is_const || v[i].cval.is_null)
            return false;
    return true;
}

/* Of two's complement, whatever its width. */
static bool fold(struct ctx *c, const struct fe_expr *e, const struct pl_val *v, struct pl_val *out)
{
    struct fe_value k = {.type = e->type};
    if (!are_values(v, e->nargs))
        return false;
    hd_i128 a = v[0].cval.i, b = v[e->nargs - 1].cval.i;
    k.i = e->op == FE_BIT_AND ? (a & b) : e->op == FE_BIT_OR ? (a | b) : e->op == FE_BIT_XOR ? (a ^ b) : ~a;
    *out = lx_const(c, &k);
    return true;
}

static void make(struct ctx *c, const struct fe_expr *e, enum rt_phys p, struct pl_range r, const struct pl_val *v,
                 struct pl_val *out)
{
    int args[2];
    *out = (struct pl_val){.phys = p, .range = r};
    for (int i = 0; i < e->nargs; i++) {
        args[i] = v[i].expr;
        out->nullable |= v[i].nullable;
    }
    out->expr = pb_op(c, e->op, p, out->nullable, e->nargs, args);
}

int lx_bits(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    if (fold(c, e, v, out))
        return 0;
    struct pl_range r = range_of(e, v);
    enum rt_phys p = lx_narrowest(r);
    for (int i = 0; i < e->nargs; i++) {
        lx_realise(c, &v[i]);
        p = HD_MAX(p, v[i].phys);
    }
    for (int i = 0; i < e->nargs; i++)
        HD_TRY(lx_as_phys(c, &v[i], p));
    make(c, e, p, r, v, out);
    return 0;
}

/* The amount is not negative, and a shift to the left is a product within the type. */
int lx_shift_bits(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    struct pl_range r = range_of(e, v), limit = range_of_type(e->type);
    bool fails = !v[1].range.known || v[1].range.lo < 0 || !range_within(r, limit);
    struct rt_site site = {.path = e->path,
                           .form = RT_SITE_INFIX,
                           .to = e->type,
                           .from = {v[0].type, v[1].type},
                           .function = fe_op_name(e->op)};
    for (int i = 0; i < 2; i++)
        HD_TRY(lx_as_phys(c, &v[i], RT_I64));
    make(c, e, RT_I64, range_within(r, limit) ? r : limit, v, out);
    struct pl_expr *x = &c->exprs.v[out->expr];
    x->fail = fails;
    if (fails)
        x->path = pb_site(c, site);
    return 0;
}

/* ---- hash ----------------------------------------------------------------------------------------- */

/* Widths that facts choose do not matter: 64 bits, 128 bits, float64, a string. */
static int canonical(struct ctx *c, struct pl_val *v, const char *path)
{
    if (hd_type_is_text(v->type))
        return lx_as_string(c, v);
    if (v->type.kind == HD_FLOAT32)
        HD_TRY(lx_cast(c, v, hd_type_of(HD_FLOAT64), path));
    lx_realise(c, v);
    return rt_phys_is_float(v->phys) || v->phys == RT_I128 ? 0 : lx_as_phys(c, v, RT_I64);
}

int lx_hash(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    int *args = HD_NEWN(c->a, int, e->nargs);
    for (int i = 0; i < e->nargs; i++) {
        HD_TRY(canonical(c, &v[i], e->path));
        args[i] = v[i].expr;
    }
    *out = (struct pl_val){.phys = RT_I64, .range = range_of_type(e->type)};
    out->expr = pb_op(c, FE_HASH_OF, RT_I64, false, e->nargs, args);
    return 0;
}
