/* Arithmetic and conversions between numbers. What may fail is checked only where its arguments
 * are valid; what cannot is plain wrapping code. 128-bit division and checked multiplication are
 * calls: LLVM would turn them into calls of compiler-rt, which nothing here links. */
#include "codegen/llvm_build.h"
#include "templates/abi.h"
#include "templates/device.cuh"

#include "runtime/base/type.h"

static bool is_int(enum rt_phys p)
{
    return !rt_phys_is_float(p) && p != RT_STR;
}

/* |v| > 10^digits - 1, or NULL if every value of the class is within. */
static LLVMValueRef beyond(struct cg_fn *f, LLVMValueRef v, enum rt_phys p, int digits)
{
    int max = p == RT_I32 ? 9 : p == RT_I64 ? 18 : HD_DEC_MAX;
    if (digits <= 0 || digits > max)
        return NULL;
    hd_i128 limit = hd_pow10(digits) - 1;
    LLVMValueRef up = l_add(f, v, cg_const(f, p, limit));
    return l_icmp(f, LLVMIntUGT, up, cg_const(f, p, (hd_i128)((hd_u128)limit * 2)));
}

/* Raises where bad (NULL: never) and the value is valid. */
static void raise_if(struct cg_fn *f, const struct pl_expr *e, LLVMValueRef bad, LLVMValueRef valid,
                     enum rt_failure why)
{
    if (bad)
        cg_fail_if(f, cg_both(f, bad, valid), why, e->path);
}

/* The same, telling a and b of class p. */
static void raise_values_if(struct cg_fn *f, const struct pl_expr *e, LLVMValueRef bad, LLVMValueRef valid,
                            enum rt_failure why, enum rt_phys p, LLVMValueRef a, LLVMValueRef b)
{
    if (bad)
        cg_fail_values_if(f, cg_both(f, bad, valid), why, e->path, p, a, b);
}

static LLVMValueRef either(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return a && b ? l_or(f, a, b) : a ? a : b;
}

/* a op b with op one of sadd, ssub, smul, raising OVERFLOW beyond class or digits. */
static LLVMValueRef checked(struct cg_fn *f, const struct pl_expr *e, const char *name, LLVMValueRef a, LLVMValueRef b,
                            LLVMValueRef valid)
{
    LLVMValueRef args[] = {a, b};
    LLVMValueRef both = cg_intrinsic(f, name, cg_type(f, e->phys), args, 2);
    LLVMValueRef r = LLVMBuildExtractValue(f->b, both, 0, "");
    LLVMValueRef over = LLVMBuildExtractValue(f->b, both, 1, "");
    over = either(f, over, beyond(f, r, e->phys, e->limit_digits));
    raise_values_if(f, e, over, valid, RT_FAIL_OVERFLOW, e->phys, a, b);
    return r;
}

static struct cg_val arith_real(struct cg_fn *f, enum fe_op op, struct cg_val a, struct cg_val b)
{
    struct cg_val r = {.valid = cg_both(f, a.valid, b.valid)};
    if (op == FE_ADD)
        r.v = LLVMBuildFAdd(f->b, a.v, b.v, "");
    else if (op == FE_SUB)
        r.v = LLVMBuildFSub(f->b, a.v, b.v, "");
    else
        r.v = LLVMBuildFMul(f->b, a.v, b.v, "");
    return r;
}

static struct cg_val mul_i128(struct cg_fn *f, const struct pl_expr *e, struct cg_val a, struct cg_val b,
                              LLVMValueRef valid)
{
    LLVMValueRef args[8] = {f->thread};
    cg_words(f, a.v, RT_I128, &args[1]);
    cg_words(f, b.v, RT_I128, &args[3]);
    args[5] = l_i32(f, e->limit_digits);
    args[6] = l_i32(f, e->path);
    return cg_call_result(f, e, valid, CG_CALL_hdr_mul_i128, args, 7);
}

