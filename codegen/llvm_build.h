/* Thin builders over LLVM-C that append at f->b: l_<instruction>. Alignments are explicit,
 * because the module has no data layout (the artefact is made for no machine in particular). */
#ifndef HEDDLE_CODEGEN_LLVM_BUILD_H
#define HEDDLE_CODEGEN_LLVM_BUILD_H

#include "codegen/llvm_emit.h"

static inline LLVMValueRef l_i32(const struct cg_fn *f, int32_t v)
{
    return LLVMConstInt(f->m->i32, (unsigned long long)(long long)v, true);
}
static inline LLVMValueRef l_i64(const struct cg_fn *f, int64_t v)
{
    return LLVMConstInt(f->m->i64, (unsigned long long)v, true);
}
static inline LLVMValueRef l_u64(const struct cg_fn *f, uint64_t v)
{
    return LLVMConstInt(f->m->i64, v, false);
}
static inline LLVMValueRef l_bool(const struct cg_fn *f, bool v)
{
    return LLVMConstInt(f->m->i1, v, false);
}

static inline LLVMValueRef l_add(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildAdd(f->b, a, b, "");
}
static inline LLVMValueRef l_sub(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSub(f->b, a, b, "");
}
static inline LLVMValueRef l_mul(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildMul(f->b, a, b, "");
}
static inline LLVMValueRef l_and(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildAnd(f->b, a, b, "");
}
static inline LLVMValueRef l_or(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildOr(f->b, a, b, "");
}
static inline LLVMValueRef l_xor(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildXor(f->b, a, b, "");
}
static inline LLVMValueRef l_not(struct cg_fn *f, LLVMValueRef a)
{
    return LLVMBuildNot(f->b, a, "");
}
static inline LLVMValueRef l_shl(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildShl(f->b, a, b, "");
}
static inline LLVMValueRef l_lshr(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildLShr(f->b, a, b, "");
}
static inline LLVMValueRef l_zext(struct cg_fn *f, LLVMValueRef v, LLVMTypeRef t)
{
    return LLVMBuildZExt(f->b, v, t, "");
}
static inline LLVMValueRef l_sext(struct cg_fn *f, LLVMValueRef v, LLVMTypeRef t)
{
    return LLVMBuildSExt(f->b, v, t, "");
}
static inline LLVMValueRef l_trunc(struct cg_fn *f, LLVMValueRef v, LLVMTypeRef t)
{
    return LLVMBuildTrunc(f->b, v, t, "");
}
static inline LLVMValueRef l_bitcast(struct cg_fn *f, LLVMValueRef v, LLVMTypeRef t)
{
    return LLVMBuildBitCast(f->b, v, t, "");
}
static inline LLVMValueRef l_icmp(struct cg_fn *f, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(f->b, p, a, b, "");
}
static inline LLVMValueRef l_eq(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return l_icmp(f, LLVMIntEQ, a, b);
}
static inline LLVMValueRef l_ne(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return l_icmp(f, LLVMIntNE, a, b);
}
static inline LLVMValueRef l_fcmp(struct cg_fn *f, LLVMRealPredicate p, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFCmp(f->b, p, a, b, "");
}
static inline LLVMValueRef l_select(struct cg_fn *f, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(f->b, c, a, b, "");
}

/* Address p + bytes, and address of element i (i64) of an array of t. */
static inline LLVMValueRef l_at(struct cg_fn *f, LLVMValueRef p, int64_t bytes)
{
    LLVMValueRef off = l_i64(f, bytes);
    return bytes ? LLVMBuildInBoundsGEP2(f->b, f->m->i8, p, &off, 1, "") : p;
}
static inline LLVMValueRef l_index(struct cg_fn *f, LLVMTypeRef t, LLVMValueRef p, LLVMValueRef i)
{
    return LLVMBuildInBoundsGEP2(f->b, t, p, &i, 1, "");
}
/* Row i of an array of rows of `stride` bytes. */
static inline LLVMValueRef l_row(struct cg_fn *f, LLVMValueRef rows, LLVMValueRef i, int stride)
{
    LLVMValueRef bytes = l_i64(f, stride);
    bool looped = f->pipeline && f->pipeline->loop.rows; /* vectors of rows with gaps want to know of no overflow */
    return l_index(f, f->m->i8, rows, looped ? LLVMBuildNSWMul(f->b, i, bytes, "") : l_mul(f, i, bytes));
}

