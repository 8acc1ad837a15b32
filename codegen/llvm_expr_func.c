/* Strings, dates, text forms, dictionaries and functions: mostly calls of the runtime. */
#include "codegen/llvm_build.h"

#define MICROS_PER_DAY 86400000000LL

/* Without a length the rest of the string: from byte 1, if the start lies before it. */
struct cg_val cgl_substring(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val s = cg_expr(f, e->args[0]), start = cg_expr(f, e->args[1]);
    struct cg_val length = {.v = l_i64(f, INT64_MAX)};
    LLVMValueRef one = l_i64(f, 1);
    if (e->nargs > 2)
        length = cg_expr(f, e->args[2]);
    else
        start.v = l_select(f, l_icmp(f, LLVMIntSLT, start.v, one), one, start.v);
    LLVMValueRef valid = cg_both(f, cg_both(f, s.valid, start.valid), length.valid);
    LLVMValueRef args[7] = {f->thread, s.v, s.len, start.v, length.v, l_i32(f, e->path)};
    return cg_call_result(f, e, valid, CG_CALL_hdr_substring, args, 6);
}

struct cg_val cgl_like(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val s = cg_expr(f, e->args[0]);
    LLVMValueRef args[] = {cg_arg_ptr(f, e->arg), s.v, s.len};
    LLVMValueRef hit = cg_call(f, CG_CALL_hdr_like, args, 3);
    return (struct cg_val){.v = l_ne(f, hit, l_i32(f, 0)), .valid = s.valid};
}

struct cg_val cgl_extract(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef args[] = {a.v, l_i32(f, (int32_t)e->field)};
    bool ts = e->in_type.kind == HD_TIMESTAMP;
    enum cg_call call = ts ? CG_CALL_hdr_extract_ts : CG_CALL_hdr_extract_date;
    return (struct cg_val){.v = cg_call(f, call, args, 2), .valid = a.valid};
}

struct cg_val cgl_date_trunc(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef args[] = {a.v, l_i32(f, (int32_t)e->field)};
    enum cg_call call = e->phys == RT_I64 ? CG_CALL_hdr_trunc_ts : CG_CALL_hdr_trunc_date;
    return (struct cg_val){.v = cg_call(f, call, args, 2), .valid = a.valid};
}

struct cg_val cgl_last_day(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    return (struct cg_val){.v = cg_call(f, CG_CALL_hdr_last_day, &a.v, 1), .valid = a.valid};
}

static struct cg_val add_interval(struct cg_fn *f, const struct pl_expr *e, enum cg_call call)
{
    struct cg_val a = cg_expr(f, e->args[0]), n = cg_expr(f, e->args[1]);
    LLVMValueRef args[5] = {f->thread, a.v, n.v, l_i32(f, e->path)};
    return cg_call_result(f, e, cg_both(f, a.valid, n.valid), call, args, 4);
}

struct cg_val cgl_add_days(struct cg_fn *f, const struct pl_expr *e)
{
    bool ts = e->phys == RT_I64;
    return add_interval(f, e, ts ? CG_CALL_hdr_ts_add_days : CG_CALL_hdr_add_days);
}

struct cg_val cgl_add_months(struct cg_fn *f, const struct pl_expr *e)
{
    bool ts = e->phys == RT_I64;
    return add_interval(f, e, ts ? CG_CALL_hdr_ts_add_months : CG_CALL_hdr_add_months);
}

struct cg_val cgl_add_micros(struct cg_fn *f, const struct pl_expr *e)
{
    return add_interval(f, e, CG_CALL_hdr_add_micros);
}

struct cg_val cgl_make_date(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val y = cg_expr(f, e->args[0]), m = cg_expr(f, e->args[1]), d = cg_expr(f, e->args[2]);
    LLVMValueRef args[6] = {f->thread, y.v, m.v, d.v, l_i32(f, e->path)};
    LLVMValueRef valid = cg_both(f, cg_both(f, y.valid, m.valid), d.valid);
    return cg_call_result(f, e, valid, CG_CALL_hdr_make_date, args, 5);
}

struct cg_val cgl_units_between(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), b = cg_expr(f, e->args[1]);
    LLVMValueRef args[] = {a.v, b.v, l_i32(f, (int32_t)e->field)};
    enum cg_call call = e->in_type.kind == HD_DATE ? CG_CALL_hdr_days_between : CG_CALL_hdr_times_between;
    return (struct cg_val){.v = cg_call(f, call, args, 3), .valid = cg_both(f, a.valid, b.valid)};
}