struct cg_val cgl_arith(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), b = cg_expr(f, e->args[1]);
    if (rt_phys_is_float(e->phys))
        return arith_real(f, e->op, a, b);
    struct cg_val r = {.valid = cg_both(f, a.valid, b.valid)};
    if (e->op == FE_ADD)
        r.v = e->fail ? checked(f, e, "llvm.sadd.with.overflow", a.v, b.v, r.valid) : l_add(f, a.v, b.v);
    else if (e->op == FE_SUB)
        r.v = e->fail ? checked(f, e, "llvm.ssub.with.overflow", a.v, b.v, r.valid) : l_sub(f, a.v, b.v);
    else if (!e->fail)
        r.v = l_mul(f, a.v, b.v);
    else if (e->phys == RT_I128)
        return mul_i128(f, e, a, b, r.valid);
    else
        r.v = checked(f, e, "llvm.smul.with.overflow", a.v, b.v, r.valid);
    return r;
}

struct cg_val cgl_negate(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    if (rt_phys_is_float(e->phys))
        r.v = LLVMBuildFNeg(f->b, a.v, "");
    else if (e->fail)
        r.v = checked(f, e, "llvm.ssub.with.overflow", cg_const(f, e->phys, 0), a.v, a.valid);
    else
        r.v = LLVMBuildNeg(f->b, a.v, "");
    return r;
}

static struct cg_val divide_real(struct cg_fn *f, const struct pl_expr *e, struct cg_val a, struct cg_val b)
{
    struct cg_val r = {.valid = cg_both(f, a.valid, b.valid)};
    if (e->fail) {
        LLVMValueRef zero = l_fcmp(f, LLVMRealOEQ, b.v, cg_const(f, e->phys, 0));
        raise_if(f, e, zero, r.valid, RT_FAIL_DIV_ZERO);
    }
    r.v = LLVMBuildFDiv(f->b, a.v, b.v, "");
    return r;
}

/* Division or remainder of 128-bit integers; scale >= 0: decimal division. */
static struct cg_val divide_i128(struct cg_fn *f, const struct pl_expr *e, struct cg_val a, struct cg_val b)
{
    LLVMValueRef args[10] = {f->thread};
    LLVMValueRef valid = cg_both(f, a.valid, b.valid);
    cg_words(f, a.v, cg_arg_phys(f->m, e, 0), &args[1]);
    cg_words(f, b.v, cg_arg_phys(f->m, e, 1), &args[3]);
    if (e->op == FE_MOD) {
        args[5] = l_i32(f, e->path);
        return cg_call_result(f, e, valid, CG_CALL_hdr_mod_i128, args, 6);
    }
    args[5] = l_i32(f, e->scale);
    args[6] = l_i32(f, e->limit_digits);
    args[7] = l_i32(f, e->path);
    return cg_call_result(f, e, valid, CG_CALL_hdr_div_dec, args, 8);
}

/* Truncating division of I32 and I64. The divisor is made harmless where the row is not valid,
 * and for a remainder by -1, which is 0 but would trap for the smallest dividend. */
static struct cg_val divide_int(struct cg_fn *f, const struct pl_expr *e, struct cg_val a, struct cg_val b)
{
    struct cg_val r = {.valid = cg_both(f, a.valid, b.valid)};
    LLVMValueRef one = cg_const(f, e->phys, 1), minus = cg_const(f, e->phys, -1);
    LLVMValueRef is_minus = l_eq(f, b.v, minus);
    if (e->fail)
        raise_if(f, e, l_eq(f, b.v, cg_const(f, e->phys, 0)), r.valid, RT_FAIL_DIV_ZERO);
    LLVMValueRef by = r.valid ? l_select(f, r.valid, b.v, one) : b.v;
    if (e->op == FE_MOD) {
        r.v = LLVMBuildSRem(f->b, a.v, l_select(f, is_minus, one, by), "");
        return r;
    }
    if (e->fail) {
        hd_i128 min = -((hd_i128)1 << (cg_phys_bits(e->phys) - 1));
        LLVMValueRef over = l_and(f, is_minus, l_eq(f, a.v, cg_const(f, e->phys, min)));
        raise_values_if(f, e, over, r.valid, RT_FAIL_OVERFLOW, e->phys, a.v, b.v);
    }
    r.v = LLVMBuildSDiv(f->b, a.v, by, "");
    return r;
}

