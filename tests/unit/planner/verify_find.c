#include "tests/unit/planner/verify_find.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void absent(const char *what, int kind)
{
    fprintf(stderr, "no %s %d in this program\n", what, kind);
    abort();
}

struct pl_step *step_at(struct prog *b, enum pl_step_kind kind, int k)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        for (int s = 0; s < b->p->nsteps; s++)
            if (b->p->steps[s].kind == kind && k-- == 0)
                return &b->p->steps[s];
    }
    absent("step", (int)kind);
}

struct pl_step *step(struct prog *b, enum pl_step_kind kind)
{
    return step_at(b, kind, 0);
}

struct pl_sink *sink(struct prog *b, enum pl_sink_kind kind)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->sink.kind == kind)
            return &b->p->sink;
    }
    absent("sink", (int)kind);
}

struct rt_state *state(struct prog *b, enum rt_state_kind kind)
{
    for (int i = 0; i < b->g->spec->nstates; i++)
        if (b->g->spec->states[i].kind == kind)
            return &b->g->spec->states[i];
    absent("state", (int)kind);
}

struct rt_state *state_of(struct prog *b, const struct pl_step *s)
{
    return &b->g->spec->states[s->state];
}

static struct pl_node *physical_below(struct pl_node *n, enum pl_node_op op)
{
    struct pl_node *found = n->op == op ? n : NULL;
    for (int i = 0; i < n->ninputs && !found; i++)
        found = physical_below(n->inputs[i], op);
    return found;
}

struct pl_node *physical(struct prog *b, enum pl_node_op op)
{
    struct pl_node *n = physical_below((struct pl_node *)(uintptr_t)b->g->physical, op);
    if (!n)
        absent("physical node", (int)op);
    return n;
}

struct rt_state *searched(struct prog *b)
{
    return &b->g->spec->states[step(b, PL_STEP_PROBE_SORTED)->state];
}

struct rt_sort_key *sort_key(struct prog *b, int key)
{
    return (struct rt_sort_key *)(uintptr_t)&searched(b)->sort[key];
}

struct rt_arg *arg(struct prog *b, enum rt_arg_kind kind)
{
    for (int i = 0; i < b->g->spec->nargs; i++)
        if (b->g->spec->args[i].kind == kind)
            return &b->g->spec->args[i];
    absent("argument", (int)kind);
}

static struct pl_expr *below(struct prog *b, int e, enum fe_op op)
{
    struct pl_expr *x = &b->g->exprs[e], *found = x->op == op ? x : NULL;
    for (int i = 0; i < x->nargs && !found; i++)
        found = below(b, x->args[i], op);
    return found;
}

struct pl_expr *expr(struct prog *b, enum fe_op op)
{
    struct pl_expr *x = NULL;
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        for (int s = 0; s < b->p->nsteps && !x; s++)
            x = b->p->steps[s].expr >= 0 ? below(b, b->p->steps[s].expr, op) : NULL;
        for (int s = 0; s < b->p->sink.nouts && !x; s++)
            x = b->p->sink.outs[s].expr >= 0 ? below(b, b->p->sink.outs[s].expr, op) : NULL;
        if (x)
            return x;
    }
    absent("expression", (int)op);
}

struct pl_expr *expr_of(struct prog *b, int e)
{
    return &b->g->exprs[e];
}

struct pl_pipeline *framed(struct prog *b, bool many_parts)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->framed && (!many_parts || b->p->nparts > 1))
            return b->p;
    }
    absent("framed pipeline", many_parts);
}

struct pl_pipeline *nested(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->nlevels > 1)
            return b->p;
    }
    absent("level", 1);
}

struct rt_arg *scanned(struct prog *b)
{
    for (int i = 0; i < b->g->spec->nargs; i++)
        if (b->g->spec->args[i].nscans)
            return &b->g->spec->args[i];
    absent("argument with scans", 0);
}

struct pl_pipeline *ended(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->spec->nends)
            return b->p;
    }
    absent("scan with ends", 0);
}

struct rt_zoning *zoned(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++)
        if (b->g->pipelines[i].spec->zones.nranges)
            return &b->g->pipelines[i].spec->zones;
    absent("scan with zones", 0);
}

struct pl_pipeline *tiled(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->cpu_tile.steps)
            return b->p;
    }
    absent("tile", 0);
}

struct pl_pipeline *looked(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        int n = b->p->gpu_tile.steps;
        if (n > 0 && pl_step_form(b->p->steps[n - 1].kind)->yields == PL_YIELDS_PROBED)
            return b->p;
    }
    absent("lookup in a tile", 0);
}

struct pl_pipeline *looped(struct prog *b)
{
    for (int i = 0; i < b->g->npipelines; i++) {
        b->p = &b->g->pipelines[i];
        if (b->p->loop.rows)
            return b->p;
    }
    absent("loop over pairs", 0);
}

struct pl_sink *counted(struct prog *b)
{
    struct pl_sink *s = sink(b, PL_SINK_AGG_DENSE);
    if (s->place != PL_PLACE_HISTOGRAM)
        absent("place", (int)PL_PLACE_HISTOGRAM);
    return s;
}

struct rt_action *action(struct prog *b, enum rt_action_kind kind, int k)
{
    for (int i = 0; i < b->g->spec->nactions; i++)
        if (b->g->spec->actions[i].kind == kind && k-- == 0)
            return &b->g->spec->actions[i];
    absent("action", (int)kind);
}
