/* What a GPU does with a pipeline, decided once it is complete: where the accumulators of an
 * aggregate are while the kernel runs, and whether rows are lined up after the tile's filters.
 * The CPU backend has its own counterpart in private and shared states. */
#include "planner/place.h"

#include "planner/access.h"
#include "planner/cost.h"
#include "planner/place_lanes.h"
#include "planner/tile.h"

/* ---- columns of planner/places.def -------------------------------------------------------- */

enum {
    SCALAR = 1 << PL_SINK_AGG_SCALAR,
    DENSE = 1 << PL_SINK_AGG_DENSE,
    HASH = 1 << PL_SINK_AGG_HASH,
    ALL = (1 << PL_SINK_COUNT) - 1
};
enum { THREAD = 1, SOLE = 2, SIZED = 4 };

static const struct pl_place_row places[PL_PLACE_COUNT] = {
#define P_PLACE(id, name, sinks, flags, alone, beside, unit, text) \
    [PL_PLACE_##id] = {text,   sinks, ((flags) & THREAD) != 0, ((flags) & SOLE) != 0, ((flags) & SIZED) != 0, alone, \
                       beside, unit},
#include "planner/places.def"
};

static const struct cache_row {
    int limit, unit;
    const char *text;
} caches[PL_CACHE_COUNT] = {
#define P_CACHE(id, name, limit, unit, text) [PL_CACHE_##id] = {limit, unit, text},
#include "planner/places.def"
};

const struct pl_place_row *pl_place_row(enum pl_place p)
{
    return &places[p];
}

int pl_place_shared(const struct pl_sink *s, int block_warps)
{
    const struct pl_place_row *p = &places[s->place];
    int combined = s->place == PL_PLACE_LANES ? s->lane_scratch : 0;
    return (s->place_size * p->unit + combined) * (p->thread ? block_warps : 1);
}

const char *pl_cache_text(enum pl_cache k)
{
    return caches[k].text;
}

/* ---- sizes of accumulators ----------------------------------------------------------------- */

static int words_of(enum rt_phys p)
{
    return p == RT_I128 ? 2 : 1;
}

/* Each accumulator can be kept per thread. */
static bool are_words(const struct rt_state *st, const struct pl_sink *s)
{
    for (int i = 0; i < s->nouts; i++) {
        enum rt_phys p = st->fields[s->outs[i].field].phys;
        if (p == RT_STR || p == RT_BOOL || s->outs[i].fn == FE_AGG_ANY)
            return false;
    }
    return s->nouts > 0;
}

/* Rows that a thread adds up, in place: eight of each tile; those of a tile for a run. */
static double rows_of_thread(const struct pl_pipeline *q)
{
    return (double)q->spec->table->rows / HDD_WARP_LANES + HDD_LANE_ROWS;
}

static void narrow_sums(struct pl_pipeline *q, const struct rt_state *st, double rows)
{
    for (int i = 0; i < q->sink.nouts; i++) {
        struct pl_out *o = &q->sink.outs[i];
        o->narrow =
            o->fn == FE_AGG_SUM && o->max > 0 && st->fields[o->field].phys == RT_I128 && (double)o->max * rows < 9e18;
    }
}

/* ---- rows in place ---------------------------------------------------------------------- */

/* Without probes: a lane that waits for a lookup holds up its whole tile. */
static bool can_stay_in_place(const struct ctx *c, const struct pl_pipeline *q)
{
    double rows = q->spec->source == RT_SOURCE_TABLE ? pl_visited_rows(c->exprs.v, q) : 0;
    double out = q->spec->counter_est[q->nsteps];
    if (q->nlevels > 1 || q->spec->ordered || rows < 4096 || out < PL_IN_PLACE_SHARE * rows)
        return false;
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *p = &q->steps[i];
        bool load = p->kind == PL_STEP_LOAD_COLUMN;
        if (!(pl_step_form(p->kind)->tile & PL_TILE_ROWS))
            return false;
        if (load &&
            (p->row_slot != q->source_slot || q->slots[p->slot].phys == RT_STR || q->slots[p->slot].phys == RT_I128))
            return false;
    }
    return true;
}

/* ---- registers of each thread ------------------------------------------------------------ */

/* Of the structure of all accumulators, whose members lie in the order of the outs. */
static int sums_bytes(const struct rt_state *st, const struct pl_sink *s)
{
    size_t bytes = 0, nullable = 0;
    for (int i = 0; i < s->nouts; i++) {
        const struct rt_field *f = &st->fields[s->outs[i].field];
        size_t size = (size_t)rt_phys_size(f->phys);
        bytes = hd_align_up(bytes, size) + size;
        nullable += f->valid_offset >= 0;
    }
    bytes = hd_align_up(bytes, 4) + (nullable + 31) / 32 * 4; /* words of bits: which have a value */
    return (int)hd_align_up(bytes, 16);
}

