/* Rules of how expressions are evaluated (planner/evaluate.c): only where a value is asked for, for a vector of rows at
 * once, one item after the other. */
#include <string.h>

#include "planner/verify.h"

static const struct pl_expr *arg_of(const struct vf *v, const struct pl_expr *e, int i)
{
    return &v->g->exprs[e->args[i]];
}

/* What must not happen for a row that does not ask for the value: an error, or the call of a long function. */
static bool must_wait(const struct vf *v, const struct pl_expr *e, bool gpu)
{
    bool waits = e->fail || e->outlined;
    for (int i = 0; i < e->nargs && !waits; i++)
        waits = gpu ? arg_of(v, e, i)->lazy_gpu : arg_of(v, e, i)->lazy_cpu;
    return waits;
}

static bool can_be_vector(const struct vf *v, const struct pl_expr *e)
{
    for (int i = 0; i < e->nargs; i++)
        if (!arg_of(v, e, i)->vector)
            return false;
    enum fe_lanes lanes = fe_op_form(e->op)->lanes;
    return (lanes == FE_LANES_YES || (lanes == FE_LANES_SMALL && e->scanned)) && !e->fail && !e->outlined &&
           e->phys != RT_STR && e->phys != RT_I128;
}

static bool can_be_scanned(const struct vf *v, const struct pl_expr *e)
{
    if (e->op != FE_IN_SET)
        return false;
    enum rt_phys p = arg_of(v, e, 0)->phys;
    return (p == RT_I32 || p == RT_I64) && v->spec->args[e->arg].nset <= PL_SCANNED_SET;
}

/* Patterns that escape something may have a _ that is a letter. */
static bool tells_wild(const struct vf *v, const struct pl_expr *e)
{
    if (e->op != FE_LIKE)
        return !e->wild;
    const struct rt_arg *a = &v->spec->args[e->arg];
    bool any = a->n && memchr(a->s, '_', a->n), escapes = a->n && a->escape && memchr(a->s, a->escape, a->n);
    return escapes ? any || !e->wild : any == e->wild;
}

bool vf_evaluation(struct vf *v, const struct pl_expr *e)
{
    VF_CHECK(v, EXPR_LAZY, e->lazy_cpu || !must_wait(v, e, false));
    VF_CHECK(v, EXPR_LAZY, e->lazy_gpu || !must_wait(v, e, true));
    VF_CHECK(v, EXPR_SCANNED, !e->scanned || can_be_scanned(v, e));
    VF_CHECK(v, EXPR_VECTOR, !e->vector || can_be_vector(v, e));
    VF_CHECK(v, EXPR_IN_TURN, e->in_turn == (e->op == FE_IN && arg_of(v, e, 0)->phys == RT_STR));
    VF_CHECK(v, LIKE_WILD, tells_wild(v, e));
    return true;
}
