/* What a GPU does with a pipeline, decided once it is complete: where the accumulators of an
 * aggregate are while the kernel runs, and whether rows are lined up after the tile's filters.
 * The CPU backend has its own counterpart in private and shared states. */
#include "planner/lower.h"

enum {
    BLOCK_THREADS = 128, /* HDD_BLOCK of templates/machine.cuh */
    LANES = 32,
    TILE_ROWS = 8,          /* of a lane */
    LANES_ALONE = 36,       /* words of a thread's copy: 36 KiB of a block leave six blocks on
                                a multiprocessor, 24 warps; wide tiles keep the memory busy */
    LANES_WITH_QUEUES = 12, /* kernels with levels need shared memory for queues, and warps */
    MOST_GROUPS = 32,       /* a word of a register says which groups a thread has seen */
    NEAR_ALONE = 32768,     /* bytes of a block's copy: six blocks, as above */
    NEAR_WITH_QUEUES = 8192,
    BLOCKS = 1056,     /* of a kernel on a large GPU */
    HOT_STRIDE = 1024, /* bytes of a row of which a block keeps 32 */
    HELD_WORDS = 8,    /* of a held group, in registers */
    RUN_WORDS = 8      /* of a run of equal keys; a lane has two, and gets a third from another */
};

/* Sizes that kernels are compiled for: a cubin serves every range that fits. */
static const int lane_classes[] = {4, 8, 12, 16, 24, LANES_ALONE};

static int words_of(enum rt_phys p)
{
    return p == RT_I128 ? 2 : 1;
}

/* Words of all accumulators of a group; 0: one of them cannot be kept per thread. */
static int group_words(const struct rt_state *st, const struct pl_sink *s)
{
    int n = 0;
    for (int i = 0; i < s->nouts; i++) {
        enum rt_phys p = st->fields[s->outs[i].field].phys;
        if (p == RT_STR || p == RT_BOOL || s->outs[i].fn == FE_AGG_ANY)
            return 0;
        n += s->outs[i].narrow ? 1 : words_of(p);
    }
    return n;
}

/* Rows that a thread adds up, in place: eight of each tile; those of a tile for a run. */
static double rows_of_thread(const struct pl_pipeline *q)
{
    return (double)q->spec->table->rows / LANES + TILE_ROWS;
}

static void narrow_sums(struct pl_pipeline *q, const struct rt_state *st, double rows)
{
    for (int i = 0; i < q->sink.nouts; i++) {
        struct pl_out *o = &q->sink.outs[i];
        o->narrow =
            o->fn == FE_AGG_SUM && o->most > 0 && st->fields[o->field].phys == RT_I128 && (double)o->most * rows < 9e18;
    }
}

/* The class of a thread's copy of a dense state, 0: too big. */
static int lane_class(const struct pl_pipeline *q, const struct rt_state *st)
{
    uint64_t need = (uint64_t)group_words(st, &q->sink) * st->range;
    int most = q->nlevels > 1 ? LANES_WITH_QUEUES : LANES_ALONE;
    if (need == 0 || st->range > MOST_GROUPS)
        return 0;
    for (size_t i = 0; i < HD_COUNT(lane_classes); i++)
        if (lane_classes[i] <= most && need <= (uint64_t)lane_classes[i])
            return lane_classes[i];
    return 0;
}

/* ---- a copy per block ------------------------------------------------------------------- */

/* What a block adds to the state at its end is never more than what came to it, so a small copy
 * always pays; a big one keeps other blocks off the multiprocessor. */
