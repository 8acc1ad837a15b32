#include "runtime/gpu/gpu.h"

#include <stdlib.h>
#include <time.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_internal.h"

/* Between two looks whether who waits for the device is to go on waiting. */
enum { LOOK_NS = 5000000 };

double rt_gpu_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void rt_gpu_step_in(struct rt_gpu *g)
{
    if (g->d->ops->enter)
        g->d->ops->enter(g->d);
}

void rt_gpu_step_out(struct rt_gpu *g)
{
    if (g->d->ops->leave)
        g->d->ops->leave(g->d);
}

void rt_gpu_enter(struct rt_gpu *g)
{
    pthread_mutex_lock(&g->lock);
    rt_gpu_step_in(g);
}

static void step_out(struct rt_gpu *g)
{
    rt_gpu_step_out(g);
    pthread_mutex_unlock(&g->lock);
}

static void drop_landing(struct rt_gpu *g)
{
    if (g->landing)
        g->d->ops->host_free(g->d, g->landing);
    g->landing = NULL;
}

/* Freeing what is on a lost device fails, which nobody asks about; it must not be freed later, when its addresses
 * mean something else. */
static void drop_all(struct rt_gpu *g)
{
    g->life++;
    drop_landing(g);
    rt_gpu_residents_clear(g);
    rt_gpu_host_clear(g);
    rt_gpu_pool_clear(g->pool);
    rt_gpu_modules_clear(g);
}

void rt_gpu_leave(struct rt_gpu *g)
{
    if (g->d->lost)
        drop_all(g);
    step_out(g);
}

/* ---- a lost device --------------------------------------------------------------------- */

static int revive(struct rt_gpu *g, struct hd_err *err)
{
    struct hd_err why;
    hd_err_init(&why);
    int rc = g->d->ops->reset(g->d, &why);
    if (rc != 0)
        HD_FAIL(err, RESOURCE, NULL, "the GPU was lost (%s) and this process cannot have it again: %s", g->d->why,
                why.message);
    hd_err_release(&why);
    return rc;
}

bool rt_gpu_lock_within(struct rt_gpu *g, long ns)
{
    struct timespec t;
#if defined(__SANITIZE_THREAD__) /* which does not know the call below */
    clock_gettime(CLOCK_REALTIME, &t);
#else
    clock_gettime(CLOCK_MONOTONIC, &t);
#endif
    t.tv_nsec += ns;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
#if defined(__SANITIZE_THREAD__)
    return pthread_mutex_timedlock(&g->lock, &t) == 0;
#else
    return pthread_mutex_clocklock(&g->lock, CLOCK_MONOTONIC, &t) == 0;
#endif
}

/* Other executions may take long. */
static int lock_or_cancel(struct rt_gpu *g, const struct hd_stop *stop, struct hd_err *err)
{
    while (!hd_stopped(stop))
        if (rt_gpu_lock_within(g, LOOK_NS))
            return 0;
    return HD_FAIL(err, CANCELLED, NULL, "cancelled");
}

int rt_gpu_begin(struct rt_gpu *g, const struct hd_stop *stop, struct hd_err *err)
{
    HD_TRY(lock_or_cancel(g, stop, err));
    if (g->d->lost && revive(g, err) != 0) {
        pthread_mutex_unlock(&g->lock);
        return -1;
    }
    rt_gpu_step_in(g);
    return 0;
}

uint64_t rt_gpu_room(const struct rt_gpu *g)
{
    return rt_gpu_pool_budget(g->pool);
}

bool rt_gpu_is_lost(struct rt_gpu *g)
{
    if (pthread_mutex_trylock(&g->lock) != 0)
        return false;
    bool lost = g->d->lost;
    pthread_mutex_unlock(&g->lock);
    return lost;
}

/* ---- what is kept ---------------------------------------------------------------------- */

void rt_gpu_forget(struct rt_gpu *g, uint64_t table_id)
{
    rt_gpu_enter(g);
    rt_gpu_residents_forget(g, table_id);
    rt_gpu_host_forget(g, table_id);
    rt_gpu_leave(g);
}

int rt_gpu_wait(struct rt_gpu *g, void *event, struct hd_err *err)
{
    HD_TRY(rt_gpu_begin(g, NULL, err));
    int rc = g->d->ops->foreign_sync ? g->d->ops->foreign_sync(g->d, event, err)
                                     : HD_FAIL(err, UNSUPPORTED, NULL, "events of others are not known on this device");
    rt_gpu_leave(g);
    return rc;
}

/* ---- opening --------------------------------------------------------------------------- */

uint64_t rt_gpu_memory(const struct rt_gpu *g)
{
    return rt_gpu_pool_budget(g->pool);
}

const struct rt_device *rt_gpu_device(const struct rt_gpu *g)
{
    return g->d;
}

const char *rt_gpu_compiler_trouble(const struct rt_gpu *g)
{
    return g->compiler->trouble ? g->compiler->trouble(g->compiler) : NULL;
}

/* Of what is free: the driver needs some for code, stacks and launches. */
static uint64_t default_budget(const struct rt_device *d)
{
    return d->info.free_memory / 100 * 94;
}

static int fill(struct rt_gpu *g, const struct rt_gpu_options *o, struct hd_err *err)
{
    uint64_t max = default_budget(g->d);
    uint64_t budget = o->memory ? HD_MIN(o->memory, max) : max;
    HD_TRY(rt_gpu_pool_new(g->d, budget, o->direct_memory, &g->pool, err));
    HD_TRY(rt_gpu_residents_new(g, err));
    HD_TRY(rt_gpu_host_new(g, o->pin, err));
    return rt_gpu_modules_new(g, o, err);
}

int rt_gpu_open(struct rt_device *d, struct rt_compiler *c, const struct rt_gpu_options *o, struct rt_gpu **out,
                struct hd_err *err)
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
    drop_landing(g);
    rt_gpu_residents_free(g);
    rt_gpu_host_free(g);
    rt_gpu_pool_free(g->pool);
    rt_gpu_modules_free(g);
    step_out(g);
    g->d->ops->close(g->d);
    g->compiler->close(g->compiler);
    pthread_mutex_destroy(&g->lock);
    free(g);
}
