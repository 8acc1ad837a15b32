/* What all checks of planner/verify*.c stand on: how a broken rule is told, with where it was. */
#include "planner/verify.h"
#include "runtime/base/strbuf.h"

static const struct {
    const char *name, *text;
} rules[] = {
#define V_RULE(id, text) {#id, text},
#include "planner/verify_rules.def"
};

bool vf_state_is(const struct vf *v, int state, unsigned kinds)
{
    return state >= 0 && state < v->spec->nstates && vf_is_one_of((int)v->spec->states[state].kind, kinds);
}

static void tell_step(const struct vf *v, struct hd_strbuf *out)
{
    if (v->step < 0)
        return;
    if (v->step >= v->p->nsteps)
        hd_strbuf_adds(out, ", sink");
    else if (v->p->steps[v->step].kind < PL_STEP_COUNT)
        hd_strbuf_addf(out, ", step %d (%s)", v->step, pl_step_name(v->p->steps[v->step].kind));
    else
        hd_strbuf_addf(out, ", step %d", v->step);
}

/* "SLOT_DEFINED: a slot is read only ... (p1, step 3 (load), expression 7)" */
bool vf_broken(struct vf *v, enum vf_rule rule)
{
    struct hd_strbuf out;
    hd_strbuf_init(&out);
    hd_strbuf_addf(&out, "%s: %s (program", rules[rule].name, rules[rule].text);
    if (v->pipeline >= 0)
        hd_strbuf_addf(&out, ", p%d", v->pipeline);
    tell_step(v, &out);
    if (v->expr >= 0)
        hd_strbuf_addf(&out, ", expression %d", v->expr);
    if (v->state >= 0)
        hd_strbuf_addf(&out, ", state %d", v->state);
    if (v->arg >= 0)
        hd_strbuf_addf(&out, ", argument %d", v->arg);
    if (v->action >= 0)
        hd_strbuf_addf(&out, ", action %d", v->action);
    hd_strbuf_adds(&out, ")");
    v->broken = hd_strndup(v->arena, out.s, out.n);
    hd_strbuf_release(&out);
    return false;
}
