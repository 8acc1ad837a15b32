/* The args vector, the thread's state, counters and failures. Words of the args vector are
 * loaded once, in the entry block of the function that uses them. */
#include "codegen/llvm_build.h"

#include "templates/abi.h"

static const struct rt_arg *arg_of(const struct cg_fn *f, int arg)
{
    const struct rt_spec *spec = f->m->prog->spec;
    if (arg < 0 || arg >= spec->nargs)
        HD_BUG("argument %d of %d", arg, spec->nargs);
    return &spec->args[arg];
}

LLVMBuilderRef cg_enter(struct cg_fn *f)
{
    LLVMBuilderRef saved = f->b;
    f->b = f->eb;
    return saved;
}

static LLVMValueRef load_word(struct cg_fn *f, LLVMTypeRef t, int word)
{
    LLVMBuilderRef saved = cg_enter(f);
    LLVMValueRef v = l_load_const(f, t, l_at(f, f->args, (int64_t)word * 8), 8);
    f->b = saved;
    return v;
}

LLVMValueRef cg_arg_word(struct cg_fn *f, int arg, int k)
{
    int w = arg_of(f, arg)->word + k;
    if (!f->words[w])
        f->words[w] = load_word(f, f->m->i64, w);
    return f->words[w];
}

LLVMValueRef cg_arg_ptr(struct cg_fn *f, int arg)
{
    int w = arg_of(f, arg)->word;
    if (!f->word_ptrs[w])
        f->word_ptrs[w] = load_word(f, f->m->ptr, w);
    return f->word_ptrs[w];
}

static LLVMValueRef wide_word(struct cg_fn *f, int arg)
{
    LLVMTypeRef t = f->m->i128;
    LLVMValueRef lo = l_zext(f, cg_arg_word(f, arg, 0), t);
    LLVMValueRef hi = l_zext(f, cg_arg_word(f, arg, 1), t);
    return l_or(f, lo, l_shl(f, hi, LLVMConstInt(t, 64, false)));
}

/* Scalar, built in the entry block. */
static LLVMValueRef arg_scalar(struct cg_fn *f, int arg, enum rt_phys p)
{
    const struct rt_arg *a = arg_of(f, arg);
    LLVMBuilderRef saved = cg_enter(f);
    unsigned lanes = f->lanes;
    LLVMValueRef v;
    f->lanes = 0;
    if (p == RT_F64)
        v = l_bitcast(f, cg_arg_word(f, arg, 0), f->m->f64);
    else if (p == RT_F32)
        v = l_bitcast(f, l_trunc(f, cg_arg_word(f, arg, 0), f->m->i32), f->m->f32);
    else if (a->phys == RT_I128)
        v = cg_int_cast(f, wide_word(f, arg), RT_I128, p);
    else
        v = cg_int_cast(f, cg_arg_word(f, arg, 0), RT_I64, p);
    f->lanes = lanes;
    f->b = saved;
    return v;
}

LLVMValueRef cg_arg_int(struct cg_fn *f, int arg, enum rt_phys p)
{
    LLVMValueRef v = arg_scalar(f, arg, p);
    return f->lanes ? cg_splat(f, f->eb, v, cg_type(f, p)) : v;
}

struct cg_val cg_arg_const(struct cg_fn *f, int arg, enum rt_phys p)
{
    struct cg_val r = {0};
    if (p != RT_STR) {
        r.v = cg_arg_int(f, arg, p);
        return r;
    }
    r.v = cg_arg_ptr(f, arg);
    LLVMValueRef n = cg_arg_word(f, arg, 1);
    r.len = LLVMBuildTrunc(f->eb, n, f->m->i32, "");
    return r;
}

LLVMValueRef cg_thread_local(struct cg_fn *f, int state)
{
    LLVMBuilderRef saved = cg_enter(f);
    LLVMValueRef at = l_at(f, f->thread, offsetof(struct hdd_thread, local));
    LLVMValueRef all = l_load_const(f, f->m->ptr, at, 8);
    LLVMValueRef v = l_load_const(f, f->m->ptr, l_at(f, all, (int64_t)state * 8), 8);
    f->b = saved;
    return v;
}

void cg_count(struct cg_fn *f, int counter, LLVMValueRef n)
{
    if (!f->m->opt->profile)
        return;
    LLVMValueRef at = l_at(f, f->thread, offsetof(struct hdd_thread, counters));
    LLVMValueRef all = l_load_const(f, f->m->ptr, at, 8);
    LLVMValueRef p = l_at(f, all, (int64_t)counter * 8);
    l_store(f, l_add(f, l_load(f, f->m->i64, p, 8), n ? n : l_i64(f, 1)), p, 8);
}

void cg_check_stop(struct cg_fn *f)
{
    LLVMValueRef at = l_at(f, f->thread, offsetof(struct hdd_thread, stop));
    LLVMValueRef v = l_load(f, f->m->i32, at, 4);
    LLVMSetOrdering(v, LLVMAtomicOrderingMonotonic);
    l_rarely(f, l_ne(f, v, l_i32(f, 0)), f->exit, "go");
}

/* One cold block per kind of failure and path, shared by every place that raises it. */
static LLVMBasicBlockRef raise_block(struct cg_fn *f, enum rt_failure why, int path)
{
    for (int i = 0; i < f->fails.n; i++)
        if (f->fails.v[i].why == why && f->fails.v[i].path == path)
            return f->fails.v[i].block;
    LLVMBasicBlockRef here = l_here(f), bb = l_block(f, "raise");
    LLVMValueRef args[] = {f->thread, l_i32(f, (int32_t)why), l_i32(f, path)};
    l_goto(f, bb);
    cg_call(f, CG_CALL_hdr_fail, args, 3);
    LLVMBuildRet(f->b, l_i32(f, 1));
    l_goto(f, here);
    struct cg_fail_block fb = {why, path, bb};
    hd_vec_push(f->m->arena, &f->fails, fb);
    return bb;
}

void cg_fail_values_if(struct cg_fn *f, LLVMValueRef cond, enum rt_failure why, int path, enum rt_phys p,
                       LLVMValueRef a, LLVMValueRef b)
{
    LLVMBasicBlockRef here = l_here(f), bb = l_block(f, "raise");
    LLVMValueRef args[7] = {f->thread, l_i32(f, (int32_t)why), l_i32(f, path)};
    l_goto(f, bb);
    cg_words(f, a, p, &args[3]);
    cg_words(f, b, p, &args[5]);
    cg_call(f, CG_CALL_hdr_fail_value, args, 7);
    LLVMBuildRet(f->b, l_i32(f, 1));
    l_goto(f, here);
    l_rarely(f, cond, bb, "fine");
}

void cg_fail_if(struct cg_fn *f, LLVMValueRef cond, enum rt_failure why, int path)
{
    l_rarely(f, cond, raise_block(f, why, path), "fine");
}
