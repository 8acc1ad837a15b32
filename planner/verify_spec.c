/* Rules of what the runtime obeys: pipelines, states, the result. */
#include "planner/verify.h"

#include "planner/cost.h"

#define S(kind) VF_BIT(RT_STATE_##kind)

/* ---- sources ---------------------------------------------------------------------------------- */

static bool has_source(const struct vf *v, const struct rt_pipeline *r)
{
    switch (r->source) {
    case RT_SOURCE_TABLE: return r->table != NULL;
    case RT_SOURCE_ROWS: return vf_state_is(v, r->state, S(ROWS) | S(CSR) | S(HASH) | S(AGG_HASH) | S(AGG_SCALAR));
    case RT_SOURCE_INDEX: return vf_state_is(v, r->state, S(DIRECT) | S(AGG_DENSE));
    case RT_SOURCE_DICT:
        return r->table && r->column >= 0 && r->column < r->table->ncols &&
               r->table->cols[r->column].storage == FE_STORE_DICT;
    }
    return false;
}

static bool scans_slots(const struct vf *v, const struct rt_pipeline *r)
{
    return r->source == RT_SOURCE_ROWS && v->spec->states[r->state].word;
}

bool vf_source(struct vf *v)
{
    const struct pl_pipeline *p = v->p;
    VF_CHECK(v, SOURCE, has_source(v, p->spec));
    VF_CHECK(v, STATE_WORD, !scans_slots(v, p->spec) || (p->nsteps > 0 && p->steps[0].kind == PL_STEP_PRESENT));
    VF_CHECK(v, SOURCE_SLOT, p->source_slot >= 0 && p->source_slot < p->nslots);
    const struct pl_slot *s = &p->slots[p->source_slot];
    VF_CHECK(v, SOURCE_SLOT, s->phys == RT_I32 && !s->nullable);
    return true;
}

/* ---- touched columns -------------------------------------------------------------------------- */

/* By table, kind and number; places for twice as many as there are. */
struct touched {
    const struct fe_table_part **places;
    size_t mask;
};

static const struct fe_table_part **touched_at(const struct touched *t, struct fe_table_part p)
{
    size_t i = ((size_t)(uintptr_t)p.table >> 4) + (size_t)p.kind * 31 + (size_t)(unsigned)p.number * 0x9e3779b1u;
    for (;; i++) {
        const struct fe_table_part **at = &t->places[i & t->mask];
        if (!*at || ((*at)->table == p.table && (*at)->kind == p.kind && (*at)->number == p.number))
            return at;
    }
}

static bool is_of_table(const struct fe_table_part *t)
{
    if (!t->table || t->number < 0)
        return false;
    switch (t->kind) {
    case FE_PART_COLUMN:
    case FE_PART_ZONES: return t->number < t->table->ncols;
    case FE_PART_KEYIDX: return t->number < t->table->nkeyidx;
    case FE_PART_FK: return t->number < t->table->nfks;
    }
    return false;
}

static bool list_touched(struct vf *v, struct touched *t)
{
    const struct rt_pipeline *r = v->p->spec;
    size_t places = 2;
    while (places < 2 * (size_t)r->ntouched + 2)
        places *= 2;
    t->mask = places - 1;
    t->places = HD_NEWN(v->arena, const struct fe_table_part *, places);
    for (int i = 0; i < r->ntouched; i++) {
        VF_CHECK(v, TOUCHED, is_of_table(&r->touched[i]));
        const struct fe_table_part **at = touched_at(t, r->touched[i]);
        VF_CHECK(v, TOUCHED, !*at);
        *at = &r->touched[i];
    }
    return true;
}

static bool is_touched(const struct touched *t, const struct fe_table *table, enum fe_part_kind kind, int number)
{
    return *touched_at(t, (struct fe_table_part){table, kind, number}) != NULL;
}

static bool reads_dicts(struct vf *v, const struct touched *t)
{
    for (int i = 0; i < v->nlooks; i++) {
        const struct pl_expr *e = &v->g->exprs[v->looks[i]];
        const struct rt_arg *a = &v->spec->args[e->arg];
        v->expr = v->looks[i];
        VF_CHECK(v, TOUCHED_ALL, e->op == FE_LOOKUP || is_touched(t, a->table, FE_PART_COLUMN, a->column));
    }
    v->expr = -1;
    return true;
}

