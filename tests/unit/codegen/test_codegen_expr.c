/* Every expression operator against plain C, over all combinations of interesting values and
 * NULLs: in a row loop, and for those that work on tiles as tile predicates too. */
#include "tests/unit/codegen/expr_inputs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/interval.h"
#include "runtime/base/type.h"
/* --- expected values, by the rules of docs/plan.md --- */

static int tri(bool v, bool valid)
{
    return valid ? v : 2;
}
static int tri_and(int a, int b)
{
    return a == 0 || b == 0 ? 0 : a == 2 || b == 2 ? 2 : 1;
}
static int tri_or(int a, int b)
{
    return a == 1 || b == 1 ? 1 : a == 2 || b == 2 ? 2 : 0;
}
static int cmp_f64(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}
static int cmp_str(const char *a, const char *b)
{
    int c = strcmp(a, b);
    return (c > 0) - (c < 0);
}
static hd_i128 round_at(hd_i128 v, hd_i128 d)
{
    return (v < 0 ? v - d / 2 : v + d / 2) / d;
}
static int64_t wrap(hd_i128 v)
{
    return (int64_t)(uint64_t)v;
}
static int64_t floor_day(int64_t us)
{
    int64_t d = 86400000000LL;
    return us / d - (us % d < 0);
}
static int32_t month_of(int32_t days)
{
    int y, m, d;
    hd_date_to_civil(days, &y, &m, &d);
    return days - d + 1;
}

static int part_of(int32_t days, int field)
{
    int f[3];
    hd_date_to_civil(days, &f[0], &f[1], &f[2]);
    return f[field];
}

static int with_field(struct fx *x, int e, enum fe_field field, enum hd_type_kind in_type)
{
    x->exprs[e].field = field;
    x->exprs[e].in_type = hd_type_of(in_type);
    return e;
}
static int with_arg(struct fx *x, int e, int arg)
{
    x->exprs[e].arg = arg;
    return e;
}
static const int64_t set64[] = {-7, 0, 50};
static const int32_t set32[] = {5, 9};
static int any_set(struct fx *x, enum rt_phys p, const void *set, size_t n)
{
    set = rt_set_filtered(&x->arena, &(struct rt_arg){.phys = p, .set = set, .nset = (int)n});
    int a = fx_arg(x, RT_ARG_SET, p, (hd_i128)((hd_u128)n << 64 | (uintptr_t)set));
    x->args[a].nset = (int)n;
    return a;
}
static int set_arg(struct fx *x)
{
    return any_set(x, RT_I64, set64, HD_COUNT(set64));
}
static int large_set_arg(struct fx *x)
{
    int a = set_arg(x);
    x->args[a].nset = 1000; /* chooses the helper; the words still say three */
    return a;
}
static int set32_arg(struct fx *x)
{
    return any_set(x, RT_I32, set32, 2);
}
static int empty_set_arg(struct fx *x)
{
    return any_set(x, RT_I32, set32, 0);
}
static const int32_t set_bits[] = {0, 5, 9, 31};
static int32_t word_of(const int32_t *set)
{
    uint32_t word = 0;
    for (size_t i = 0; i < HD_COUNT(set_bits); i++)
        word |= (uint32_t)1 << set[i];
    return (int32_t)word;
}
static int set_bits_arg(struct fx *x)
{
    return any_set(x, RT_I32, set_bits, HD_COUNT(set_bits));
}
static int low_bits(struct fx *x, int most)
{
    return fx_op(x, FE_BIT_AND, RT_I32, 2, COL(D), fx_int(x, RT_I32, most));
}
static int days_of(struct fx *x, int k)
{
    return fx_op(x, FE_NARROW, RT_I32, 1, OP(MOD, RT_I64, 2, COL(k), I(20000)));
}
/* So many months, days, and 77 microseconds, of columns. */
static int span(struct fx *x, int months, int days)
{
    return OP(MAKE_INTERVAL, RT_I128, 3, OP(MOD, RT_I64, 2, COL(months), I(5000)),
              OP(MOD, RT_I64, 2, COL(days), I(3000)), I(77));
}
static hd_i128 span_of(int64_t months, int64_t days)
{
    hd_i128 v = 0;
    hd_interval_pack((struct hd_interval){months % 5000, days % 3000, 77}, &v);
    return v;
}
static int saturated(struct fx *x, int e)
{
    x->exprs[e].saturate = true;
    return e;
}
static hd_i128 stop_at_38(hd_i128 v)
{
    hd_i128 max = hd_pow10(18);
    return v >= max ? hd_pow10(38) : v <= -max ? -hd_pow10(38) : v * hd_pow10(20);
}
static bool in_set64(int64_t v)
{
    return v == -7 || v == 0 || v == 50;
}