static LLVMValueRef magnitude(struct cg_fn *f, LLVMValueRef v)
{
    return l_select(f, l_icmp(f, LLVMIntSLT, v, l_i64(f, 0)), LLVMBuildNeg(f->b, v, ""), v);
}

/* round_half_away(a * 10^scale / b) where 64 bits hold the product and twice a remainder. */
static struct cg_val divide_rounded(struct cg_fn *f, const struct pl_expr *e, struct cg_val a, struct cg_val b)
{
    struct cg_val r = {.valid = cg_both(f, a.valid, b.valid)};
    LLVMValueRef zero = l_i64(f, 0), one = l_i64(f, 1);
    if (e->fail)
        raise_if(f, e, l_eq(f, b.v, zero), r.valid, RT_FAIL_DIV_ZERO);
    LLVMValueRef by = r.valid ? l_select(f, r.valid, b.v, one) : b.v;
    LLVMValueRef n = l_mul(f, a.v, l_i64(f, (int64_t)hd_pow10(e->scale)));
    LLVMValueRef q = LLVMBuildSDiv(f->b, n, by, ""), rest = l_sub(f, n, l_mul(f, q, by));
    LLVMValueRef negative = l_icmp(f, LLVMIntSLT, LLVMBuildXor(f->b, n, by, ""), zero);
    LLVMValueRef half = l_sub(f, magnitude(f, by), magnitude(f, rest));
    LLVMValueRef away = l_icmp(f, LLVMIntUGE, magnitude(f, rest), half);
    LLVMValueRef step = l_select(f, negative, l_i64(f, -1), one);
    r.v = l_add(f, q, l_select(f, away, step, zero));
    return r;
}

struct cg_val cgl_divide(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), b = cg_expr(f, e->args[1]);
    if (rt_phys_is_float(e->phys))
        return divide_real(f, e, a, b);
    if (e->phys == RT_I128)
        return divide_i128(f, e, a, b);
    if (e->op == FE_DIV && e->scale >= 0)
        return divide_rounded(f, e, a, b);
    return divide_int(f, e, a, b);
}

struct cg_val cgl_low_word(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef words[2];
    cg_words(f, a.v, RT_I128, words);
    return (struct cg_val){.v = l_zext(f, words[0], f->m->i128), .valid = a.valid};
}

struct cg_val cgl_high_word(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef words[2];
    cg_words(f, a.v, RT_I128, words);
    return (struct cg_val){.v = words[1], .valid = a.valid};
}

/* Of negative numbers all bits but the sign change: larger ones have smaller bits. NaN becomes one more than infinity. */
static LLVMValueRef turn(struct cg_fn *f, LLVMValueRef bits, enum rt_phys p)
{
    LLVMValueRef negative = l_icmp(f, LLVMIntSLT, bits, cg_const(f, p, 0));
    hd_i128 all = p == RT_I32 ? INT32_MAX : INT64_MAX;
    return l_select(f, negative, l_xor(f, bits, cg_const(f, p, all)), bits);
}

struct cg_val cgl_ordinal(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef nan = l_fcmp(f, LLVMRealUNO, a.v, a.v);
    LLVMValueRef bits = turn(f, l_bitcast(f, a.v, cg_type(f, e->phys)), e->phys);
    hd_i128 last = e->phys == RT_I32 ? HDD_ORDINAL_NAN32 : HDD_ORDINAL_NAN;
    return (struct cg_val){.v = l_select(f, nan, cg_const(f, e->phys, last), bits), .valid = a.valid};
}

struct cg_val cgl_of_ordinal(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    return (struct cg_val){.v = l_bitcast(f, turn(f, a.v, cg_arg_phys(f->m, e, 0)), cg_type(f, e->phys)),
                           .valid = a.valid};
}

