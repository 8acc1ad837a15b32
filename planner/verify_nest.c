/* Rules of what steps form: levels of the loop nest, the tile at its head, parts of a framed pipeline. */
#include "planner/verify.h"

/* ---- levels ----------------------------------------------------------------------------------- */

/* Levels are looked at from the deepest, so the first reader of a slot is the deepest one. */
static void mark_slot(int *deepest, int slot, int level)
{
    deepest[slot] = HD_MAX(deepest[slot], level);
}

static void mark_expr(struct vf *v, int *deepest, int i, int level)
{
    const struct pl_expr *e = &v->g->exprs[i];
    if (v->deep[i] == v->pipeline + 1)
        return;
    v->deep[i] = v->pipeline + 1;
    if (e->op == FE_COL)
        mark_slot(deepest, e->slot, level);
    for (int a = 0; a < e->nargs; a++)
        mark_expr(v, deepest, e->args[a], level);
}

static void mark_sink(struct vf *v, int *deepest, int level)
{
    const struct pl_sink *s = &v->p->sink;
    if (s->index >= 0)
        mark_expr(v, deepest, s->index, level);
    for (int i = 0; i < s->nouts; i++)
        if (s->outs[i].expr >= 0)
            mark_expr(v, deepest, s->outs[i].expr, level);
    for (int i = 0; i < s->ncopies; i++)
        if (s->copies[i].state >= 0)
            mark_slot(deepest, s->copies[i].row_slot, level);
}

/* By slot: the deepest level that reads it, -1 none. */
static int *deepest_readers(struct vf *v)
{
    int *deepest = HD_NEWN(v->arena, int, v->p->nslots + 1);
    for (int i = 0; i < v->p->nslots; i++)
        deepest[i] = -1;
    mark_sink(v, deepest, v->p->nlevels - 1);
    for (int i = v->p->nsteps - 1; i >= 0; i--) {
        const struct pl_step *s = &v->p->steps[i];
        if (s->row_slot >= 0)
            mark_slot(deepest, s->row_slot, s->level);
        if (s->expr >= 0)
            mark_expr(v, deepest, s->expr, s->level);
        for (int k = 0; k < s->nkeys; k++)
            mark_expr(v, deepest, s->keys[k], s->level);
    }
    return deepest;
}

/* Set outside of a level: by a step before the one that opens it. */
static bool is_outer(const struct vf *v, const struct pl_level *l, int slot)
{
    return v->set_by[slot] < l->first_step;
}

static bool check_level(struct vf *v, const struct pl_level *l, int number, const int *deepest)
{
    bool *carried = HD_NEWN(v->arena, bool, v->p->nslots + 1);
    int bytes = 0, needed = 0;
    for (int i = 0; i < l->nslots; i++) {
        int slot = l->slots[i];
        VF_CHECK(v, LEVEL_SLOTS, slot >= 0 && slot < v->p->nslots && !carried[slot]);
        VF_CHECK(v, LEVEL_SLOTS, is_outer(v, l, slot) && deepest[slot] >= number);
        carried[slot] = true;
        bytes += rt_phys_size(v->p->slots[slot].phys) + v->p->slots[slot].nullable;
    }
    for (int i = 0; i < v->p->nslots; i++)
        needed += is_outer(v, l, i) && deepest[i] >= number;
    VF_CHECK(v, LEVEL_SLOTS, needed == l->nslots);
    VF_CHECK(v, LEVEL_BYTES, bytes <= l->tuple_bytes && l->tuple_align > 0 && l->tuple_bytes % l->tuple_align == 0);
    return true;
}

