/* Values as integers that order like them, and back: what several values are packed into one integer by, of which a
 * minimum then decides by the first, then by the second (rewrite.c). */
#include "planner/lower_ordinal.h"

#include "planner/build.h"
#include "planner/lower_arith.h"
#include "templates/device.cuh"

struct pl_range ordinal_range(struct hd_type t)
{
    const hd_i128 nan = t.kind == HD_FLOAT32 ? HDD_ORDINAL_NAN32 : HDD_ORDINAL_NAN;
    return hd_type_is_float(t) ? (struct pl_range){true, -nan, nan} : range_of_type(t);
}

static enum rt_phys float_ordinal(struct hd_type t)
{
    return t.kind == HD_FLOAT32 ? RT_I32 : RT_I64;
}

int lx_ordinal(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    struct hd_type t = e->args[0]->type;
    HD_ASSERT(!hd_type_is_text(t));
    lx_realise(c, v);
    *out = (struct pl_val){.phys = v->phys, .nullable = v->nullable, .expr = v->expr, .range = v->range};
    if (hd_type_is_float(t)) {
        out->phys = float_ordinal(t);
        out->expr = pb_op(c, FE_ORDINAL, out->phys, v->nullable, 1, &v->expr);
        out->range = ordinal_range(t);
    }
    return t.kind == HD_BOOL ? lx_as_phys(c, out, RT_I32) : 0;
}

int lx_of_ordinal(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out)
{
    lx_realise(c, v);
    *out = (struct pl_val){.phys = v->phys, .nullable = v->nullable, .expr = v->expr, .range = v->range};
    if (!range_within(v->range, ordinal_range(e->type)))
        out->range = ordinal_range(e->type);
    if (hd_type_is_float(e->type)) {
        HD_TRY(lx_as_phys(c, out, float_ordinal(e->type)));
        out->phys = lx_full_phys(e->type);
        out->expr = pb_op(c, FE_OF_ORDINAL, out->phys, v->nullable, 1, &out->expr);
        out->range.known = false;
    } else if (e->type.kind == HD_BOOL) {
        int args[2];
        HD_TRY(lx_as_phys(c, out, RT_I64));
        args[0] = out->expr;
        args[1] = pb_const_int(c, RT_I64, 0);
        out->phys = RT_BOOL;
        out->expr = pb_op(c, FE_NE, RT_BOOL, v->nullable, 2, args);
    } else {
        enum rt_phys p =
            e->type.kind == HD_INT64 || e->type.kind == HD_DECIMAL ? lx_narrowest(out->range) : lx_full_phys(e->type);
        HD_TRY(lx_as_phys(c, out, p));
    }
    return 0;
}
