/* Rules of folds: where they begin and end, what may stand in them, and who reads what they set. */
#include "planner/verify.h"

static bool is_in_a_fold(enum pl_step_kind k)
{
    return k == PL_STEP_LOAD_COLUMN || k == PL_STEP_LOAD_FIELD || k == PL_STEP_PROBE_KEY || k == PL_STEP_LET ||
           k == PL_STEP_FILTER || k == PL_STEP_FOLD_ADD;
}

/* Every FOLD has its FOLD_END, and each step of a fold stands in one. */
static bool check_nest(struct vf *v)
{
    const struct pl_pipeline *p = v->p;
    int open = -1;
    for (int i = 0; i < p->nsteps; i++) {
        const struct pl_step *s = &p->steps[i];
        v->step = i;
        if (pl_opens_fold(s->kind)) {
            VF_CHECK(v, FOLD_NEST, open < 0 && !p->loop.rows);
            open = i;
        } else if (s->kind == PL_STEP_FOLD_END) {
            VF_CHECK(v, FOLD_NEST, open >= 0);
            open = -1;
        } else {
            VF_CHECK(v, FOLD_NEST, open >= 0 || s->kind != PL_STEP_FOLD_ADD);
            VF_CHECK(v, FOLD_STEPS, open < 0 || is_in_a_fold(s->kind));
        }
    }
    VF_CHECK(v, FOLD_NEST, open < 0);
    return true;
}

static bool check_children(struct vf *v, const struct pl_step *s)
{
    const struct fe_foreign_key *fk = &s->table->fks[s->index];
    bool piece = s->kind == PL_STEP_FOLD_PIECE, others = s->probe == PL_LEFT && s->row_nullable && fk->nlong > 0;
    bool few = fk->max_children >= 0 && fk->max_children <= PL_FOLD_CHILDREN;
    VF_CHECK(v, FOLD_CHILDREN, !fk->child_rows && (few || others || (piece && s->piece > 0 && s->stride > 0)));
    return true;
}

static bool check_add(struct vf *v, const struct pl_step *s)
{
    const struct pl_slot *to = &v->p->slots[s->slot];
    const struct pl_expr *e = &v->g->exprs[s->expr];
    bool same = to->phys == e->phys && to->nullable == e->nullable, ok = false;
    switch (s->fn) {
    case FE_AGG_COUNT: ok = to->phys == RT_I64 && !to->nullable; break;
    case FE_AGG_SUM: ok = same && (to->phys == RT_I64 || to->phys == RT_I128 || to->phys == RT_F64); break;
    case FE_AGG_BIT_OR:
    case FE_AGG_BIT_XOR: ok = same && to->phys == RT_I64; break;
    case FE_AGG_MIN:
    case FE_AGG_MAX: ok = same && to->phys != RT_STR && to->phys != RT_BOOL; break;
#define T_AGG(id, ...) case FE_AGG_##id:
#include "frontend/aggs_said.def"
    case FE_AGG_COUNT_STAR:
    case FE_AGG_AVG:
    case FE_AGG_ANY:
    case FE_AGG_COUNT_OF: break;
    }
    VF_CHECK(v, FOLD_ADDS, ok);
    return true;
}

/* Slots that steps first .. end - 1 read. */
static bool *read_by(struct vf *v, int first, int end)
{
    bool *read = HD_NEWN(v->arena, bool, v->p->nslots + 1);
    for (int i = first; i < end; i++)
        pl_step_reads(v->g->exprs, &v->p->steps[i], read);
    return read;
}

/* Children are gone behind the fold, and what they amount to is known only there. */
static bool check_slots(struct vf *v, int first, int end)
{
    const struct pl_pipeline *p = v->p;
    const bool *inside = read_by(v, first, end);
    bool *behind = read_by(v, end, p->nsteps);
    pl_sink_reads(v->g->exprs, &p->sink, behind);
    for (int i = first; i < end; i++) {
        const struct pl_step *s = &p->steps[i];
        v->step = i;
        if (s->slot >= 0)
            VF_CHECK(v, FOLD_SLOTS, s->kind == PL_STEP_FOLD_ADD ? !inside[s->slot] : !behind[s->slot]);
    }
    return true;
}

/* A loop is in one function. */
static bool check_parts(struct vf *v, int first, int end)
{
    for (int i = 0; i < v->p->nparts; i++) {
        int cut = v->p->parts[i].end;
        VF_CHECK(v, FOLD_PART, cut <= first || cut > end);
    }
    return true;
}

bool vf_folds(struct vf *v)
{
    const struct pl_pipeline *p = v->p;
    VF_TRY(check_nest(v));
    for (int i = 0, first = -1; i < p->nsteps; i++) {
        v->step = i;
        if (pl_opens_fold(p->steps[i].kind)) {
            first = i;
            VF_TRY(check_children(v, &p->steps[i]));
        } else if (p->steps[i].kind == PL_STEP_FOLD_ADD) {
            VF_TRY(check_add(v, &p->steps[i]));
        } else if (p->steps[i].kind == PL_STEP_FOLD_END) {
            VF_TRY(check_slots(v, first, i));
            VF_TRY(check_parts(v, first, i));
        }
    }
    v->step = -1;
    return true;
}
