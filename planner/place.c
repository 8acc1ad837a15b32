/* What a GPU does with a pipeline, decided once it is complete: where the accumulators of an
 * aggregate are while the kernel runs, and whether rows are lined up after the tile's filters.
 * The CPU backend has its own counterpart in private and shared states. */
#include "planner/lower.h"

enum {
    BLOCK_THREADS = 128,     /* HDD_BLOCK of templates/machine.cuh */
    LANES_ALONE = 36,        /* words of a thread's copy: 36 KiB of a block leave six blocks on
                                a multiprocessor, 24 warps; wide tiles keep the memory busy */
    LANES_WITH_QUEUES = 12,  /* kernels with levels need shared memory for queues, and warps */
    MOST_GROUPS = 32         /* a word of a register says which groups a thread has seen */
};

/* Sizes that kernels are compiled for: a cubin serves every range that fits. */
static const int lane_classes[] = {4, 8, 12, 16, 24, LANES_ALONE};

static int words_of(enum rt_phys p) { return p == RT_I128 ? 2 : 1; }

/* Words of all accumulators of a group; 0: one of them cannot be kept per thread. */
static int group_words(const struct rt_state *st, const struct pl_sink *s)
{
    int n = 0;
    for (int i = 0; i < s->nouts; i++) {
        enum rt_phys p = st->fields[s->outs[i].field].phys;
        if (p == RT_STR || p == RT_BOOL || s->outs[i].fn == FE_AGG_ANY)
            return 0;
        n += words_of(p);
    }
    return n;
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

static void place_sink(const struct ctx *c, struct pl_pipeline *q)
{
    struct pl_sink *s = &q->sink;
    if (s->kind == PL_SINK_AGG_SCALAR)
        s->place = PL_PLACE_REGISTERS;
    if (s->kind == PL_SINK_AGG_DENSE)
        s->lane_words = lane_class(q, &c->states.v[s->state]);
    if (s->lane_words)
        s->place = PL_PLACE_LANES;
}

/* Without probes: a lane that waits for a lookup holds up its whole tile. Measured selectivity
 * at which lining up begins to pay: docs/performance.md. */
static bool stays_in_place(const struct pl_pipeline *q)
{
    const struct pl_sink *s = &q->sink;
    double rows = q->spec->source == RT_SOURCE_TABLE ? (double)q->spec->table->rows : 0;
    double out = q->spec->counter_est[q->nsteps];
    if (s->place == PL_PLACE_MEMORY || q->nlevels > 1 || q->spec->ordered || rows < 4096 ||
        out < 0.4 * rows)
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

void pl_place_pipeline(const struct ctx *c, struct pl_pipeline *q)
{
    place_sink(c, q);
    if (stays_in_place(q))
        q->spec->shape = RT_SHAPE_IN_PLACE;
    HD_ASSERT(q->sink.lane_words * 8 * BLOCK_THREADS <= 40 * 1024);
}