struct cg_val cgl_date_diff(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), b = cg_expr(f, e->args[1]);
    LLVMValueRef x = cg_int_cast(f, a.v, RT_I32, e->phys);
    LLVMValueRef y = cg_int_cast(f, b.v, RT_I32, e->phys);
    return (struct cg_val){.v = l_sub(f, x, y), .valid = cg_both(f, a.valid, b.valid)};
}

/* Its length and parts, as templates/interval_value.cuh lays them out. */
struct cg_val cgl_interval_part(struct cg_fn *f, const struct pl_expr *e)
{
    enum { LENGTH_AT = 58, MONTHS_AT = 32, MONTHS_BIAS = 1 << 25 };
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    LLVMTypeRef i64 = f->m->i64, i128 = cg_type(f, RT_I128);
    LLVMValueRef low = l_trunc(f, a.v, i64), half = l_i64(f, INT64_C(1) << 31);
    LLVMValueRef length = LLVMBuildAShr(f->b, a.v, cg_const(f, RT_I128, LENGTH_AT), "");
    LLVMValueRef biased = l_and(f, l_lshr(f, low, l_i64(f, MONTHS_AT)), l_i64(f, 2 * MONTHS_BIAS - 1));
    LLVMValueRef months = l_sub(f, biased, l_i64(f, MONTHS_BIAS));
    LLVMValueRef days = l_sub(f, l_and(f, low, l_i64(f, UINT32_MAX)), half);
    LLVMValueRef whole = l_sext(f, l_add(f, l_mul(f, months, l_i64(f, 30)), days), i128);
    r.v = e->op == FE_INTERVAL_LENGTH   ? length
          : e->op == FE_INTERVAL_MONTHS ? months
          : e->op == FE_INTERVAL_DAYS
              ? days
              : l_trunc(f, l_sub(f, length, l_mul(f, whole, cg_const(f, RT_I128, MICROS_PER_DAY))), i64);
    return r;
}

/* Intervals that a function of the runtime makes; it raises where a part is too large. */
struct cg_val cgl_interval_made(struct cg_fn *f, const struct pl_expr *e)
{
    enum cg_call call = e->op == FE_MAKE_INTERVAL    ? CG_CALL_hdr_make_interval
                        : e->op == FE_INTERVAL_PLUS  ? CG_CALL_hdr_interval_plus
                        : e->op == FE_INTERVAL_MINUS ? CG_CALL_hdr_interval_minus
                                                     : CG_CALL_hdr_interval_times;
    LLVMValueRef words[8] = {f->thread}, valid = NULL;
    int n = 1;
    for (int i = 0; i < e->nargs; i++) {
        struct cg_val a = cg_expr(f, e->args[i]);
        enum rt_phys p = cg_arg_phys(f->m, e, i);
        valid = cg_both(f, valid, a.valid);
        if (p == RT_I128)
            cg_words(f, a.v, p, &words[n]);
        else
            words[n] = a.v;
        n += p == RT_I128 ? 2 : 1;
    }
    words[n++] = l_i32(f, e->path);
    return cg_call_result(f, e, valid, call, words, n);
}

/* Timestamp <-> date, timestamp -> time. A timestamp belongs to the day that began before it, also before 1970. */
struct cg_val cgl_cast(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    LLVMValueRef day = l_i64(f, MICROS_PER_DAY);
    if (e->out_type.kind == HD_TIMESTAMP) {
        r.v = l_mul(f, l_sext(f, a.v, f->m->i64), day);
        return r;
    }
    LLVMValueRef q = LLVMBuildSDiv(f->b, a.v, day, "");
    LLVMValueRef rem = LLVMBuildSRem(f->b, a.v, day, "");
    LLVMValueRef neg = l_icmp(f, LLVMIntSLT, rem, l_i64(f, 0));
    if (e->out_type.kind == HD_TIME) {
        r.v = l_add(f, rem, l_mul(f, l_zext(f, neg, f->m->i64), day));
        return r;
    }
    r.v = l_trunc(f, l_sub(f, q, l_zext(f, neg, f->m->i64)), f->m->i32);
    return r;
}

static LLVMValueRef type_code(struct cg_fn *f, struct hd_type t)
{
    return l_i32(f, t.kind | t.precision << 8 | t.scale << 16);
}

