/* Which kernel a pipeline becomes on a GPU, and how that balances its warps. Warps take tiles of
 * the source from cursors, so they come out even as long as no tile has more work below it
 * than a small part of what a warp does in all. Where the facts prove that, queues per warp are
 * enough; elsewhere the kernel shares work (Themis, section 6), which costs a look every 33 warp
 * iterations while nobody waits. */
#include "planner/pipeline.h"
#include "planner/tile.h"

enum {
    ONE_CHILD = 2,   /* nodes: a row and its child */
    WIDE_GROUP = 96, /* bytes of a row */
    MANY_ROWS = 4096,
    TILES_OF_A_WARP = 4 /* heaviest tiles that make a warp's share: the last one delays by a quarter */
};

double pl_max_children(const struct pl_step *s)
{
    double max;
    switch (pl_children(s->kind)) {
    case PL_CHILDREN_COUNT:
    case PL_CHILDREN_KEY: return -1;
    case PL_CHILDREN_PARENT:
        max = (double)s->table->fks[s->index].max_children;
        return max == 0 && s->probe == PL_LEFT ? 1 : max;
    case PL_CHILDREN_VALUE:
        max = (double)s->table->cols[s->column].facts.max_mult;
        return max == 0 && s->probe == PL_LEFT ? 1 : max;
    case PL_CHILDREN_ALL: return s->splittable ? -1 : 1; /* the row of a scalar subquery */
    }
    HD_BUG("step %d", (int)s->kind);
}

/* Nodes below one row of the source at most, the row included; -1 unknown. */
static double max_below(const struct pl_pipeline *p)
{
    double nodes = 1, level = 1;
    for (int l = 1; l < p->nlevels; l++) {
        double max = pl_max_children(&p->steps[p->levels[l].first_step - 1]);
        if (max < 0)
            return -1;
        level *= max;
        nodes += level;
    }
    return nodes;
}

double pl_expected_nodes(const struct pl_pipeline *p)
{
    double nodes = 0;
    for (int l = 1; l < p->nlevels; l++) {
        double est = p->spec->counter_est[p->levels[l].first_step - 1];
        if (est < 0)
            return -1;
        nodes += est;
    }
    double end = p->spec->counter_est[p->nsteps];
    return end < 0 ? -1 : nodes + end;
}

/* Whether a row of the source that comes to a level has a warp's work below it, or rows have children that follow each other: a
 * warp goes on where it is. */
static bool has_many_below(const struct pl_pipeline *p)
{
    const double *est = p->spec->counter_est;
    double parents = p->nlevels > 1 ? est[p->levels[1].first_step - 1] : 0;
    for (int i = 0; i < p->nsteps; i++)
        if (pl_opens_fold(p->steps[i].kind))
            return true;
    for (int l = 1; l < p->nlevels; l++)
        if (parents < 0 || est[p->levels[l].first_step] < 0 || est[p->levels[l].first_step] >= parents * HDD_WARP_LANES)
            return true;
    return false;
}

/* A lane has eight neighbours where it reads them at once, or their places are reserved at once, and where the children of
 * few rows go to all warps, a part each (gpu_launch.c); else a tile is one visit of its warp: the smaller tiles are the
 * sooner all warps have some of few rows. */
static int lane_rows(const struct pl_pipeline *p)
{
    return p->gpu_tile.steps || p->in_place || p->loop.rows || p->gpu.places_of_tile || has_many_below(p)
               ? HDD_LANE_ROWS
               : 1;
}

static bool tiles_are_even(const struct pl_pipeline *p, int blocks)
{
    double warps = blocks ? (double)blocks * p->gpu.block_warps : HDD_LARGE_WARPS;
    double max = max_below(p), nodes = pl_expected_nodes(p);
    if (max >= 0 && max <= ONE_CHILD) /* no more work than without levels */
        return true;
    return max >= 0 && nodes >= 0 && max * lane_rows(p) * HDD_WARP_LANES * TILES_OF_A_WARP <= nodes / warps;
}

static enum rt_shape choose(const struct pl_pipeline *p, enum rt_balance forced, int blocks)
{
    if (p->in_place)
        return RT_SHAPE_IN_PLACE;
    if (p->loop.rows)
        return RT_SHAPE_LOOP;
    if (p->nlevels == 1)
        return p->gpu_tile.steps ? RT_SHAPE_STRAIGHT : RT_SHAPE_ALL_ROWS;
    if (p->spec->ordered)
        return RT_SHAPE_NIFS;
    if (forced != RT_BALANCE_AUTO)
        return RT_SHAPE_ANY;
    return tiles_are_even(p, blocks) ? RT_SHAPE_NIFS : RT_SHAPE_AWS;
}

/* A warp that goes depth first visits nodes in the order of the source: 32 rows, then all below
 * them. */
