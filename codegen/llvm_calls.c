/* Functions that generated code may call, declared from templates/rtcalls.def when first used,
 * and LLVM's intrinsics. An i128 is passed as two i64, low word first. */
#include "codegen/llvm_build.h"

#include <math.h>
#include <string.h>

#include "templates/abi.h"

/* Kinds of rtcalls.def. T is a pointer like P. */
enum call_kind { END, T, P, I1, I32, I64, F64, F32, V };
enum { MAX_ARGS = 10 };

struct call_row {
    const char *name;
    enum call_kind ret;
    enum call_kind args[MAX_ARGS + 1];
    bool pure; /* looks at its arguments and at nothing else */
};

#define ARGS(...)               {__VA_ARGS__}
#define R_CALL(ret, name, args) {#name, ret, ARGS args, false},
#define R_FLOAT64_1(name)       {"hdr_" #name, F64, {F64}, true},
#define R_FLOAT64_2(name)       {"hdr_" #name, F64, {F64, F64}, true},
static const struct call_row rows[CG_CALL_COUNT] = {
#include "templates/rtcalls.def"
};

static LLVMTypeRef kind_type(const struct cg_mod *m, enum call_kind k)
{
    switch (k) {
    case T:
    case P: return m->ptr;
    case I1: return m->i1;
    case I32: return m->i32;
    case I64: return m->i64;
    case F64: return m->f64;
    case F32: return m->f32;
    case V: return m->none;
    case END: break;
    }
    HD_BUG("no type for argument kind %d", (int)k);
}

static void add_attribute(const struct cg_mod *m, LLVMValueRef fn, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(m->ctx, kind, 0));
}

static void declare(struct cg_mod *m, enum cg_call c)
{
    const struct call_row *r = &rows[c];
    LLVMTypeRef params[MAX_ARGS];
    unsigned n = 0;
    for (; r->args[n] != END; n++)
        params[n] = kind_type(m, r->args[n]);
    m->call_types[c] = LLVMFunctionType(kind_type(m, r->ret), params, n, false);
    m->calls[c] = LLVMAddFunction(m->mod, r->name, m->call_types[c]);
    add_attribute(m, m->calls[c], "nounwind");
    if (r->pure) {
        add_attribute(m, m->calls[c], "memory"); /* none */
        add_attribute(m, m->calls[c], "willreturn");
    }
    if (c == CG_CALL_hdr_fail || c == CG_CALL_hdr_fail_value || c == CG_CALL_hdr_spawn || c == CG_CALL_hdr_rows_grow ||
        c == CG_CALL_hdr_agg_grow)
        add_attribute(m, m->calls[c], "cold");
}

LLVMValueRef cg_call(struct cg_fn *f, enum cg_call c, LLVMValueRef *args, int n)
{
    struct cg_mod *m = f->m;
    if (!m->calls[c])
        declare(m, c);
    return LLVMBuildCall2(f->b, m->call_types[c], m->calls[c], args, (unsigned)n, "");
}

void cg_call_checked(struct cg_fn *f, enum cg_call c, LLVMValueRef *args, int n)
{
    LLVMValueRef status = cg_call(f, c, args, n);
    l_rarely(f, l_ne(f, status, l_i32(f, 0)), cg_failed_block(f), "done");
}

LLVMValueRef cg_intrinsic(struct cg_fn *f, const char *name, LLVMTypeRef overload, LLVMValueRef *args, int n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id)
        HD_BUG("unknown intrinsic %s", name);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(f->m->mod, id, &overload, 1);
    LLVMTypeRef type = LLVMIntrinsicGetType(f->m->ctx, id, &overload, 1);
    return LLVMBuildCall2(f->b, type, fn, args, (unsigned)n, "");
}

LLVMValueRef cg_to_infinity(struct cg_fn *f, LLVMRealPredicate p, LLVMValueRef v, enum rt_phys phys)
{
    LLVMTypeRef t = cg_scalar_type(f->m, phys);
    return l_fcmp(f, p, cg_intrinsic(f, "llvm.fabs", t, &v, 1), LLVMConstReal(t, (double)INFINITY));
}

static LLVMValueRef scratch(struct cg_fn *f)
{
    if (!f->tmp)
        f->tmp = cg_alloca(f, CG_TMP_BYTES);
    return f->tmp;
}

void cg_words(struct cg_fn *f, LLVMValueRef v, enum rt_phys p, LLVMValueRef out[2])
{
    if (p == RT_I128) {
        LLVMValueRef hi = l_lshr(f, v, LLVMConstInt(f->m->i128, 64, false));
        out[0] = l_trunc(f, v, f->m->i64);
        out[1] = l_trunc(f, hi, f->m->i64);
        return;
    }
    out[0] = cg_int_cast(f, v, p, RT_I64);
    out[1] = LLVMBuildAShr(f->b, out[0], l_i64(f, 63), "");
}

struct cg_val cg_call_result(struct cg_fn *f, const struct pl_expr *e, LLVMValueRef valid, enum cg_call c,
                             LLVMValueRef *args, int n)
{
    LLVMValueRef tmp = scratch(f);
    struct cg_when w = cg_when_begin(f, valid);
    args[n] = tmp;
    if (rows[c].ret == V)
        cg_call(f, c, args, n + 1);
    else
        cg_call_checked(f, c, args, n + 1);
    return cg_when_end(f, &w, e->phys, cg_load(f, e->phys, tmp, false));
}

struct cg_val cg_call_maybe(struct cg_fn *f, const struct pl_expr *e, LLVMValueRef valid, enum cg_call c,
                            LLVMValueRef *args, int n)
{
    LLVMValueRef tmp = scratch(f);
    struct cg_when w = cg_when_begin(f, valid);
    args[n] = tmp;
    LLVMValueRef some = l_ne(f, cg_call(f, c, args, n + 1), l_i32(f, 0));
    struct cg_val v = cg_load(f, e->phys, tmp, false);
    v.valid = some;
    return cg_when_end(f, &w, e->phys, v);
}