/* Integers clamp to 64 bits; bits of negative floats order the other way round. */
struct cg_val cgl_order_word(struct cg_fn *f, const struct pl_expr *e)
{
    enum rt_phys from = cg_arg_phys(f->m, e, 0);
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    LLVMValueRef least = l_i64(f, INT64_MIN), most = l_i64(f, INT64_MAX), zero = l_i64(f, 0);
    if (from == RT_F32)
        a.v = LLVMBuildFPExt(f->b, a.v, f->m->f64, "");
    if (rt_phys_is_float(from)) {
        LLVMValueRef bits = l_bitcast(f, a.v, f->m->i64);
        LLVMValueRef flat = l_fcmp(f, LLVMRealOEQ, a.v, cg_const(f, RT_F64, 0));
        bits = l_select(f, flat, zero, bits);
        bits = l_select(f, l_icmp(f, LLVMIntSLT, bits, zero), l_xor(f, bits, most), bits);
        r.v = l_select(f, l_fcmp(f, LLVMRealUNO, a.v, a.v), most, bits);
    } else if (from == RT_I128) {
        LLVMValueRef low = l_trunc(f, a.v, f->m->i64);
        LLVMValueRef fits = l_eq(f, l_sext(f, low, f->m->i128), a.v);
        LLVMValueRef end = l_select(f, l_icmp(f, LLVMIntSLT, a.v, cg_const(f, RT_I128, 0)), least, most);
        r.v = l_select(f, fits, low, end);
    } else {
        r.v = cg_int_cast(f, a.v, from, RT_I64);
    }
    return r;
}

struct cg_val cgl_hash_word(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val *keys = HD_NEWN(f->m->arena, struct cg_val, e->nargs);
    enum rt_phys *phys = HD_NEWN(f->m->arena, enum rt_phys, e->nargs);
    for (int i = 0; i < e->nargs; i++) {
        keys[i] = cg_expr(f, e->args[i]);
        phys[i] = cg_arg_phys(f->m, e, i);
    }
    return (struct cg_val){.v = cg_hash(f, e->nargs, keys, phys)};
}

struct cg_val cgl_of_parts(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val high = cg_expr(f, e->args[0]), low = cg_expr(f, e->args[1]);
    struct cg_val n = cg_expr(f, e->args[2]);
    LLVMValueRef valid = cg_both(f, cg_both(f, high.valid, low.valid), n.valid);
    LLVMValueRef args[10] = {f->thread};
    cg_words(f, high.v, RT_I128, &args[1]);
    cg_words(f, low.v, RT_I128, &args[3]);
    args[5] = n.v;
    args[6] = l_i32(f, e->scale);
    args[7] = l_i32(f, e->limit_digits);
    args[8] = l_i32(f, e->path);
    return cg_call_result(f, e, valid, CG_CALL_hdr_of_parts, args, 9);
}

struct cg_val cgl_widen(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    return (struct cg_val){.v = cg_int_cast(f, a.v, cg_arg_phys(f->m, e, 0), e->phys), .valid = a.valid};
}

struct cg_val cgl_narrow(struct cg_fn *f, const struct pl_expr *e)
{
    enum rt_phys from = cg_arg_phys(f->m, e, 0);
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    r.v = cg_int_cast(f, a.v, from, e->phys);
    if (e->fail) {
        LLVMValueRef cut = NULL;
        if (cg_phys_bits(from) > cg_phys_bits(e->phys))
            cut = l_ne(f, cg_int_cast(f, r.v, e->phys, from), a.v);
        cut = either(f, cut, beyond(f, a.v, from, e->limit_digits));
        raise_values_if(f, e, cut, a.valid, RT_FAIL_CAST_RANGE, from, a.v, a.v);
    }
    return r;
}