static bool check_touched(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    struct touched t;
    VF_TRY(list_touched(v, &t));
    VF_CHECK(v, TOUCHED_ALL, r->source != RT_SOURCE_DICT || is_touched(&t, r->table, FE_PART_COLUMN, r->column));
    for (int i = 0; i < v->p->nsteps; i++) {
        const struct pl_step *s = &v->p->steps[i];
        v->step = i;
        if (s->kind == PL_STEP_LOAD_COLUMN || s->kind == PL_STEP_PROBE_CHILD ||
            pl_step_form(s->kind)->subject == PL_OF_ORDER)
            VF_CHECK(v, TOUCHED_ALL, is_touched(&t, s->table, FE_PART_COLUMN, s->column));
        if (s->kind == PL_STEP_PROBE_KEY)
            VF_CHECK(v, TOUCHED_ALL, is_touched(&t, s->table, FE_PART_KEYIDX, s->index));
        if (pl_step_form(s->kind)->subject == PL_OF_FK)
            VF_CHECK(v, TOUCHED_ALL, is_touched(&t, s->table, FE_PART_FK, s->index));
    }
    v->step = -1;
    return reads_dicts(v, &t);
}

/* ---- the rest of a pipeline -------------------------------------------------------------------- */

static bool check_writes(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    int n = 1;
    VF_CHECK(v, WRITES, r->nwrites > 0 && r->writes[0] == v->p->sink.state);
    for (int i = 0; i < v->p->nsteps; i++)
        if (v->p->steps[i].kind == PL_STEP_MARK)
            VF_CHECK(v, WRITES, n < r->nwrites && r->writes[n++] == v->p->steps[i].state);
    VF_CHECK(v, WRITES, n == r->nwrites);
    return true;
}

/* The state is read by this pipeline; counts those that were not known to be. */
static int read_state(struct vf *v, int state)
{
    if (state < 0 || v->read_by[state] == v->pipeline + 1)
        return 0;
    v->read_by[state] = v->pipeline + 1;
    return 1;
}

static bool check_reads(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    int n = read_state(v, r->state);
    for (int i = 0; i < v->p->nsteps; i++)
        n += read_state(v, v->p->steps[i].state);
    for (int i = 0; i < v->p->sink.ncopies; i++)
        n += read_state(v, v->p->sink.copies[i].state);
    for (int i = 0; i < v->nlooks; i++)
        if (v->g->exprs[v->looks[i]].op == FE_LOOKUP)
            n += read_state(v, v->g->exprs[v->looks[i]].state);
    VF_CHECK(v, READS, n == r->nreads);
    for (int i = 0; i < r->nreads; i++) {
        VF_CHECK(v, READS, vf_state_is(v, r->reads[i], ~0u) && v->read_by[r->reads[i]] == v->pipeline + 1);
        v->read_by[r->reads[i]] = 0;
    }
    return true;
}

static bool check_counters(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    VF_CHECK(v, COUNTERS, r->ncounters == v->p->nsteps + 1 && r->counter_names && r->counter_est);
    for (int i = 0; i < r->ncounters; i++)
        VF_CHECK(v, COUNTERS, r->counter_names[i]);
    return true;
}

static bool check_accesses(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    for (int i = 0; i < r->naccesses; i++) {
        const struct rt_access *x = &r->accesses[i];
        VF_CHECK(v, ACCESSES, x->counter >= 0 && x->counter < r->ncounters && x->runs < x->counter);
        VF_CHECK(v, ACCESSES, x->items >= 0 && x->state < v->g->spec->nstates);
        VF_CHECK(v, ACCESSES, x->table ? x->column >= 0 && x->column < x->table->ncols : x->stride > 0 && x->bytes > 0);
    }
    return true;
}

static bool fits_shape(const struct pl_pipeline *p)
{
    switch (p->spec->shape) {
    case RT_SHAPE_STRAIGHT: return p->nlevels == 1 && p->gpu_tile.steps > 0;
    case RT_SHAPE_ALL_ROWS: return p->nlevels == 1 && p->gpu_tile.steps == 0;
    case RT_SHAPE_IN_PLACE: return p->nlevels == 1 && p->in_place;
    case RT_SHAPE_LOOP: return p->loop.rows > 0;
    case RT_SHAPE_BY_LANE: return !p->loop.rows && !p->in_place && !p->spec->ordered;
    case RT_SHAPE_NIFS:
    case RT_SHAPE_AWS:
    case RT_SHAPE_ANY: return pl_has_queues(p);
    }
    return false;
}

