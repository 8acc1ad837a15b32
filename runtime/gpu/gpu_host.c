/* Page-locked memory of the host: copies of parts of tables that kernels read over the link or that are streamed at its
 * speed, and what chunks are staged in. It is kept between executions, because locking pages takes as long as copying
 * them several times. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/exec/arg_values.h"
#include "runtime/gpu/gpu_copy.h"
#include "runtime/gpu/gpu_internal.h"

struct copy {
    struct rt_part_key key;
    void *p;
    size_t n;
    uint64_t used; /* number of the execution that used it last */
};

struct rt_gpu_host {
    struct copy *v;
    size_t n, cap;
    uint64_t now; /* number of the present execution */
    uint64_t held; /* bytes of all copies */
    uint64_t pin; /* that copies for streaming may take */
    void *staging;
    size_t staging_bytes;
};

int rt_gpu_host_new(struct rt_gpu *g, uint64_t pin, struct hd_err *err)
{
    g->host = hd_try_calloc(1, sizeof *g->host);
    if (!g->host)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    g->host->pin = pin;
    return 0;
}

static void drop(struct rt_gpu *g, size_t i)
{
    struct rt_gpu_host *h = g->host;
    g->d->ops->host_free(g->d, h->v[i].p);
    h->held -= h->v[i].n;
    h->v[i] = h->v[--h->n];
}

void rt_gpu_host_clear(struct rt_gpu *g)
{
    struct rt_gpu_host *h = g->host;
    while (h->n)
        drop(g, h->n - 1);
    if (h->staging)
        g->d->ops->host_free(g->d, h->staging);
    h->staging = NULL;
    h->staging_bytes = 0;
}

void rt_gpu_host_free(struct rt_gpu *g)
{
    if (!g->host)
        return;
    rt_gpu_host_clear(g);
    free(g->host->v);
    free(g->host);
    g->host = NULL;
}

void rt_gpu_host_forget(struct rt_gpu *g, uint64_t table_id)
{
    for (size_t i = g->host->n; i-- > 0;)
        if (g->host->v[i].key.table == table_id)
            drop(g, i);
}

void rt_gpu_host_begin(struct rt_gpu *g)
{
    g->host->now++;
}

static bool evict_oldest(struct rt_gpu *g)
{
    struct rt_gpu_host *h = g->host;
    size_t oldest = h->n;
    for (size_t i = 0; i < h->n; i++)
        if (h->v[i].used != h->now && (oldest == h->n || h->v[i].used < h->v[oldest].used))
            oldest = i;
    if (oldest == h->n)
        return false;
    drop(g, oldest);
    return true;
}

static int add(struct rt_gpu_host *h, struct copy c, struct hd_err *err)
{
    if (h->n == h->cap) {
        size_t cap = h->cap ? h->cap * 2 : 64;
        struct copy *v = hd_try_realloc(h->v, cap * sizeof *v);
        if (!v)
            return HD_FAIL(err, RESOURCE, NULL, "out of memory");
        h->v = v;
        h->cap = cap;
    }
    h->v[h->n++] = c;
    h->held += c.n;
    return 0;
}

static struct copy *find(struct rt_gpu_host *h, struct rt_part_key key)
{
    for (size_t i = 0; i < h->n; i++)
        if (rt_part_key_equal(h->v[i].key, key))
            return &h->v[i];
    return NULL;
}

/* Copies that the present execution does not use make room. */
static int lock_pages(struct rt_gpu *g, size_t n, void **p, struct hd_err *err)
{
    *p = NULL;
    if (hd_fault(HD_FAULT_ALLOC))
        return HD_FAIL(err, RESOURCE, NULL, "out of page-locked memory");
    while (g->d->ops->host_alloc(g->d, n, p, NULL) != 0) {
        HD_TRY(rt_device_alive(g->d, err));
        if (!evict_oldest(g))
            return g->d->ops->host_alloc(g->d, n, p, err);
    }
    return 0;
}

static int make_copy(struct rt_gpu *g, const struct rt_arg *a, const struct rt_gpu_run_options *o, void **p,
                     struct hd_err *err)
{
    enum { WORDS = 256 }; /* strings and packed numbers are read in whole words, and sent so */
    size_t n = (size_t)rt_arg_bytes(a), all = hd_align_up((size_t)rt_gpu_resident_bytes(a) + WORDS / 2, WORDS);
    HD_TRY(lock_pages(g, all, p, err));
    struct rt_copy_range range = {*p, rt_arg_memory(a), n};
    struct rt_copy c = {.thread_pool = o->thread_pool, .threads = o->threads, .nranges = 1, .ranges = &range};
    memset((char *)*p + n, 0, all - n);
    rt_copy_start(&c);
    rt_copy_finish(&c);
    if (add(g->host, (struct copy){.key = rt_part_key_of(a), .p = *p, .n = all, .used = g->host->now}, err) == 0)
        return 0;
    g->d->ops->host_free(g->d, *p);
    return -1;
}

/* False: copies that nothing uses now have made room, and it is not enough. */
static bool may_pin(struct rt_gpu *g, uint64_t n)
{
    const struct rt_gpu_host *h = g->host;
    while (n <= h->pin && h->held > h->pin - n && evict_oldest(g))
        ;
    return n <= h->pin && h->held <= h->pin - n;
}

int rt_gpu_host_copy(struct rt_gpu *g, const struct rt_arg *a, bool wanted, const struct rt_gpu_run_options *o,
                     const unsigned char **out, struct hd_err *err)
{
    struct copy *c = find(g->host, rt_part_key_of(a));
    void *p = NULL;
    *out = NULL;
    if (c) {
        c->used = g->host->now;
        *out = c->p;
        return 0;
    }
    if (rt_gpu_resident_bytes(a) == 0 || (!wanted && !may_pin(g, rt_gpu_resident_bytes(a))))
        return 0;
    HD_TRY(make_copy(g, a, o, &p, err));
    *out = p;
    return 0;
}

int rt_gpu_staging(struct rt_gpu *g, size_t n, unsigned char **p, struct hd_err *err)
{
    enum { LEAST = 1 << 20 }; /* and whole powers of two, so that few requests ask for more than is there */
    struct rt_gpu_host *h = g->host;
    if (h->staging_bytes < n) {
        n = HD_MAX((size_t)hd_pow2_ceil(n), (size_t)LEAST);
        if (h->staging)
            g->d->ops->host_free(g->d, h->staging);
        h->staging = NULL;
        h->staging_bytes = 0;
        HD_TRY(lock_pages(g, n, &h->staging, err));
        h->staging_bytes = n;
    }
    *p = h->staging;
    return 0;
}