struct cg_val cgl_to_string(struct cg_fn *f, const struct pl_expr *e)
{
    enum rt_phys from = cg_arg_phys(f->m, e, 0);
    struct cg_val a = cg_expr(f, e->args[0]);
    if (from == RT_STR)
        return a;
    LLVMValueRef args[5] = {f->thread};
    if (rt_phys_is_float(from)) {
        args[1] = from == RT_F64 ? l_bitcast(f, a.v, f->m->i64) : l_sext(f, l_bitcast(f, a.v, f->m->i32), f->m->i64);
        args[2] = l_i64(f, 0);
    } else {
        cg_words(f, a.v, from, &args[1]);
    }
    args[3] = type_code(f, e->in_type);
    return cg_call_result(f, e, a.valid, CG_CALL_hdr_to_string, args, 4);
}

struct cg_val cgl_from_string(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef args[6] = {f->thread, a.v, a.len, type_code(f, e->out_type), l_i32(f, e->path)};
    return cg_call_result(f, e, a.valid, CG_CALL_hdr_from_string, args, 5);
}

struct cg_val cgl_try_from_string(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef args[4] = {a.v, a.len, type_code(f, e->out_type)};
    return cg_call_maybe(f, e, a.valid, CG_CALL_hdr_try_from_string, args, 3);
}

struct cg_val cgl_try_decode(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    LLVMValueRef args[] = {a.v, a.len};
    struct cg_when w = cg_when_begin(f, a.valid);
    a.valid = l_ne(f, cg_call(f, CG_CALL_hdr_is_text, args, 2), l_i64(f, 0));
    return cg_when_end(f, &w, RT_STR, a);
}

struct cg_val cgl_strptime(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val s = cg_expr(f, e->args[0]), format = cg_expr(f, e->args[1]);
    LLVMValueRef args[7] = {f->thread, s.v, s.len, format.v, format.len, l_i32(f, e->path)};
    return cg_call_result(f, e, cg_both(f, s.valid, format.valid), CG_CALL_hdr_strptime, args, 6);
}

/* The code of a row without a value may be anything: nothing is looked up for it. */
struct cg_val cgl_dict_string(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val code = cg_expr(f, e->args[0]);
    LLVMValueRef offsets = cg_arg_ptr(f, e->arg), bytes = cg_arg_ptr(f, e->arg2);
    struct cg_when w = cg_when_begin(f, code.valid);
    LLVMValueRef i = l_zext(f, code.v, f->m->i64);
    LLVMValueRef at = l_index(f, f->m->i32, offsets, i);
    LLVMValueRef begin = l_load_const(f, f->m->i32, at, 4);
    LLVMValueRef end = l_load_const(f, f->m->i32, l_at(f, at, 4), 4);
    struct cg_val s = {.v = l_index(f, f->m->i8, bytes, l_zext(f, begin, f->m->i64)), .len = l_sub(f, end, begin)};
    return cg_when_end(f, &w, RT_STR, s);
}

/* Field 0 of the row of a dictionary map. */
struct cg_val cgl_lookup(struct cg_fn *f, const struct pl_expr *e)
{
    const struct rt_state *st = &f->m->prog->spec->states[e->state];
    struct cg_val code = cg_expr(f, e->args[0]);
    LLVMValueRef rows = cg_arg_ptr(f, e->arg);
    struct cg_when w = cg_when_begin(f, code.valid);
    LLVMValueRef row = l_row(f, rows, l_zext(f, code.v, f->m->i64), st->stride);
    struct cg_val v = cg_load_field(f, &st->fields[0], row, true);
    return cg_when_end(f, &w, e->phys, v);
}

/* ---- functions of floats ---------------------------------------------------------------------------- */

static LLVMValueRef as_double(struct cg_fn *f, LLVMValueRef v, enum rt_phys from)
{
    return from == RT_F32 ? LLVMBuildFPExt(f->b, v, f->m->f64, "") : v;
}

/* Not defined: NaN though no argument is; too large: infinite though all arguments are finite. */
static void check_float(struct cg_fn *f, const struct pl_expr *e, LLVMValueRef r, LLVMValueRef valid,
                        LLVMValueRef *args)
{
    LLVMValueRef a = args[0], b = args[e->nargs - 1];
    LLVMValueRef undefined = l_and(f, l_fcmp(f, LLVMRealUNO, r, r), l_fcmp(f, LLVMRealORD, a, b));
    LLVMValueRef large = cg_to_infinity(f, LLVMRealOEQ, r, e->phys);
    for (int i = 0; i < e->nargs; i++)
        large = l_and(f, large, cg_to_infinity(f, LLVMRealOLT, args[i], e->phys));
    LLVMValueRef x = l_bitcast(f, as_double(f, a, e->phys), f->m->i64);
    LLVMValueRef y = l_bitcast(f, as_double(f, b, e->phys), f->m->i64);
    cg_fail_values_if(f, cg_both(f, undefined, valid), RT_FAIL_DOMAIN, e->path, RT_I64, x, y);
    cg_fail_values_if(f, cg_both(f, large, valid), RT_FAIL_OVERFLOW, e->path, RT_I64, x, y);
}

