/* Rules of sinks: what goes into which field of the state, and where a GPU keeps it meanwhile. */
#include <limits.h>

#include "planner/place_lanes.h"
#include "planner/verify.h"

static const struct {
    unsigned states;
    enum { NONE, EXACT, OR_NULL } index;
    enum { NOTHING, ALL, GROUPS } adds;
} forms[] = {
#define T_SINK(id, name, states, index, adds, reads) {states, index, adds},
#include "planner/sinks.def"
};

static const enum rt_merge merges[] = {
    [FE_AGG_COUNT_STAR] = RT_MERGE_SUM, [FE_AGG_COUNT] = RT_MERGE_SUM, [FE_AGG_SUM] = RT_MERGE_SUM,
    [FE_AGG_MIN] = RT_MERGE_MIN,        [FE_AGG_MAX] = RT_MERGE_MAX,   [FE_AGG_BIT_OR] = RT_MERGE_OR,
    [FE_AGG_BIT_XOR] = RT_MERGE_XOR,    [FE_AGG_ANY] = RT_MERGE_ANY};

static const struct rt_state *state_of(const struct vf *v)
{
    return &v->spec->states[v->p->sink.state];
}

static bool check_index(struct vf *v, const struct pl_sink *s)
{
    VF_CHECK(v, SINK_INDEX, (forms[s->kind].index != NONE) == (s->index >= 0));
    if (s->index < 0)
        return true;
    VF_TRY(vf_expr(v, s->index, v->p->nsteps));
    const struct pl_expr *e = &v->g->exprs[s->index];
    VF_CHECK(v, INDEX_TYPE, e->phys == RT_I64);
    VF_CHECK(v, SINK_INDEX_NULL, !e->nullable || forms[s->kind].index == OR_NULL);
    VF_CHECK(v, FRAME_INDEX, !v->p->framed || e->op == FE_COL);
    return true;
}

/* ---- outs ------------------------------------------------------------------------------------- */

static bool is_key(const struct vf *v, const struct pl_out *o)
{
    return o->field < state_of(v)->nkeys;
}

static bool counts(const struct vf *v, const struct pl_out *o)
{
    bool count = o->fn == FE_AGG_COUNT || o->fn == FE_AGG_COUNT_STAR;
    return forms[v->p->sink.kind].adds != NOTHING && !is_key(v, o) && count;
}

static bool check_function(struct vf *v, const struct pl_out *o)
{
    const struct rt_state *st = state_of(v);
    if (forms[v->p->sink.kind].adds == NOTHING || is_key(v, o))
        return true;
    VF_CHECK(v, OUT_FUNCTION, o->fn >= 0 && (size_t)o->fn < HD_COUNT(merges) && o->fn != FE_AGG_AVG);
    VF_CHECK(v, OUT_FUNCTION, merges[o->fn] == st->merge[o->field]);
    bool word = st->kind == RT_STATE_AGG_DENSE && st->fields[o->field].phys == RT_I32;
    VF_CHECK(v, OUT_FUNCTION, !counts(v, o) || word || st->fields[o->field].phys == RT_I64);
    return true;
}

static bool check_value(struct vf *v, const struct pl_out *o)
{
    const struct rt_field *f = &state_of(v)->fields[o->field];
    bool csr_index = state_of(v)->kind == RT_STATE_CSR && o->field == 0; /* rows without one are dropped */
    bool in_union = v->sinks[v->p->sink.state] > 1; /* fields are of the plan's types, which know more */
    VF_CHECK(v, OUT_EXPR, o->expr >= 0 || (counts(v, o) && o->fn == FE_AGG_COUNT_STAR));
    if (o->expr < 0)
        return true;
    VF_TRY(vf_expr(v, o->expr, v->p->nsteps));
    const struct pl_expr *e = &v->g->exprs[o->expr];
    VF_CHECK(v, FRAME_KEYS, !v->p->framed || !is_key(v, o) || e->op == FE_COL);
    if (counts(v, o))
        return true;
    VF_CHECK(v, OUT_TYPE, e->phys == f->phys);
    VF_CHECK(v, OUT_NULL, !e->nullable || f->valid_offset >= 0 || csr_index || in_union);
    return true;
}

static bool check_narrow(struct vf *v, const struct pl_out *o)
{
    VF_CHECK(v, OUT_NARROW,
             !o->narrow || (o->fn == FE_AGG_SUM && o->max > 0 && state_of(v)->fields[o->field].phys == RT_I128 &&
                            pl_place_row(v->p->sink.place)->thread));
    return true;
}

/* Row ids keep what they name on their way through a state. */
static void note_row(struct vf *v, const struct pl_out *o)
{
    const struct pl_expr *e = &v->g->exprs[o->expr];
    struct vf_row *f = &v->field_rows[v->p->sink.state][o->field];
    if (e->op != FE_COL)
        return;
    const struct vf_row *r = &v->rows[e->slot];
    if (!f->known && !f->missing)
        *f = *r;
    f->missing |= r->missing;
    f->known &= r->known && r->table == f->table && r->state == f->state;
}