static int place_size_registers(const struct ctx *c, struct pl_pipeline *q, int max HD_UNUSED,
                                const char **why HD_UNUSED)
{
    return sums_bytes(&c->states.v[q->sink.state], &q->sink);
}

/* ---- a copy per thread -------------------------------------------------------------------- */

/* Sizes that kernels are compiled for: a cubin serves every range that fits. */
static const int lane_classes[] = {4, 8, 12, 16, 18, 24, 36};

/* Sums are narrow where rows stay in place: a thread sees few of them. */
static int place_size_lanes(const struct ctx *c, struct pl_pipeline *q, int max, const char **why)
{
    const struct rt_state *st = &c->states.v[q->sink.state];
    bool in_place = can_stay_in_place(c, q);
    if (in_place)
        narrow_sums(q, st, rows_of_thread(q));
    q->sink.lane_words = are_words(st, &q->sink) ? pl_lay_lanes(c, &q->sink, in_place) : 0;
    q->sink.lane_scratch = sums_bytes(st, &q->sink) + (int)sizeof(uint32_t);
    uint64_t need = (uint64_t)q->sink.lane_words * st->range;
    *why = need == 0 ? "an accumulator is no word" : "too many groups";
    if (need == 0 || st->range > HDD_LANE_GROUPS)
        return -1;
    for (size_t i = 0; i < HD_COUNT(lane_classes); i++)
        if (lane_classes[i] <= max && need <= (uint64_t)lane_classes[i])
            return lane_classes[i];
    return -1;
}

/* ---- counts of a block ------------------------------------------------------------------ */

/* A block's copies may take what leaves 16 blocks, all warps, on a multiprocessor: more copies are more banks for lanes
 * of one bucket, but no good to lanes of different ones (docs/pairs.md). */
enum { COPIES_MAX = 8, COPIES_BYTES = 12288 };
static const int histogram_classes[] = {1024, 2048, 4096, 8192, 12288, 16384, 24576, 32768, 49152, 65536, 98304};

static int place_size_histogram(const struct ctx *c, struct pl_pipeline *q, int max, const char **why)
{
    const struct pl_sink *s = &q->sink;
    uint64_t bytes = c->states.v[s->state].range * sizeof(uint32_t);
    bool counts = s->nouts == 1 && s->outs[0].fn == FE_AGG_COUNT_STAR;
    *why = NULL;
    if (!q->loop.rows)
        return -1;
    *why = counts ? "too many groups" : "it does not count alone";
    if (!counts)
        return -1;
    for (q->sink.count_copies = COPIES_MAX;
         q->sink.count_copies > 1 && bytes * (uint64_t)q->sink.count_copies > COPIES_BYTES;)
        q->sink.count_copies /= 2;
    for (size_t i = 0; i < HD_COUNT(histogram_classes); i++)
        if (histogram_classes[i] <= max && bytes * (uint64_t)q->sink.count_copies <= (uint64_t)histogram_classes[i])
            return histogram_classes[i];
    return -1;
}

/* ---- a copy per block ------------------------------------------------------------------- */

/* What a block adds to the state at its end is never more than what came to it, so a small copy
 * always pays; a big one keeps other blocks off the multiprocessor. */
static int place_size_block(const struct ctx *c, struct pl_pipeline *q, int max, const char **why)
{
    const struct rt_state *st = &c->states.v[q->sink.state];
    int blocks = c->opt.gpu_blocks ? c->opt.gpu_blocks : HDD_LARGE_BLOCKS;
    uint64_t need = st->range * (uint64_t)st->stride;
    *why = are_words(st, &q->sink) ? "too many bytes" : "an accumulator is no word";
    if (!are_words(st, &q->sink))
        return -1;
    if (q->spec->counter_est[q->nsteps] < (double)st->range * blocks)
        max = places[PL_PLACE_BLOCK].beside;
    for (int size = 1024; size <= max; size *= 2)
        if (need <= (uint64_t)size)
            return size;
    return -1;
}

/* ---- heavy keys ------------------------------------------------------------------------- */

/* The step that loads what an expression is, NULL: it is computed, or known before. */
static const struct pl_step *load_of(const struct ctx *c, const struct pl_pipeline *q, int expr)
{
    const struct pl_expr *e = &c->exprs.v[expr];
    while (e->nargs == 1)
        e = &c->exprs.v[e->args[0]];
    for (int i = 0; i < q->nsteps && e->op == FE_COL; i++)
        if (q->steps[i].slot == e->slot && q->steps[i].kind == PL_STEP_LOAD_COLUMN)
            return &q->steps[i];
    return NULL;
}

