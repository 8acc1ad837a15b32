/* Launches of the CUDA device: one by one, or held back until somebody waits, and then queued at once (`batch_begin` of
 * device.h). A launch costs the host 3 us, more than many a kernel takes. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/cuda_internal.h"

enum { ALIGNMENT = 16, GRAPH_MIN = 2 /* items of a batch: one alone is queued as fast by itself */ };

static int launch_now(struct rt_cuda *c, const struct rt_queued *q, void **params)
{
    const struct rt_driver *cu = c->cu;
    cu_stream s = rt_cuda_compute(c);
    return q->cooperative
               ? cu->cuLaunchCooperativeKernel(q->f->f, q->blocks, 1, 1, q->threads, 1, 1, q->shared_bytes, s, params)
               : cu->cuLaunchKernel(q->f->f, q->blocks, 1, 1, q->threads, 1, 1, q->shared_bytes, s, params, NULL);
}

static int set_now(struct rt_cuda *c, const struct rt_queued *q)
{
    return c->cu->cuMemsetD8Async(q->to, (unsigned char)q->byte, q->bytes, rt_cuda_compute(c));
}

static const char *what(const struct rt_queued *q)
{
    return q->f ? "launch" : "clearing memory";
}

static int queue_each(struct rt_cuda *c, struct rt_batch *b, struct hd_err *err)
{
    for (int i = 0; i < b->n; i++) {
        const struct rt_queued *q = &b->item[i];
        void *params[RT_PARAMS];
        for (int k = 0; k < q->nparams; k++)
            params[k] = b->bytes + q->at[k];
        HD_TRY(rt_cuda_check(c, q->f ? launch_now(c, q, params) : set_now(c, q), what(q), err));
    }
    return 0;
}

int rt_cuda_flush(struct rt_cuda *c, struct hd_err *err)
{
    struct rt_batch *b = c->batch;
    if (!b || b->n == 0)
        return 0;
    int rc = b->n >= GRAPH_MIN && rt_cuda_graph_launch(c, b) ? 0 : queue_each(c, b, err);
    b->n = 0;
    b->used = 0;
    return rc;
}

/* Without memory for it there is no batch. */
void rt_cuda_batch_begin(struct rt_device *d)
{
    struct rt_cuda *c = rt_cuda(d);
    if (!c->batch)
        c->batch = hd_try_calloc(1, sizeof *c->batch);
    if (c->batch)
        c->batch->on = true;
}

int rt_cuda_batch_end(struct rt_device *d, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    int rc = rt_cuda_flush(c, err);
    if (c->batch)
        c->batch->on = false;
    return rc;
}

void rt_cuda_batch_close(struct rt_cuda *c)
{
    free(c->batch);
    c->batch = NULL;
}

/* Room for an item with so many bytes of parameters; NULL: there is no batch. */
static int add(struct rt_cuda *c, const struct rt_queued *q, size_t bytes, struct rt_queued **out, struct hd_err *err)
{
    struct rt_batch *b = c->batch;
    *out = NULL;
    if (!b || !b->on || bytes > RT_BATCH_BYTES)
        return rt_cuda_flush(c, err);
    if (b->n == RT_BATCH_MAX || bytes > RT_BATCH_BYTES - b->used)
        HD_TRY(rt_cuda_flush(c, err));
    *out = &b->item[b->n++];
    **out = *q;
    return 0;
}

int rt_cuda_launch(struct rt_device *d, rt_function *f, const struct rt_launch *l, struct hd_err *err)
{
    static const uint64_t zeros[4096]; /* as much as parameters can be */
    struct rt_cuda *c = rt_cuda(d);
    struct rt_queued one = {.f = f,
                            .blocks = l->blocks,
                            .threads = l->threads,
                            .shared_bytes = l->shared_bytes,
                            .cooperative = l->cooperative,
                            .nparams = l->nparams};
    struct rt_queued *q;
    void *params[RT_PARAMS];
    size_t bytes = 0;
    for (int i = 0; i < l->nparams; i++) {
        params[i] = (void *)l->param[i].p;
        one.n[i] = l->param[i].n;
        bytes += hd_align_up(l->param[i].n, ALIGNMENT);
    }
    if (hd_fault_device(c->number)) /* the kernel with 0 for every address among its args */
        params[0] = (void *)zeros;
    HD_TRY(add(c, &one, bytes, &q, err));
    if (!q)
        return rt_cuda_check(c, launch_now(c, &one, params), "launch", err);
    for (int i = 0; i < l->nparams; i++) {
        q->at[i] = c->batch->used;
        memcpy(c->batch->bytes + q->at[i], params[i], q->n[i]);
        c->batch->used += hd_align_up(q->n[i], ALIGNMENT);
    }
    return 0;
}

int rt_cuda_set(struct rt_device *d, uint64_t to, int byte, size_t n, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    struct rt_queued *q, one = {.to = to, .byte = (unsigned char)byte, .bytes = n};
    if (n == 0)
        return 0;
    HD_TRY(add(c, &one, 0, &q, err));
    return q ? 0 : rt_cuda_check(c, set_now(c, &one), "clearing memory", err);
}
