/* Expressions: dispatch by frontend/ops.def, leaves, and the two properties of a node that
 * decide its form: evaluated only when reached, and possible for a tile of rows at once. */
#include "codegen/llvm_build.h"

typedef struct cg_val emitter(struct cg_fn *f, const struct pl_expr *e);

static emitter *const emitters[FE_OP_COUNT] = {
#define T_OP(id, text, lo, hi, typing, nulls, flags, cuda, llvm) [FE_##id] = cgl_##llvm,
#include "frontend/ops.def"
};

/* Calls of the runtime and divisions: a mispredicted branch costs about as much. */
static const bool costly[FE_OP_COUNT] = {
    [FE_DIV] = true,      [FE_MOD] = true,        [FE_LIKE] = true,     [FE_SUBSTRING] = true, [FE_EXTRACT] = true,
    [FE_ADD_DAYS] = true, [FE_ADD_MONTHS] = true, [FE_DIVROUND] = true, [FE_TO_F64] = true,    [FE_FROM_F64] = true,
    [FE_TO_TEXT] = true,  [FE_FROM_TEXT] = true,  [FE_IN_SET] = true,
};

static const bool compares[FE_OP_COUNT] = {
    [FE_EQ] = true, [FE_NE] = true, [FE_LT] = true, [FE_LE] = true, [FE_GT] = true, [FE_GE] = true, [FE_IN] = true,
};

/* Emitted without branches on rows and without calls, so that they work on vectors too. */
static const bool branch_free[FE_OP_COUNT] = {
    [FE_COL] = true,     [FE_LIT] = true,    [FE_ADD] = true,  [FE_SUB] = true,      [FE_MUL] = true,
    [FE_NEG] = true,     [FE_EQ] = true,     [FE_NE] = true,   [FE_LT] = true,       [FE_LE] = true,
    [FE_GT] = true,      [FE_GE] = true,     [FE_AND] = true,  [FE_OR] = true,       [FE_NOT] = true,
    [FE_IS_NULL] = true, [FE_IN] = true,     [FE_CASE] = true, [FE_COALESCE] = true, [FE_DATE_DIFF] = true,
    [FE_WIDEN] = true,   [FE_NARROW] = true,
};

static const struct pl_expr *expr_of(const struct cg_mod *m, int e)
{
    if (e < 0 || e >= m->prog->nexprs)
        HD_BUG("expression %d of %d", e, m->prog->nexprs);
    return &m->prog->exprs[e];
}

struct cg_val cg_expr(struct cg_fn *f, int e)
{
    const struct pl_expr *x = expr_of(f->m, e);
    hd_poll();
    return x->outlined ? cg_call_expr(f, e) : emitters[x->op](f, x);
}

struct cg_val cg_expr_here(struct cg_fn *f, int e)
{
    const struct pl_expr *x = expr_of(f->m, e);
    return emitters[x->op](f, x);
}

enum rt_phys cg_arg_phys(const struct cg_mod *m, const struct pl_expr *e, int i)
{
    return expr_of(m, e->args[i])->phys;
}

bool cg_phys_cheap(enum rt_phys p)
{
    return p != RT_STR;
}

static bool guarded(struct cg_mod *m, const struct pl_expr *e)
{
    if (e->fail || e->outlined || costly[e->op])
        return true;
    for (int i = 0; i < e->nargs; i++) {
        if (compares[e->op] && !cg_phys_cheap(cg_arg_phys(m, e, i)))
            return true;
        if (cg_expr_guarded(m, e->args[i]))
            return true;
    }
    return false;
}

bool cg_expr_guarded(struct cg_mod *m, int e)
{
    const struct pl_expr *x = expr_of(m, e);
    if (!m->guard[e])
        m->guard[e] = guarded(m, x) ? 2 : 1;
    return m->guard[e] == 2;
}

/* Vectors of pointers or of i128 would be taken apart again. */
static bool fits_lanes(enum rt_phys p)
{
    return p != RT_STR && p != RT_I128;
}

bool cg_expr_lanes(const struct cg_mod *m, int e)
{
    const struct pl_expr *x = expr_of(m, e);
    bool set = x->op == FE_IN_SET && cg_set_small(m, x);
    if ((!branch_free[x->op] && !set) || x->fail || x->outlined || !fits_lanes(x->phys))
        return false;
    for (int i = 0; i < x->nargs; i++)
        if (!cg_expr_lanes(m, x->args[i]))
            return false;
    return true;
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
