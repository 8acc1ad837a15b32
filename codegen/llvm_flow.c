/* Control flow that all emitters build with: validity, code under a condition, loops, leaving after a failure. */
#include "codegen/llvm_build.h"

#include <string.h>

#include <llvm-c/DebugInfo.h>

LLVMValueRef cg_true(struct cg_fn *f, struct cg_val v)
{
    return v.valid ? l_and(f, v.v, v.valid) : v.v;
}

LLVMValueRef cg_both(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return a && b ? l_and(f, a, b) : a ? a : b;
}

struct cg_when cg_when_begin(struct cg_fn *f, LLVMValueRef cond)
{
    struct cg_when w = {.cond = cond};
    if (!cond)
        return w;
    w.from = l_here(f);
    LLVMBasicBlockRef yes = l_block(f, "when");
    w.join = l_block(f, "join");
    l_cond(f, cond, yes, w.join);
    l_goto(f, yes);
    return w;
}

struct cg_val cg_when_end(struct cg_fn *f, const struct cg_when *w, enum rt_phys p, struct cg_val v)
{
    if (!w->cond)
        return v;
    struct cg_val vals[2] = {v, cg_zero(f, p)};
    LLVMBasicBlockRef from[2] = {l_here(f), w->from};
    bool nullable = v.valid != NULL;
    if (nullable)
        vals[1].valid = l_bool(f, false);
    l_br(f, w->join);
    l_goto(f, w->join);
    struct cg_val r = cg_phi(f, 2, vals, from);
    if (!nullable)
        r.valid = w->cond;
    return r;
}

/* ---- loops ------------------------------------------------------------------------------ */

struct cg_loop cg_loop_open(struct cg_fn *f, LLVMValueRef begin, LLVMValueRef end)
{
    struct cg_loop l = {.end = end, .outer = f->next};
    LLVMBasicBlockRef from = l_here(f);
    l.body = l_block(f, "loop");
    l.latch = l_block(f, "next");
    l_br(f, l.body);
    l_goto(f, l.body);
    l.i = l_phi(f, f->m->i64);
    l_incoming(l.i, begin, from);
    f->next = l.latch;
    return l;
}

void cg_loop_close(struct cg_fn *f, const struct cg_loop *l)
{
    cg_loop_close_by(f, l, 1);
}

void cg_loop_close_by(struct cg_fn *f, const struct cg_loop *l, int by)
{
    LLVMBasicBlockRef done = l_block(f, "done");
    l_goto(f, l->latch);
    LLVMValueRef i = LLVMBuildNSWAdd(f->b, l->i, l_i64(f, by), "");
    l_incoming(l->i, i, l->latch);
    LLVMValueRef more = l_icmp(f, LLVMIntSLT, i, l->end);
    LLVMValueRef back = LLVMBuildCondBr(f->b, more, l->body, done);
    if (l->rolled)
        cg_keep_rolled(f, back);
    l_goto(f, done);
    f->next = l->outer;
}

/* !{self, unroll.disable, vectorize.enable false}: a loop's node names itself to be distinct. */
void cg_keep_rolled(struct cg_fn *f, LLVMValueRef branch)
{
    static const char unroll[] = "llvm.loop.unroll.disable";
    static const char vectorize[] = "llvm.loop.vectorize.enable";
    LLVMContextRef c = f->m->ctx;
    LLVMMetadataRef u = LLVMMDStringInContext2(c, unroll, strlen(unroll));
    LLVMMetadataRef v[] = {LLVMMDStringInContext2(c, vectorize, strlen(vectorize)),
                           LLVMValueAsMetadata(l_bool(f, false))};
    LLVMMetadataRef self = LLVMTemporaryMDNode(c, NULL, 0);
    LLVMMetadataRef node[] = {self, LLVMMDNodeInContext2(c, &u, 1), LLVMMDNodeInContext2(c, v, 2)};
    LLVMMetadataRef loop = LLVMMDNodeInContext2(c, node, 3);
    LLVMMetadataReplaceAllUsesWith(self, loop);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(c, "llvm.loop", 9), LLVMMetadataAsValue(c, loop));
}

/* ---- failures --------------------------------------------------------------------------- */

LLVMBasicBlockRef cg_failed_block(struct cg_fn *f)
{
    if (!f->failed) {
        LLVMBasicBlockRef here = l_here(f);
        f->failed = l_block(f, "failed");
        l_goto(f, f->failed);
        LLVMBuildRet(f->b, l_i32(f, 1));
        l_goto(f, here);
    }
    return f->failed;
}