/* clang-format off */
/* X(name, class of the result, node, valid, value): integers and booleans, over r. */
#define INT_CASES(X)                                                                          \
    X(add, RT_I64, OP(ADD, RT_I64, 2, COL(A), COL(B)), r->bv, wrap((hd_i128)r->a + r->b))      \
    X(sub, RT_I64, OP(SUB, RT_I64, 2, COL(A), COL(B)), r->bv, wrap((hd_i128)r->a - r->b))      \
    X(mul, RT_I64, OP(MUL, RT_I64, 2, COL(A), COL(B)), r->bv, wrap((hd_u128)r->a * r->b))      \
    X(neg, RT_I64, OP(NEG, RT_I64, 1, COL(B)), r->bv, wrap(-(hd_i128)r->b))                    \
    X(add128, RT_I128, OP(ADD, RT_I128, 2, COL(H), COL(G)), r->gv, r->h + r->g)                \
    X(mul128, RT_I128, OP(MUL, RT_I128, 2, OP(WIDEN, RT_I128, 1, COL(A)),                      \
                          OP(WIDEN, RT_I128, 1, COL(D))), r->dv, (hd_i128)r->a * r->d)         \
    X(div, RT_I64, OP(DIV, RT_I64, 2, COL(A), I(7)), true, r->a / 7)                           \
    X(mod, RT_I64, OP(MOD, RT_I64, 2, COL(A), I(-7)), true, r->a % -7)                         \
    X(mod1, RT_I64, OP(MOD, RT_I64, 2, COL(A), I(-1)), true, 0)                                \
    X(mod_null, RT_I64, OP(MOD, RT_I64, 2, COL(A), OP(CASE, RT_I64, 2, COL(P), I(3))),         \
      r->pv && r->p, r->a % 3)                                                                 \
    X(mod128, RT_I128, OP(MOD, RT_I128, 2, COL(G), OP(WIDEN, RT_I128, 1, I(1000))), r->gv,     \
      r->g % 1000)                                                                             \
    X(eq, RT_BOOL, OP(EQ, RT_BOOL, 2, COL(A), COL(B)), r->bv, r->a == r->b)                    \
    X(ne, RT_BOOL, OP(NE, RT_BOOL, 2, COL(C), COL(D)), r->dv, r->c != r->d)                    \
    X(lt, RT_BOOL, OP(LT, RT_BOOL, 2, COL(A), COL(B)), r->bv, r->a < r->b)                     \
    X(le128, RT_BOOL, OP(LE, RT_BOOL, 2, COL(H), COL(G)), r->gv, r->h <= r->g)                 \
    X(gt_bool, RT_BOOL, OP(GT, RT_BOOL, 2, COL(P), COL(Q)), r->pv && r->qv, r->p > r->q)       \
    X(eq_f, RT_BOOL, OP(EQ, RT_BOOL, 2, COL(E), COL(F)), r->fv, cmp_f64(r->e, r->f) == 0)      \
    X(ne_f, RT_BOOL, OP(NE, RT_BOOL, 2, COL(E), COL(F)), r->fv, cmp_f64(r->e, r->f) != 0)      \
    X(lt_f, RT_BOOL, OP(LT, RT_BOOL, 2, COL(E), COL(F)), r->fv, cmp_f64(r->e, r->f) < 0)       \
    X(le_f, RT_BOOL, OP(LE, RT_BOOL, 2, COL(E), COL(F)), r->fv, cmp_f64(r->e, r->f) <= 0)      \
    X(gt_f, RT_BOOL, OP(GT, RT_BOOL, 2, COL(E), COL(F)), r->fv, cmp_f64(r->e, r->f) > 0)       \
    X(ge_f, RT_BOOL, OP(GE, RT_BOOL, 2, COL(E), COL(F)), r->fv, cmp_f64(r->e, r->f) >= 0)      \
    X(eq_s, RT_BOOL, OP(EQ, RT_BOOL, 2, COL(S), COL(T)), r->tv, cmp_str(r->s, r->t) == 0)      \
    X(ne_s, RT_BOOL, OP(NE, RT_BOOL, 2, COL(S), COL(T)), r->tv, cmp_str(r->s, r->t) != 0)      \
    X(lt_s, RT_BOOL, OP(LT, RT_BOOL, 2, COL(S), COL(T)), r->tv, cmp_str(r->s, r->t) < 0)       \
    X(ge_s, RT_BOOL, OP(GE, RT_BOOL, 2, COL(S), COL(T)), r->tv, cmp_str(r->s, r->t) >= 0)      \
    X(and2, RT_BOOL, OP(AND, RT_BOOL, 2, COL(P), COL(Q)),                                      \
      tri_and(tri(r->p, r->pv), tri(r->q, r->qv)) != 2,                                        \
      tri_and(tri(r->p, r->pv), tri(r->q, r->qv)))                                             \
    X(or2, RT_BOOL, OP(OR, RT_BOOL, 2, COL(P), COL(Q)),                                        \
      tri_or(tri(r->p, r->pv), tri(r->q, r->qv)) != 2,                                         \
      tri_or(tri(r->p, r->pv), tri(r->q, r->qv)))                                              \
    X(and_guarded, RT_BOOL, OP(AND, RT_BOOL, 3, COL(P),                                        \
                               OP(EQ, RT_BOOL, 2, COL(S), COL(T)), COL(Q)),                    \
      tri_and(tri_and(tri(r->p, r->pv), tri(!cmp_str(r->s, r->t), r->tv)),                     \
              tri(r->q, r->qv)) != 2,                                                          \
      tri_and(tri_and(tri(r->p, r->pv), tri(!cmp_str(r->s, r->t), r->tv)), tri(r->q, r->qv)))  \
    X(or_guarded, RT_BOOL, OP(OR, RT_BOOL, 3, COL(P), COL(Q),                                  \
                              OP(EQ, RT_BOOL, 2, COL(S), COL(T))),                             \
      tri_or(tri_or(tri(r->p, r->pv), tri(r->q, r->qv)), tri(!cmp_str(r->s, r->t), r->tv))     \
          != 2,                                                                                \
      tri_or(tri_or(tri(r->p, r->pv), tri(r->q, r->qv)), tri(!cmp_str(r->s, r->t), r->tv)))    \
    X(not, RT_BOOL, OP(NOT, RT_BOOL, 1, COL(P)), r->pv, !r->p)                                 \
    X(is_null, RT_BOOL, OP(IS_NULL, RT_BOOL, 1, COL(B)), true, !r->bv)                         \
    X(is_null_no, RT_BOOL, OP(IS_NULL, RT_BOOL, 1, COL(A)), true, false)                       \
    X(null_lit, RT_I64, OP(ADD, RT_I64, 2, COL(A), fx_null(x, RT_I64)), false, 0)              \
    X(in, RT_BOOL, OP(IN, RT_BOOL, 3, COL(A), I(50), COL(B)),                                  \
      tri_or(r->a == 50, tri(r->a == r->b, r->bv)) != 2, r->a == 50 || r->a == r->b)           \
    X(in_s, RT_BOOL, OP(IN, RT_BOOL, 3, COL(T), fx_str(x, "ab"), fx_str(x, "12")), r->tv,      \
      !strcmp(r->t, "ab") || !strcmp(r->t, "12"))                                              \
    X(in_set, RT_BOOL, with_arg(x, OP(IN_SET, RT_BOOL, 1, COL(B)), set_arg(x)), r->bv,         \
      in_set64(r->b))                                                                          \
    X(in_large_set, RT_BOOL, with_arg(x, OP(IN_SET, RT_BOOL, 1, COL(B)), large_set_arg(x)),    \
      r->bv, in_set64(r->b))                                                                   \
    X(in_set32, RT_BOOL, with_arg(x, OP(IN_SET, RT_BOOL, 1, COL(D)), set32_arg(x)), r->dv,     \
      r->d == 5 || r->d == 9)                                                                  \
    X(in_no_set, RT_BOOL, with_arg(x, OP(IN_SET, RT_BOOL, 1, COL(D)), empty_set_arg(x)),       \
      r->dv, false)                                                                            \
    X(in_bits, RT_BOOL, with_arg(x, OP(IN_BITS, RT_BOOL, 2, low_bits(x, 31),                   \
                                       fx_int(x, RT_I32, word_of(set_bits))), set_bits_arg(x)), \
      r->dv, (uint32_t)word_of(set_bits) >> (r->d & 31) & 1)                                   \
    X(in_bits64, RT_BOOL, with_arg(x, OP(IN_BITS, RT_BOOL, 2, low_bits(x, 63),                 \
                                         I(INT64_MIN | 4)), set_bits_arg(x)), r->dv,           \
      (r->d & 63) == 63 || (r->d & 63) == 2)                                                   \
    X(like, RT_BOOL, with_arg(x, OP(LIKE, RT_BOOL, 1, COL(T)),                                 \
                              fx_arg_ptr(x, RT_ARG_LIKE, "ab")), r->tv,                        \
      !strncmp(r->t, "ab", 2))                                                                 \
    X(case_select, RT_I64, OP(CASE, RT_I64, 5, COL(P), COL(A), COL(Q), I(4), COL(B)),          \
      (r->pv && r->p) || (r->qv && r->q) || r->bv,                                             \
      r->pv && r->p ? r->a : r->qv && r->q ? 4 : r->b)                                         \
    X(case_branch, RT_I64, OP(CASE, RT_I64, 4, COL(P), OP(DIV, RT_I64, 2, COL(A), I(3)),       \
                              OP(EQ, RT_BOOL, 2, COL(S), COL(T)), COL(B)),                     \
      r->pv && r->p ? true : r->tv && !strcmp(r->s, r->t) && r->bv,                            \
      r->pv && r->p ? r->a / 3 : r->b)                                                         \
    X(coalesce, RT_I64, OP(COALESCE, RT_I64, 2, COL(B), COL(A)), true, r->bv ? r->b : r->a)    \
    X(coalesce_guard, RT_I64, OP(COALESCE, RT_I64, 3, COL(B), OP(DIV, RT_I64, 2,               \
                                 OP(WIDEN, RT_I64, 1, COL(D)), I(2)), I(9)), true,             \
      r->bv ? r->b : r->dv ? r->d / 2 : 9)                                                     \
    X(widen, RT_I128, OP(WIDEN, RT_I128, 1, COL(D)), r->dv, r->d)                              \
    X(widen_bool, RT_I64, OP(WIDEN, RT_I64, 1, COL(Q)), r->qv, r->q)                           \
    X(narrow, RT_I32, OP(NARROW, RT_I32, 1, COL(A)), true, (int32_t)(uint32_t)r->a)            \
    X(rescale, RT_I128, scaled(x, OP(RESCALE, RT_I128, 1, OP(WIDEN, RT_I128, 1, COL(B))), 3),  \
      r->bv, (hd_i128)r->b * 1000)                                                             \
    X(rescale_stops, RT_I128, saturated(x, scaled(x, OP(RESCALE, RT_I128, 1, COL(G)), 20)),    \
      r->gv, stop_at_38(r->g))                                                                 \
    X(round2, RT_I64, scaled(x, OP(DIVROUND, RT_I64, 1, COL(A)), 2), true,                     \
      round_at(r->a, 100))                                                                     \
    X(round1, RT_I64, scaled(x, OP(DIVROUND, RT_I64, 1, COL(B)), 1), r->bv,                    \
      round_at(r->b, 10))                                                                      \
    X(round128, RT_I128, scaled(x, OP(DIVROUND, RT_I128, 1, COL(G)), 5), r->gv,                \
      round_at(r->g, 100000))                                                                  \
    X(year, RT_I64, with_field(x, OP(EXTRACT, RT_I64, 1, days_of(x, B)), FE_YEAR, HD_DATE),    \
      r->bv, part_of((int32_t)(r->b % 20000), 0))                                              \
    X(day, RT_I64, with_field(x, OP(EXTRACT, RT_I64, 1, COL(A)), FE_DAY, HD_TIMESTAMP), true,  \
      part_of((int32_t)(r->a / 86400000000LL), 2))                                             \
    X(trunc, RT_I32, with_field(x, OP(DATE_TRUNC, RT_I32, 1, days_of(x, B)), FE_MONTH, HD_DATE), \
      r->bv, month_of((int32_t)(r->b % 20000)))                                                \
    X(trunc_ts, RT_I64, with_field(x, OP(DATE_TRUNC, RT_I64, 1, COL(A)), FE_DAY, HD_TIMESTAMP), \
      true, r->a / 86400000000LL * 86400000000LL)                                              \
    X(last_day, RT_I32, OP(LAST_DAY, RT_I32, 1, days_of(x, B)), r->bv,                         \
      hd_date_add_months(month_of((int32_t)(r->b % 20000)), 1) - 1)                            \
    X(add_days, RT_I32, OP(ADD_DAYS, RT_I32, 2, days_of(x, B), I(31)), r->bv,                  \
      r->b % 20000 + 31)                                                                       \
    X(add_months, RT_I32, OP(ADD_MONTHS, RT_I32, 2, days_of(x, A), I(-1)), true,               \
      hd_date_add_months((int32_t)(r->a % 20000), -1))                                         \
    X(ts_days, RT_I64, OP(ADD_DAYS, RT_I64, 2, OP(MOD, RT_I64, 2, COL(A), I(99)), I(2)), true, \
      r->a % 99 + 2 * 86400000000LL)                                                           \
    X(add_micros, RT_I64, OP(ADD_MICROS, RT_I64, 2, OP(MOD, RT_I64, 2, COL(A), I(99)), I(2)), true, \
      r->a % 99 + 2)                                                                           \
    X(years_between, RT_I64,                                                                   \
      with_field(x, OP(UNITS_BETWEEN, RT_I64, 2, days_of(x, B), days_of(x, A)), FE_YEAR, HD_DATE), r->bv, \
      part_of((int32_t)(r->a % 20000), 0) - part_of((int32_t)(r->b % 20000), 0))               \
    X(days_between, RT_I64, with_field(x, OP(UNITS_BETWEEN, RT_I64, 2, COL(A), I(0)), FE_DAY, HD_TIMESTAMP), \
      true, -(r->a / 86400000000LL))                                                           \
    X(make_date, RT_I32, OP(MAKE_DATE, RT_I32, 3, I(1996), I(2), I(29)), true, 9555)           \
    X(interval_length, RT_I128, OP(INTERVAL_LENGTH, RT_I128, 1, span(x, A, B)), r->bv,   \
      hd_interval_length(span_of(r->a, r->b)))                                                 \
    X(interval_months, RT_I64, OP(INTERVAL_MONTHS, RT_I64, 1, span(x, A, B)), r->bv,     \
      r->a % 5000)                                                                             \
    X(interval_days, RT_I64, OP(INTERVAL_DAYS, RT_I64, 1, span(x, A, B)), r->bv,         \
      r->b % 3000)                                                                             \
    X(interval_micros, RT_I64, OP(INTERVAL_MICROS, RT_I64, 1, span(x, A, B)), r->bv, 77) \
    X(interval_plus, RT_I64, OP(INTERVAL_MICROS, RT_I64, 1, OP(INTERVAL_PLUS, RT_I128, 2,       \
          span(x, A, A), span(x, A, B))), r->bv, 154)                             \
    X(interval_minus, RT_I64, OP(INTERVAL_DAYS, RT_I64, 1, OP(INTERVAL_MINUS, RT_I128, 2,       \
          span(x, A, A), span(x, A, B))), r->bv, r->a % 3000 - r->b % 3000)       \
    X(interval_times, RT_I64, OP(INTERVAL_MONTHS, RT_I64, 1, OP(INTERVAL_TIMES, RT_I128, 2,     \
          span(x, A, B), I(-9))), r->bv, -9 * (r->a % 5000))                             \
    X(date_diff, RT_I64, OP(DATE_DIFF, RT_I64, 2, COL(C), COL(D)), r->dv,                      \
      (int64_t)r->c - r->d)                                                                    \
    X(ts_to_date, RT_I32, typed(x, OP(CAST, RT_I32, 1, COL(A)), HD_TIMESTAMP, HD_DATE), true,  \
      floor_day(r->a))                                                                         \
    X(date_to_ts, RT_I64, typed(x, OP(CAST, RT_I64, 1, days_of(x, B)), HD_DATE, HD_TIMESTAMP), \
      r->bv, r->b % 20000 * 86400000000LL)                                                     \
    X(from_f64, RT_I64, scaled(x, OP(FROM_F64, RT_I64, 1, OP(TO_F64, RT_F64, 1, COL(D))), 2),  \
      r->dv, (int64_t)r->d * 10)

