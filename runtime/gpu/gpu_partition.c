/* Rows of one part side by side, before they are looked up or grouped: passes of whole rows by digits of a hash
 * (templates/finish/finish_partition.cu). */
#include <stdlib.h>

#include "runtime/gpu/gpu_state.h"

enum { LONG_ROWS = 1024 }; /* of a tile, where a row is a long run itself */

struct partition {
    struct rt_gpu_exec *x;
    struct rt_gpu_state *v;
    struct hdd_keys keys;
    struct rt_piece more, to;
    struct rt_sweeps w;
    struct hdd_partition_count_args count;
    uint32_t tile;
};

static uint32_t tile_of(uint64_t stride)
{
    uint64_t rows = HDD_STAGE_BYTES / stride / RT_FINISH_THREADS * RT_FINISH_THREADS;
    return (uint32_t)(rows ? rows : LONG_ROWS);
}

/* HEDDLE_GPU_PARTS=N: another number of bits than the planner's, for comparisons. */
static int bits_of(const struct rt_partition *how)
{
    const char *text = secure_getenv("HEDDLE_GPU_PARTS");
    int bits = text ? atoi(text) : how->gpu_bits;
    return HD_MAX(0, HD_MIN(bits, HD_MIN(how->top, (int)RT_PARTITION_BITS)));
}

static int keys_of(struct partition *b, struct hd_err *err)
{
    const struct rt_partition *how = &b->v->s->partition;
    struct hdd_key *key = HD_NEWN(b->x->arena, struct hdd_key, how->nfields + 1);
    for (int i = 0; i < how->nfields; i++)
        key[i] = rt_key_of_field(&b->v->s->fields[how->fields[i]]);
    return rt_keys_make(b->x, b->v->s, key, how->nfields, &b->keys, &b->more, err);
}

static int count(struct partition *b, struct hd_err *err)
{
    struct hdd_partition_count_args *p = &b->count;
    p->keys = b->keys;
    p->rows = b->v->rows_at.address;
    p->n = b->v->nrows;
    p->blocks = rt_finish_blocks(b->x, p->n, 4 * RT_FINISH_THREADS);
    HD_TRY(rt_finish_launch(b->x, "finish_partition", "hdd_partition_count", p->blocks, p, err));
    return rt_finish_launch(b->x, "finish_partition", "hdd_partition_begin", 1, &p->digits, err);
}

/* The first pass need not keep an order. */
static int move(struct partition *b, int pass, struct hd_err *err)
{
    struct rt_sweep at = {.stable = pass > 0};
    while (rt_sweep_next(&b->w, pass, &at)) {
        HD_TRY(rt_sweep_begin(b->x, &b->w, &at, err));
        struct hdd_partition_args p = {.keys = b->keys,
                                       .rows = b->v->rows_at.address + at.first * (uint64_t)b->v->s->stride,
                                       .n = at.n,
                                       .to = b->to.address,
                                       .base = at.base,
                                       .status = b->w.status,
                                       .since = b->w.since,
                                       .next = at.next,
                                       .blocks = rt_finish_blocks(b->x, at.n, b->tile),
                                       .shift = b->count.digits.shift[pass],
                                       .mask = (1u << b->count.digits.bits[pass]) - 1,
                                       .tile = b->tile,
                                       .stable = at.stable};
        HD_TRY(rt_finish_launch(b->x, "finish_partition", "hdd_partition_move", p.blocks, &p, err));
    }
    struct rt_piece from = b->v->rows_at;
    b->v->rows_at = b->to;
    b->v->rows = b->v->rows_at.address;
    b->to = from;
    return 0;
}

static int partition(struct partition *b, struct hd_err *err)
{
    const struct rt_state *s = b->v->s;
    const struct rt_partition *how = &s->partition;
    int bits = bits_of(how);
    b->tile = tile_of((uint64_t)s->stride);
    rt_digits(how->top - bits, bits, &b->count.digits);
    HD_TRY(keys_of(b, err));
    HD_TRY(rt_state_alloc(b->x, s, (size_t)(b->v->nrows * (uint64_t)s->stride), &b->to, err));
    HD_TRY(rt_sweeps_alloc(b->x, s, b->v->nrows, b->tile, &b->count.digits, &b->w, err));
    HD_TRY(count(b, err));
    for (int k = 0; k < (int)b->count.digits.passes; k++)
        HD_TRY(move(b, k, err));
    return 0;
}

int rt_gpu_finish_partition(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    struct partition b = {.x = x, .v = v};
    if (bits_of(&v->s->partition) == 0 || v->nrows <= 1)
        return 0;
    int rc = partition(&b, err);
    rt_gpu_release(x, &b.more);
    rt_gpu_release(x, &b.to);
    rt_gpu_release(x, &b.w.at);
    return rc;
}
