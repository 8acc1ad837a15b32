/* Comparisons, by the order of docs/plan.md 2.2: NaN equals NaN and is larger than every other
 * number, -0 equals 0, strings compare bytewise, false is less than true. */
#include "codegen/llvm_build.h"

enum order { ORD_EQ, ORD_NE, ORD_LT, ORD_LE, ORD_GT, ORD_GE };

static enum order order_of(enum fe_op op)
{
    static const signed char orders[FE_OP_COUNT] = {
        [FE_EQ] = ORD_EQ, [FE_NE] = ORD_NE, [FE_LT] = ORD_LT, [FE_LE] = ORD_LE, [FE_GT] = ORD_GT, [FE_GE] = ORD_GE,
    };
    return (enum order)orders[op];
}

static LLVMValueRef compare_int(struct cg_fn *f, enum order o, bool is_signed, LLVMValueRef a, LLVMValueRef b)
{
    static const LLVMIntPredicate s[] = {
        [ORD_EQ] = LLVMIntEQ,  [ORD_NE] = LLVMIntNE,  [ORD_LT] = LLVMIntSLT,
        [ORD_LE] = LLVMIntSLE, [ORD_GT] = LLVMIntSGT, [ORD_GE] = LLVMIntSGE,
    };
    static const LLVMIntPredicate u[] = {
        [ORD_EQ] = LLVMIntEQ,  [ORD_NE] = LLVMIntNE,  [ORD_LT] = LLVMIntULT,
        [ORD_LE] = LLVMIntULE, [ORD_GT] = LLVMIntUGT, [ORD_GE] = LLVMIntUGE,
    };
    return l_icmp(f, is_signed ? s[o] : u[o], a, b);
}

/* a >= b: as IEEE has it, or a is NaN. */
static LLVMValueRef real_ge(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return l_or(f, l_fcmp(f, LLVMRealOGE, a, b), l_fcmp(f, LLVMRealUNO, a, a));
}

static LLVMValueRef real_eq(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef nan = l_and(f, l_fcmp(f, LLVMRealUNO, a, a), l_fcmp(f, LLVMRealUNO, b, b));
    return l_or(f, l_fcmp(f, LLVMRealOEQ, a, b), nan);
}

static LLVMValueRef compare_real(struct cg_fn *f, enum order o, LLVMValueRef a, LLVMValueRef b)
{
    switch (o) {
    case ORD_EQ: return real_eq(f, a, b);
    case ORD_NE: return l_not(f, real_eq(f, a, b));
    case ORD_LT: return l_not(f, real_ge(f, a, b));
    case ORD_LE: return real_ge(f, b, a);
    case ORD_GT: return l_not(f, real_ge(f, b, a));
    case ORD_GE: return real_ge(f, a, b);
    }
    HD_BUG("comparison %d", (int)o);
}

static LLVMValueRef str_cmp(struct cg_fn *f, struct cg_val a, struct cg_val b)
{
    LLVMValueRef args[] = {a.v, a.len, b.v, b.len};
    return cg_call(f, CG_CALL_hdr_str_cmp, args, 4);
}

/* Most unequal strings differ in length: the call is made only where they do not. */
static LLVMValueRef str_eq(struct cg_fn *f, struct cg_val a, struct cg_val b)
{
    LLVMBasicBlockRef from = l_here(f), same = l_block(f, "len"), join = l_block(f, "eq");
    l_cond(f, l_eq(f, a.len, b.len), same, join);
    l_goto(f, same);
    LLVMValueRef eq = l_eq(f, str_cmp(f, a, b), l_i32(f, 0));
    l_br(f, join);
    l_goto(f, join);
    return l_phi2(f, f->m->i1, eq, same, l_bool(f, false), from);
}

static LLVMValueRef compare_str(struct cg_fn *f, enum order o, struct cg_val a, struct cg_val b)
{
    if (o == ORD_EQ)
        return str_eq(f, a, b);
    if (o == ORD_NE)
        return l_not(f, str_eq(f, a, b));
    return compare_int(f, o, true, str_cmp(f, a, b), l_i32(f, 0));
}

LLVMValueRef cg_compare(struct cg_fn *f, enum fe_op op, enum rt_phys p, struct cg_val a, struct cg_val b)
{
    enum order o = order_of(op);
    switch (p) {
    case RT_BOOL: return compare_int(f, o, false, a.v, b.v);
    case RT_I32:
    case RT_I64:
    case RT_I128: return compare_int(f, o, true, a.v, b.v);
    case RT_F64:
    case RT_F32: return compare_real(f, o, a.v, b.v);
    case RT_STR: return compare_str(f, o, a, b);
    }
    HD_BUG("comparison of physical type %d", (int)p);
}

struct cg_val cgl_compare(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), b = cg_expr(f, e->args[1]);
    LLVMValueRef valid = cg_both(f, a.valid, b.valid);
    return (struct cg_val){.v = cg_compare(f, e->op, cg_arg_phys(f->m, e, 0), a, b), .valid = valid};
}

/* --- sets --- */