/* Of float32 the function of float64, rounded once. */
static LLVMValueRef call_float(struct cg_fn *f, const struct pl_expr *e, enum cg_call call, LLVMValueRef *args)
{
    LLVMValueRef wide[2];
    if (e->phys == RT_F64)
        return cg_call(f, call, args, e->nargs);
    for (int i = 0; i < e->nargs; i++)
        wide[i] = as_double(f, args[i], e->phys);
    return LLVMBuildFPTrunc(f->b, cg_call(f, call, wide, e->nargs), f->m->f32, "");
}

/* An instruction, of vectors too: rounded to the nearest as IEEE 754 has it. */
struct cg_val cgl_sqrt(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), r = {.valid = a.valid};
    r.v = cg_intrinsic(f, "llvm.sqrt", cg_type(f, e->phys), &a.v, 1);
    if (e->fail)
        check_float(f, e, r.v, r.valid, &a.v);
    return r;
}

struct cg_val cgl_float(struct cg_fn *f, const struct pl_expr *e)
{
    static const enum cg_call calls[FE_OP_COUNT] = {
#define T_OP(...)
#define T_FUNCTION(...)
#define T_FLOAT(id, name, ...) [FE_##id] = CG_CALL_hdr_##name,
#define T_TEXT(...)
#include "frontend/ops.def"
        [FE_DISTINCT_ESTIMATE] = CG_CALL_hdr_distinct_estimate,
    };
    LLVMValueRef args[2];
    struct cg_val r = {0};
    HD_ASSERT(e->nargs <= (int)HD_COUNT(args));
    for (int i = 0; i < e->nargs; i++) {
        struct cg_val a = cg_expr(f, e->args[i]);
        args[i] = a.v;
        r.valid = cg_both(f, r.valid, a.valid);
    }
    r.v = call_float(f, e, calls[e->op], args);
    if (e->fail)
        check_float(f, e, r.v, r.valid, args);
    return r;
}

/* ---- functions of strings --------------------------------------------------------------------------- */

/* A number, 0 or 1, or a piece of the first argument: where it begins and how long it is, 32 bits each. */
static struct cg_val text_result(struct cg_fn *f, const struct pl_expr *e, LLVMValueRef of, LLVMValueRef v)
{
    LLVMTypeRef i32 = f->m->i32;
    if (e->phys == RT_BOOL)
        return (struct cg_val){.v = l_ne(f, v, l_i64(f, 0))};
    if (e->phys == RT_I64)
        return (struct cg_val){.v = v};
    return (struct cg_val){.v = l_index(f, f->m->i8, of, l_lshr(f, v, l_i64(f, 32))), .len = l_trunc(f, v, i32)};
}

struct cg_val cgl_text(struct cg_fn *f, const struct pl_expr *e)
{
    static const enum cg_call calls[FE_OP_COUNT] = {
#define T_OP(...)
#define T_FUNCTION(...)
#define T_FLOAT(...)
#define T_TEXT(id, name, ...) [FE_##id] = CG_CALL_hdr_##name,
#include "frontend/ops.def"
    };
    enum { ARGS = 3 };
    LLVMValueRef words[2 * ARGS], valid = NULL;
    int n = 0;
    HD_ASSERT(e->nargs <= ARGS);
    for (int i = 0; i < e->nargs; i++) {
        struct cg_val a = cg_expr(f, e->args[i]);
        words[n++] = a.v;
        if (a.len)
            words[n++] = a.len;
        valid = cg_both(f, valid, a.valid);
    }
    struct cg_val r = text_result(f, e, words[0], cg_call(f, calls[e->op], words, n));
    r.valid = valid;
    return r;
}