static bool check_levels(struct vf *v)
{
    const struct pl_pipeline *p = v->p;
    int level = 0;
    VF_CHECK(v, LEVEL_COUNT, p->nlevels >= 1 && p->nlevels <= RT_MAX_LEVELS && p->spec->nlevels == p->nlevels);
    VF_CHECK(v, LEVEL_FIRST, p->levels[0].first_step == 0 && p->levels[0].nslots == 0);
    for (int i = 0; i < p->nsteps; i++)
        if (pl_opens_level(p->steps[i].kind)) {
            VF_CHECK(v, LEVEL_COUNT, ++level < p->nlevels);
            VF_CHECK(v, LEVEL_FIRST, p->levels[level].first_step == i + 1);
        }
    VF_CHECK(v, LEVEL_COUNT, level == p->nlevels - 1);
    if (level == 0)
        return true;
    const int *deepest = deepest_readers(v);
    for (int l = 1; l < p->nlevels; l++)
        VF_TRY(check_level(v, &p->levels[l], l, deepest));
    return true;
}

/* ---- tiles ------------------------------------------------------------------------------------ */

/* Trees of filters in tiles are small and hardly shared. */
static bool can_fail(const struct vf *v, int i)
{
    const struct pl_expr *e = &v->g->exprs[i];
    for (int a = 0; a < e->nargs; a++)
        if (can_fail(v, e->args[a]))
            return true;
    return e->fail;
}

static bool is_lookup(const struct pl_step *s)
{
    return (pl_step_form(s->kind)->tile & PL_TILE_LOOKUPS) && s->probe != PL_LEFT && s->probe != PL_MARK;
}

/* searched: strings, which the tile does not load. */
static bool is_tile_step(const struct vf *v, const struct pl_step *s, bool lookups, bool searched)
{
    bool table = v->p->spec->source == RT_SOURCE_TABLE;
    unsigned on_gpu = lookups ? PL_TILE_LOOKUPS | PL_TILE_BITS : 0;
    unsigned here = table ? PL_TILE_ROWS | on_gpu : PL_TILE_GROUPS;
    const struct pl_slot *slot = s->slot >= 0 ? &v->p->slots[s->slot] : NULL;
    if (!(pl_step_form(s->kind)->tile & here) || (pl_step_form(s->kind)->yields == PL_YIELDS_PROBED && !is_lookup(s)) ||
        (s->expr >= 0 && can_fail(v, s->expr)))
        return false;
    if (s->row_slot >= 0 && s->row_slot != v->p->source_slot)
        return false;
    return !slot || (searched == (slot->phys == RT_STR) && (!table || slot->phys != RT_I128));
}

/* By warps, where rows do not wait one by one. */
static bool may_search(const struct vf *v, const struct pl_tile_steps *t, int i)
{
    const struct pl_step *s = &v->p->steps[i];
    return t == &v->p->gpu_tile && !v->p->framed && !v->p->in_place && !v->p->loop.rows && !t->early[i] &&
           s->kind == PL_STEP_LOAD_COLUMN && s->table->cols[s->column].storage == FE_STORE_TEXT;
}

static bool check_tile(struct vf *v, const struct pl_tile_steps *t, bool possible, bool lookups)
{
    const struct pl_pipeline *p = v->p;
    VF_CHECK(v, TILE_COUNT, t->steps >= 0 && t->steps <= p->nsteps && (possible || t->steps == 0));
    for (int i = 0; i < t->steps; i++) {
        bool load = pl_step_form(p->steps[i].kind)->yields == PL_YIELDS_ONE;
        v->step = i;
        VF_CHECK(v, TILE_SEARCH, !t->searched[i] || may_search(v, t, i));
        VF_CHECK(v, TILE_STEP, is_tile_step(v, &p->steps[i], lookups, t->searched[i]));
        VF_CHECK(v, TILE_LOAD, load || (!t->early[i] && (!t->again[i] || is_lookup(&p->steps[i]))));
    }
    v->step = -1;
    VF_CHECK(v, TILE_END, t->steps == 0 || pl_step_form(p->steps[t->steps - 1].kind)->yields != PL_YIELDS_ONE);
    return true;
}