struct cg_val cgl_rescale(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    LLVMValueRef x = cg_int_cast(f, a.v, cg_arg_phys(f->m, e, 0), e->phys);
    LLVMValueRef by = cg_const(f, e->phys, hd_pow10(e->scale));
    if (!e->fail && !e->saturate) {
        r.v = l_mul(f, x, by);
    } else if (e->phys == RT_I128) {
        LLVMValueRef args[7] = {f->thread};
        cg_words(f, x, RT_I128, &args[1]);
        args[3] = l_i32(f, e->scale);
        args[4] = l_i32(f, e->limit_digits);
        args[5] = l_i32(f, e->saturate ? HDD_PATH_SATURATE : e->path);
        r = cg_call_result(f, e, a.valid, CG_CALL_hdr_rescale_i128, args, 6);
    } else {
        r.v = checked(f, e, "llvm.smul.with.overflow", x, by, a.valid);
    }
    return r;
}

/* round_half_away(x / 10^scale), 1 <= scale <= 18: the divisor is even, so a remainder of half
 * of it or more, by absolute value, rounds away from zero. */
static LLVMValueRef round_i64(struct cg_fn *f, LLVMValueRef x, int scale)
{
    int64_t by = (int64_t)hd_pow10(scale);
    LLVMValueRef q = LLVMBuildSDiv(f->b, x, l_i64(f, by), "");
    LLVMValueRef rem = l_sub(f, x, l_mul(f, q, l_i64(f, by)));
    LLVMValueRef up = l_icmp(f, LLVMIntSGE, rem, l_i64(f, by / 2));
    LLVMValueRef down = l_icmp(f, LLVMIntSLE, rem, l_i64(f, -(by / 2)));
    q = l_add(f, q, l_zext(f, up, f->m->i64));
    return l_sub(f, q, l_zext(f, down, f->m->i64));
}

struct cg_val cgl_div_round(struct cg_fn *f, const struct pl_expr *e)
{
    enum rt_phys from = cg_arg_phys(f->m, e, 0);
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    if (e->scale == 0) {
        r.v = cg_int_cast(f, a.v, from, e->phys);
    } else if (from != RT_I128 && e->scale <= 18) {
        LLVMValueRef q = round_i64(f, cg_int_cast(f, a.v, from, RT_I64), e->scale);
        r.v = cg_int_cast(f, q, RT_I64, e->phys);
    } else {
        LLVMValueRef args[4];
        cg_words(f, a.v, from, args);
        args[2] = l_i32(f, e->scale);
        r.v = cg_call_result(f, e, NULL, CG_CALL_hdr_div_round_i128, args, 3).v;
    }
    if (e->fail)
        raise_if(f, e, beyond(f, r.v, e->phys, e->limit_digits), a.valid, RT_FAIL_OVERFLOW);
    return r;
}

/* Exact to one rounding: an I32 and 10^22 have no rounding error as doubles; wider values with a
 * scale are the runtime's business. */
struct cg_val cgl_to_f64(struct cg_fn *f, const struct pl_expr *e)
{
    enum rt_phys from = cg_arg_phys(f->m, e, 0);
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    bool small = from == RT_BOOL || from == RT_I32;
    if (from == RT_F32) {
        r.v = LLVMBuildFPExt(f->b, a.v, f->m->f64, "");
        return r;
    }
    HD_ASSERT(is_int(from));
    if ((small && e->scale <= 22) || (from == RT_I64 && e->scale == 0)) {
        LLVMValueRef wide = cg_int_cast(f, a.v, from, RT_I64);
        r.v = LLVMBuildSIToFP(f->b, wide, f->m->f64, "");
        if (e->scale)
            r.v = LLVMBuildFDiv(f->b, r.v, cg_const(f, RT_F64, hd_pow10(e->scale)), "");
        return r;
    }
    LLVMValueRef args[3];
    cg_words(f, a.v, from, args);
    args[2] = l_i32(f, e->scale);
    r.v = cg_call(f, CG_CALL_hdr_to_f64, args, 3);
    return r;
}

