/* Intervals of possible values: of types, of sums and products, and the integer that holds one. */
#include "planner/range.h"

struct pl_range range_of_type(struct hd_type t)
{
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return (struct pl_range){true, 0, 1};
    case HD_INT32:
    case HD_DATE: return (struct pl_range){true, INT32_MIN, INT32_MAX};
    case HD_TIME: return (struct pl_range){true, 0, HD_TIME_MAX};
    case HD_INT64:
    case HD_TIMESTAMP: return (struct pl_range){true, INT64_MIN, INT64_MAX};
    case HD_DECIMAL: {
        hd_i128 m = hd_pow10(t.precision) - 1;
        return (struct pl_range){true, -m, m};
    }
    case HD_INTERVAL: {
        struct pl_range r = {.known = true};
        hd_type_domain(t, &r.lo, &r.hi);
        return r;
    }
    case HD_FLOAT32:
    case HD_FLOAT64:
    case HD_STRING:
    case HD_BINARY:
    case HD_TYPE_COUNT: break;
    }
    return (struct pl_range){false, 0, 0};
}

enum rt_phys lx_narrowest(struct pl_range r)
{
    if (r.known && r.lo >= INT32_MIN && r.hi <= INT32_MAX)
        return RT_I32;
    return r.known && r.lo >= INT64_MIN && r.hi <= INT64_MAX ? RT_I64 : RT_I128;
}

static struct pl_range hull(const hd_i128 *v, int n)
{
    struct pl_range r = {true, v[0], v[0]};
    for (int i = 1; i < n; i++) {
        r.lo = HD_MIN(r.lo, v[i]);
        r.hi = HD_MAX(r.hi, v[i]);
    }
    return r;
}

bool range_op(enum fe_op op, hd_i128 a, hd_i128 b, hd_i128 *out)
{
    if (op == FE_ADD)
        return __builtin_add_overflow(a, b, out);
    if (op == FE_SUB)
        return __builtin_sub_overflow(a, b, out);
    return __builtin_mul_overflow(a, b, out);
}

struct pl_range range_binary(enum fe_op op, struct pl_range a, struct pl_range b)
{
    hd_i128 v[4];
    if (!a.known || !b.known || range_op(op, a.lo, b.lo, &v[0]) || range_op(op, a.lo, b.hi, &v[1]) ||
        range_op(op, a.hi, b.lo, &v[2]) || range_op(op, a.hi, b.hi, &v[3]))
        return (struct pl_range){false, 0, 0};
    return hull(v, 4);
}

/* The least 2^k that no integer of r is beyond: each lies in -2^k .. 2^k - 1. */
static hd_i128 reach(struct pl_range r)
{
    hd_i128 k = 1;
    while (r.lo < -k || r.hi > k - 1)
        k *= 2;
    return k;
}

static struct pl_range shifted(enum fe_op op, struct pl_range a, struct pl_range n)
{
    enum { BITS = 64 };
    int less = (int)HD_MIN(HD_MAX(n.lo, 0), BITS), more = (int)HD_MIN(n.hi, BITS);
    if (more < less)
        return (struct pl_range){false, 0, 0};
    if (op == FE_SHIFT_LEFT)
        return range_binary(FE_MUL, a, (struct pl_range){true, (hd_i128)1 << less, (hd_i128)1 << more});
    return (struct pl_range){true, a.lo >> (a.lo < 0 ? less : more), a.hi >> (a.hi < 0 ? more : less)};
}

struct pl_range range_bits(enum fe_op op, struct pl_range a, struct pl_range b)
{
    struct pl_range both = {a.known && b.known, HD_MIN(a.lo, b.lo), HD_MAX(a.hi, b.hi)};
    if (!both.known)
        return both;
    if (op == FE_SHIFT_LEFT || op == FE_SHIFT_RIGHT)
        return shifted(op, a, b);
    if (op == FE_BIT_AND && (a.lo >= 0 || b.lo >= 0)) /* no more than the one that is not negative */
        return (struct pl_range){true, 0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : HD_MIN(a.hi, b.hi)};
    hd_i128 most = reach(both);
    return (struct pl_range){true, both.lo >= 0 ? 0 : -most, most - 1};
}

bool range_within(struct pl_range r, struct pl_range t)
{
    return r.known && r.lo >= t.lo && r.hi <= t.hi;
}

bool lx_is_date(hd_i128 day)
{
    return day >= hd_date_from_civil(1, 1, 1) && day <= hd_date_from_civil(9999, 12, 31);
}

const struct fe_expr *pl_uncast(const struct fe_expr *e)
{
    while (e->op == FE_CAST && hd_type_is_num(e->type) && hd_type_is_num(e->args[0]->type) &&
           (e->type.kind == HD_DECIMAL ? e->type.scale : 0) ==
               (e->args[0]->type.kind == HD_DECIMAL ? e->args[0]->type.scale : 0) &&
           range_within(range_of_type(e->args[0]->type), range_of_type(e->type)))
        e = e->args[0];
    return e;
}
