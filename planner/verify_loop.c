/* Rules of loops over pairs. */
#include "planner/verify.h"

/* Level 1 of the only two is of all rows of a state. */
static bool is_of_pairs(const struct pl_pipeline *p)
{
    if (p->nlevels != 2 || p->framed || p->spec->ordered)
        return false;
    const struct pl_step *s = &p->steps[p->levels[1].first_step - 1];
    return pl_children(s->kind) == PL_CHILDREN_ALL && s->probe == PL_INNER;
}

static bool reads_only(const struct vf *v, const struct pl_step *s, const bool *slots)
{
    bool *read = HD_NEWN(v->arena, bool, v->p->nslots + 1);
    pl_step_reads(v->g->exprs, s, read);
    for (int i = 0; i < v->p->nslots; i++)
        if (read[i] && !slots[i])
            return false;
    return true;
}

/* Steps that the rows of a thread share look at the state's row, and at what such steps made of it. */
static bool check_others(struct vf *v, const struct pl_loop *l)
{
    int first = v->p->levels[1].first_step;
    bool *slots = HD_NEWN(v->arena, bool, v->p->nslots + 1);
    slots[v->p->steps[first - 1].slot] = true;
    VF_CHECK(v, LOOP_OTHERS, l->others >= 0 && first + l->others <= v->p->nsteps);
    for (int i = first; i < first + l->others; i++) {
        const struct pl_step *s = &v->p->steps[i];
        VF_CHECK(v, LOOP_OTHERS, pl_step_form(s->kind)->yields == PL_YIELDS_ONE && reads_only(v, s, slots));
        slots[s->slot] = true;
    }
    return true;
}

/* Nothing that pairs look at goes unmade. */
static bool check_part(struct vf *v, const struct pl_loop *l)
{
    const struct pl_pipeline *p = v->p;
    int first = p->levels[1].first_step;
    bool *read = HD_NEWN(v->arena, bool, p->nslots + 1);
    VF_CHECK(v, LOOP_PART, l->part_rows > 0 && (l->part_copies == 0 || l->counts));
    pl_sink_reads(v->g->exprs, &p->sink, read);
    for (int i = p->nsteps - 1; i >= first; i--) {
        const struct pl_step *s = &p->steps[i];
        enum pl_other how = i < first + l->others ? l->how[i - first] : PL_OTHER_AGAIN;
        VF_CHECK(v, LOOP_PART, how != PL_OTHER_UNREAD || !read[s->slot]);
        VF_CHECK(v, LOOP_PART, how != PL_OTHER_COLUMN || rt_phys_size(p->slots[s->slot].phys) <= 8);
        if (how == PL_OTHER_AGAIN && i != l->last.step && i != l->first.step)
            pl_step_reads(v->g->exprs, s, read);
    }
    return true;
}

/* The filter says of the field by which the state is sorted that it lies on this side of the bound. */
static bool check_run(struct vf *v, const struct pl_loop *l, const struct pl_run_end *e, enum fe_op op)
{
    const struct pl_pipeline *p = v->p;
    int first = p->levels[1].first_step;
    if (e->step < 0)
        return true;
    VF_CHECK(v, LOOP_RUN, e->step >= first + l->others && e->step < l->tested && e->load >= first);
    VF_CHECK(v, LOOP_RUN, e->load < first + l->others && p->steps[e->step].kind == PL_STEP_FILTER);
    const struct pl_step *load = &p->steps[e->load];
    const struct pl_expr *x = &v->g->exprs[p->steps[e->step].expr];
    VF_CHECK(v, LOOP_RUN, load->kind == PL_STEP_LOAD_FIELD && load->state == p->steps[first - 1].state);
    const struct rt_state *st = &v->spec->states[load->state];
    VF_CHECK(v, LOOP_RUN, st->nsort > 0 && st->sort[0].field == load->field && !st->sort[0].desc);
    VF_CHECK(v, LOOP_RUN, st->fields[load->field].phys == RT_I64 && st->fields[load->field].valid_offset < 0);
    VF_CHECK(v, LOOP_RUN, x->op == op && v->g->exprs[x->args[0]].slot == load->slot);
    VF_CHECK(v, LOOP_RUN, v->g->exprs[x->args[1]].slot == e->slot && !p->slots[e->slot].nullable);
    return true;
}

static const struct pl_out *out_of(const struct pl_sink *s, int field)
{
    for (int i = 0; i < s->nouts; i++)
        if (s->outs[i].field == field && s->outs[i].expr >= 0)
            return &s->outs[i];
    return NULL;
}