struct cg_val cgl_made(struct cg_fn *f, const struct pl_expr *e)
{
    static const enum cg_call calls[FE_OP_COUNT] = {
#define T_OP(...)
#define T_FUNCTION(...)
#define T_MADE(id, name, ...) [FE_##id] = CG_CALL_hdr_##name,
#include "frontend/ops.def"
        [FE_CONCAT] = CG_CALL_hdr_concat,
        [FE_DECODE] = CG_CALL_hdr_as_text,
        [FE_STRFTIME] = CG_CALL_hdr_strftime,
    };
    enum { ARGS = 3 };
    LLVMValueRef words[2 * ARGS + 3] = {f->thread}, valid = NULL;
    int n = 1;
    HD_ASSERT(e->nargs <= ARGS);
    for (int i = 0; i < e->nargs; i++) {
        struct cg_val a = cg_expr(f, e->args[i]);
        words[n++] = a.v;
        if (a.len)
            words[n++] = a.len;
        valid = cg_both(f, valid, a.valid);
    }
    words[n++] = l_i32(f, e->path);
    return cg_call_result(f, e, valid, calls[e->op], words, n);
}

/* ---- buckets of equal width ----------------------------------------------------------------------- */

/* Beyond the bounds the conversion is not defined, and its result not taken. */
static LLVMValueRef float_bucket(struct cg_fn *f, enum rt_phys p, LLVMValueRef x, const LLVMValueRef *k, LLVMValueRef n,
                                 LLVMValueRef *below, LLVMValueRef *above)
{
    LLVMValueRef one = cg_const(f, RT_I32, 1), t = LLVMBuildFMul(f->b, LLVMBuildFSub(f->b, x, k[0], ""), k[2], "");
    LLVMValueRef q = LLVMBuildFPToSI(f->b, t, cg_type(f, RT_I32), "");
    *below = l_fcmp(f, LLVMRealOLT, x, k[0]);
    *above = l_fcmp(f, LLVMRealUGE, x, k[1]);
    LLVMValueRef fits = l_icmp(f, LLVMIntSLT, q, n);
    if (p == RT_F32) /* rounded up, it may not fit an i32 */
        fits = l_and(f, l_fcmp(f, LLVMRealOLT, t, cg_const(f, p, (hd_i128)1 << 31)), LLVMBuildFreeze(f->b, fits, ""));
    return l_add(f, l_select(f, fits, q, l_sub(f, n, one)), one);
}

/* The product with the factor is the bucket or the one below it: what is left tells. */
static LLVMValueRef exact_bucket(struct cg_fn *f, const struct pl_expr *e, LLVMValueRef x, const LLVMValueRef *k,
                                 LLVMValueRef n, LLVMValueRef *below, LLVMValueRef *above)
{
    LLVMTypeRef i64 = cg_type(f, RT_I64), i128 = cg_type(f, RT_I128);
    LLVMValueRef y = l_sub(f, x, k[0]), q;
    if (e->scale == 32)
        q = l_lshr(f, l_mul(f, y, k[2]), cg_const(f, RT_I64, 32));
    else
        q = l_trunc(f, l_lshr(f, l_mul(f, l_zext(f, y, i128), l_zext(f, k[2], i128)), cg_const(f, RT_I128, 64)), i64);
    LLVMValueRef rest = l_sub(f, l_mul(f, y, l_zext(f, n, i64)), l_mul(f, q, k[1]));
    LLVMValueRef next = l_icmp(f, LLVMIntUGE, rest, k[1]);
    *below = l_icmp(f, LLVMIntSLT, x, k[0]);
    *above = l_icmp(f, LLVMIntUGE, y, k[1]);
    LLVMValueRef number = l_add(f, l_trunc(f, q, cg_type(f, RT_I32)), cg_const(f, RT_I32, 1));
    return l_add(f, number, l_zext(f, next, cg_type(f, RT_I32)));
}

struct cg_val cgl_width_bucket(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val x = cg_expr(f, e->args[0]), r = {.valid = x.valid};
    LLVMValueRef k[3] = {0}, n = cg_expr(f, e->args[3]).v, words[8], below, above;
    for (int i = 0; i < 3; i++)
        if (i < 2 || e->nargs > 4)
            k[i] = cg_expr(f, e->args[i < 2 ? i + 1 : 4]).v;
    enum rt_phys p = cg_arg_phys(f->m, e, 0);
    if (p == RT_I128) {
        cg_words(f, x.v, p, &words[0]);
        cg_words(f, k[0], p, &words[2]);
        cg_words(f, k[1], p, &words[4]);
        words[6] = n;
        r.v = cg_call(f, CG_CALL_hdr_bucket_i128, words, 7);
        return r;
    }
    r.v = rt_phys_is_float(p) ? float_bucket(f, p, x.v, k, n, &below, &above)
                              : exact_bucket(f, e, x.v, k, n, &below, &above);
    r.v = l_select(f, above, l_add(f, n, cg_const(f, RT_I32, 1)), r.v);
    r.v = l_select(f, below, cg_const(f, RT_I32, 0), r.v);
    return r;
}
