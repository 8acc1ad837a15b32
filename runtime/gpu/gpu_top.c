/* The first rows of each group of sorted rows (templates/finish/finish_top.cu). */
#include "runtime/gpu/gpu_state.h"

struct choosing {
    struct hdd_top_args p;
    struct rt_piece flags, places, more, to;
    uint64_t total;
};

static int describe(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct choosing *c, struct hd_err *err)
{
    const struct rt_top *t = v->s->top;
    struct hdd_key *key = HD_NEWN(x->arena, struct hdd_key, t->nstated + 1);
    for (int i = 0; i < t->nstated; i++)
        key[i] = rt_key_of_field(&v->s->fields[v->s->sort[i].field]);
    c->p = (struct hdd_top_args){.rows = v->rows,
                                 .n = v->nrows,
                                 .offset = (uint64_t)t->offset,
                                 .wanted = (uint64_t)t->offset + (uint64_t)t->limit,
                                 .blocks = rt_finish_blocks(x, v->nrows, RT_FINISH_THREADS),
                                 .ngroup = (hdd_u32)t->ngroup,
                                 .keep = t->keep};
    return rt_keys_make(x, v->s, key, t->nstated, &c->p.keys, &c->more, err);
}

static int mark(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct choosing *c, struct hd_err *err)
{
    size_t n = (size_t)v->nrows;
    HD_TRY(rt_state_alloc(x, v->s, n * 4, &c->flags, err));
    HD_TRY(rt_state_alloc(x, v->s, (n + 1) * 8, &c->places, err));
    c->p.flags = c->flags.address;
    c->p.places = c->places.address;
    HD_TRY(rt_finish_launch(x, "finish_top", "hdd_top_mark", c->p.blocks, &c->p, err));
    HD_TRY(rt_gpu_prefix_sum(x, v->s, c->p.flags, n, c->p.places, true, err));
    return x->d->ops->download(x->d, &c->total, c->p.places + n * 8, sizeof c->total, err);
}

static int move(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct choosing *c, struct hd_err *err)
{
    uint64_t stride = (uint64_t)v->s->stride;
    HD_TRY(rt_state_alloc(x, v->s, (size_t)(c->total * stride), &c->to, err));
    c->p.to = c->to.address;
    c->p.blocks = rt_finish_blocks(x, v->nrows * stride / 8, RT_FINISH_THREADS);
    return rt_finish_launch(x, "finish_top", "hdd_top_move", c->p.blocks, &c->p, err);
}

int rt_gpu_finish_top(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    struct choosing c = {.total = 0};
    if (v->nrows == 0)
        return 0;
    int rc = describe(x, v, &c, err);
    if (rc == 0)
        rc = mark(x, v, &c, err);
    if (rc == 0)
        rc = move(x, v, &c, err);
    rt_gpu_release(x, &c.flags);
    rt_gpu_release(x, &c.places);
    rt_gpu_release(x, &c.more);
    if (rc != 0) {
        rt_gpu_release(x, &c.to);
        return rc;
    }
    rt_gpu_release(x, &v->rows_at);
    rt_gpu_release(x, &v->moved);
    v->moved = c.to;
    v->rows = v->moved.address;
    v->nrows = c.total;
    return 0;
}