/* Slots that the source's row decides. */
static bool *of_source(const struct vf *v)
{
    bool *slots = HD_NEWN(v->arena, bool, v->p->nslots + 1);
    int level = v->p->levels[1].first_step - 1;
    slots[v->p->source_slot] = true;
    for (int i = 0; i < v->p->nsteps; i++)
        if (v->p->steps[i].slot >= 0 && i != level && (i < level || reads_only(v, &v->p->steps[i], slots)))
            slots[v->p->steps[i].slot] = true;
    return slots;
}

/* Pairs are ranked as their state orders rows, and those of a row of the source are of one group. */
static bool check_top(struct vf *v, const struct pl_loop *l)
{
    const struct pl_sink *s = &v->p->sink;
    const struct rt_state *st = &v->spec->states[s->state];
    const struct rt_top *t = st->top;
    if (l->top == 0)
        return true;
    VF_CHECK(v, LOOP_TOP, s->kind == PL_SINK_ROWS && t && t->limit > 0 && t->offset + t->limit == l->top);
    VF_CHECK(v, LOOP_TOP, l->top <= PL_LOOP_TOP_MAX && !l->later && !l->fused && l->tested == v->p->nsteps);
    const int by = st->sort[t->ngroup].field;
    VF_CHECK(v, LOOP_TOP, out_of(s, by) && pl_loop_ranks(st->fields[by].phys));
    const bool *slots = of_source(v);
    bool *read = HD_NEWN(v->arena, bool, v->p->nslots + 1);
    for (int i = 0; i < t->ngroup; i++) {
        const struct pl_out *o = out_of(s, st->sort[i].field);
        VF_CHECK(v, LOOP_TOP, o);
        pl_expr_reads(v->g->exprs, o->expr, read);
    }
    for (int i = 0; i < v->p->nslots; i++)
        VF_CHECK(v, LOOP_TOP, !read[i] || slots[i]);
    return true;
}

/* A lane asks with values of several rows, so that nothing may come of what it asks but an answer. */
static bool check_bounds(struct vf *v, const struct pl_loop *l)
{
    const struct pl_pipeline *p = v->p;
    const bool *slots = of_source(v);
    int first = p->levels[1].first_step + l->others;
    VF_CHECK(v, LOOP_BOUND, l->nbounds == 0 || l->top == 0);
    for (int i = 0; i < l->nbounds; i++) {
        const struct pl_pair_bound *b = &l->bounds[i];
        bool *read = HD_NEWN(v->arena, bool, p->nslots + 1);
        VF_CHECK(v, LOOP_BOUND, b->step >= first && b->step < l->tested && p->steps[b->step].kind == PL_STEP_FILTER);
        pl_step_reads(v->g->exprs, &p->steps[b->step], read);
        VF_CHECK(v, LOOP_BOUND, read[b->slot] && slots[b->slot] && pl_loop_ranks(p->slots[b->slot].phys));
        VF_CHECK(v, LOOP_BOUND, i == 0 || l->bounds[i - 1].step <= b->step);
    }
    return true;
}

bool vf_loop(struct vf *v)
{
    const struct pl_loop *l = &v->p->loop;
    const struct pl_sink *s = &v->p->sink;
    if (!l->rows)
        return true;
    VF_CHECK(v, LOOP, (l->rows == 1 || l->rows == 2 || l->rows == 4 || l->rows == 8) && is_of_pairs(v->p));
    const struct pl_step *opens = &v->p->steps[v->p->levels[1].first_step - 1];
    VF_CHECK(v, LOOP, l->later == (opens->kind == PL_STEP_EXPAND_LATER));
    VF_TRY(check_others(v, l));
    VF_CHECK(v, LOOP_TESTS, l->tested >= v->p->levels[1].first_step + l->others && l->tested <= v->p->nsteps);
    for (int i = l->tested; i < v->p->nsteps; i++)
        VF_CHECK(v, LOOP_TESTS, pl_step_form(v->p->steps[i].kind)->yields != PL_YIELDS_SOME);
    VF_TRY(check_run(v, l, &l->last, FE_LE));
    VF_TRY(check_run(v, l, &l->first, FE_GE));
    VF_TRY(check_part(v, l));
    VF_TRY(check_top(v, l));
    VF_TRY(check_bounds(v, l));
    VF_CHECK(v, LOOP_TESTS, !l->again || (!l->fused && !l->top && !l->later));
    bool adds = s->kind == PL_SINK_AGG_SCALAR || s->kind == PL_SINK_AGG_DENSE;
    VF_CHECK(v, LOOP_FUSED, !l->fused || (adds && s->place != PL_PLACE_MEMORY && !v->p->first_match));
    return true;
}