static bool fills_from_front(const struct vf *v, const struct rt_pipeline *r)
{
    if (r->source != RT_SOURCE_TABLE || r->column < 0 || r->column >= r->table->ncols)
        return false;
    const struct fe_table_column *c = &r->table->cols[r->column];
    return v->spec->states[v->p->sink.state].bounded && c->storage == FE_STORE_INT && c->facts.sorted;
}

static bool check_ends(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    VF_CHECK(v, PIPELINE_ENDS, !r->nends || r->source == RT_SOURCE_TABLE);
    for (int i = 0; i < r->nends; i++) {
        const struct rt_end *e = &r->ends[i];
        VF_CHECK(v, PIPELINE_ENDS, e->column >= 0 && e->column < r->table->ncols);
        VF_CHECK(v, PIPELINE_ENDS, pl_column_is_sorted(r->table, e->column));
        VF_CHECK(v, PIPELINE_ENDS, e->arg >= 0 && e->arg < v->spec->nargs);
        const struct rt_arg *a = &v->spec->args[e->arg];
        VF_CHECK(v, PIPELINE_ENDS, a->kind == RT_ARG_CONST || (a->kind == RT_ARG_SET && a->nset > 0));
        VF_CHECK(v, PIPELINE_ENDS, a->phys == RT_I32 || a->phys == RT_I64 || a->phys == RT_I128);
    }
    return true;
}

static bool check_zone_test(struct vf *v, const struct rt_pipeline *r, const struct rt_zone_test *t)
{
    VF_CHECK(v, PIPELINE_ZONES, rt_zone_test_is_kind((int)t->kind));
    VF_CHECK(v, PIPELINE_ZONES, t->column >= 0 && t->column < r->table->ncols && r->table->cols[t->column].zones);
    enum rt_zone_takes takes = rt_zone_test_takes(t->kind);
    VF_CHECK(v, PIPELINE_ZONES, (t->arg >= 0) == (takes != RT_ZONE_TAKES_NOTHING) && t->arg < v->spec->nargs);
    enum rt_arg_kind wanted = takes == RT_ZONE_TAKES_SET ? RT_ARG_SET : RT_ARG_CONST;
    VF_CHECK(v, PIPELINE_ZONES, t->arg < 0 || v->spec->args[t->arg].kind == wanted);
    return true;
}

static bool check_zones(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    const struct rt_zoning *z = &r->zones;
    VF_CHECK(v, PIPELINE_ZONES, !z->nconditions || r->source == RT_SOURCE_TABLE);
    VF_CHECK(v, PIPELINE_ZONES, z->nconditions || !z->nranges);
    for (int i = 0; i < z->nconditions; i++)
        for (int k = 0; k < z->conditions[i].ntests; k++)
            VF_TRY(check_zone_test(v, r, &z->conditions[i].tests[k]));
    for (int i = 0; i < z->nranges; i++) {
        const struct rt_source_rows *a = &z->ranges[i];
        bool last = i + 1 == z->nranges;
        VF_CHECK(v, PIPELINE_ZONES, a->begin % FE_ZONE_ROWS == 0 && a->begin < a->end);
        VF_CHECK(v, PIPELINE_ZONES, a->end <= (uint64_t)r->table->rows);
        VF_CHECK(v, PIPELINE_ZONES, last || (a->end % FE_ZONE_ROWS == 0 && a->end < z->ranges[i + 1].begin));
    }
    return true;
}

static bool is_streamed(const struct rt_pipeline *r, int arg)
{
    for (int i = 0; i < r->nstreamed; i++)
        if (r->streamed[i] == arg)
            return true;
    return false;
}

/* Of an argument that a step reads. */
static bool check_way(struct vf *v, const struct pl_step *s, int arg)
{
    const struct rt_pipeline *r = v->p->spec;
    const struct rt_arg *a = &v->spec->args[arg];
    bool at_row = r->source == RT_SOURCE_TABLE && s->kind == PL_STEP_LOAD_COLUMN && s->row_slot == v->p->source_slot;
    VF_CHECK(v, STREAMED, a->way != RT_WAY_STREAMED || is_streamed(r, arg));
    VF_CHECK(v, STREAMED, !is_streamed(r, arg) || at_row);
    return true;
}

