/* The kernel that a GPU begins with where a pipeline's code is not in the cache. NVRTC takes half as long for a traversal
 * in which each lane goes through the children of its own row as for one with queues that share work, a fifth less with
 * few passes and loops that stay loops (docs/performance.md, "First tier on a GPU"). Rows do not depend on it. What lanes
 * lose is bounded by facts: a lane visits all that lies below its row, and the other lanes of its warp wait for it. Where
 * nothing bounds that the first tier shares work, too. */
#include "planner/tiering.h"

#include <math.h>

#include "planner/parts.h"
#include "planner/tile.h"

enum {
    FINISHED_MAX =
        1
        << 24, /* rows of a state that is finished: sorting them takes 10 ms more than with optimised kernels, at a guess */
    LANE_NODES = 4096, /* of one lane, one after the other: some 5 ms */
    MIN_PARTS = 8, /* as gpu_launch.c has it: so many warps to a tile, or one */
    HEAVY = 16 /* in the units of parts.c: sources that weigh less, and line nothing up, are compiled in 50 ms */
};

/* That go through levels, if each lane were alone in its warp: some 15 ms. */
static const double NODES_MAX = 1 << 26;

/* Warps that have a part each of the children of a row of the source: known of tables alone. */
static double parts_of_a_row(const struct pl_pipeline *p, int blocks)
{
    double warps = blocks ? (double)blocks * p->gpu.block_warps : HDD_LARGE_WARPS;
    if (p->spec->shape != RT_SHAPE_AWS || p->spec->source != RT_SOURCE_TABLE)
        return 1;
    double tiles = ceil((double)p->spec->table->rows / HDD_WARP_LANES / p->spec->lane_rows);
    return tiles * MIN_PARTS <= warps ? warps / HD_MAX(tiles, 1.0) : 1;
}

/* Nodes that one lane visits for a row of the source, at most; -1 unknown. */
static double longest_lane(const struct pl_pipeline *p, int blocks)
{
    double nodes = 1, level = 1;
    for (int l = 1; l < p->nlevels; l++) {
        double max = pl_max_children(&p->steps[p->levels[l].first_step - 1]);
        if (max < 0)
            return -1;
        level *= l == 1 ? ceil(max / parts_of_a_row(p, blocks)) : max;
        nodes += level;
    }
    return nodes;
}

static bool lanes_are_even(const struct pl_pipeline *p, int blocks)
{
    if (p->nlevels == 1)
        return true;
    double longest = longest_lane(p, blocks), nodes = pl_expected_nodes(p);
    return longest >= 0 && longest <= LANE_NODES && nodes >= 0 && nodes <= NODES_MAX;
}

/* Caches in front of the state's rows are a quarter of the code of such a sink. Lanes of one group combine all the same. */
static void drop_caches(struct pl_pipeline *p)
{
    double rows = p->spec->counter_est[p->nsteps];
    if (rows < 0 || rows > NODES_MAX || p->sink.place != PL_PLACE_MEMORY)
        return;
    for (int k = 0; k < PL_CACHE_COUNT; k++)
        p->sink.caches[k] = false;
    p->sink.shared_bytes = pl_place_shared(&p->sink, p->gpu.block_warps);
}

/* Nor do blocks copy bitmaps, for which their number of warps was chosen: headers are precompiled for the usual one. */
static void drop_bits(struct ctx *c, struct pl_pipeline *p)
{
    double looked_up = -1;
    for (int i = 0; i < p->gpu_tile.steps; i++)
        if (p->steps[i].bits_bytes)
            looked_up = HD_MAX(looked_up, p->steps[i].est);
    if (looked_up < 0 || looked_up > NODES_MAX)
        return;
    p->steps = hd_dup(c->a, p->steps, sizeof *p->steps * (size_t)p->nsteps);
    for (int i = 0; i < p->gpu_tile.steps; i++) {
        p->steps[i].bits_bytes = 0;
        p->steps[i].bits_folded = false;
    }
    pl_choose_block(p, 0);
    if (pl_place_row(p->sink.place)->thread)
        p->sink.shared_bytes = pl_place_shared(&p->sink, p->gpu.block_warps);
}

/* Nor do warps look through the strings of a tile: rows do, behind it. */
static void drop_search(struct ctx *c, struct pl_pipeline *p)
{
    if (!pl_tile_searches(&p->gpu_tile))
        return;
    p->gpu_tile = pl_tile_without_search(c, p);
    p->gpu.places_ahead = p->gpu.places_of_tile = false;
    p->gpu.resident_blocks = 0;
    if (p->spec->shape == RT_SHAPE_STRAIGHT && !p->gpu_tile.steps)
        p->spec->shape = RT_SHAPE_ALL_ROWS;
}

