#include "runtime/gpu/gpu.h"

#include <stdlib.h>
#include <time.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_internal.h"

double rt_gpu_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void rt_gpu_enter(struct rt_gpu *g)
{
    pthread_mutex_lock(&g->lock);
    if (g->d->ops->enter)
        g->d->ops->enter(g->d);
}

void rt_gpu_leave(struct rt_gpu *g)
{
    if (g->d->ops->leave)
        g->d->ops->leave(g->d);
    pthread_mutex_unlock(&g->lock);
}

const struct rt_device *rt_gpu_device(const struct rt_gpu *g)
{
    return g->d;
}

/* Of what is free: the driver needs some for code, stacks and launches. */
static uint64_t default_budget(const struct rt_device *d)
{
    return d->info.free_memory / 100 * 94;
}

static int fill(struct rt_gpu *g, const struct rt_gpu_options *o, struct hd_err *err)
{
    uint64_t most = default_budget(g->d);
    uint64_t budget = o->memory ? HD_MIN(o->memory, most) : most;
    HD_TRY(rt_gpu_pool_new(g->d, budget, o->direct_memory, &g->pool, err));
    HD_TRY(rt_gpu_residents_new(g, err));
    return rt_gpu_modules_new(g, o, err);
}

int rt_gpu_open(struct rt_device *d, struct rt_compiler *c, const struct rt_gpu_options *o,
                struct rt_gpu **out, struct hd_err *err)
{
    struct rt_gpu *g = hd_try_calloc(1, sizeof *g);
    if (!g) {
        d->ops->close(d);
        c->close(c);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    }
    g->d = d;
    g->compiler = c;
    pthread_mutex_init(&g->lock, NULL);
    if (fill(g, o, err) != 0) {
        rt_gpu_close(g);
        return -1;
    }
    *out = g;
    return 0;
}

void rt_gpu_close(struct rt_gpu *g)
{
    if (!g)
        return;
    rt_gpu_enter(g);
    rt_gpu_residents_free(g);
    rt_gpu_pool_free(g->pool);
    rt_gpu_modules_free(g);
    rt_gpu_leave(g);
    g->d->ops->close(g->d);
    g->compiler->close(g->compiler);
    pthread_mutex_destroy(&g->lock);
    free(g);
}
