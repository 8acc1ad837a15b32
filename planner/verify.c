/* Checks a program against the rules of pipeline.h and spec.h, which verify_rules.def lists. A rule
 * that is broken is a fault of the planner. Every expression, step and state is looked at a fixed
 * number of times, so that each planning can afford it. */
#include "planner/verify.h"

#include <limits.h>

static bool check_pipeline(struct vf *v, int i)
{
    v->pipeline = i;
    v->p = &v->g->pipelines[i];
    v->nlooks = 0;
    VF_TRY(vf_source(v));
    v->set_by = HD_NEWN(v->arena, int, v->p->nslots + 1);
    v->rows = HD_NEWN(v->arena, struct vf_row, v->p->nslots + 1);
    for (int s = 0; s < v->p->nslots; s++)
        v->set_by[s] = s == v->p->source_slot ? 0 : INT_MAX;
    VF_TRY(vf_steps(v));
    v->step = v->p->nsteps;
    VF_TRY(vf_sink(v));
    v->step = -1;
    VF_TRY(vf_nest(v));
    VF_TRY(vf_loop(v));
    VF_TRY(vf_folds(v));
    VF_TRY(vf_pipeline_spec(v));
    VF_TRY(vf_kernel(v));
    v->pipeline = -1;
    return true;
}

/* In the order in which they run: what a state's rows name is known before they are read. */
static bool check_pipelines(struct vf *v)
{
    bool *done = HD_NEWN(v->arena, bool, v->g->npipelines + 1);
    for (int i = 0; i < v->g->npipelines; i++)
        if (vf_state_is(v, v->g->pipelines[i].sink.state, ~0u))
            v->sinks[v->g->pipelines[i].sink.state]++;
    for (int i = 0; i < v->spec->nactions; i++) {
        const struct rt_action *a = &v->spec->actions[i];
        if (a->kind != RT_RUN || done[a->index])
            continue;
        done[a->index] = true;
        VF_TRY(check_pipeline(v, a->index));
    }
    for (int i = 0; i < v->g->npipelines; i++)
        VF_CHECK(v, FRAGMENTS, done[i]);
    return true;
}

static bool check_program(struct vf *v)
{
    const struct rt_spec *s = v->spec;
    VF_CHECK(v, PROGRAM_PIPELINES, v->g->npipelines == s->npipelines);
    for (int i = 0; i < s->npipelines; i++)
        VF_CHECK(v, PROGRAM_PIPELINES, v->g->pipelines[i].spec == &s->pipelines[i]);
    VF_TRY(vf_states(v));
    VF_TRY(vf_args(v));
    for (int i = 0; i < s->nstates; i++)
        v->field_rows[i] = HD_NEWN(v->arena, struct vf_row, s->states[i].nfields + 1);
    VF_TRY(vf_actions(v));
    VF_TRY(check_pipelines(v));
    VF_TRY(vf_result(v));
    VF_TRY(vf_schedule(v));
    return vf_physical(v);
}

const char *pl_check(const struct pl_program *g)
{
    struct vf v = {
        .g = g, .spec = g->spec, .arena = g->arena, .pipeline = -1, .step = -1, .expr = -1, .state = -1, .arg = -1};
    v.action = -1;
    v.seen = HD_NEWN(g->arena, int, g->nexprs + 1);
    v.ready = HD_NEWN(g->arena, int, g->nexprs + 1);
    v.deep = HD_NEWN(g->arena, int, g->nexprs + 1);
    v.looks = HD_NEWN(g->arena, int, g->nexprs + 1);
    v.read_by = HD_NEWN(g->arena, int, g->spec->nstates + 1);
    v.sinks = HD_NEWN(g->arena, int, g->spec->nstates + 1);
    v.field_rows = HD_NEWN(g->arena, struct vf_row *, g->spec->nstates + 1);
    check_program(&v);
    return v.broken;
}

void pl_verify(const struct pl_program *g)
{
    const char *broken = pl_check(g);
    if (broken)
        HD_BUG("%s", broken);
}