static struct pl_pipeline *copy_of(struct ctx *c, const struct pl_pipeline *p)
{
    struct pl_pipeline *f = HD_NEW(c->a, struct pl_pipeline);
    *f = *p;
    f->spec = HD_NEW(c->a, struct rt_pipeline);
    *f->spec = *p->spec;
    f->gpu.quick = true;
    f->gpu.most_pass = false;
    drop_search(c, f);
    drop_caches(f);
    drop_bits(c, f);
    pl_size_kernel(f);
    return f;
}

static const struct pl_pipeline *by_lane(struct ctx *c, const struct pl_pipeline *p)
{
    struct pl_pipeline *f = copy_of(c, p);
    if (f->spec->shape == RT_SHAPE_ALL_ROWS)
        return f;
    f->spec->shape = RT_SHAPE_BY_LANE;
    f->spec->balance = RT_BALANCE_NONE;
    f->gpu.places_ahead = f->gpu.places_of_tile = false;
    f->gpu.resident_blocks = 0;
    pl_size_kernel(f);
    return f;
}

/* The pipeline's kernel for the first tier; NULL: it has none. */
static const struct pl_pipeline *first_of(struct ctx *c, const struct pl_pipeline *p, int blocks)
{
    bool heavy = p->nlevels > 1 || p->gpu_tile.steps > 0 || pl_weight(c, p) >= HEAVY;
    if (p->framed || !heavy)
        return NULL;
    switch (p->spec->shape) {
    case RT_SHAPE_LOOP:
    case RT_SHAPE_ANY:
    case RT_SHAPE_BY_LANE: return NULL;
    case RT_SHAPE_ALL_ROWS:
    case RT_SHAPE_IN_PLACE: return copy_of(c, p);
    case RT_SHAPE_STRAIGHT:
        if (p->spec->ordered)
            return copy_of(c, p);
        return by_lane(c, p);
    case RT_SHAPE_NIFS:
    case RT_SHAPE_AWS: return !p->spec->ordered && lanes_are_even(p, blocks) ? by_lane(c, p) : copy_of(c, p);
    }
    HD_BUG("shape %d", (int)p->spec->shape);
}

static bool has_first_tiers(const struct ctx *c)
{
    bool several = c->opt.fragments > 1 || c->opt.profile || c->opt.balance != RT_BALANCE_AUTO;
    return c->opt.on_gpu && !several;
}

void pl_choose_first_tier(struct ctx *c, struct pl_pipeline *p)
{
    if (!has_first_tiers(c))
        return;
    const struct pl_pipeline *first = first_of(c, p, c->opt.gpu_blocks);
    switch (c->opt.tier) {
    case PL_TIER_AUTO: p->gpu.first = first; return;
    case PL_TIER_OPTIMISED: return;
    case PL_TIER_FIRST: /* nothing takes its place */
        if (first) {
            *p->spec = *first->spec;
            p->sink = first->sink;
            p->gpu = first->gpu;
            p->steps = first->steps;
            p->gpu_tile = first->gpu_tile;
        }
        return;
    }
    HD_BUG("tier %d", (int)c->opt.tier);
}

/* Rows that are finished, as far as is known: what pipelines bring is more than what groups or a limit leave. */
static double finished_rows(const struct rt_spec *s)
{
    double rows = 0;
    for (int i = 0; i < s->nstates; i++)
        if (s->states[i].nfinish)
            rows = HD_MAX(rows, s->states[i].est_rows);
    for (int i = 0; i < s->npipelines; i++) {
        const struct rt_pipeline *p = &s->pipelines[i];
        if (s->states[p->writes[0]].nfinish && s->states[p->writes[0]].kind == RT_STATE_ROWS && p->ncounters)
            rows = HD_MAX(rows, p->counter_est[p->ncounters - 1]);
    }
    return rows;
}

void pl_choose_fixed_tier(struct ctx *c)
{
    struct rt_spec *s = c->program->spec;
    s->fixed_tier = RT_FIXED_OPTIMISED;
    if (!has_first_tiers(c) || finished_rows(s) > FINISHED_MAX)
        return;
    switch (c->opt.tier) {
    case PL_TIER_AUTO: s->fixed_tier = RT_FIXED_FIRST; return;
    case PL_TIER_OPTIMISED: return;
    case PL_TIER_FIRST: s->fixed_tier = RT_FIXED_STAYS_FIRST; return;
    }
    HD_BUG("tier %d", (int)c->opt.tier);
}
