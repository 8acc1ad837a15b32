#include "planner/tiering.h"

#include "planner/cost.h"
#include "planner/parts.h"

static double known(double rows)
{
    return HD_MAX(rows, 0.0);
}

static bool is_lookup(const struct pl_step *s)
{
    switch (pl_step_form(s->kind)->subject) {
    case PL_OF_NOTHING:
    case PL_OF_COLUMN:
    case PL_OF_FIELD: return false;
    case PL_OF_STATE:
    case PL_OF_KEYIDX:
    case PL_OF_FK:
    case PL_OF_ORDER: return true;
    }
    HD_BUG("step kind %d", (int)s->kind);
}

/* Nanoseconds of one thread, in optimised code. */
static double work_of(const struct pl_pipeline *q)
{
    double ns = 0;
    for (int i = 0; i < q->nsteps; i++)
        ns += pl_cost_step(known(q->steps[i].est), is_lookup(&q->steps[i]));
    return ns + pl_cost_sink(known(q->spec->counter_est[q->nsteps]), q->sink.kind == PL_SINK_AGG_HASH);
}

/* A loop over pairs is vectors in optimised code alone: a morsel of the first tier would take longer than the compiler. */
static enum rt_tiering by_cost(struct ctx *c, const struct pl_pipeline *q)
{
    bool loops = q->loop.rows > 0;
    if (q->unoptimised || !pl_worth_optimising(work_of(q), loops, pl_weight(c, q)))
        return RT_TIERING_LATER;
    return loops ? RT_TIERING_BEFORE : RT_TIERING_MEANWHILE;
}

void pl_choose_tiering(struct ctx *c, struct pl_pipeline *q)
{
    struct rt_pipeline *r = q->spec;
    if (c->opt.on_gpu)
        return;
    if (c->opt.turn_morsels) {
        r->tiering = RT_TIERING_TURNS;
        return;
    }
    switch (c->opt.tier) {
    case PL_TIER_AUTO: r->tiering = by_cost(c, q); return;
    case PL_TIER_FIRST: r->tiering = RT_TIERING_NEVER; return;
    case PL_TIER_OPTIMISED: r->tiering = RT_TIERING_BEFORE; return;
    }
    HD_BUG("tier %d", (int)c->opt.tier);
}