static bool check_outs(struct vf *v, const struct pl_sink *s, bool *filled)
{
    const struct rt_state *st = state_of(v);
    for (int i = 0; i < s->nouts; i++) {
        const struct pl_out *o = &s->outs[i];
        VF_CHECK(v, OUT_FIELD, o->field >= 0 && o->field < st->nfields);
        VF_CHECK(v, OUT_ONCE, !filled[o->field]);
        VF_CHECK(v, OUT_KEYS, s->kind != PL_SINK_AGG_HASH || (i < st->nkeys) == (o->field < st->nkeys));
        VF_CHECK(v, OUT_KEYS, s->kind != PL_SINK_AGG_HASH || i >= st->nkeys || o->field == i);
        filled[o->field] = true;
        VF_TRY(check_function(v, o));
        VF_TRY(check_value(v, o));
        VF_TRY(check_narrow(v, o));
        if (o->expr >= 0)
            note_row(v, o);
    }
    return true;
}

/* ---- copies ----------------------------------------------------------------------------------- */

static bool check_copy(struct vf *v, const struct pl_copy *c, int end)
{
    VF_CHECK(v, COPY_ORDER, c->to >= end && c->bytes > 0 && c->to + c->bytes <= state_of(v)->stride);
    if (c->state < 0)
        return true;
    VF_CHECK(v, COPY_SOURCE, vf_state_is(v, c->state, VF_ROW_STATES));
    VF_CHECK(v, COPY_SOURCE, c->from >= 0 && c->from + c->bytes <= v->spec->states[c->state].stride);
    VF_TRY(vf_row_read(v, c->row_slot, v->p->nsteps, NULL, c->state, false));
    return vf_state_arg(v, c->a_rows, RT_ARG_STATE_ROWS, c->state);
}

/* The last copy that begins at or before a byte. */
static const struct pl_copy *copy_at(const struct pl_sink *s, int byte)
{
    int lo = 0, hi = s->ncopies;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (s->copies[mid].to <= byte)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? &s->copies[lo - 1] : NULL;
}

static bool is_copied(const struct pl_sink *s, int offset, int bytes)
{
    const struct pl_copy *c = copy_at(s, offset);
    return c && offset + bytes <= c->to + c->bytes;
}

static bool check_copies(struct vf *v, const struct pl_sink *s, const bool *filled)
{
    const struct rt_state *st = state_of(v);
    int end = 0;
    VF_CHECK(v, COPY_SINK, s->ncopies == 0 || (s->kind == PL_SINK_ROWS && st->kind == RT_STATE_ROWS));
    for (int i = 0; i < s->ncopies; i++) {
        VF_TRY(check_copy(v, &s->copies[i], end));
        end = s->copies[i].to + s->copies[i].bytes;
    }
    for (int i = 0; i < st->nfields; i++) {
        const struct rt_field *f = &st->fields[i];
        bool copied =
            is_copied(s, f->offset, rt_phys_size(f->phys)) && (f->valid_offset < 0 || is_copied(s, f->valid_offset, 1));
        VF_CHECK(v, OUT_ONCE, filled[i] != copied);
    }
    return true;
}

/* ---- places ----------------------------------------------------------------------------------- */

static bool has_cache(const struct pl_sink *s)
{
    for (int i = 0; i < PL_CACHE_COUNT; i++)
        if (s->caches[i])
            return true;
    return false;
}

/* Groups that a block keeps are rows of the state, and the address of each. */
static bool check_shared_bytes(struct vf *v, const struct pl_sink *s)
{
    int cached = HDD_CACHED_GROUPS * state_of(v)->stride;
    if (s->caches[PL_CACHE_BLOCK])
        VF_CHECK(v, PLACE_SHARED, s->shared_bytes >= cached);
    else
        VF_CHECK(v, PLACE_SHARED, s->shared_bytes == pl_place_shared(s, v->p->gpu.block_warps));
    return true;
}