static enum rt_balance default_balance(const struct rt_pipeline *r)
{
    if (r->ordered)
        return RT_BALANCE_NONE;
    return r->shape == RT_SHAPE_AWS ? RT_BALANCE_AWS : RT_BALANCE_NIFS;
}

/* Left alone the compiler takes up to 88 registers for the calls of a sharing kernel, and warps to switch to
 * are worth more. Registers are not kept low for blocks that wide or deep queues keep out anyway, nor where a warp
 * keeps a wide group in them: it would be in local memory. */
static int sharing_blocks(const struct pl_pipeline *p, int stride)
{
    int bytes = 0, warps = p->gpu.block_warps;
    for (int l = 1; l < p->nlevels; l++)
        bytes += pl_queue_bytes(p->levels[l].tuple_bytes, warps);
    int fit = HDD_SHARED_BYTES / HD_MAX(bytes, 1), resident = HDD_RESIDENT_WARPS / warps;
    if (p->sink.caches[PL_CACHE_WARP] && stride >= WIDE_GROUP)
        return 0;
    return fit <= resident / 2 ? HD_MAX(fit, 1) : resident;
}

/* Registers for all values that a row has. */
static int value_registers(const struct pl_pipeline *p)
{
    static const int registers[] = {
        [RT_BOOL] = 1, [RT_I32] = 1, [RT_I64] = 2, [RT_I128] = 4, [RT_F64] = 2, [RT_STR] = 3, [RT_F32] = 1};
    int n = 0;
    for (int i = 0; i < p->nslots; i++)
        n += registers[p->slots[i].phys] + p->slots[i].nullable;
    return n;
}

/* Rows wait for one lookup after the other, and a tile for its strings: warps to switch to are worth more than registers that the compiler would
 * take to have more of a row on its way. */
static int looking_blocks(const struct pl_pipeline *p, int stride)
{
    enum { VALUES_MAX = 40 }; /* some of which are there at once; beyond, kernels may spill */
    int bytes = p->sink.shared_bytes, lookups = pl_tile_searches(&p->gpu_tile);
    for (int i = 0; i < p->nsteps; i++) {
        bytes += p->steps[i].bits_bytes;
        lookups += pl_step_form(p->steps[i].kind)->yields == PL_YIELDS_PROBED;
    }
    if (!lookups || p->framed || value_registers(p) > VALUES_MAX ||
        (p->sink.caches[PL_CACHE_WARP] && stride >= WIDE_GROUP))
        return 0;
    return HD_MIN(HDD_LOOKING_WARPS / p->gpu.block_warps, HDD_SHARED_BYTES / HD_MAX(bytes, 1));
}

/* Blocks that are to fit a multiprocessor, 0: as many as do. */
static int resident_blocks(const struct pl_pipeline *p, int stride)
{
    switch (p->spec->shape) {
    case RT_SHAPE_AWS: return sharing_blocks(p, stride);
    case RT_SHAPE_STRAIGHT:
    case RT_SHAPE_ALL_ROWS: return looking_blocks(p, stride);
    case RT_SHAPE_IN_PLACE:
    case RT_SHAPE_LOOP:
    case RT_SHAPE_BY_LANE:
    case RT_SHAPE_NIFS:
    case RT_SHAPE_ANY: return 0;
    }
    HD_BUG("shape %d", (int)p->spec->shape);
}

/* Of a row that is made in registers. */
enum { ROW_BYTES_MAX = 64 };

/* A step from which each row goes on, once or, as its children, more often. */
static bool goes_on(const struct pl_step *s, bool once)
{
    switch (pl_step_form(s->kind)->yields) {
    case PL_YIELDS_ONE:
    case PL_YIELDS_MARKED: return true;
    case PL_YIELDS_PROBED: return s->probe == PL_LEFT || s->probe == PL_MARK || s->sure;
    case PL_YIELDS_SOME: return false;
    case PL_YIELDS_MANY: return !once && s->probe == PL_LEFT;
    }
    HD_BUG("step %d", (int)s->kind);
}

/* Every row that comes to step `from` becomes a row of the state. */
static bool all_arrive(const struct pl_pipeline *p, const struct pl_expr *exprs, const struct rt_state *st, int from)
{
    bool arrive = p->sink.kind == PL_SINK_ROWS;
    for (int i = from; arrive && i < p->nsteps; i++)
        arrive = goes_on(&p->steps[i], true);
    for (int i = 0; arrive && i < p->sink.nouts; i++) /* else a row without an index is dropped */
        arrive = !exprs[p->sink.outs[i].expr].nullable || st->fields[p->sink.outs[i].field].valid_offset >= 0;
    return arrive;
}