/* One comparison per element, of a row or of all lanes. */
static LLVMValueRef in_small_set(struct cg_fn *f, const struct pl_expr *e, LLVMValueRef x)
{
    enum rt_phys p = cg_arg_phys(f->m, e, 0);
    LLVMTypeRef t = cg_scalar_type(f->m, p);
    LLVMValueRef set = cg_arg_ptr(f, e->arg), n = cg_arg_word(f, e->arg, 1);
    LLVMBasicBlockRef from = l_here(f), head = l_block(f, "set"), body = l_block(f, "element");
    LLVMBasicBlockRef done = l_block(f, "inset");
    l_br(f, head);
    l_goto(f, head);
    LLVMValueRef k = l_phi(f, f->m->i64), hit = l_phi(f, cg_type(f, RT_BOOL));
    l_cond(f, l_icmp(f, LLVMIntULT, k, n), body, done);
    l_goto(f, body);
    unsigned align = (unsigned)cg_phys_size(p);
    LLVMValueRef element = l_load_const(f, t, l_index(f, t, set, k), align);
    if (f->lanes)
        element = cg_splat(f, f->b, element, cg_type(f, p));
    l_incoming(k, l_i64(f, 0), from);
    l_incoming(k, l_add(f, k, l_i64(f, 1)), body);
    l_incoming(hit, cg_const(f, RT_BOOL, 0), from);
    l_incoming(hit, l_or(f, hit, l_eq(f, x, element)), body);
    cg_keep_rolled(f, LLVMBuildBr(f->b, head));
    l_goto(f, done);
    return hit;
}

/* A binary search by the runtime. */
static LLVMValueRef in_large_set(struct cg_fn *f, const struct pl_expr *e, struct cg_val x)
{
    LLVMValueRef args[4] = {cg_arg_ptr(f, e->arg), cg_arg_word(f, e->arg, 1), x.v, x.len};
    enum cg_call call = CG_CALL_COUNT;
    int n = 3;
    switch (cg_arg_phys(f->m, e, 0)) {
    case RT_BOOL: HD_BUG("a set of booleans");
    case RT_I32: call = CG_CALL_hdr_in_i32; break;
    case RT_I64: call = CG_CALL_hdr_in_i64; break;
    case RT_F64: call = CG_CALL_hdr_in_f64; break;
    case RT_F32: call = CG_CALL_hdr_in_f32; break;
    case RT_I128:
        call = CG_CALL_hdr_in_i128;
        cg_words(f, x.v, RT_I128, &args[2]);
        n = 4;
        break;
    case RT_STR:
        call = CG_CALL_hdr_in_str;
        n = 4;
        break;
    }
    return l_ne(f, cg_call(f, call, args, n), l_i32(f, 0));
}

/* Whether the filter behind the set has the bit of an integer (runtime/spec.h); few others than elements have one. */
static LLVMValueRef may_be_in_set(struct cg_fn *f, const struct pl_expr *e, struct cg_val x)
{
    enum rt_phys p = cg_arg_phys(f->m, e, 0);
    LLVMTypeRef i64 = f->m->i64;
    LLVMValueRef values = l_mul(f, cg_arg_word(f, e->arg, 1), l_i64(f, (int64_t)cg_phys_size(p)));
    LLVMValueRef words = l_lshr(f, l_add(f, values, l_i64(f, 7)), l_i64(f, 3));
    LLVMValueRef filter = l_index(f, i64, cg_arg_ptr(f, e->arg), words);
    LLVMValueRef shift = l_load_const(f, i64, filter, 8);
    LLVMValueRef hash = l_mul(f, cg_int_cast(f, x.v, p, RT_I64), l_i64(f, (int64_t)RT_SET_FACTOR));
    LLVMValueRef bit = l_lshr(f, hash, shift);
    LLVMValueRef at = l_add(f, l_lshr(f, bit, l_i64(f, 6)), l_i64(f, 1));
    LLVMValueRef word = l_load_const(f, i64, l_index(f, i64, filter, at), 8);
    LLVMValueRef hit = l_and(f, l_lshr(f, word, l_and(f, bit, l_i64(f, 63))), l_i64(f, 1));
    return l_ne(f, hit, l_i64(f, 0));
}

static LLVMValueRef in_filtered_set(struct cg_fn *f, const struct pl_expr *e, struct cg_val x)
{
    LLVMBasicBlockRef maybe = l_block(f, "maybeset"), join = l_block(f, "inset");
    LLVMValueRef may = may_be_in_set(f, e, x);
    LLVMBasicBlockRef no = l_here(f);
    l_cond(f, may, maybe, join);
    l_goto(f, maybe);
    LLVMValueRef hit = in_large_set(f, e, x);
    maybe = l_here(f);
    l_br(f, join);
    l_goto(f, join);
    return l_phi2(f, f->m->i1, hit, maybe, l_bool(f, false), no);
}

/* What lanes of NULLs have is no number of the word: shifted by no more than it has, nothing is undefined. */
struct cg_val cgl_in_bits(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val x = cg_expr(f, e->args[0]), word = cg_expr(f, e->args[1]);
    enum rt_phys p = cg_arg_phys(f->m, e, 1);
    LLVMValueRef by = l_and(f, cg_int_cast(f, x.v, RT_I32, p), cg_const(f, p, cg_phys_bits(p) - 1));
    LLVMValueRef bit = l_trunc(f, l_lshr(f, word.v, by), cg_type(f, RT_BOOL));
    return (struct cg_val){.v = bit, .valid = x.valid};
}

struct cg_val cgl_in_set(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val x = cg_expr(f, e->args[0]);
    enum rt_phys p = cg_arg_phys(f->m, e, 0);
    bool filtered = p == RT_I32 || p == RT_I64;
    LLVMValueRef in = e->scanned ? in_small_set(f, e, x.v)
                      : filtered ? in_filtered_set(f, e, x)
                                 : in_large_set(f, e, x);
    return (struct cg_val){.v = in, .valid = x.valid};
}
