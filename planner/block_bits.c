/* A long scan that looks most rows up in bitmaps is limited by what the L2 cache gives: a sector for each lookup. Shared memory
 * gives many times as much, so blocks copy bitmaps there, as many rows as they have lookups of. One that does
 * not fit is folded, words onto words: what is not set there is set nowhere, and the others are looked up in memory. */
#include "planner/block_bits.h"

#include <math.h>

#include "planner/cost.h"

enum {
    WARPS = 16, /* of a block: three fill a multiprocessor, */
    WARPS_LARGE = 32, /* and one with more copies than SMALL_BYTES */
    SMALL_BYTES = 72 << 10,
    SINK_MAX = 4 << 10, /* of accumulators of threads */
    LARGE_BYTES = 159 << 10 /* what is left is the L1 cache, through which columns come */
};

/* Sizes that kernels are compiled for are some percent apart, so that a cubin serves similar bitmaps: the smallest
 * that has `bytes`, or else the largest within `room`. 0: none. */
static int size_of(double bytes, int room)
{
    int size = 64, last = room < size ? HD_MAX(room, 0) / 8 * 8 : 0;
    for (; size <= room; size += HD_MAX(size / 512 * 64, 64)) {
        last = size;
        if (bytes <= size)
            break;
    }
    return last;
}

/* Share of the bits of a copy of so many bytes that are set. */
static double share_set(const struct rt_state *st, double bytes)
{
    double of_each = HD_MAX((double)st->range / 8 / bytes, 1.0);
    double set = st->est_rows >= 0 ? HD_MIN(st->est_rows / (double)st->range, 1.0) : 1;
    return 1 - pow(1 - set, of_each);
}

/* Some keys have so many more rows than others that estimates of matches say nothing: large copies, which leave a multiprocessor
 * half its warps, are for rows that end there. */
static bool is_skewed(const struct ctx *c, const struct pl_pipeline *q, const struct pl_step *s)
{
    enum { TIMES = 16 };
    bool *read = HD_NEWN(c->a, bool, q->nslots + 1);
    pl_expr_reads(c->exprs.v, s->expr, read);
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *l = &q->steps[i];
        if (l->kind != PL_STEP_LOAD_COLUMN || !read[l->slot])
            continue;
        const struct fe_facts *f = &l->table->cols[l->column].facts;
        double mean = (double)l->table->rows / (double)c->states.v[s->state].range;
        if (f->known && (double)f->max_mult > TIMES * HD_MAX(mean, 1.0))
            return true;
    }
    return false;
}

/* What a block does for a pipeline's rows is enough to pay for its copies. */
static int bytes_of(const struct ctx *c, const struct pl_pipeline *q, const struct pl_step *s, int room)
{
    const struct rt_state *st = &c->states.v[s->state];
    double bitmap = (double)((st->range + 63) / 64) * 8;
    int size = size_of(bitmap, room);
    if (size == 0 || (bitmap > size && is_skewed(c, q, s)))
        return 0;
    double spared = s->est * (bitmap > size ? 1 - share_set(st, size) : 1);
    return pl_worth_block_bits(s->est, spared, bitmap, c->opt.block_bits > 0) ? size : 0;
}

static bool is_lookup(const struct pl_step *s)
{
    return (pl_step_form(s->kind)->tile & PL_TILE_LOOKUPS) != 0;
}

void pl_choose_block_bits(const struct ctx *c, struct pl_pipeline *q)
{
    int all = 0;
    int sink = pl_place_shared(&q->sink, WARPS_LARGE);
    bool threads = pl_place_row(q->sink.place)->thread; /* their copies grow with the block */
    if (q->nlevels > 1 || q->framed || q->spec->ordered || c->opt.gpu_block_warps || (threads && sink > SINK_MAX))
        return;
    sink = threads ? sink : q->sink.shared_bytes;
    int max = c->opt.block_bits ? HD_MIN(c->opt.block_bits, LARGE_BYTES - sink) : LARGE_BYTES - sink;
    for (int i = 0; i < q->gpu_tile.steps; i++) {
        struct pl_step *s = &q->steps[i];
        if (!is_lookup(s))
            continue;
        s->bits_bytes = bytes_of(c, q, s, max - all);
        s->bits_folded = s->bits_bytes && c->states.v[s->state].range > (uint64_t)s->bits_bytes * 8;
        all += s->bits_bytes;
    }
    if (!all)
        return;
    q->gpu.block_warps = all + sink > SMALL_BYTES ? WARPS_LARGE : WARPS;
    if (threads)
        q->sink.shared_bytes = pl_place_shared(&q->sink, q->gpu.block_warps);
}