static int near_class(const struct ctx *c, const struct pl_pipeline *q, const struct rt_state *st)
{
    int blocks = c->opt.gpu_blocks ? c->opt.gpu_blocks : BLOCKS;
    uint64_t need = st->range * (uint64_t)st->stride;
    int most = q->nlevels > 1 ? NEAR_WITH_QUEUES : NEAR_ALONE;
    if (group_words(st, &q->sink) == 0)
        return 0;
    if (q->spec->counter_est[q->nsteps] < (double)st->range * blocks)
        most = NEAR_WITH_QUEUES;
    for (int size = 1024; size <= most; size *= 2)
        if (need <= (uint64_t)size)
            return size;
    return 0;
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

/* Registers of a held group: text does not fit, and what any row has is stored once. */
static bool can_hold(const struct rt_state *st, const struct pl_sink *s)
{
    int words = 0;
    for (int i = 0; i < s->nouts; i++) {
        bool key = s->kind == PL_SINK_AGG_HASH && s->outs[i].field < st->nkeys;
        if (key || s->outs[i].fn == FE_AGG_ANY)
            continue;
        if (st->fields[s->outs[i].field].phys == RT_STR)
            return false;
        words += words_of(st->fields[s->outs[i].field].phys);
    }
    return words > 0 && words <= HELD_WORDS;
}

/* ---- runs of equal keys ----------------------------------------------------------------- */

/* A tile costs two additions to memory. That many to one place are as fast as the tile is read as long
 * as not most rows have one key. */
static const double most_in_a_run = 0.5;

static bool adds_up_runs(const struct ctx *c, struct pl_pipeline *q, const struct rt_state *st)
{
    struct pl_sink *s = &q->sink;
    int words = 0;
    if (!s->clustered || heaviest_group(c, q) > most_in_a_run)
        return false;
    narrow_sums(q, st, TILE_ROWS * LANES);
    for (int i = 0; i < s->nouts; i++) {
        enum rt_phys p = st->fields[s->outs[i].field].phys;
        if (p == RT_STR || p == RT_BOOL)
            return false;
        words += s->outs[i].narrow ? 1 : words_of(p);
    }
    return words > 0 && words <= RUN_WORDS; /* a distinct only marks its groups */
}

/* ---- rows in place ---------------------------------------------------------------------- */

/* Without probes: a lane that waits for a lookup holds up its whole tile. From two rows in five on
 * nearly all of a column's sectors are read anyway. */
static bool can_stay_in_place(const struct pl_pipeline *q)
{
    double rows = q->spec->source == RT_SOURCE_TABLE ? (double)q->spec->table->rows : 0;
    double out = q->spec->counter_est[q->nsteps];
    if (q->nlevels > 1 || q->spec->ordered || rows < 4096 || out < 0.4 * rows)
        return false;
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *p = &q->steps[i];
        bool load = p->kind == PL_STEP_LOAD_COLUMN && p->row_slot == q->source_slot &&
                    q->slots[p->slot].phys != RT_STR && q->slots[p->slot].phys != RT_I128;
        if (!load && p->kind != PL_STEP_LET && p->kind != PL_STEP_FILTER)
            return false;
    }
    return true;
}

/* ---- the choice ------------------------------------------------------------------------- */

/* Sums are narrow only where rows stay in place, which needs a copy per thread or runs. */
static void place_dense(const struct ctx *c, struct pl_pipeline *q)
{
    struct pl_sink *s = &q->sink;
    const struct rt_state *st = &c->states.v[s->state];
    bool in_place = can_stay_in_place(q);
    if (in_place)
        narrow_sums(q, st, rows_of_thread(q));
    s->lane_words = lane_class(q, st);
    s->near_bytes = s->lane_words ? 0 : near_class(c, q, st);
    s->place = s->lane_words                        ? PL_PLACE_LANES
               : s->near_bytes                      ? PL_PLACE_BLOCK
               : in_place && adds_up_runs(c, q, st) ? PL_PLACE_RUNS
                                                    : PL_PLACE_MEMORY;
    bool in_threads = s->place == PL_PLACE_LANES || s->place == PL_PLACE_RUNS;
    if (in_place && in_threads)
        q->spec->shape = RT_SHAPE_IN_PLACE;
    for (int i = 0; i < s->nouts; i++)
        s->outs[i].narrow = s->outs[i].narrow && in_threads;
}

/* One place of memory takes 1.4 additions a nanosecond (DESIGN section 5), the device reads some
 * hundred rows in that time. Half of a warp in one group is what heavier ones often fill. */
static const double hot_share = 1.0 / 8192, held_share = 1.0 / 64;

/* A framed sink has too many accumulators to be anywhere but in memory. */
static void place_sink(const struct ctx *c, struct pl_pipeline *q)
{
    struct pl_sink *s = &q->sink;
    if (q->framed)
        return;
    if (s->kind == PL_SINK_AGG_SCALAR) {
        s->place = PL_PLACE_REGISTERS;
        if (can_stay_in_place(q))
            q->spec->shape = RT_SHAPE_IN_PLACE;
    }
    if (s->kind == PL_SINK_AGG_DENSE)
        place_dense(c, q);
    bool groups = s->kind == PL_SINK_AGG_DENSE || s->kind == PL_SINK_AGG_HASH;
    if (!groups || s->place != PL_PLACE_MEMORY || !can_hold(&c->states.v[s->state], s))
        return;
    double share = heaviest_group(c, q);
    bool outer = groups_are_outer(c, q);
    bool fits = c->states.v[s->state].stride <= HOT_STRIDE;
    s->hot = fits && (share >= hot_share || outer) && !s->clustered; /* runs fill warps */
    s->hold = share >= held_share || outer;
}

void pl_place_pipeline(const struct ctx *c, struct pl_pipeline *q)
{
    place_sink(c, q);
    HD_ASSERT(q->sink.lane_words * 8 * BLOCK_THREADS <= 40 * 1024);
}
