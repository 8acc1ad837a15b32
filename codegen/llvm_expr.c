/* Expressions: dispatch by frontend/ops.def, and leaves. */
#include "codegen/llvm_build.h"

typedef struct cg_val emitter(struct cg_fn *f, const struct pl_expr *e);

static emitter *const emitters[FE_OP_COUNT] = {
#define T_OP(id, text, lo, hi, syntax, typing, nulls, fails, cost, entries, form, lowering, device, cuda, lanes, llvm) \
    [FE_##id] = cgl_##llvm,
#include "frontend/ops.def"
};

struct cg_val cg_emit_expr(struct cg_fn *f, int e)
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