/* clang-format on */

struct result {
    hd_i128 i;
    bool valid;
};

#define X(name, phys, node, valid_, value_) \
    static int build_##name(struct fx *x) \
    { \
        return node; \
    } \
    static struct result wanted_##name(const struct input *r) \
    { \
        (void)r; \
        struct result v = {0, valid_}; \
        if (v.valid) \
            v.i = value_; \
        return v; \
    }
INT_CASES(X)
#undef X

static const struct int_case {
    const char *name;
    enum rt_phys phys;
    int (*build)(struct fx *x);
    struct result (*expect)(const struct input *r);
} cases[] = {
#define X(name, phys, node, valid, value) {#name, phys, build_##name, wanted_##name},
    INT_CASES(X)
#undef X
};
enum { NCASES = HD_COUNT(cases) };

/* TO_F64 has no scale in the table above: a scale of 1 makes it a tenth. */
static void default_scales(struct fx *x)
{
    for (int i = 0; i < x->prog.nexprs; i++)
        if (x->exprs[i].op == FE_TO_F64 && x->exprs[i].scale < 0)
            x->exprs[i].scale = 1;
}

static hd_i128 read_int(const void *p, enum rt_phys phys)
{
    int32_t i32;
    int64_t i64;
    hd_i128 i128;
    switch (phys) {
    case RT_BOOL: return *(const unsigned char *)p;
    case RT_I32: memcpy(&i32, p, 4); return i32;
    case RT_I64: memcpy(&i64, p, 8); return i64;
    case RT_I128: memcpy(&i128, p, 16); return i128;
    case RT_F64:
    case RT_F32:
    case RT_STR: break;
    }
    HD_BUG("class %d", (int)phys);
}

