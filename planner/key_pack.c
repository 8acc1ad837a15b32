/* Packing integer keys into one index for direct-address tables and dense aggregation. */
#include "planner/key_pack.h"

#include "planner/build.h"
#include "planner/lower_expr.h"

static bool no_pack(struct pack *p)
{
    p->range = 0;
    return false;
}

/* Ranges of keys that nothing is known of: their type's. */
static const struct pl_val *with_ranges(struct ctx *c, const struct pl_val *kv, int n)
{
    struct pl_val *all = hd_dup(c->a, kv, sizeof *kv * (size_t)HD_MAX(n, 1));
    for (int i = 0; i < n; i++) {
        if (!all[i].range.known && all[i].phys == RT_BOOL)
            all[i].range = (struct pl_range){true, 0, 1};
        if (!all[i].range.known && all[i].phys == RT_I32)
            all[i].range = (struct pl_range){true, INT32_MIN, INT32_MAX};
    }
    return all;
}

/* Up to `max` indexes. */
static bool pack_up_to(struct ctx *c, const struct pl_val *kv, int n, bool null_slots, uint64_t max, struct pack *p)
{
    const hd_i128 far = (hd_i128)1 << 62; /* keeps value - lo from wrapping into the range */
    *p = (struct pack){.n = n, .range = 1};
    p->lo = HD_NEWN(c->a, hd_i128, n + 1);
    p->span = HD_NEWN(c->a, uint64_t, n + 1);
    p->null_slot = HD_NEWN(c->a, bool, n + 1);
    for (int i = 0; i < n; i++) {
        const struct pl_val *v = &kv[i];
        if (v->phys > RT_I64 || !v->range.known || v->range.lo < -far || v->range.hi > far ||
            v->range.hi - v->range.lo > (hd_i128)max)
            return no_pack(p);
        hd_i128 span = v->range.hi - v->range.lo + 1;
        p->lo[i] = v->range.lo;
        p->null_slot[i] = null_slots && v->nullable;
        p->span[i] = (uint64_t)HD_MAX(span, 1) + p->null_slot[i];
        if (p->range > max / p->span[i])
            return no_pack(p);
        p->range *= p->span[i];
    }
    return n > 0 || no_pack(p);
}

bool pack_keys(struct ctx *c, const struct pl_val *kv, int n, bool null_slots, struct pack *p)
{
    return pack_up_to(c, kv, n, null_slots, ((uint64_t)1 << 31) - 1, p);
}

bool pack_word(struct ctx *c, const struct pl_val *kv, int n, struct pack *p)
{
    return pack_up_to(c, with_ranges(c, kv, n), n, true, ((uint64_t)1 << 62) - 1, p);
}

void pack_check(struct ctx *c, const struct pack *p, const struct pl_val *kv, int n)
{
    HD_ASSERT(p->n == n);
    kv = with_ranges(c, kv, n);
    for (int i = 0; i < n; i++) {
        hd_i128 hi = p->lo[i] + (hd_i128)p->span[i] - 1 - p->null_slot[i];
        bool fits = kv[i].range.known && kv[i].range.hi <= HD_MAX(hi, kv[i].range.lo) && kv[i].range.lo >= p->lo[i];
        HD_ASSERT(fits && kv[i].phys <= RT_I64);
    }
}

static int op2(struct ctx *c, enum fe_op op, enum rt_phys ph, bool nullable, int a, int b)
{
    int args[2] = {a, b};
    return pb_op(c, op, ph, nullable, 2, args);
}

static int part(struct ctx *c, const struct pack *p, int i, struct pl_val v, bool *nullable)
{
    lx_as_phys(c, &v, RT_I64);
    int e = v.expr;
    if (p->lo[i] != 0)
        e = op2(c, FE_SUB, RT_I64, v.nullable, e, pb_const_int(c, RT_I64, p->lo[i]));
    if (v.nullable && p->null_slot[i])
        return op2(c, FE_COALESCE, RT_I64, false, e, pb_const_int(c, RT_I64, (hd_i128)p->span[i] - 1));
    *nullable |= v.nullable;
    return e;
}

int pack_index(struct ctx *c, const struct pack *p, const struct pl_val *kv)
{
    int e = -1;
    bool nullable = false;
    for (int i = 0; i < p->n; i++) {
        int k = part(c, p, i, kv[i], &nullable);
        if (i == 0) {
            e = k;
            continue;
        }
        e = op2(c, FE_MUL, RT_I64, nullable, e, pb_const_int(c, RT_I64, (hd_i128)p->span[i]));
        e = op2(c, FE_ADD, RT_I64, nullable, e, k);
    }
    return e;
}

int pack_probe(struct ctx *c, const struct pack *p, const struct pl_val *kv)
{
    int e = pack_index(c, p, kv);
    if (p->n == 1)
        return e; /* the probe itself refuses indexes outside the range */
    int guard = -1;
    for (int i = 0; i < p->n; i++) {
        hd_i128 hi = p->lo[i] + (hd_i128)p->span[i] - 1 - p->null_slot[i];
        if (kv[i].range.known && kv[i].range.lo >= p->lo[i] && kv[i].range.hi <= hi)
            continue;
        struct pl_val v = kv[i];
        lx_as_phys(c, &v, RT_I64);
        int lo = op2(c, FE_GE, RT_BOOL, v.nullable, v.expr, pb_const_int(c, RT_I64, p->lo[i]));
        int up = op2(c, FE_LE, RT_BOOL, v.nullable, v.expr, pb_const_int(c, RT_I64, hi));
        int both = op2(c, FE_AND, RT_BOOL, v.nullable, lo, up);
        guard = guard < 0 ? both : op2(c, FE_AND, RT_BOOL, true, guard, both);
    }
    return guard < 0 ? e : op2(c, FE_CASE, RT_I64, true, guard, e);
}
