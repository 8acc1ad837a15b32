/* Expressions: dispatch by frontend/ops.def, leaves, and code that runs under a condition. */
#include "codegen/llvm_build.h"

typedef struct cg_val emitter(struct cg_fn *f, const struct pl_expr *e);

static emitter *const emitters[FE_OP_COUNT] = {
#define T_OP(id, text, lo, hi, typing, nulls, fails, cost, entries, cuda, lanes, llvm) [FE_##id] = cgl_##llvm,
#include "frontend/ops.def"
};

const struct pl_expr *cg_expr_of(const struct cg_mod *m, int e)
{
    if (e < 0 || e >= m->prog->nexprs)
        HD_BUG("expression %d of %d", e, m->prog->nexprs);
    return &m->prog->exprs[e];
}

struct cg_val cg_expr(struct cg_fn *f, int e)
{
    const struct pl_expr *x = cg_expr_of(f->m, e);
    hd_poll();
    return x->outlined ? cg_call_expr(f, e) : emitters[x->op](f, x);
}

struct cg_val cg_expr_here(struct cg_fn *f, int e)
{
    const struct pl_expr *x = cg_expr_of(f->m, e);
    return emitters[x->op](f, x);
}

enum rt_phys cg_arg_phys(const struct cg_mod *m, const struct pl_expr *e, int i)
{
    return cg_expr_of(m, e->args[i])->phys;
}

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

struct cg_val cgl_slot(struct cg_fn *f, const struct pl_expr *e)
{
    return cg_slot(f, e->slot);
}

struct cg_val cgl_constant(struct cg_fn *f, const struct pl_expr *e)
{
    if (!e->is_null)
        return cg_arg_const(f, e->arg, e->phys);
    struct cg_val r = cg_zero(f, e->phys);
    r.valid = cg_const(f, RT_BOOL, 0);
    return r;
}
