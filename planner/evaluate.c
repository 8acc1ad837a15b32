/* How each backend evaluates expressions: which are computed only where their value is asked for, and which
 * for a vector of rows at once. */
#include "planner/pipeline.h"

/* Calls of the runtime and divisions: a mispredicted branch costs about as much. */
static const bool costly[FE_OP_COUNT] = {
    [FE_DIV] = true,      [FE_MOD] = true,        [FE_LIKE] = true,     [FE_SUBSTRING] = true, [FE_EXTRACT] = true,
    [FE_ADD_DAYS] = true, [FE_ADD_MONTHS] = true, [FE_DIVROUND] = true, [FE_TO_F64] = true,    [FE_FROM_F64] = true,
    [FE_TO_TEXT] = true,  [FE_FROM_TEXT] = true,  [FE_IN_SET] = true,
};

/* The same on a GPU: threads of a warp read all over the dictionary map. */
static const bool costly_gpu[FE_OP_COUNT] = {[FE_LOOKUP] = true};

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

/* Elements of a set that a CPU compares with one by one, instead of searching. */
enum { SCANNED_SET = 32 };

struct chooser {
    struct pl_expr *exprs;
    const struct rt_arg *args;
    bool *done;
};

static enum rt_phys arg_phys(const struct chooser *w, const struct pl_expr *e, int i)
{
    return w->exprs[e->args[i]].phys;
}

static bool is_scanned(const struct chooser *w, const struct pl_expr *e)
{
    enum rt_phys p = arg_phys(w, e, 0);
    return (p == RT_I32 || p == RT_I64) && w->args[e->arg].nset <= SCANNED_SET;
}

/* Vectors of pointers or of 128-bit integers would be taken apart again. */
static bool fits_vector(const struct pl_expr *e)
{
    return (branch_free[e->op] || e->scanned) && !e->fail && !e->outlined && e->phys != RT_STR && e->phys != RT_I128;
}

static void choose(struct chooser *w, int i)
{
    struct pl_expr *e = &w->exprs[i];
    if (w->done[i])
        return;
    w->done[i] = true;
    e->scanned = e->op == FE_IN_SET && is_scanned(w, e);
    e->lazy_gpu = e->fail || e->outlined || costly[e->op] || costly_gpu[e->op];
    e->lazy_cpu = e->fail || e->outlined || costly[e->op];
    e->vector = fits_vector(e);
    e->in_turn = e->op == FE_IN && arg_phys(w, e, 0) == RT_STR;
    for (int k = 0; k < e->nargs; k++) {
        choose(w, e->args[k]);
        const struct pl_expr *x = &w->exprs[e->args[k]];
        e->lazy_gpu = e->lazy_gpu || x->lazy_gpu;
        e->lazy_cpu = e->lazy_cpu || x->lazy_cpu || (compares[e->op] && x->phys == RT_STR);
        e->vector = e->vector && x->vector;
    }
}

void pl_choose_evaluation(struct hd_arena *a, struct pl_expr *exprs, int n, const struct rt_arg *args)
{
    struct chooser w = {exprs, args, HD_NEWN(a, bool, n + 1)};
    for (int i = 0; i < n; i++)
        choose(&w, i);
}