static void check_result(const struct int_case *c, int row, const char *at)
{
    struct result want = c->expect(&in[row]);
    bool valid = at[16];
    hd_i128 got = read_int(at, c->phys);
    if (valid != want.valid || (valid && got != want.i))
        fail_msg("%s, row %d: got %s %lld, expected %s %lld", c->name, row, valid ? "value" : "NULL", (long long)got,
                 want.valid ? "value" : "NULL", (long long)want.i);
}

/* Each case is an out of one pipeline: value at 32 * case, valid byte 16 after it. */
static void operators_agree_with_c(void **state)
{
    (void)state;
    for (int first = 0; first < NCASES; first += 12) {
        struct fx *x = start();
        int n = HD_MIN(12, NCASES - first);
        int rows = fx_state(x, RT_STATE_ROWS, 32 * n);
        x->p->sink.kind = PL_SINK_ROWS;
        x->p->sink.state = rows;
        for (int k = 0; k < n; k++) {
            int e = cases[first + k].build(x);
            assert_int_equal(x->exprs[e].phys, cases[first + k].phys);
            fx_field(x, rows, cases[first + k].phys, 32 * k, 32 * k + 16);
            fx_out(x, k, e, FE_AGG_ANY);
        }
        default_scales(x);
        fx_compile(x);
        assert_int_equal(fx_run(x, 0, 0, N), 0);
        for (int i = 0; i < N; i++)
            for (int k = 0; k < n; k++)
                check_result(&cases[first + k], i, (char *)fx_row(x, rows, (size_t)i) + 32 * k);
        fx_free(x);
    }
}

