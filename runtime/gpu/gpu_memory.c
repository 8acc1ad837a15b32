/* Memory of an execution: of the pool, within the execution's limit. */
#include "runtime/gpu/gpu_state.h"

uint64_t rt_gpu_limit(const struct rt_gpu_exec *x)
{
    uint64_t budget = rt_gpu_pool_budget(x->g->pool);
    return x->limit ? HD_MIN(budget, x->limit) : budget;
}

static int full(const struct rt_gpu_exec *x, const struct rt_state *s, size_t n, struct hd_err *err)
{
    HD_TRY(rt_device_alive(x->d, err));
    if (x->stats)
        x->stats->lacked = n;
    return HD_FAIL(err, RESOURCE, s ? s->path : NULL,
                   "the limit of %llu bytes of GPU memory is reached: %zu more are needed (%s%s)",
                   (unsigned long long)rt_gpu_limit(x), n, s ? rt_state_kind_name(s->kind) : "scratch",
                   s ? " state of the plan" : "");
}

int rt_gpu_alloc(struct rt_gpu_exec *x, const struct rt_state *s, size_t n, struct rt_piece *out, struct hd_err *err)
{
    *out = (struct rt_piece){0, 0};
    if (x->limit && (n > x->limit || x->used > x->limit - n))
        return full(x, s, n, err);
    while (!rt_gpu_pool_alloc(x->g->pool, n, out))
        if (!rt_gpu_evict(x->g, n))
            return full(x, s, n, err);
    x->used += n;
    x->peak = HD_MAX(x->peak, x->used);
    return 0;
}

void rt_gpu_release(struct rt_gpu_exec *x, struct rt_piece *p)
{
    if (p->address)
        x->used -= p->n;
    rt_gpu_pool_release(x->g->pool, p);
}

int rt_state_alloc(struct rt_gpu_exec *x, const struct rt_state *s, size_t n, struct rt_piece *out, struct hd_err *err)
{
    return rt_gpu_alloc(x, s, HD_MAX(n, (size_t)1), out, err);
}

int rt_state_alloc_zeroed(struct rt_gpu_exec *x, const struct rt_state *s, size_t n, struct rt_piece *out,
                          struct hd_err *err)
{
    HD_TRY(rt_state_alloc(x, s, n, out, err));
    return x->d->ops->set(x->d, out->address, 0, HD_MAX(n, (size_t)1), err);
}