/* Infinite, though the float64 is not. */
static void check_single(struct cg_fn *f, const struct pl_expr *e, struct cg_val a, LLVMValueRef r)
{
    LLVMValueRef large =
        l_and(f, cg_to_infinity(f, LLVMRealOEQ, r, RT_F32), cg_to_infinity(f, LLVMRealOLT, a.v, RT_F64));
    LLVMValueRef bits = l_bitcast(f, a.v, f->m->i64);
    cg_fail_values_if(f, cg_both(f, large, a.valid), RT_FAIL_CAST_RANGE, e->path, RT_I64, bits, bits);
}

struct cg_val cgl_to_f32(struct cg_fn *f, const struct pl_expr *e)
{
    enum rt_phys from = cg_arg_phys(f->m, e, 0);
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    LLVMValueRef args[3];
    if (from == RT_F64) {
        r.v = LLVMBuildFPTrunc(f->b, a.v, f->m->f32, "");
        if (e->fail)
            check_single(f, e, a, r.v);
    } else if (from != RT_I128 && e->scale == 0) {
        r.v = LLVMBuildSIToFP(f->b, a.v, f->m->f32, "");
    } else {
        cg_words(f, a.v, from, args);
        args[2] = l_i32(f, e->scale);
        r.v = cg_call(f, CG_CALL_hdr_to_f32, args, 3);
    }
    return r;
}

struct cg_val cgl_try_to_f32(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), r = {.v = LLVMBuildFPTrunc(f->b, a.v, f->m->f32, "")};
    LLVMValueRef large = cg_to_infinity(f, LLVMRealOEQ, r.v, RT_F32),
                 finite = cg_to_infinity(f, LLVMRealOLT, a.v, RT_F64);
    r.valid = cg_both(f, a.valid, l_not(f, l_and(f, large, finite)));
    return r;
}

struct cg_val cgl_within(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val x = cg_expr(f, e->args[0]), lo = cg_expr(f, e->args[1]), hi = cg_expr(f, e->args[2]);
    bool real = rt_phys_is_float(e->phys);
    LLVMValueRef above = real ? l_fcmp(f, LLVMRealOGE, x.v, lo.v) : l_icmp(f, LLVMIntSGE, x.v, lo.v);
    LLVMValueRef below = real ? l_fcmp(f, LLVMRealOLE, x.v, hi.v) : l_icmp(f, LLVMIntSLE, x.v, hi.v);
    LLVMValueRef fits = l_and(f, above, below);
    return (struct cg_val){.v = l_select(f, fits, x.v, LLVMConstNull(LLVMTypeOf(x.v))),
                           .valid = cg_both(f, x.valid, fits)};
}

struct cg_val cgl_from_f64(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef args[7] = {
        f->thread,        a.v, l_i32(f, e->scale), l_i32(f, e->limit_digits), l_i32(f, cg_phys_bits(e->phys)),
        l_i32(f, e->path)};
    return cg_call_result(f, e, a.valid, CG_CALL_hdr_from_f64, args, 6);
}

struct cg_val cgl_abs(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    LLVMValueRef zero = cg_const(f, e->phys, 0);
    if (rt_phys_is_float(e->phys))
        r.v = cg_intrinsic(f, "llvm.fabs", cg_type(f, e->phys), &a.v, 1);
    else
        r.v = l_select(f, l_icmp(f, LLVMIntSLT, a.v, zero), LLVMBuildNeg(f->b, a.v, ""), a.v);
    if (e->fail) /* the smallest integer has none */
        raise_values_if(f, e, l_icmp(f, LLVMIntSLT, r.v, zero), a.valid, RT_FAIL_OVERFLOW, e->phys, a.v, a.v);
    return r;
}

/* NaN is larger than 0. */
struct cg_val cgl_sign(struct cg_fn *f, const struct pl_expr *e)
{
    enum rt_phys from = cg_arg_phys(f->m, e, 0);
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    LLVMValueRef zero = cg_const(f, from, 0), above, below;
    if (rt_phys_is_float(from)) {
        above = l_fcmp(f, LLVMRealUGT, a.v, zero);
        below = l_fcmp(f, LLVMRealOLT, a.v, zero);
    } else {
        above = l_icmp(f, LLVMIntSGT, a.v, zero);
        below = l_icmp(f, LLVMIntSLT, a.v, zero);
    }
    r.v = l_sub(f, cg_int_cast(f, above, RT_BOOL, RT_I32), cg_int_cast(f, below, RT_BOOL, RT_I32));
    return r;
}