/* Boolean cases as filters of a tile: rows that pass, from any start. */
static void tile_filters_agree_with_c(void **state)
{
    (void)state;
    int tiled = 0;
    for (int k = 0; k < NCASES; k++) {
        if (cases[k].phys != RT_BOOL)
            continue;
        struct fx *x = start();
        /* Columns that do not fit a tile move behind the filter, where nobody reads them. */
        struct pl_step *steps = x->p->steps;
        int last = x->p->nsteps;
        fx_filter(x, cases[k].build(x));
        bool wide = strstr(cases[k].name, "128") || !strcmp(cases[k].name + strlen(cases[k].name) - 2, "_s") ||
                    strstr(cases[k].name, "guarded") || strstr(cases[k].name, "large") ||
                    !strcmp(cases[k].name, "like");
        if (!wide) {
            steps[G] = steps[P];
            steps[H] = steps[Q];
            steps[S] = steps[last];
            x->p->nsteps = S + 1;
            tiled++;
        }
        x->tile_steps = x->p->nsteps;
        int sum = fx_state(x, RT_STATE_AGG_SCALAR, 8);
        fx_field(x, sum, RT_I64, 0, -1);
        x->p->sink.kind = PL_SINK_AGG_SCALAR;
        x->p->sink.state = sum;
        fx_out(x, 0, -1, FE_AGG_COUNT_STAR);
        fx_compile(x);
        assert_true(wide || x->p->cpu_tile.steps > 0);
        int64_t want = 0;
        for (int i = 0; i < N; i++) {
            struct result r = cases[k].expect(&in[i]);
            want += r.valid && r.i == 1;
        }
        assert_int_equal(fx_run(x, 0, 0, 3) | fx_run(x, 0, 3, 200) | fx_run(x, 0, 200, N), 0);
        if (*(int64_t *)fx_row(x, sum, 0) != want)
            fail_msg("%s: %lld rows pass, expected %lld", cases[k].name, (long long)*(int64_t *)fx_row(x, sum, 0),
                     (long long)want);
        fx_free(x);
    }
    assert_true(tiled > 15);
}