/* Share of the rows that have the column's most frequent value; 1: not known. */
static double heaviest(const struct pl_step *s)
{
    const struct fe_facts *f = &s->table->cols[s->column].facts;
    bool known = f->known && f->max_mult >= 0 && s->table->rows > 0;
    return known ? (double)f->max_mult / (double)s->table->rows : 1;
}

/* Share of rows that one value of an expression can have, going by the columns in it. */
static double heaviest_in(const struct ctx *c, const struct pl_pipeline *q, int expr)
{
    const struct pl_expr *e = &c->exprs.v[expr];
    const struct pl_step *s = load_of(c, q, expr);
    double share = 1;
    if (s)
        return heaviest(s);
    for (int i = 0; i < e->nargs; i++)
        share = HD_MIN(share, heaviest_in(c, q, e->args[i]));
    return share;
}

/* A row of an outer level brings all its children to one group. */
static bool is_outer(const struct ctx *c, const struct pl_pipeline *q, int expr)
{
    const struct pl_expr *e = &c->exprs.v[expr];
    int last = q->levels[q->nlevels - 1].first_step;
    if (e->op == FE_COL) {
        for (int i = HD_MAX(last - 1, 0); i < q->nsteps; i++)
            if (q->steps[i].slot == e->slot)
                return false;
        return q->nlevels > 1;
    }
    for (int i = 0; i < e->nargs; i++)
        if (!is_outer(c, q, e->args[i]))
            return false;
    return true;
}

/* Share of the rows that one group can have. */
static double heaviest_group(const struct ctx *c, const struct pl_pipeline *q)
{
    const struct pl_sink *s = &q->sink;
    double share = 1;
    if (s->kind == PL_SINK_AGG_DENSE)
        return heaviest_in(c, q, s->index);
    for (int i = 0; i < s->nouts && s->outs[i].field < c->states.v[s->state].nkeys; i++)
        share = HD_MIN(share, heaviest_in(c, q, s->outs[i].expr));
    return share;
}

static bool groups_are_outer(const struct ctx *c, const struct pl_pipeline *q)
{
    const struct pl_sink *s = &q->sink;
    if (s->kind == PL_SINK_AGG_DENSE)
        return is_outer(c, q, s->index);
    for (int i = 0; i < s->nouts && s->outs[i].field < c->states.v[s->state].nkeys; i++)
        if (!is_outer(c, q, s->outs[i].expr))
            return false;
    return true;
}

/* ---- runs of equal keys ----------------------------------------------------------------- */

static int place_size_runs(const struct ctx *c, struct pl_pipeline *q, int max, const char **why)
{
    struct pl_sink *s = &q->sink;
    const struct rt_state *st = &c->states.v[s->state];
    int words = 0;
    *why = !s->clustered ? "keys do not come in runs" : "rows do not stay in place";
    if (!s->clustered || !can_stay_in_place(c, q))
        return -1;
    *why = "one key may have most rows";
    if (heaviest_group(c, q) > PL_RUN_SHARE)
        return -1;
    *why = "accumulators do not fit registers";
    narrow_sums(q, st, HDD_WARP_ROWS);
    for (int i = 0; i < s->nouts; i++) {
        enum rt_phys p = st->fields[s->outs[i].field].phys;
        if (p == RT_STR || p == RT_BOOL)
            return -1;
        words += s->outs[i].narrow ? 1 : words_of(p);
    }
    return words > 0 && words <= max ? words : -1; /* a distinct only marks its groups */
}

/* ---- rows in memory ----------------------------------------------------------------------- */

static int place_size_memory(const struct ctx *c HD_UNUSED, struct pl_pipeline *q HD_UNUSED, int max HD_UNUSED,
                             const char **why HD_UNUSED)
{
    return 0;
}

/* Words of accumulators of a group, -1: a string does not fit registers. What any row has is stored once. */
static int cached_words(const struct rt_state *st, const struct pl_sink *s)
{
    int words = 0;
    for (int i = 0; i < s->nouts; i++) {
        bool key = s->kind == PL_SINK_AGG_HASH && s->outs[i].field < st->nkeys;
        if (key || s->outs[i].fn == FE_AGG_ANY)
            continue;
        if (st->fields[s->outs[i].field].phys == RT_STR)
            return -1;
        words += words_of(st->fields[s->outs[i].field].phys);
    }
    return words > 0 && words <= caches[PL_CACHE_WARP].limit ? words : -1;
}