static bool check_streamed(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    VF_CHECK(v, STREAMED, (r->chunk_rows > 0) == (r->nstreamed > 0) && r->chunk_rows % RT_FRAGMENT_ROWS == 0);
    for (int i = 0; i < r->nstreamed; i++)
        VF_CHECK(v, STREAMED, v->spec->args[r->streamed[i]].way != RT_WAY_RESIDENT);
    for (int i = 0; i < v->p->nsteps; i++) {
        const struct pl_step *s = &v->p->steps[i];
#define X(name) \
    if (s->a_##name >= 0) \
        VF_TRY(check_way(v, s, s->a_##name));
        PL_STEP_ARGS(X)
#undef X
    }
    return true;
}

bool vf_pipeline_spec(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    bool sharing = r->shape == RT_SHAPE_AWS || r->shape == RT_SHAPE_ANY;
    VF_TRY(check_writes(v));
    VF_TRY(check_reads(v));
    VF_TRY(check_touched(v));
    VF_TRY(check_counters(v));
    VF_TRY(check_accesses(v));
    VF_CHECK(v, SHAPE, fits_shape(v->p));
    VF_CHECK(v, BALANCE, r->balance < RT_BALANCE_COUNT && rt_shape_has(r->shape, r->balance));
    VF_CHECK(v, PIPELINE_FRONT, !r->front || fills_from_front(v, r));
    VF_TRY(check_ends(v));
    VF_TRY(check_zones(v));
    VF_TRY(check_streamed(v));
    VF_CHECK(v, STATE_THERE, !v->spec->states[v->p->sink.state].sorted || r->ordered);
    VF_CHECK(v, ORDERED, !r->ordered || (r->balance == RT_BALANCE_NONE && !sharing));
    return true;
}

/* ---- states ----------------------------------------------------------------------------------- */

enum {
    LOOKED_UP = 1u << RT_STATE_BITMAP | 1u << RT_STATE_DIRECT | 1u << RT_STATE_CSR | 1u << RT_STATE_HASH,
    WITH_KEYS = 1u << RT_STATE_HASH | 1u << RT_STATE_AGG_HASH,
    WITH_RANGE = 1u << RT_STATE_BITMAP | 1u << RT_STATE_DIRECT | 1u << RT_STATE_CSR | 1u << RT_STATE_AGG_DENSE
};

static bool is_one_of(const struct rt_state *st, unsigned kinds)
{
    return vf_is_one_of((int)st->kind, kinds);
}

static bool claim(unsigned char *bytes, int stride, int at, int n)
{
    if (at < 0 || at + n > stride)
        return false;
    for (int i = at; i < at + n; i++)
        if (bytes[i]++)
            return false;
    return true;
}

static bool says_presence(const struct rt_state *st)
{
    int f = st->presence - 1;
    enum rt_phys p = st->fields[f].phys;
    return st->merge[f] == RT_MERGE_SUM && (p == RT_I64 || p == RT_I32) && st->fields[f].valid_offset < 0;
}

static bool is_narrow_sum(const struct rt_state *st, int f)
{
    const struct rt_field *d = &st->fields[f];
    return (d->bytes == 1 || d->bytes == 2) && st->kind == RT_STATE_AGG_DENSE && st->merge[f] == RT_MERGE_SUM &&
           d->phys == RT_I32 && d->valid_offset < 0;
}

static bool check_layout(struct vf *v, const struct rt_state *st)
{
    int head = rt_state_head(st);
    VF_CHECK(v, STATE_PRESENCE, st->presence >= 0 && st->presence <= st->nfields);
    VF_CHECK(v, STATE_PRESENCE, !st->presence || (st->kind == RT_STATE_AGG_DENSE && says_presence(st)));
    VF_CHECK(v, STATE_STRIDE, st->stride > 0 && st->stride % rt_state_align(st) == 0);
    unsigned char *bytes = HD_NEWN(v->arena, unsigned char, st->stride);
    VF_CHECK(v, STATE_LAYOUT, claim(bytes, st->stride, 0, head));
    for (int i = 0; i < st->nfields; i++) {
        const struct rt_field *f = &st->fields[i];
        int size = rt_field_size(f);
        VF_CHECK(v, FIELD_BYTES, !f->bytes || is_narrow_sum(st, i));
        VF_CHECK(v, STATE_LAYOUT, f->offset % (f->phys == RT_STR ? 8 : size) == 0);
        VF_CHECK(v, STATE_LAYOUT, claim(bytes, st->stride, f->offset, size));
        VF_CHECK(v, STATE_LAYOUT, f->valid_offset < 0 || claim(bytes, st->stride, f->valid_offset, 1));
    }
    return true;
}

static bool check_merge(struct vf *v, const struct rt_state *st)
{
    for (int i = 0; i < st->nfields; i++) {
        bool valid = st->merge[i] == RT_MERGE_MIN || st->merge[i] == RT_MERGE_MAX || st->merge[i] == RT_MERGE_ANY;
        VF_CHECK(v, STATE_MERGE, (i < st->nkeys) == (st->merge[i] == RT_MERGE_KEY));
        VF_CHECK(v, STATE_MERGE, !valid || st->fields[i].valid_offset >= 0);
        VF_CHECK(v, STATE_SHARED, !st->shared || st->merge[i] == RT_MERGE_SUM);
    }
    return true;
}

/* Sums of float64 would depend on the order of rows. */
static bool check_borders(struct vf *v, const struct rt_state *st)
{
    VF_CHECK(v, STATE_BORDERS, st->segment >= 0 && st->segment <= st->nfields);
    VF_CHECK(v, STATE_BORDERS, !st->segment || st->fields[st->segment - 1].border == RT_BORDER_BEGIN);
    for (int i = 0; i < st->nfields; i++) {
        const struct rt_field *f = &st->fields[i];
        VF_CHECK(v, STATE_BORDERS, f->border == RT_BORDER_NONE || (st->kind == RT_STATE_ROWS && f->phys == RT_I32));
        VF_CHECK(v, STATE_BORDERS, f->border_keys >= 0 && f->border_keys <= st->nsort);
    }
    return true;
}

static bool is_field(const struct rt_state *st, int f)
{
    return f >= 0 && f < st->nfields;
}

static bool check_searches(struct vf *v, const struct rt_state *st)
{
    VF_CHECK(v, STATE_SEARCH, st->nsearch == 0 || (st->nsearch > 0 && st->kind == RT_STATE_ROWS && st->nsort > 0));
    for (int i = 0; i < st->nsearch; i++) {
        const struct rt_search *q = &st->search[i];
        VF_CHECK(v, STATE_SEARCH, is_field(st, q->field) && is_field(st, q->key) && is_field(st, q->limit));
        VF_CHECK(v, STATE_SEARCH, is_field(st, q->begin) && st->fields[q->begin].border == RT_BORDER_BEGIN);
        VF_CHECK(v, STATE_SEARCH, is_field(st, q->end) && st->fields[q->end].border == RT_BORDER_END);
        VF_CHECK(v, STATE_SEARCH, st->fields[q->field].phys == RT_I32 && q->field != q->key && q->field != q->limit);
        VF_CHECK(v, STATE_SEARCH, st->fields[q->key].phys == st->fields[q->limit].phys);
        VF_CHECK(v, STATE_SEARCH, !q->by || (q->key == q->limit && st->fields[q->key].border == RT_BORDER_COUNT));
    }
    return true;
}

/* A number that finishing writes, or the row's own one. */
static bool is_bound(const struct rt_state *st, int f)
{
    return f == -1 || (is_field(st, f) && st->fields[f].phys == RT_I32);
}

/* A fold of other fields, which finishing leaves as they are. */
static bool is_of_fields(const struct rt_state *st, int i)
{
    const struct rt_frame *w = st->fields[i].frame;
    bool products = st->merge[i] == RT_MERGE_PRODUCTS;
    if (!is_field(st, w->x) || !is_field(st, w->y) || st->merge[w->x] != RT_MERGE_KEY ||
        st->merge[w->y] != RT_MERGE_KEY)
        return false;
    bool floats = st->fields[w->x].phys == RT_F64 && st->fields[w->y].phys == RT_F64;
    return st->fields[i].phys == (products ? RT_F64 : RT_I64) && (!products || floats);
}

/* By ranks: of a field of numbers, and of one with values of the field's own kind, or of none. */
static bool is_ranked(const struct rt_state *st, int i)
{
    const struct rt_frame *w = st->fields[i].frame;
    bool nth = st->merge[i] == RT_MERGE_NTH, counts = w->y < 0;
    enum rt_phys p = st->fields[i].phys;
    if (!is_field(st, w->x) || st->merge[w->x] != RT_MERGE_KEY || st->fields[w->x].phys != RT_I32)
        return false;
    if (nth)
        return p == RT_I64 && counts && w->share.den > 0 && w->share.num >= 0 && w->share.num <= w->share.den;
    if (st->merge[i] == RT_MERGE_MODE)
        return p == RT_I64 && counts;
    if (counts)
        return p == RT_I64 && st->merge[i] == RT_MERGE_DISTINCT;
    bool sums = p == RT_I64 || (st->merge[i] == RT_MERGE_DISTINCT && (p == RT_I128 || p == RT_F64));
    return sums && is_field(st, w->y) && st->merge[w->y] == RT_MERGE_KEY && st->fields[w->y].phys == p;
}

/* Strings of another field, one behind the other. */
static bool is_joined(const struct rt_state *st, int i)
{
    const struct rt_frame *w = st->fields[i].frame;
    return st->fields[i].phys == RT_STR && is_field(st, w->x) && st->merge[w->x] == RT_MERGE_KEY &&
           st->fields[w->x].phys == RT_STR && w->y < 0 && w->separator;
}

static bool check_frames(struct vf *v, const struct rt_state *st)
{
    for (int i = 0; i < st->nfields; i++) {
        const struct rt_field *f = &st->fields[i];
        const struct rt_frame *w = f->frame;
        enum rt_phys p = f->phys;
        if (!w)
            continue;
        bool sum = st->merge[i] == RT_MERGE_SUM, folds = st->merge[i] != RT_MERGE_KEY && st->merge[i] != RT_MERGE_ANY;
        VF_CHECK(v, STATE_FRAMES, st->kind == RT_STATE_ROWS && f->valid_offset >= 0 && folds);
        VF_CHECK(v, STATE_FRAMES, is_field(st, w->begin) && st->fields[w->begin].border == RT_BORDER_BEGIN);
        VF_CHECK(v, STATE_FRAMES, is_field(st, w->end) && st->fields[w->end].border == RT_BORDER_END);
        VF_CHECK(v, STATE_FRAMES, w->nspans > 0 && w->nspans <= RT_FRAME_SPANS);
        for (int k = 0; k < 2 * w->nspans; k++) {
            const struct rt_frame_span *s = &w->span[k / 2];
            VF_CHECK(v, STATE_FRAMES, is_bound(st, s->from[k % 2]) && is_bound(st, s->to[k % 2]));
        }
        VF_CHECK(v, STATE_FRAMES, st->merge[i] != RT_MERGE_XOR && (st->merge[i] != RT_MERGE_OR || p == RT_I64));
        VF_CHECK(v, STATE_FRAMES, !rt_merge_is_of_fields(st->merge[i]) || is_of_fields(st, i));
        VF_CHECK(v, STATE_FRAMES, !rt_merge_is_ranked(st->merge[i]) || is_ranked(st, i));
        VF_CHECK(v, STATE_FRAMES, st->merge[i] != RT_MERGE_TEXT || is_joined(st, i));
        VF_CHECK(v, STATE_FRAMES, p != RT_BOOL && p != RT_F32 && !(sum && (p == RT_I32 || p == RT_STR)));
        for (int k = 0; k < st->nsort; k++)
            VF_CHECK(v, STATE_FRAMES, st->sort[k].field != i);
    }
    return true;
}

static bool check_places(struct vf *v, const struct rt_state *st)
{
    VF_CHECK(v, STATE_PLACES, st->nplace == 0 || (st->nplace > 0 && st->kind == RT_STATE_ROWS && st->segment));
    for (int i = 0; i < st->nplace; i++) {
        const struct rt_nth *q = &st->place[i];
        VF_CHECK(v, STATE_PLACES, is_field(st, q->field) && st->fields[q->field].phys == RT_I64);
        VF_CHECK(v, STATE_PLACES, is_field(st, q->count) && st->fields[q->count].phys == RT_I64);
        VF_CHECK(v, STATE_PLACES, rt_state_field_runs(st, q->count) && st->merge[q->count] == RT_MERGE_SUM);
    }
    return true;
}

static bool check_running(struct vf *v, const struct rt_state *st)
{
    for (int i = 0; i < st->nfields; i++) {
        enum rt_phys p = st->fields[i].phys;
        bool sum = rt_state_field_runs(st, i) && st->merge[i] == RT_MERGE_SUM;
        VF_CHECK(v, STATE_RUNNING, !sum || p == RT_I64 || p == RT_I128 || (p == RT_F64 && st->segment));
        bool bits = rt_state_field_runs(st, i) && (st->merge[i] == RT_MERGE_OR || st->merge[i] == RT_MERGE_XOR);
        VF_CHECK(v, STATE_RUNNING, !bits || p == RT_I64);
        VF_CHECK(v, STATE_RUNNING, !rt_state_field_runs(st, i) || (p != RT_BOOL && p != RT_F32 && p != RT_STR));
    }
    for (int i = 0; i < st->nsort; i++)
        VF_CHECK(v, STATE_RUNNING, !rt_state_field_runs(st, st->sort[i].field));
    return true;
}

static bool is_there(const struct rt_state *st, int f, enum rt_phys p)
{
    return is_field(st, f) && st->fields[f].phys == p && st->fields[f].valid_offset < 0;
}

static bool is_text(const struct rt_state *st)
{
    const struct rt_text *t = st->text;
    bool fields = is_there(st, t->value, RT_STR) && is_there(st, t->running, RT_I64) &&
                  is_there(st, t->begin, RT_I32) && is_there(st, t->end, RT_I32);
    return fields && rt_state_field_runs(st, t->running) && !st->segment &&
           st->fields[t->begin].border == RT_BORDER_BEGIN && st->fields[t->end].border == RT_BORDER_END;
}

static bool is_top(const struct rt_state *st)
{
    const struct rt_top *t = st->top;
    bool keys = t->ngroup >= 0 && t->ngroup < t->nstated && t->nstated <= st->nsort;
    return keys && t->limit >= 0 && t->offset >= 0 && st->limit == -1 && st->offset == 0 && st->nvalues == 0;
}

/* The first sort key has a word that orders like it. */
static bool has_word(const struct rt_state *st)
{
    enum rt_phys p = st->fields[st->sort[0].field].phys;
    return p != RT_BOOL && p != RT_STR;
}

static bool fits_sorted(const struct rt_state *st)
{
    return st->sorted > 0 && st->sorted <= st->nsort && st->limit == -1 && !st->offset && !(st->top && st->top->prune);
}

static bool check_rows(struct vf *v, const struct rt_state *st)
{
    bool rows = st->kind == RT_STATE_ROWS;
    VF_CHECK(v, STATE_ROWS_ONLY,
             rows ||
                 (st->nsort == 0 && st->limit == -1 && st->offset == 0 && !st->single && st->nvalues == 0 && !st->top));
    for (int i = 0; i < st->nsort; i++)
        VF_CHECK(v, STATE_SORT, st->sort[i].field >= 0 && st->sort[i].field < st->nfields);
    VF_CHECK(v, STATE_BOUNDED, !st->bounded || (rows && st->nsort > 0 && st->limit >= 0 && has_word(st)));
    VF_CHECK(v, STATE_THERE, !st->sorted || (rows && fits_sorted(st)));
    VF_CHECK(v, STATE_LIMIT, st->limit >= -1 && st->offset >= 0);
    VF_CHECK(v, STATE_TOP, !st->top || is_top(st));
    VF_CHECK(v, STATE_TEXT, !st->text || (rows && is_text(st)));
    VF_CHECK(v, STATE_VALUES, st->nvalues == 0 || (st->nvalues > 0 && st->values));
    return check_borders(v, st) && check_searches(v, st) && check_places(v, st) && check_frames(v, st) &&
           check_running(v, st);
}

static bool check_codes(struct vf *v, const struct rt_state *st)
{
    for (int i = 0; i < st->nfields; i++) {
        const struct rt_field *f = &st->fields[i];
        if (!f->dict_table)
            continue;
        VF_CHECK(v, FIELD_DICT, f->phys == RT_I32 && f->dict_column >= 0 && f->dict_column < f->dict_table->ncols);
        VF_CHECK(v, FIELD_DICT, f->dict_table->cols[f->dict_column].storage == FE_STORE_DICT);
    }
    return true;
}

/* Grouping rows of a HASH state on a CPU makes parts of its own. */
static bool check_partition(struct vf *v, const struct rt_state *st)
{
    const struct rt_partition *p = &st->partition;
    bool rows = st->kind == RT_STATE_ROWS, some = p->cpu_bits || p->gpu_bits;
    VF_CHECK(v, STATE_PARTITION, p->cpu_bits >= 0 && p->cpu_bits <= HD_MIN(p->top, (int)PL_PARTS_CPU));
    VF_CHECK(v, STATE_PARTITION, p->gpu_bits >= 0 && p->gpu_bits <= HD_MIN(p->top, (int)RT_PARTITION_BITS));
    VF_CHECK(v, STATE_PARTITION, p->top >= 0 && p->top <= PL_PARTS_TOP);
    VF_CHECK(v, STATE_PARTITION, !some || (rows ? p->nfields > 0 && !st->nsort : st->kind == RT_STATE_HASH));
    VF_CHECK(v, STATE_PARTITION, rows || !p->cpu_bits || st->unique);
    for (int i = 0; i < p->nfields; i++)
        VF_CHECK(v, STATE_PARTITION, rows && p->fields[i] >= 0 && p->fields[i] < st->nfields);
    return true;
}

static bool is_word(const struct rt_state *st)
{
    const struct rt_field *key = st->fields;
    bool one = st->kind == RT_STATE_AGG_HASH && st->nkeys == 1;
    return one && key->phys == RT_I64 && key->offset == 0 && key->valid_offset < 0;
}

static bool check_state(struct vf *v, const struct rt_state *st)
{
    VF_CHECK(v, STATE_KIND, rt_state_is_kind((int)st->kind));
    VF_CHECK(v, STATE_KEYS, is_one_of(st, WITH_KEYS) ? st->nkeys > 0 : st->nkeys == 0);
    VF_CHECK(v, STATE_KEYS, st->nkeys <= st->nfields);
    VF_CHECK(v, STATE_WORD, !st->word || is_word(st));
    VF_CHECK(v, STATE_RANGE, !is_one_of(st, WITH_RANGE) || st->range > 0);
    VF_CHECK(v, STATE_SHARED, !st->shared || st->kind == RT_STATE_AGG_DENSE);
    VF_CHECK(v, STATE_UNIQUE, is_one_of(st, LOOKED_UP) || (!st->unique && !st->dedupe));
    VF_CHECK(v, STATE_MATCHES, !st->track_matches || is_one_of(st, VF_MATCHED));
    VF_TRY(check_partition(v, st));
    VF_TRY(check_codes(v, st));
    VF_CHECK(v, STATE_CSR_INDEX,
             st->kind != RT_STATE_CSR ||
                 (st->nfields > 0 && st->fields[0].phys == RT_I64 && st->fields[0].valid_offset < 0));
    if (is_one_of(st, VF_ROW_STATES))
        VF_TRY(check_layout(v, st));
    if (rt_state_aggregates(st->kind))
        VF_TRY(check_merge(v, st));
    return check_rows(v, st);
}

bool vf_states(struct vf *v)
{
    for (int i = 0; i < v->spec->nstates; i++) {
        v->state = i;
        VF_TRY(check_state(v, &v->spec->states[i]));
    }
    v->state = -1;
    return true;
}

/* ---- result ----------------------------------------------------------------------------------- */

bool vf_result(struct vf *v)
{
    const struct rt_spec *s = v->spec;
    VF_CHECK(v, RESULT_STATE, vf_state_is(v, s->result_state, S(ROWS)));
    const struct rt_state *st = &s->states[s->result_state];
    for (int i = 0; i < s->nresult; i++) {
        const struct rt_result_column *c = &s->result[i];
        VF_CHECK(v, RESULT_FIELD, c->field >= 0 && c->field < st->nfields);
        VF_CHECK(v, RESULT_FIELD, hd_type_eq(c->type, st->fields[c->field].type));
    }
    return true;
}
