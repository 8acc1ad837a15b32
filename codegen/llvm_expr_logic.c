/* Three-valued logic, choice and membership. An argument that is lazy (it may raise, or is
 * dear: planner/evaluate.c) is evaluated only when reached, from left to right; the others are combined freely. */
#include "codegen/llvm_build.h"

/* Exits of a chain of lazy arguments: where from, and the value there. */
struct exits {
    int n;
    struct cg_val *vals;
    LLVMBasicBlockRef *blocks;
    LLVMBasicBlockRef join;
};

static struct exits exits_new(struct cg_fn *f, int cap)
{
    struct hd_arena *a = f->m->arena;
    return (struct exits){.vals = HD_NEWN(a, struct cg_val, cap), .blocks = HD_NEWN(a, LLVMBasicBlockRef, cap)};
}

static LLVMBasicBlockRef exits_join(struct cg_fn *f, struct exits *x)
{
    if (!x->join)
        x->join = l_block(f, "chosen");
    return x->join;
}

/* Records that the current block leaves with v; the caller branches. */
static void exits_add(struct cg_fn *f, struct exits *x, struct cg_val v)
{
    x->vals[x->n] = v;
    x->blocks[x->n++] = l_here(f);
}

static struct cg_val exits_close(struct cg_fn *f, struct exits *x, struct cg_val last)
{
    if (!x->n)
        return last;
    exits_add(f, x, last);
    l_br(f, x->join);
    l_goto(f, x->join);
    return cg_phi(f, x->n, x->vals, x->blocks);
}

static LLVMValueRef is_false(struct cg_fn *f, struct cg_val v)
{
    LLVMValueRef no = l_not(f, v.v);
    return v.valid ? l_and(f, no, v.valid) : no;
}

/* Kleene and, or of two values. In a nullable result the value is true only where it is valid. */
static struct cg_val combine(struct cg_fn *f, bool any, struct cg_val a, struct cg_val b)
{
    if (!a.valid && !b.valid)
        return (struct cg_val){.v = any ? l_or(f, a.v, b.v) : l_and(f, a.v, b.v)};
    LLVMValueRef ta = cg_true(f, a), tb = cg_true(f, b);
    LLVMValueRef fa = is_false(f, a), fb = is_false(f, b);
    struct cg_val r = {.v = any ? l_or(f, ta, tb) : l_and(f, ta, tb)};
    r.valid = l_or(f, r.v, any ? l_and(f, fa, fb) : l_or(f, fa, fb));
    return r;
}

/* Term i of AND, OR, or of IN's disjunction of equalities. */
struct terms {
    const struct pl_expr *e;
    int n, first; /* terms, argument of the first */
    bool in;
    struct cg_val x; /* IN: what is looked for */
};

static bool term_lazy(struct cg_fn *f, const struct terms *t, int i)
{
    const struct pl_expr *e = t->e;
    return e->in_turn || cg_expr_of(f->m, e->args[t->first + i])->lazy_cpu;
}

static struct cg_val term(struct cg_fn *f, const struct terms *t, int i)
{
    struct cg_val v = cg_expr(f, t->e->args[t->first + i]);
    if (!t->in)
        return v;
    enum rt_phys p = cg_arg_phys(f->m, t->e, 0);
    return (struct cg_val){.v = cg_compare(f, FE_EQ, p, t->x, v), .valid = cg_both(f, t->x.valid, v.valid)};
}

static struct cg_val kleene(struct cg_fn *f, bool any, const struct terms *t)
{
    struct exits x = exits_new(f, t->n + 1);
    struct cg_val acc = term(f, t, 0);
    for (int i = 1; i < t->n; i++) {
        if (term_lazy(f, t, i)) {
            LLVMValueRef decided = any ? cg_true(f, acc) : is_false(f, acc);
            LLVMBasicBlockRef more = l_block(f, "more");
            exits_add(f, &x, acc);
            l_cond(f, decided, exits_join(f, &x), more);
            l_goto(f, more);
        }
        acc = combine(f, any, acc, term(f, t, i));
    }
    return exits_close(f, &x, acc);
}

struct cg_val cgl_logic(struct cg_fn *f, const struct pl_expr *e)
{
    struct terms t = {.e = e, .n = e->nargs};
    return kleene(f, e->op == FE_OR, &t);
}