static int cache_size_warp(const struct ctx *c, const struct pl_pipeline *q)
{
    bool heavy = heaviest_group(c, q) >= PL_CACHED_SHARE || groups_are_outer(c, q);
    return heavy && q->sink.group_rows > PL_APART_ROWS ? cached_words(&c->states.v[q->sink.state], &q->sink) : -1;
}

/* Runs of equal keys fill warps. */
static int cache_size_block(const struct ctx *c, const struct pl_pipeline *q)
{
    const struct rt_state *st = &c->states.v[q->sink.state];
    bool heavy = heaviest_group(c, q) >= PL_FREQUENT_SHARE || groups_are_outer(c, q);
    if (!heavy || q->sink.group_rows <= PL_APART_ROWS || q->sink.clustered || cached_words(st, &q->sink) < 0)
        return -1;
    return st->stride + 8 <= caches[PL_CACHE_BLOCK].limit ? st->stride + 8 : -1;
}

/* Nothing but sums of groups with few rows each, which do not come together: looking for lanes of one group would cost
 * more than it saves. */
static bool lanes_are_apart(const struct ctx *c, const struct pl_pipeline *q)
{
    const struct pl_sink *s = &q->sink;
    const struct rt_state *st = &c->states.v[s->state];
    bool dense = s->kind == PL_SINK_AGG_DENSE && s->place == PL_PLACE_MEMORY && st->presence;
    if (!dense || s->clustered || s->group_rows > PL_APART_ROWS)
        return false;
    for (int i = 0; i < st->nfields; i++)
        if (st->merge[i] != RT_MERGE_SUM)
            return false;
    return true;
}

/* ---- the choice ------------------------------------------------------------------------- */

/* The size in the most preferred place that has room. */
static int choose_place(const struct ctx *c, struct pl_pipeline *q)
{
    static int (*const sizes[PL_PLACE_COUNT])(const struct ctx *, struct pl_pipeline *, int, const char **) = {
#define P_PLACE(id, name, sinks, flags, alone, beside, unit, text) [PL_PLACE_##id] = place_size_##name,
#include "planner/places.def"
    };
    for (int p = 0; p < PL_PLACE_COUNT; p++) {
        const struct pl_place_row *row = &places[p];
        const char **why = &q->sink.no_place[p];
        int size =
            row->sinks >> q->sink.kind & 1 ? sizes[p](c, q, pl_has_queues(q) ? row->beside : row->alone, why) : -1;
        q->sink.place = (enum pl_place)p;
        if (size >= 0)
            return size;
    }
    HD_BUG("no place for the sink of %s", q->spec->name);
}

static void choose_caches(const struct ctx *c, struct pl_pipeline *q)
{
    static int (*const sizes[PL_CACHE_COUNT])(const struct ctx *, const struct pl_pipeline *) = {
#define P_CACHE(id, name, limit, unit, text) [PL_CACHE_##id] = cache_size_##name,
#include "planner/places.def"
    };
    struct pl_sink *s = &q->sink;
    bool groups = s->kind == PL_SINK_AGG_DENSE || s->kind == PL_SINK_AGG_HASH;
    for (int k = 0; k < PL_CACHE_COUNT && groups && s->place == PL_PLACE_MEMORY; k++) {
        int size = sizes[k](c, q);
        s->caches[k] = size >= 0;
        s->shared_bytes += s->caches[k] ? size * caches[k].unit : 0;
    }
}

/* A framed sink has too many accumulators to be anywhere but in memory. */
void pl_place_pipeline(const struct ctx *c, struct pl_pipeline *q)
{
    struct pl_sink *s = &q->sink;
    s->place = PL_PLACE_MEMORY;
    if (q->framed)
        return;
    s->place_size = choose_place(c, q);
    q->in_place = places[s->place].thread && can_stay_in_place(c, q);
    for (int i = 0; i < s->nouts; i++)
        s->outs[i].narrow = s->outs[i].narrow && q->in_place;
    s->shared_bytes = pl_place_shared(s, q->gpu.block_warps);
    choose_caches(c, q);
    s->by_lane = lanes_are_apart(c, q);
    bool groups = s->kind == PL_SINK_AGG_DENSE || s->kind == PL_SINK_AGG_HASH;
    if (groups && s->place == PL_PLACE_MEMORY && !s->clustered && !s->caches[PL_CACHE_WARP] &&
        !s->caches[PL_CACHE_BLOCK])
        pl_access_atomics(q, &c->states.v[s->state]);
}