/* --- numbers and texts that are no integers --- */

struct mixed_row {
    double sum, prod, quot, neg, conv, conv128;
    const char *sub;
    int64_t nsub;
    const char *text;
    int64_t ntext;
    const char *dict;
    int64_t ndict;
    uint8_t v_sum, v_prod, v_quot, v_neg, v_conv, v_conv128, v_sub, v_text, v_dict, pad[7];
};

static bool same_f64(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static const uint32_t dict_offsets[] = {0, 3, 3, 7};
static const char dict_bytes[] = "onefour";

static void floats_and_texts_agree_with_c(void **state)
{
    (void)state;
    struct fx *x = start();
    int rows = fx_state(x, RT_STATE_ROWS, sizeof(struct mixed_row));
    int code = OP(NARROW, RT_I32, 1, OP(CASE, RT_I64, 4, COL(P), I(2), OP(NOT, RT_BOOL, 1, COL(P)), I(0)));
    int nodes[] = {
        OP(ADD, RT_F64, 2, COL(E), COL(F)),
        OP(MUL, RT_F64, 2, COL(E), COL(F)),
        OP(DIV, RT_F64, 2, COL(E), fx_f64(x, 4)),
        OP(NEG, RT_F64, 1, COL(F)),
        scaled(x, OP(TO_F64, RT_F64, 1, COL(C)), 2),
        scaled(x, OP(TO_F64, RT_F64, 1, COL(G)), 3),
        OP(SUBSTRING, RT_STR, 3, COL(T), I(2), I(1)),
        typed(x, OP(TO_STRING, RT_STR, 1, COL(D)), HD_INT32, HD_STRING),
        OP(DICT_STRING, RT_STR, 1, code),
    };
    x->exprs[nodes[8]].arg = fx_arg_ptr(x, RT_ARG_DICT_OFFSETS, dict_offsets);
    x->exprs[nodes[8]].arg2 = fx_arg_ptr(x, RT_ARG_DICT_BYTES, dict_bytes);
    x->p->sink.kind = PL_SINK_ROWS;
    x->p->sink.state = rows;
    for (int k = 0; k < 9; k++) {
        fx_field(x, rows, k < 6 ? RT_F64 : RT_STR, k < 6 ? 8 * k : 48 + 16 * (k - 6), 96 + k);
        fx_out(x, k, nodes[k], FE_AGG_ANY);
    }
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, N), 0);
    for (int i = 0; i < N; i++) {
        const struct mixed_row *m = fx_row(x, rows, (size_t)i);
        const struct input *r = &in[i];
        char text[64];
        assert_int_equal(m->v_sum, r->fv);
        assert_true(!r->fv || same_f64(m->sum, r->e + r->f));
        assert_true(!r->fv || same_f64(m->prod, r->e * r->f));
        assert_true(m->v_quot && same_f64(m->quot, r->e / 4));
        assert_true(!r->fv || same_f64(m->neg, -r->f));
        assert_true(m->v_conv && m->conv == r->c / 100.0);
        assert_true(m->v_conv128 == r->gv && (!r->gv || m->conv128 == (double)r->g / 1000));
        assert_int_equal(m->v_sub, r->tv);
        if (r->tv) {
            assert_int_equal(m->nsub, strlen(r->t) > 1);
            assert_true(m->nsub == 0 || *m->sub == r->t[1]);
        }
        snprintf(text, sizeof text, "%d:%d:%d", HD_INT32, r->d < 0 ? -1 : 0, r->d);
        assert_int_equal(m->v_text, r->dv);
        assert_true(!r->dv || (m->ntext == (int64_t)strlen(text) && !memcmp(m->text, text, (size_t)m->ntext)));
        assert_int_equal(m->v_dict, r->pv);
        assert_true(!r->pv ||
                    (m->ndict == (r->p ? 4 : 3) && !memcmp(m->dict, r->p ? "four" : "one", (size_t)m->ndict)));
    }
    fx_free(x);
}

