/* Bounds of a loop over pairs on a GPU. Where a test of pairs grows or falls with a value of the source's row, no row of a
 * warp passes it with a row of the state that the largest, or the smallest, of the warp's values does not pass with. So
 * a lane can say of a row of the state whether any of the warp's rows may have it, at the cost of one pair, before the
 * warp tests all of them (templates/loop_bound.cuh). */
#include "planner/loop.h"

/* Whether a result grows (1) or falls (-1) with an argument, for operators that never fail here. */
struct slope {
    enum fe_op op;
    bool integers; /* only of integers: a sum of infinities is the largest number of all */
    int first, others;
};

static const struct slope SLOPES[] = {
    {FE_GT, false, 1, -1},    {FE_GE, false, 1, -1},   {FE_LT, false, -1, 1},    {FE_LE, false, -1, 1},
    {FE_AND, false, 1, 1},    {FE_OR, false, 1, 1},    {FE_ADD, true, 1, 1},     {FE_SUB, true, 1, -1},
    {FE_NEG, true, -1, -1},   {FE_WIDEN, false, 1, 1}, {FE_NARROW, false, 1, 1}, {FE_RESCALE, false, 1, 1},
    {FE_TO_F64, false, 1, 1},
};

static int slope(const struct pl_expr *x, int arg)
{
    bool integer = x->phys == RT_I32 || x->phys == RT_I64 || x->phys == RT_I128;
    for (size_t i = 0; i < HD_COUNT(SLOPES); i++)
        if (SLOPES[i].op == x->op && (integer || !SLOPES[i].integers))
            return arg == 0 ? SLOPES[i].first : SLOPES[i].others;
    return 0;
}

/* Slots that a thread keeps of the source's rows; by slot the way in which a test grows with it, 0 so far. */
struct bounding {
    const struct ctx *c;
    const struct pl_pipeline *q;
    bool *own;
    int *way;
};

static bool take(struct bounding *b, int slot, int way)
{
    if (way == 0 || b->way[slot] == -way || !pl_loop_ranks(b->q->slots[slot].phys))
        return false;
    b->way[slot] = way;
    return true;
}

/* Whether the expression, which grows the test (way 1) or makes it fall, does so alike with every such slot. NULLs are
 * no matter: each of its comparisons holds for no NULL. */
static bool follow(struct bounding *b, int e, int way)
{
    const struct pl_expr *x = &b->c->exprs.v[e];
    if (x->op == FE_COL)
        return !b->own[x->slot] || take(b, x->slot, way);
    bool alike = !x->fail;
    for (int i = 0; i < x->nargs && alike; i++)
        alike = follow(b, x->args[i], way * slope(x, i));
    return alike;
}

/* What a look at a row of the state has: this row, and what its steps make of it. */
static bool *of_others(const struct ctx *c, const struct pl_pipeline *q)
{
    int first = q->levels[1].first_step;
    bool *slots = HD_NEWN(c->a, bool, q->nslots + 1);
    for (int i = first - 1; i < first + q->loop.others; i++)
        slots[q->steps[i].slot] = true;
    return slots;
}

static void add_bounds(struct bounding *b, struct pl_loop *l, const bool *others, int step)
{
    const struct pl_step *s = &b->q->steps[step];
    bool *read = HD_NEWN(b->c->a, bool, b->q->nslots + 1);
    memset(b->way, 0, sizeof *b->way * (size_t)b->q->nslots);
    pl_step_reads(b->c->exprs.v, s, read);
    for (int i = 0; i < b->q->nslots; i++)
        if (read[i] && !b->own[i] && !others[i])
            return;
    if (s->kind != PL_STEP_FILTER || !follow(b, s->expr, 1))
        return;
    for (int i = 0; i < b->q->nslots; i++)
        if (b->way[i])
            l->bounds[l->nbounds++] = (struct pl_pair_bound){.step = step, .slot = i, .most = b->way[i] > 0};
}

void pl_bound_loop(const struct ctx *c, struct pl_pipeline *q)
{
    struct pl_loop *l = &q->loop;
    const struct pl_level *pairs = &q->levels[1];
    int first = pairs->first_step + l->others;
    if (l->top || c->opt.profile || l->tested <= first) /* a profile counts pairs */
        return;
    struct bounding b = {
        .c = c, .q = q, .own = HD_NEWN(c->a, bool, q->nslots + 1), .way = HD_NEWN(c->a, int, q->nslots + 1)};
    for (int i = 0; i < pairs->nslots; i++)
        b.own[pairs->slots[i]] = true;
    const bool *others = of_others(c, q);
    l->bounds = HD_NEWN(c->a, struct pl_pair_bound, (l->tested - first) * pairs->nslots + 1);
    for (int i = first; i < l->tested; i++)
        add_bounds(&b, l, others, i);
}
