#include "runtime/gpu/gpu_warm.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_modules.h"

struct warm {
    struct rt_compiler *c;
    struct rt_disk_cache disk;
    struct rt_cache_key base;
    int order[RT_WARM_MAX]; /* of sources, the longest first */
    _Atomic int next, compiled, found;
    pthread_mutex_t lock; /* of the error */
    int rc;
    struct hd_err *err;
};

/* ---- all of it --------------------------------------------------------------------------- */

static int longer(const void *a, const void *b)
{
    const char *m = rt_gpu_warm_name(*(const int *)a), *n = rt_gpu_warm_name(*(const int *)b);
    double x = rt_gpu_expected_ms(m, rt_gpu_fixed_text(m)), y = rt_gpu_expected_ms(n, rt_gpu_fixed_text(n));
    return (x < y) - (x > y);
}

static int compile_one(struct warm *w, const char *name, struct hd_err *err)
{
    const char *text = rt_gpu_fixed_text(name);
    struct rt_cache_key key = rt_gpu_key(w->base, text);
    struct rt_bytes image;
    if (rt_disk_cache_has(&w->disk, key)) {
        w->found++;
        return 0;
    }
    HD_TRY(w->c->compile(w->c, name, text, &image, err));
    rt_disk_cache_store(&w->disk, key, &image, 1);
    rt_bytes_release(&image);
    w->compiled++;
    return rt_disk_cache_has(&w->disk, key)
               ? 0
               : HD_FAIL(err, RESOURCE, w->disk.dir,
                         "the cache does not keep compiled code: its disk is full, or its limit too small");
}

static void compile_some(void *context, int worker HD_UNUSED)
{
    struct warm *w = context;
    for (int i; (i = w->next++) < RT_WARM_MAX;) {
        struct hd_err e;
        hd_err_init(&e);
        int rc = compile_one(w, rt_gpu_warm_name(w->order[i]), &e);
        if (rc == 0)
            continue;
        w->next = RT_WARM_MAX;
        pthread_mutex_lock(&w->lock);
        if (w->rc == 0) {
            w->rc = hd_err_set(w->err, e.class, e.file, e.line, *e.path ? e.path : NULL, "%s", e.message);
            hd_err_set_detail(w->err, e.detail);
        }
        pthread_mutex_unlock(&w->lock);
        hd_err_release(&e);
    }
}

int rt_gpu_warm(struct rt_compiler *c, const char *device, int arch, const struct rt_gpu_options *o,
                struct rt_thread_pool *pool, int threads, struct rt_gpu_warmed *out, struct hd_err *err)
{
    struct warm w = {.c = c, .base = rt_gpu_base_key(o->version, device, c->identity, arch), .err = err};
    if (!rt_disk_cache_init(&w.disk, o->cache_dir, o->cache_limit))
        return HD_FAIL(err, RESOURCE, o->cache_dir,
                       "the cache cannot be used: it must be a folder of ours that others cannot write");
    for (int i = 0; i < RT_WARM_MAX; i++)
        w.order[i] = i;
    qsort(w.order, RT_WARM_MAX, sizeof *w.order, longer);
    pthread_mutex_init(&w.lock, NULL);
    struct rt_thread_pool_job job = {.run = compile_some, .context = &w};
    rt_thread_pool_start(pool, &job, 1, HD_MAX(threads, 1));
    compile_some(&w, 0);
    rt_thread_pool_finish(pool, &job);
    pthread_mutex_destroy(&w.lock);
    rt_disk_cache_release(&w.disk);
    *out = (struct rt_gpu_warmed){w.compiled, w.found};
    return w.rc;
}

/* ---- behind executions ------------------------------------------------------------------- */

bool rt_gpu_can_warm(const struct rt_gpu *g)
{
    return g->compiler->beside && !rt_gpu_compiler_trouble(g) && g->modules->has_disk;
}

bool rt_gpu_warm_next(struct rt_gpu *g, int *at, const struct hd_stop *stop)
{
    struct rt_gpu_modules *m = g->modules;
    if (!rt_gpu_can_warm(g))
        return false;
    for (; *at < RT_WARM_MAX && rt_gpu_give_way(g, stop); ++*at) {
        const char *name = rt_gpu_warm_name(*at), *text = rt_gpu_fixed_text(name);
        struct rt_cache_key key = rt_gpu_source_key(g, text);
        struct rt_bytes image;
        struct hd_err none;
        if (rt_disk_cache_has(&m->disk, key))
            continue;
        ++*at;
        hd_err_init(&none);
        if (g->compiler->compile(g->compiler, name, text, &image, &none) == 0) {
            rt_disk_cache_store(&m->disk, key, &image, 1);
            rt_bytes_release(&image);
        }
        hd_err_release(&none);
        return true;
    }
    return false;
}
