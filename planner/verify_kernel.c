/* Rules of what the kernel of a pipeline takes on a GPU (planner/kernel.c, shape.c): a block's shared memory, and what
 * warps hand to each other. */
#include "planner/verify.h"

/* Of a queue with tuples of so many bytes, a warp gives all away. */
static int queue_donation(int tuple)
{
    return HDD_QUEUE_DONATION_BYTES + HDD_QUEUE_ENTRIES * (HDD_RANGE_BYTES + tuple);
}

/* Copies of bitmaps in a block's shared memory. */
static bool check_copies(struct vf *v, int *shared)
{
    const struct pl_pipeline *p = v->p;
    for (int i = 0; i < p->nsteps; i++) {
        const struct pl_step *s = &p->steps[i];
        bool looks = i < p->gpu_tile.steps && (pl_step_form(s->kind)->tile & PL_TILE_LOOKUPS) != 0;
        VF_CHECK(v, KERNEL_COPY, s->bits_bytes == 0 || (looks && p->nlevels == 1 && s->bits_bytes % 8 == 0));
        uint64_t bits = s->bits_bytes ? v->spec->states[s->state].range : 0;
        VF_CHECK(v, KERNEL_COPY, s->bits_folded == (bits > (uint64_t)s->bits_bytes * 8));
        *shared += s->bits_bytes;
    }
    return true;
}

/* Registers are limited where warps share work, and where rows wait for lookups, or a tile for its strings. */
static bool check_resident(struct vf *v)
{
    const struct pl_pipeline *p = v->p;
    const struct pl_gpu *k = &p->gpu;
    bool sharing = p->spec->shape == RT_SHAPE_AWS, looking = false;
    bool straight = p->spec->shape == RT_SHAPE_STRAIGHT || p->spec->shape == RT_SHAPE_ALL_ROWS;
    for (int i = 0; straight && i < p->nsteps; i++)
        looking |= pl_step_form(p->steps[i].kind)->yields == PL_YIELDS_PROBED;
    looking |= straight && pl_tile_searches(&p->gpu_tile);
    int most = sharing ? HDD_RESIDENT_WARPS : looking ? HDD_LOOKING_WARPS : 0;
    VF_CHECK(v, KERNEL_RESIDENT, k->resident_blocks >= 0 && k->resident_blocks <= most / k->block_warps);
    return true;
}

bool vf_kernel(struct vf *v)
{
    const struct pl_pipeline *p = v->p;
    const struct pl_gpu *k = &p->gpu;
    int shared = p->sink.shared_bytes;
    VF_TRY(check_copies(v, &shared));
    VF_CHECK(v, KERNEL_WARPS, k->block_warps >= 1 && k->block_warps <= HDD_BLOCK_WARPS_MAX);
    VF_CHECK(v, KERNEL_HANDED, k->donation_bytes % 16 == 0 && k->slot_bytes % 16 == 0);
    VF_CHECK(v, KERNEL_HANDED, k->donation_bytes >= HDD_SCAN_DONATION_BYTES && k->slot_bytes >= HDD_SLOT_BYTES);
    for (int l = 1; pl_has_queues(p) && l < p->nlevels; l++) {
        int tuple = p->levels[l].tuple_bytes;
        VF_CHECK(v, KERNEL_HANDED, k->donation_bytes >= queue_donation(tuple));
        VF_CHECK(v, KERNEL_HANDED, k->slot_bytes >= HDD_SLOT_BYTES + tuple);
        shared += k->block_warps * (HDD_QUEUE_BYTES + queue_donation(tuple));
    }
    shared += p->loop.rows && !p->loop.fused ? k->block_warps * HDD_LOOP_WAITING_BYTES : 0;
    VF_CHECK(v, KERNEL_SHARED, k->shared_bytes == shared);
    VF_CHECK(v, KERNEL_AT_LAUNCH, k->shared_at_launch == (k->shared_bytes > HDD_SHARED_DECLARED));
    VF_TRY(check_resident(v));
    bool nested = p->spec->shape == RT_SHAPE_NIFS && !p->spec->ordered;
    VF_CHECK(v, KERNEL_PLACES,
             !k->places_ahead || (p->sink.kind == PL_SINK_ROWS && (p->nlevels == 1 || nested) && !p->framed));
    VF_CHECK(v, KERNEL_PLACES, !k->places_of_tile || k->places_ahead);
    VF_CHECK(v, KERNEL_MOST,
             !k->most_pass || (p->spec->shape == RT_SHAPE_STRAIGHT && !p->spec->ordered && !k->places_ahead));
    const struct rt_state *st = &v->spec->states[p->sink.state];
    VF_CHECK(v, KERNEL_ROW,
             k->row_piece == 0 || (p->sink.kind == PL_SINK_ROWS && st->kind == RT_STATE_ROWS && !p->framed &&
                                   st->stride % k->row_piece == 0));
    int all = p->nlevels == 1 || k->places_of_tile ? p->gpu_tile.steps : p->levels[p->nlevels - 1].first_step;
    for (int i = all; k->places_ahead && i < p->nsteps; i++)
        VF_CHECK(v, KERNEL_PLACES, pl_step_form(p->steps[i].kind)->yields != PL_YIELDS_SOME);
    VF_CHECK(v, ROW_FOR_ROW,
             !p->spec->row_for_row ||
                 (p->spec->ordered && p->sink.kind == PL_SINK_ROWS && p->nlevels == 1 && !k->places_ahead));
    for (int i = 0; p->spec->row_for_row && i < p->nsteps; i++)
        VF_CHECK(v, ROW_FOR_ROW, pl_step_form(p->steps[i].kind)->yields != PL_YIELDS_SOME);
    return true;
}