/* ---- bits ---- */

struct cg_val cgl_bits(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    if (e->op == FE_BIT_NOT) {
        r.v = LLVMBuildNot(f->b, a.v, "");
        return r;
    }
    struct cg_val b = cg_expr(f, e->args[1]);
    r.valid = cg_both(f, a.valid, b.valid);
    r.v = e->op == FE_BIT_AND ? l_and(f, a.v, b.v) : e->op == FE_BIT_OR ? l_or(f, a.v, b.v) : l_xor(f, a.v, b.v);
    return r;
}

/* By 64 bits and more a shift leaves the sign, or 0. */
struct cg_val cgl_shift(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), n = cg_expr(f, e->args[1]), r = {.valid = cg_both(f, a.valid, n.valid)};
    LLVMValueRef zero = cg_const(f, RT_I64, 0), last = cg_const(f, RT_I64, 63);
    LLVMValueRef far = l_icmp(f, LLVMIntUGT, n.v, last), by = l_select(f, far, last, n.v);
    bool left = e->op == FE_SHIFT_LEFT;
    r.v = left ? l_select(f, far, zero, l_shl(f, a.v, by)) : LLVMBuildAShr(f->b, a.v, by, "");
    if (!e->fail)
        return r;
    LLVMValueRef negative = l_icmp(f, LLVMIntSLT, n.v, zero);
    raise_values_if(f, e, negative, r.valid, RT_FAIL_DOMAIN, RT_I64, a.v, n.v);
    if (left) {
        LLVMValueRef lost = l_ne(f, LLVMBuildAShr(f->b, r.v, by, ""), a.v);
        raise_values_if(f, e, lost, r.valid, RT_FAIL_OVERFLOW, RT_I64, a.v, n.v);
    }
    return r;
}

struct cg_val cgl_bit_count(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef n = cg_intrinsic(f, "llvm.ctpop", cg_type(f, RT_I64), &a.v, 1);
    return (struct cg_val){.v = l_trunc(f, n, cg_type(f, RT_I32)), .valid = a.valid};
}

struct cg_val cgl_power_above(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef args[] = {a.v, l_bool(f, false)};
    LLVMValueRef zeros = cg_intrinsic(f, "llvm.ctlz", cg_type(f, RT_I64), args, 2);
    LLVMValueRef by = l_sub(f, cg_const(f, RT_I64, 64), zeros);
    return (struct cg_val){.v = l_shl(f, cg_const(f, RT_I64, 1), by), .valid = a.valid};
}

/* ---- roundings ---- */

/* floor, ceil, trunc and, of floats, round. */
struct cg_val cgl_rounding(struct cg_fn *f, const struct pl_expr *e)
{
    static const char *const names[FE_OP_COUNT] = {
        [FE_FLOOR] = "llvm.floor", [FE_CEIL] = "llvm.ceil", [FE_TRUNC] = "llvm.trunc"};
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    LLVMValueRef args[5];
    if (e->op == FE_ROUND) {
        args[0] = a.v;
        args[1] = l_i32(f, e->scale);
        r.v = cg_call(f, e->phys == RT_F32 ? CG_CALL_hdr_round_f32 : CG_CALL_hdr_round_f64, args, 2);
    } else if (rt_phys_is_float(e->phys)) {
        r.v = cg_intrinsic(f, names[e->op], cg_scalar_type(f->m, e->phys), &a.v, 1);
    } else {
        cg_words(f, a.v, e->phys, args);
        args[2] = l_i32(f, e->scale);
        args[3] = l_i32(f, (e->op == FE_CEIL) - (e->op == FE_FLOOR));
        r.v = cg_call_result(f, e, NULL, CG_CALL_hdr_div_toward_i128, args, 4).v;
    }
    return r;
}
