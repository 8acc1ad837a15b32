/* Copies between host and CUDA device: of page-locked memory, and of other memory through such. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "runtime/gpu/cuda_internal.h"

enum {
    BOUNCE = 1 << 20,   /* of downloads */
    LARGE = 8 << 20,    /* uploads from this size on are staged by several threads */
    PIECE = 4 << 20,    /* what a thread copies at once */
    THREADS = 6,
    SLOTS = 2 /* of a thread: one is filled while the other travels */
};

/* ---- downloads ------------------------------------------------------------------------- */

int rt_cuda_download(struct rt_device *d, void *to, uint64_t from, size_t n, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    HD_TRY(rt_cuda_flush(c, err));
    if (!c->bounce)
        HD_TRY(rt_cuda_check(c, c->cu->cuMemHostAlloc(&c->bounce, BOUNCE, 0), "pinned memory", err));
    for (size_t at = 0; at < n; at += BOUNCE) {
        size_t k = HD_MIN(n - at, (size_t)BOUNCE);
        HD_TRY(
            rt_cuda_check(c, c->cu->cuMemcpyDtoHAsync(c->bounce, from + at, k, rt_cuda_compute(c)), "download", err));
        HD_TRY(rt_cuda_check(c, c->cu->cuStreamSynchronize(rt_cuda_compute(c)), "download", err));
        memcpy((char *)to + at, c->bounce, k);
    }
    return 0;
}

/* ---- large uploads --------------------------------------------------------------------- */

/* One thread copies at 5 to 10 GB/s from mapped files, the bus takes 50. */
struct upload {
    struct rt_cuda *c;
    uint64_t to;
    const char *from;
    size_t n;
    _Atomic size_t next;
    _Atomic int status, thread; /* of the driver; the first failure */
};

static int stage(struct upload *u, char *slots, cu_event *sent)
{
    const struct rt_driver *cu = u->c->cu;
    for (int k = 0;; k = (k + 1) % SLOTS) {
        size_t at = atomic_fetch_add(&u->next, PIECE);
        if (at >= u->n || atomic_load(&u->status) != 0)
            return 0;
        size_t n = HD_MIN(u->n - at, (size_t)PIECE);
        char *slot = slots + (size_t)k * PIECE;
        int status = cu->cuEventSynchronize(sent[k]); /* at once if it was never recorded */
        memcpy(slot, u->from + at, n);
        if (status == 0)
            status = cu->cuMemcpyHtoDAsync(u->to + at, slot, n, u->c->side);
        if (status == 0)
            status = cu->cuEventRecord(sent[k], u->c->side);
        if (status != 0)
            return status;
    }
}

static void *stage_thread(void *context)
{
    struct upload *u = context;
    const struct rt_driver *cu = u->c->cu;
    int thread = atomic_fetch_add(&u->thread, 1), status, expected = 0;
    cu_event sent[SLOTS] = {NULL};
    cu_context popped;
    cu->cuCtxPushCurrent(u->c->context);
    status = 0;
    for (int k = 0; k < SLOTS && status == 0; k++)
        status = cu->cuEventCreate(&sent[k], CU_EVENT_DISABLE_TIMING);
    if (status == 0)
        status = stage(u, (char *)u->c->staging + (size_t)thread * SLOTS * PIECE, sent);
    for (int k = 0; k < SLOTS; k++)
        if (sent[k])
            cu->cuEventDestroy(sent[k]);
    cu->cuCtxPopCurrent(&popped);
    if (status != 0)
        atomic_compare_exchange_strong(&u->status, &expected, status);
    return NULL;
}

static int upload_large(struct rt_cuda *c, uint64_t to, const void *from, size_t n, struct hd_err *err)
{
    struct upload u = {.c = c, .to = to, .from = from, .n = n};
    pthread_t threads[THREADS];
    int started = 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long want = HD_MIN(HD_MIN((long)THREADS, cores), (long)(n / PIECE)) - 1;
    if (!c->staging)
        HD_TRY(rt_cuda_check(c, c->cu->cuMemHostAlloc(&c->staging, (size_t)THREADS * SLOTS * PIECE, 0), "pinned memory",
                             err));
    HD_TRY(rt_cuda_check(c, c->cu->cuStreamSynchronize(rt_cuda_compute(c)), "upload", err));
    while (started < want && pthread_create(&threads[started], NULL, stage_thread, &u) == 0)
        started++;
    stage_thread(&u);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    int status = c->cu->cuStreamSynchronize(c->side);
    return rt_cuda_check(c, u.status ? u.status : status, "upload", err);
}

int rt_cuda_upload(struct rt_device *d, uint64_t to, const void *from, size_t n, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    HD_TRY(rt_cuda_flush(c, err));
    if (n >= LARGE)
        return upload_large(c, to, from, n, err);
    if (n == 0)
        return 0;
    return rt_cuda_check(c, c->cu->cuMemcpyHtoDAsync(to, from, n, rt_cuda_compute(c)), "upload", err);
}

/* ---- page-locked memory ---------------------------------------------------------------- */

int rt_cuda_host_alloc(struct rt_device *d, size_t n, void **p, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    return rt_cuda_check(c, c->cu->cuMemHostAlloc(p, HD_MAX(n, (size_t)1), CU_HOST_ALLOC_PORTABLE), "pinned memory",
                         err);
}

void rt_cuda_host_free(struct rt_device *d, void *p)
{
    rt_cuda(d)->cu->cuMemFreeHost(p);
}

int rt_cuda_host_register(struct rt_device *d, void *p, size_t n, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    return rt_cuda_check(c, c->cu->cuMemHostRegister(p, n, CU_HOST_REGISTER_PORTABLE), "pinning memory", err);
}

void rt_cuda_host_unregister(struct rt_device *d, void *p)
{
    rt_cuda(d)->cu->cuMemHostUnregister(p);
}

int rt_cuda_upload_async(struct rt_device *d, enum rt_stream s, uint64_t to, const void *from, size_t n,
                         struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    if (n == 0)
        return 0;
    HD_TRY(rt_cuda_flush_for(c, s, err));
    return rt_cuda_check(c, c->cu->cuMemcpyHtoDAsync(to, from, n, c->streams[s]), "upload", err);
}

int rt_cuda_download_async(struct rt_device *d, enum rt_stream s, void *to, uint64_t from, size_t n, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    if (n == 0)
        return 0;
    HD_TRY(rt_cuda_flush_for(c, s, err));
    return rt_cuda_check(c, c->cu->cuMemcpyDtoHAsync(to, from, n, c->streams[s]), "download", err);
}