/* A CPU moves a last tile back over rows that the table has. */
static bool check_vectors(struct vf *v)
{
    const struct pl_tile_steps *t = &v->p->cpu_tile;
    VF_CHECK(v, TILE_TABLE, t->steps == 0 || v->p->spec->table->rows >= PL_CPU_TILE_ROWS);
    for (int i = 0; i < t->steps; i++) {
        const struct pl_step *s = &v->p->steps[i];
        const struct fe_table_column *c = s->table ? &s->table->cols[s->column] : NULL;
        v->step = i;
        VF_CHECK(v, TILE_VECTOR, s->expr < 0 || v->g->exprs[s->expr].vector);
        VF_CHECK(v, TILE_VECTOR, !c || (c->storage != FE_STORE_TEXT && c->width <= 8 && !s->row_nullable));
    }
    v->step = -1;
    return true;
}

static bool check_tiles(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    bool scan = r->source == RT_SOURCE_TABLE, groups = r->source == RT_SOURCE_INDEX;
    groups = groups || (r->source == RT_SOURCE_ROWS && v->spec->states[r->state].word);
    VF_TRY(check_tile(v, &v->p->cpu_tile, scan, false));
    VF_TRY(check_vectors(v));
    return check_tile(v, &v->p->gpu_tile, scan || groups, scan && !v->p->framed);
}

/* ---- parts ------------------------------------------------------------------------------------ */

static bool check_step_parts(struct vf *v)
{
    const struct pl_pipeline *p = v->p;
    int at = HD_MAX(p->cpu_tile.steps, p->gpu_tile.steps);
    for (int i = 0; i < p->nparts; i++) {
        const struct pl_part *q = &p->parts[i];
        while (at < p->nsteps && at < q->first && pl_opens_level(p->steps[at].kind))
            at++;
        VF_CHECK(v, PART_STEPS, q->first == at && q->end > at && q->end <= p->nsteps);
        for (; at < q->end; at++)
            VF_CHECK(v, PART_STEPS, !pl_opens_level(p->steps[at].kind));
    }
    while (at < p->nsteps && pl_opens_level(p->steps[at].kind))
        at++;
    VF_CHECK(v, PART_STEPS, at == p->nsteps);
    return true;
}

static bool check_out_parts(struct vf *v)
{
    const struct pl_sink *s = &v->p->sink;
    int at = 0, keys = s->kind == PL_SINK_AGG_HASH ? v->spec->states[s->state].nkeys : 0;
    for (int i = 0; i < s->nparts; i++) {
        const struct pl_part *q = &s->parts[i];
        VF_CHECK(v, PART_OUTS, q->first == at && q->end > at && q->end <= s->nouts);
        VF_CHECK(v, PART_OUTS, q->first >= keys || q->end <= keys);
        at = q->end;
    }
    VF_CHECK(v, PART_OUTS, at == s->nouts);
    return true;
}

static bool check_parts(struct vf *v)
{
    const struct pl_pipeline *p = v->p;
    if (!p->framed) {
        VF_CHECK(v, PART_FRAME, p->nparts == 0 && p->sink.nparts == 0);
        return true;
    }
    for (int i = 0; i < p->nsteps; i++)
        for (int k = 0; k < p->steps[i].nkeys && p->steps[i].nkeys > PL_PART_KEYS; k++)
            VF_CHECK(v, FRAME_KEYS, v->g->exprs[p->steps[i].keys[k]].op == FE_COL);
    VF_TRY(check_step_parts(v));
    return check_out_parts(v);
}

/* The step before the sink, or the sink itself, sets the bit. */
static bool check_first_match(struct vf *v)
{
    const struct pl_pipeline *p = v->p;
    if (!p->first_match)
        return true;
    const struct pl_step *last = p->nsteps ? &p->steps[p->nsteps - 1] : NULL;
    bool marks = last && last->kind == PL_STEP_MARK && last->row_slot == p->source_slot;
    VF_CHECK(v, FIRST_MATCH, p->nlevels <= 2 && (marks || p->sink.kind == PL_SINK_BITMAP));
    return true;
}

bool vf_nest(struct vf *v)
{
    VF_TRY(check_levels(v));
    VF_TRY(check_first_match(v));
    VF_TRY(check_tiles(v));
    return check_parts(v);
}