struct cg_val cgl_in_list(struct cg_fn *f, const struct pl_expr *e)
{
    struct terms t = {.e = e, .n = e->nargs - 1, .first = 1, .in = true};
    t.x = cg_expr(f, e->args[0]);
    return kleene(f, true, &t);
}

struct cg_val cgl_logical_not(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    return (struct cg_val){.v = l_not(f, a.v), .valid = a.valid};
}

struct cg_val cgl_is_null(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]);
    return (struct cg_val){.v = a.valid ? l_not(f, a.valid) : cg_const(f, RT_BOOL, 0)};
}

static bool any_lazy(struct cg_fn *f, const struct pl_expr *e)
{
    for (int i = 1; i < e->nargs; i++)
        if (cg_expr_of(f->m, e->args[i])->lazy_cpu)
            return true;
    return false;
}

static struct cg_val null_of(struct cg_fn *f, enum rt_phys p)
{
    struct cg_val r = cg_zero(f, p);
    r.valid = cg_const(f, RT_BOOL, 0);
    return r;
}

static struct cg_val case_else(struct cg_fn *f, const struct pl_expr *e)
{
    return e->nargs % 2 ? cg_expr(f, e->args[e->nargs - 1]) : null_of(f, e->phys);
}

static struct cg_val case_selects(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val r = case_else(f, e);
    for (int i = (e->nargs / 2 - 1) * 2; i >= 0; i -= 2) {
        LLVMValueRef c = cg_true(f, cg_expr(f, e->args[i]));
        r = cg_select(f, c, cg_expr(f, e->args[i + 1]), r);
    }
    return r;
}

static struct cg_val case_branches(struct cg_fn *f, const struct pl_expr *e)
{
    struct exits x = exits_new(f, e->nargs / 2 + 1);
    for (int i = 0; i + 1 < e->nargs; i += 2) {
        LLVMValueRef c = cg_true(f, cg_expr(f, e->args[i]));
        LLVMBasicBlockRef yes = l_block(f, "then"), no = l_block(f, "else");
        l_cond(f, c, yes, no);
        l_goto(f, yes);
        struct cg_val v = cg_expr(f, e->args[i + 1]);
        exits_add(f, &x, v);
        l_br(f, exits_join(f, &x));
        l_goto(f, no);
    }
    return exits_close(f, &x, case_else(f, e));
}

struct cg_val cgl_case_when(struct cg_fn *f, const struct pl_expr *e)
{
    return any_lazy(f, e) ? case_branches(f, e) : case_selects(f, e);
}

static struct cg_val coalesce_selects(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val r = cg_expr(f, e->args[e->nargs - 1]);
    for (int i = e->nargs - 2; i >= 0; i--) {
        struct cg_val a = cg_expr(f, e->args[i]);
        LLVMValueRef valid = a.valid;
        a.valid = NULL;
        r = valid ? cg_select(f, valid, a, r) : a;
    }
    return r;
}

static struct cg_val coalesce_branches(struct cg_fn *f, const struct pl_expr *e)
{
    struct exits x = exits_new(f, e->nargs);
    struct cg_val a = cg_expr(f, e->args[0]);
    for (int i = 1; i < e->nargs && a.valid; i++) {
        LLVMValueRef valid = a.valid;
        LLVMBasicBlockRef more = l_block(f, "more");
        a.valid = NULL;
        exits_add(f, &x, a);
        l_cond(f, valid, exits_join(f, &x), more);
        l_goto(f, more);
        a = cg_expr(f, e->args[i]);
    }
    return exits_close(f, &x, a);
}

struct cg_val cgl_coalesce(struct cg_fn *f, const struct pl_expr *e)
{
    return any_lazy(f, e) ? coalesce_branches(f, e) : coalesce_selects(f, e);
}

/* The lesser or larger of two values; one that is NULL gives way to the other. */
struct cg_val cgl_extreme(struct cg_fn *f, const struct pl_expr *e)
{
    struct cg_val a = cg_expr(f, e->args[0]), b = cg_expr(f, e->args[1]);
    enum fe_op second = e->op == FE_LEAST ? FE_GT : FE_LT;
    LLVMValueRef take = cg_compare(f, second, e->phys, a, b);
    if (a.valid)
        take = l_or(f, take, l_not(f, a.valid));
    if (b.valid)
        take = l_and(f, take, b.valid);
    struct cg_val r = cg_select(f, take, b, a);
    r.valid = a.valid && b.valid ? l_or(f, a.valid, b.valid) : NULL;
    return r;
}