struct map_row {
    int64_t v;
    uint8_t valid, pad[7];
};

static void lookup_reads_the_map(void **state)
{
    (void)state;
    static const struct map_row map[] = {{10, 1, {0}}, {20, 0, {0}}};
    static const uint8_t codes[] = {0, 1, 0};
    struct fx *x = fx_new();
    fx_pipeline(x, RT_SOURCE_TABLE);
    struct fe_table *t = fx_table(x, 1);
    fx_column(t, 0, FE_STORE_DICT, 1, codes, NULL);
    int slot = fx_slot(x, RT_I32, false);
    fx_load(x, slot, t, 0, 0);
    int st = fx_state(x, RT_STATE_ARRAY, sizeof(struct map_row));
    fx_field(x, st, RT_I64, 0, 8);
    int e = fx_op(x, FE_LOOKUP, RT_I64, 1, fx_col(x, slot));
    x->exprs[e].nullable = true;
    x->exprs[e].state = st;
    x->exprs[e].arg = fx_arg_ptr(x, RT_ARG_STATE_ROWS, map);
    int rows = fx_state(x, RT_STATE_ROWS, 16);
    x->p->sink.kind = PL_SINK_ROWS;
    x->p->sink.state = rows;
    fx_field(x, rows, RT_I64, 0, 8);
    fx_out(x, 0, e, FE_AGG_ANY);
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, 3), 0);
    assert_int_equal(*(int64_t *)fx_row(x, rows, 0), 10);
    assert_int_equal(((char *)fx_row(x, rows, 0))[8], 1);
    assert_int_equal(((char *)fx_row(x, rows, 1))[8], 0);
    assert_int_equal(*(int64_t *)fx_row(x, rows, 2), 10);
    fx_free(x);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_agree_with_c),
        cmocka_unit_test(tile_filters_agree_with_c),
        cmocka_unit_test(floats_and_texts_agree_with_c),
        cmocka_unit_test(lookup_reads_the_map),
    };
    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