/* What is on its way to its sink is a warp's own. */
static bool shares_nothing(const struct rt_pipeline *r)
{
    switch (r->shape) {
    case RT_SHAPE_STRAIGHT:
    case RT_SHAPE_ALL_ROWS:
    case RT_SHAPE_NIFS: return true;
    case RT_SHAPE_BY_LANE:
    case RT_SHAPE_IN_PLACE:
    case RT_SHAPE_AWS:
    case RT_SHAPE_LOOP:
    case RT_SHAPE_ANY: return false;
    }
    HD_BUG("shape %d", (int)r->shape);
}

/* One warp's 32 rows are few for an addition to the cursor: all warps of a GPU add to it, 1.4 times a nanosecond
 * (docs/performance.md, "What memory of a GPU gives"). So it counts all that wait, in a tile or in the queue of the last
 * level, and of a tile's rows in front of an outer join one child each. Where a row of the source gives one of the state its number is its
 * place, so that warps need not wait for each other to keep the order. */
static void choose_places(struct pl_pipeline *p, const struct pl_expr *exprs, const struct rt_state *st)
{
    struct rt_pipeline *r = p->spec;
    bool nested = r->shape == RT_SHAPE_NIFS;
    int first = nested ? p->levels[p->nlevels - 1].first_step : p->gpu_tile.steps;
    r->all_arrive = p->nlevels == 1 && st->kind == RT_STATE_ROWS && all_arrive(p, exprs, st, 0);
    r->row_for_row =
        r->ordered && !nested && shares_nothing(r) && st->kind == RT_STATE_ROWS && all_arrive(p, exprs, st, 0);
    p->gpu.places_ahead = !r->row_for_row && !(nested && r->ordered) && shares_nothing(r) && !p->framed &&
                          r->counter_est[p->nsteps] >= MANY_ROWS && all_arrive(p, exprs, st, first);
    p->gpu.places_of_tile = p->gpu.places_ahead;
    for (int i = p->gpu_tile.steps; nested && i < first; i++)
        p->gpu.places_of_tile &= goes_on(&p->steps[i], false);
}

/* Lining up the rows that a tile leaves costs as many instructions as a short visit: so much that lanes may idle. */
#define MOST_SHARE 0.75

static bool most_pass(const struct pl_pipeline *p, const struct pl_expr *exprs)
{
    double rows = p->spec->source == RT_SOURCE_TABLE ? pl_visited_rows(exprs, p) : -1;
    int tile = p->gpu_tile.steps;
    double left = tile < p->nsteps ? p->steps[tile].est : p->spec->counter_est[p->nsteps];
    return p->spec->shape == RT_SHAPE_STRAIGHT && !p->spec->ordered && !p->gpu.places_ahead && rows >= 0 &&
           left >= MOST_SHARE * rows;
}

/* Rows with a match that there may not be, or without one. */
static bool is_outer(const struct pl_pipeline *p)
{
    bool outer = false;
    for (int i = 0; i < p->nsteps; i++)
        outer |= p->steps[i].probe == PL_LEFT || p->steps[i].kind == PL_STEP_TEST;
    return outer;
}

/* Neighbouring lanes have neighbouring rows, of which a store of a field takes a part of every sector. What loops over
 * pairs do beside it is little, and outer joins store a byte for each of their fields, too, of as many rows. */
static int row_piece(const struct pl_pipeline *p, const struct rt_state *st)
{
    const int piece = st->stride % 16 == 0 ? 16 : 8;
    int stores = p->sink.nouts, bytes = 0;
    bool rows = p->sink.kind == PL_SINK_ROWS && st->kind == RT_STATE_ROWS && p->sink.ncopies == 0 && !p->framed;
    if (!rows || st->stride % piece != 0 || st->stride > ROW_BYTES_MAX)
        return 0;
    for (int i = 0; i < p->sink.nouts; i++)
        bytes += st->fields[p->sink.outs[i].field].valid_offset >= 0;
    bool many = p->loop.rows || (is_outer(p) && p->spec->counter_est[p->nsteps] >= MANY_ROWS);
    return many && stores + bytes >= 2 * (st->stride / piece) ? piece : 0;
}

void pl_choose_shape(struct pl_pipeline *p, const struct pl_expr *exprs, const struct rt_state *st,
                     enum rt_balance forced, int blocks)
{
    struct rt_pipeline *r = p->spec;
    r->shape = choose(p, forced, blocks);
    p->gpu.resident_blocks = resident_blocks(p, st->stride);
    choose_places(p, exprs, st);
    r->lane_rows = lane_rows(p);
    p->gpu.row_piece = row_piece(p, st);
    p->gpu.most_pass = most_pass(p, exprs);
    r->balance = default_balance(r);
    if (!r->ordered && forced != RT_BALANCE_AUTO && (r->shape == RT_SHAPE_ANY || forced == RT_BALANCE_NONE))
        r->balance = forced;
}
