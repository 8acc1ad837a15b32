/* Loops over pairs whose rows go to a state that keeps the first rows of each group, as nearest neighbours do. Where a
 * pair's group is that of its row of the source, of the pairs of one row only so many can stay; a thread finds out up to
 * which value of the first key of the order, among the rows of a task, before it keeps any (templates/loop_top.cuh). */
#include "planner/loop_top.h"

#include "planner/pipeline.h"

/* What a pair appends for a field; -1: nothing, or bytes of another row. */
static int out_of(const struct pl_sink *s, int field)
{
    for (int i = 0; i < s->nouts; i++)
        if (s->outs[i].field == field)
            return s->outs[i].expr;
    return -1;
}

static bool covers(const struct open_pipeline *p, const bool *slots, const bool *read)
{
    for (int i = 0; i < p->slots.n; i++)
        if (read[i] && !slots[i])
            return false;
    return true;
}

/* Slots that the source's row alone decides, wherever they are computed. */
static bool *of_source(const struct ctx *c, const struct open_pipeline *p, int level)
{
    bool *slots = HD_NEWN(c->a, bool, p->slots.n + 1);
    slots[p->source_slot] = true;
    for (int i = 0; i < p->steps.n; i++) {
        const struct pl_step *s = &p->steps.v[i];
        bool *read = HD_NEWN(c->a, bool, p->slots.n + 1);
        pl_step_reads(c->exprs.v, s, read);
        if (s->slot >= 0 && (i < level || (i > level && covers(p, slots, read))))
            slots[s->slot] = true;
    }
    return slots;
}

int pl_loop_top(const struct ctx *c, const struct open_pipeline *p, int level)
{
    const struct rt_state *st = &c->states.v[p->sink.state];
    const struct rt_top *t = st->top;
    if (p->sink.kind != PL_SINK_ROWS || p->steps.v[level].kind == PL_STEP_EXPAND_LATER || !t || !t->prune ||
        t->limit == 0 || t->limit > PL_LOOP_TOP_MAX || t->offset > PL_LOOP_TOP_MAX - t->limit ||
        !pl_loop_ranks(st->fields[st->sort[t->ngroup].field].phys))
        return 0;
    const bool *slots = of_source(c, p, level);
    bool *read = HD_NEWN(c->a, bool, p->slots.n + 1);
    for (int i = 0; i < t->ngroup; i++) {
        int e = out_of(&p->sink, st->sort[i].field);
        if (e < 0)
            return 0;
        pl_expr_reads(c->exprs.v, e, read);
    }
    bool ranked = out_of(&p->sink, st->sort[t->ngroup].field) >= 0;
    return ranked && covers(p, slots, read) ? (int)(t->limit + t->offset) : 0;
}
