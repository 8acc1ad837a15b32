/* What the kernel of a pipeline needs of a block's shared memory, and of memory to hand work over: the layout
 * of the tuples that levels carry, queues of them per warp (templates/nifs.cuh), and accumulators. */
#include "planner/pipeline.h"

static int align_up(int x, int a)
{
    return (x + a - 1) / a * a;
}

/* Size and alignment of a value as a member of a structure: its class, or that and whether it is NULL. */
static void value_layout(const struct pl_slot *s, int *size, int *align)
{
    static const int sizes[] = {1, 4, 8, 16, 8, 16, 4}, aligns[] = {1, 4, 8, 16, 8, 8, 4};
    *align = aligns[s->phys];
    *size = s->nullable ? align_up(sizes[s->phys] + 1, *align) : sizes[s->phys];
}

static void lay_out_tuple(const struct pl_pipeline *p, struct pl_level *l)
{
    l->tuple_align = HDD_TUPLE_ALIGN;
    l->tuple_bytes = 0;
    for (int i = 0; i < l->nslots; i++) {
        int bytes, align;
        value_layout(&p->slots[l->slots[i]], &bytes, &align);
        l->tuple_bytes = align_up(l->tuple_bytes, align) + bytes;
        l->tuple_align = HD_MAX(l->tuple_align, align);
    }
    l->tuple_bytes = HD_MAX(align_up(l->tuple_bytes, l->tuple_align), HDD_TUPLE_ALIGN);
}

bool pl_has_queues(const struct pl_pipeline *p)
{
    return p->nlevels > 1 && p->loop.rows == 0 && p->spec->shape != RT_SHAPE_BY_LANE;
}

bool pl_has_waiting(const struct pl_pipeline *p)
{
    return p->loop.rows > 0 && !p->loop.fused;
}

void pl_lay_out_tuples(struct pl_pipeline *p)
{
    for (int l = 1; l < p->nlevels; l++)
        lay_out_tuple(p, &p->levels[l]);
}

/* What a warp gives away of a queue is the whole of it. */
static int queue_donation_bytes(int tuple)
{
    return HDD_QUEUE_DONATION_BYTES + HDD_QUEUE_ENTRIES * (HDD_RANGE_BYTES + tuple);
}

int pl_queue_bytes(int tuple, int block_warps)
{
    return block_warps * (HDD_QUEUE_BYTES + queue_donation_bytes(tuple));
}

void pl_choose_block(struct pl_pipeline *p, int warps)
{
    int bytes = 0;
    for (int l = 1; l < p->nlevels; l++)
        bytes += pl_queue_bytes(p->levels[l].tuple_bytes, 1);
    p->gpu.block_warps = warps ? warps : HDD_BLOCK_WARPS;
    if (p->gpu.block_warps > HDD_BLOCK_WARPS)
        p->gpu.block_warps = HD_MAX(HD_MIN(p->gpu.block_warps, HDD_QUEUES_BYTES / HD_MAX(bytes, 1)), HDD_BLOCK_WARPS);
}

void pl_size_kernel(struct pl_pipeline *p)
{
    struct pl_gpu *g = &p->gpu;
    int donation = HDD_SCAN_DONATION_BYTES, tuple = 0;
    g->shared_bytes = p->sink.shared_bytes;
    for (int i = 0; i < p->gpu_tile.steps; i++)
        g->shared_bytes += p->steps[i].bits_bytes;
    for (int l = 1; pl_has_queues(p) && l < p->nlevels; l++) {
        int bytes = p->levels[l].tuple_bytes;
        tuple = HD_MAX(tuple, bytes);
        donation = HD_MAX(donation, queue_donation_bytes(bytes));
        g->shared_bytes += pl_queue_bytes(bytes, g->block_warps);
    }
    if (pl_has_waiting(p))
        g->shared_bytes += g->block_warps * HDD_LOOP_WAITING_BYTES;
    g->donation_bytes = align_up(donation, 16);
    g->slot_bytes = HDD_SLOT_BYTES + align_up(tuple, 16);
    g->shared_at_launch = g->shared_bytes > HDD_SHARED_DECLARED;
}