/* Bits of words that no other accumulator has; shared ones have room for what so many rows, which stay in place, add up to. */
static bool check_lanes(struct vf *v, const struct pl_sink *s)
{
    if (s->place != PL_PLACE_LANES)
        return true;
    uint64_t *used = HD_NEWN(v->arena, uint64_t, s->lane_words + 1);
    VF_CHECK(v, PLACE_LANES, (uint64_t)s->lane_words * state_of(v)->range <= (uint64_t)s->place_size);
    for (int i = 0; i < s->nouts; i++) {
        const struct pl_out *o = &s->outs[i];
        const struct pl_lane_field *f = &o->lane;
        int bits = pl_lane_bits(state_of(v), o), words = f->bits > 64 ? 2 : 1;
        bool wide = state_of(v)->fields[o->field].phys == RT_I128 && !o->narrow, shares = f->bits < 64;
        VF_CHECK(v, PLACE_LANES, f->word >= 0 && f->word + words <= s->lane_words && (f->bits == 128) == wide);
        VF_CHECK(v, PLACE_LANES, f->bits > 0 && f->shift >= 0 && (words == 2 || f->shift + f->bits <= 64));
        VF_CHECK(v, PLACE_LANES, !shares || (v->p->in_place && s->lane_room >= PL_LANE_ROOM_LEAST));
        VF_CHECK(v, PLACE_LANES, !shares || (bits > 0 && f->value_bits == bits && bits + s->lane_room <= f->bits));
        for (int w = f->word; w < f->word + words; w++) {
            uint64_t mine = shares ? (((uint64_t)1 << f->bits) - 1) << f->shift : UINT64_MAX;
            VF_CHECK(v, PLACE_LANES, (used[w] & mine) == 0);
            used[w] |= mine;
        }
    }
    return true;
}

/* Lanes take turns with the copies, so these divide the lanes of a warp. */
static bool check_counts(struct vf *v, const struct pl_sink *s)
{
    if (s->place != PL_PLACE_HISTOGRAM)
        return true;
    VF_CHECK(v, PLACE_COUNTS, v->p->loop.rows > 0 && s->nouts == 1 && s->outs[0].fn == FE_AGG_COUNT_STAR);
    VF_CHECK(v, PLACE_COUNTS, s->count_copies > 0 && HDD_WARP_LANES % s->count_copies == 0);
    uint64_t counts = state_of(v)->range * (uint64_t)s->count_copies;
    VF_CHECK(v, PLACE_COUNTS, (uint64_t)s->place_size >= counts * sizeof(uint32_t));
    return true;
}

/* Each lane adds, and stores nothing. */
static bool check_apart(struct vf *v, const struct pl_sink *s)
{
    const struct rt_state *st = state_of(v);
    if (!s->by_lane)
        return true;
    VF_CHECK(v, PLACE_APART, s->kind == PL_SINK_AGG_DENSE && s->place == PL_PLACE_MEMORY && !has_cache(s));
    VF_CHECK(v, PLACE_APART, st->presence > 0 && !v->p->framed);
    for (int i = 0; i < st->nfields; i++)
        VF_CHECK(v, PLACE_APART, st->merge[i] == RT_MERGE_SUM);
    return true;
}

static bool check_place(struct vf *v, const struct pl_sink *s)
{
    const struct rt_state *st = state_of(v);
    VF_CHECK(v, PLACE, (unsigned)s->place < PL_PLACE_COUNT);
    const struct pl_place_row *row = pl_place_row(s->place);
    int limit = pl_has_queues(v->p) ? row->beside : row->alone;
    VF_CHECK(v, PLACE, s->place == PL_PLACE_MEMORY || (vf_is_one_of((int)s->kind, row->sinks) && !v->p->framed));
    VF_CHECK(v, PLACE, !row->sized || s->place_size > 0);
    VF_CHECK(v, PLACE, s->place_size >= 0 && (limit == 0 || s->place_size <= limit));
    VF_CHECK(v, PLACE, s->place != PL_PLACE_BLOCK || (uint64_t)s->place_size >= st->range * (uint64_t)st->stride);
    VF_TRY(check_lanes(v, s));
    VF_TRY(check_counts(v, s));
    VF_TRY(check_apart(v, s));
    VF_TRY(check_shared_bytes(v, s));
    VF_CHECK(v, PLACE_ROWS, !v->p->in_place || (row->thread && v->p->nlevels == 1 && !v->p->framed));
    VF_CHECK(v, PLACE_SOLE, !row->sole || v->sinks[s->state] == 1);
    VF_CHECK(v, PLACE_SOLE, s->place != PL_PLACE_RUNS || s->clustered);
    VF_CHECK(v, PLACE_CACHE,
             !has_cache(s) || (s->place == PL_PLACE_MEMORY && forms[s->kind].adds == GROUPS && !v->p->framed));
    return true;
}

bool vf_sink(struct vf *v)
{
    const struct pl_sink *s = &v->p->sink;
    VF_CHECK(v, SINK_KIND, (unsigned)s->kind < PL_SINK_COUNT);
    VF_CHECK(v, SINK_STATE, vf_state_is(v, s->state, forms[s->kind].states));
    bool *filled = HD_NEWN(v->arena, bool, state_of(v)->nfields + 1);
    VF_TRY(check_index(v, s));
    VF_TRY(check_outs(v, s, filled));
    VF_TRY(check_copies(v, s, filled));
    VF_CHECK(v, SINK_ATOMIC, s->atomic == state_of(v)->shared);
    VF_CHECK(v, SINK_CLUSTERED, !s->clustered || forms[s->kind].adds == GROUPS);
    VF_TRY(vf_sink_args(v, s));
    return check_place(v, s);
}