static inline LLVMValueRef l_load(struct cg_fn *f, LLVMTypeRef t, LLVMValueRef p, unsigned align)
{
    LLVMValueRef v = LLVMBuildLoad2(f->b, t, p, "");
    LLVMSetAlignment(v, align);
    return v;
}
/* Memory that nobody writes while the function runs. */
static inline LLVMValueRef l_load_const(struct cg_fn *f, LLVMTypeRef t, LLVMValueRef p, unsigned align)
{
    LLVMValueRef v = l_load(f, t, p, align);
    LLVMSetMetadata(v, f->m->md_invariant, f->m->empty_node);
    return v;
}
static inline void l_store(struct cg_fn *f, LLVMValueRef v, LLVMValueRef p, unsigned align)
{
    LLVMSetAlignment(LLVMBuildStore(f->b, v, p), align);
}
static inline LLVMValueRef l_atomic(struct cg_fn *f, LLVMAtomicRMWBinOp op, LLVMValueRef p, LLVMValueRef v,
                                    LLVMAtomicOrdering order)
{
    return LLVMBuildAtomicRMW(f->b, op, p, v, order, false);
}

static inline LLVMBasicBlockRef l_block(struct cg_fn *f, const char *name)
{
    return LLVMAppendBasicBlockInContext(f->m->ctx, f->fn, name);
}
static inline LLVMBasicBlockRef l_here(const struct cg_fn *f)
{
    return LLVMGetInsertBlock(f->b);
}
static inline void l_goto(struct cg_fn *f, LLVMBasicBlockRef bb)
{
    LLVMPositionBuilderAtEnd(f->b, bb);
}
static inline void l_br(struct cg_fn *f, LLVMBasicBlockRef bb)
{
    LLVMBuildBr(f->b, bb);
}
static inline void l_cond(struct cg_fn *f, LLVMValueRef c, LLVMBasicBlockRef yes, LLVMBasicBlockRef no)
{
    LLVMBuildCondBr(f->b, c, yes, no);
}
/* Goes on in a new block where c holds, else at `no`. */
static inline void l_need(struct cg_fn *f, LLVMValueRef c, LLVMBasicBlockRef no, const char *name)
{
    LLVMBasicBlockRef yes = l_block(f, name);
    l_cond(f, c, yes, no);
    l_goto(f, yes);
}
/* Leaves for `rare` where c holds. */
static inline void l_rarely(struct cg_fn *f, LLVMValueRef c, LLVMBasicBlockRef rare, const char *name)
{
    LLVMBasicBlockRef on = l_block(f, name);
    LLVMSetMetadata(LLVMBuildCondBr(f->b, c, rare, on), f->m->md_prof, f->m->unlikely_node);
    l_goto(f, on);
}

static inline LLVMValueRef l_phi(struct cg_fn *f, LLVMTypeRef t)
{
    return LLVMBuildPhi(f->b, t, "");
}
static inline void l_incoming(LLVMValueRef phi, LLVMValueRef v, LLVMBasicBlockRef from)
{
    LLVMAddIncoming(phi, &v, &from, 1);
}
static inline LLVMValueRef l_phi2(struct cg_fn *f, LLVMTypeRef t, LLVMValueRef a, LLVMBasicBlockRef from_a,
                                  LLVMValueRef b, LLVMBasicBlockRef from_b)
{
    LLVMValueRef phi = l_phi(f, t);
    l_incoming(phi, a, from_a);
    l_incoming(phi, b, from_b);
    return phi;
}

#endif
