/* How each backend evaluates expressions: which are computed only where their value is asked for, and which
 * for a vector of rows at once. */
#include "planner/pipeline.h"

/* Calls of the runtime and divisions: a mispredicted branch costs about as much. On a GPU a load does too: threads
 * of a warp read all over the dictionary map. */
static bool is_costly(enum fe_op op, bool gpu)
{
    switch (fe_op_form(op)->cost) {
    case FE_COST_LOW:
    case FE_COST_COMPARE:
    case FE_COST_CHOICE:
    case FE_COST_LIST: return false;
    case FE_COST_LOAD: return gpu;
    case FE_COST_CONVERT:
    case FE_COST_DIVIDE:
    case FE_COST_TEXT:
    case FE_COST_SEARCH: return true;
    }
    HD_BUG("cost of operator %d", (int)op);
}

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
    return (p == RT_I32 || p == RT_I64) && w->args[e->arg].nset <= PL_SCANNED_SET;
}

/* Vectors of pointers or of 128-bit integers would be taken apart again. */
static bool fits_vector(const struct pl_expr *e)
{
    enum fe_lanes lanes = fe_op_form(e->op)->lanes;
    bool works = lanes == FE_LANES_YES || (lanes == FE_LANES_SMALL && e->scanned);
    return works && !e->fail && !e->outlined && e->phys != RT_STR && e->phys != RT_I128;
}

static void choose(struct chooser *w, int i)
{
    struct pl_expr *e = &w->exprs[i];
    if (w->done[i])
        return;
    w->done[i] = true;
    bool compares = fe_op_compares(e->op) || e->op == FE_IN;
    e->scanned = e->op == FE_IN_SET && is_scanned(w, e);
    e->lazy_gpu = e->fail || e->outlined || is_costly(e->op, true);
    e->lazy_cpu = e->fail || e->outlined || is_costly(e->op, false);
    e->vector = fits_vector(e);
    e->in_turn = e->op == FE_IN && arg_phys(w, e, 0) == RT_STR;
    for (int k = 0; k < e->nargs; k++) {
        choose(w, e->args[k]);
        const struct pl_expr *x = &w->exprs[e->args[k]];
        e->lazy_gpu = e->lazy_gpu || x->lazy_gpu;
        e->lazy_cpu = e->lazy_cpu || x->lazy_cpu || (compares && x->phys == RT_STR);
        e->vector = e->vector && x->vector;
    }
}

void pl_choose_evaluation(struct hd_arena *a, struct pl_expr *exprs, int n, const struct rt_arg *args)
{
    struct chooser w = {exprs, args, HD_NEWN(a, bool, n + 1)};
    for (int i = 0; i < n; i++)
        choose(&w, i);
}
