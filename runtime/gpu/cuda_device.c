#include "runtime/gpu/cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/cuda_internal.h"

enum { WORDS = 64 };
/* A query that takes longer than this need not be noticed to the microsecond. */
static const double SPIN_MS = 5;

/* A device that could not be made anew has no context. */
static void enter(struct rt_device *d)
{
    if (rt_cuda(d)->context)
        rt_cuda(d)->cu->cuCtxPushCurrent(rt_cuda(d)->context);
}

static void leave(struct rt_device *d)
{
    cu_context popped;
    rt_cuda_flush(rt_cuda(d), NULL);
    if (rt_cuda(d)->context)
        rt_cuda(d)->cu->cuCtxPopCurrent(&popped);
}

/* ---- memory ---------------------------------------------------------------------------- */

static int alloc(struct rt_device *d, size_t n, uint64_t *address, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    return rt_cuda_check(c, c->cu->cuMemAlloc(address, HD_MAX(n, (size_t)1)), "device memory", err);
}

static void free_memory(struct rt_device *d, uint64_t address)
{
    rt_cuda_flush(rt_cuda(d), NULL);
    rt_cuda(d)->cu->cuMemFree(address);
}

static int copy(struct rt_device *d, uint64_t to, uint64_t from, size_t n, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    if (n == 0)
        return 0;
    HD_TRY(rt_cuda_flush(c, err));
    return rt_cuda_check(c, c->cu->cuMemcpyDtoDAsync(to, from, n, rt_cuda_compute(c)), "copying memory", err);
}

/* ---- code ------------------------------------------------------------------------------ */

struct rt_module {
    cu_module m;
    struct rt_function *functions;
};

static int add_parts(const struct rt_driver *cu, cu_link l, const char *name, const struct rt_bytes *parts, int n)
{
    int status = 0;
    for (int i = 0; i < n && status == 0; i++) {
        bool cubin = parts[i].n > 4 && memcmp(parts[i].p, "\177ELF", 4) == 0;
        status = cu->cuLinkAddData(l, cubin ? CU_INPUT_CUBIN : CU_INPUT_PTX, parts[i].p, parts[i].n + !cubin, name, 0,
                                   NULL, NULL);
    }
    return status;
}

static int copy_image(const void *p, size_t n, struct rt_bytes *image, struct hd_err *err)
{
    image->n = n;
    image->p = hd_try_calloc(1, n + 1);
    if (!image->p)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for compiled code");
    memcpy(image->p, p, n);
    return 0;
}

static int link_parts(struct rt_device *d, const char *name, const struct rt_bytes *parts, int n,
                      struct rt_bytes *image, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    char log[4096] = "";
    const int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    const void *made = NULL;
    size_t bytes = 0;
    cu_link l;
    HD_TRY(rt_cuda_check(c, c->cu->cuLinkCreate(2, options, values, &l), "the linker", err));
    int status = add_parts(c->cu, l, name, parts, n);
    if (status == 0)
        status = c->cu->cuLinkComplete(l, &made, &bytes);
    int rc = status == 0 ? copy_image(made, bytes, image, err)
                         : HD_FAIL(err, TOOL, NULL, "the driver does not link %s (%d)", name, status);
    if (status != 0)
        hd_err_set_detail(err, log);
    c->cu->cuLinkDestroy(l);
    return rc;
}

static int load(struct rt_device *d, const void *image, size_t n HD_UNUSED, rt_module **out, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    rt_module *m = hd_try_calloc(1, sizeof *m);
    if (!m)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    if (rt_cuda_check(c, c->cu->cuModuleLoadData(&m->m, image), "loading code", err) != 0) {
        free(m);
        return -1;
    }
    *out = m;
    return 0;
}

static void unload(struct rt_device *d, rt_module *m)
{
    rt_cuda_flush(rt_cuda(d), NULL);
    rt_cuda_graphs_forget(rt_cuda(d), m->functions);
    while (m->functions) {
        struct rt_function *f = m->functions;
        m->functions = f->next;
        free(f);
    }
    rt_cuda(d)->cu->cuModuleUnload(m->m);
    free(m);
}

static int ask_function(struct rt_cuda *c, cu_function f, int threads, uint32_t shared_bytes,
                        struct rt_function_info *info, struct hd_err *err)
{
    int shared = 0, local = 0;
    const struct rt_driver *cu = c->cu;
    HD_TRY(
        rt_cuda_check(c, cu->cuFuncGetAttribute(&shared, CU_FUNC_SHARED_BYTES, f), "shared memory of a kernel", err));
    HD_TRY(rt_cuda_check(c, cu->cuFuncGetAttribute(&local, CU_FUNC_LOCAL_BYTES, f), "local memory of a kernel", err));
    HD_TRY(
        rt_cuda_check(c, cu->cuFuncGetAttribute(&info->registers, CU_FUNC_REGISTERS, f), "registers of a kernel", err));
    if (shared_bytes)
        HD_TRY(rt_cuda_check(c, cu->cuFuncSetAttribute(f, CU_FUNC_MAX_DYNAMIC_SHARED, (int)shared_bytes),
                             "shared memory of a kernel", err));
    info->shared_bytes = (uint32_t)shared + shared_bytes;
    info->local_bytes = (uint32_t)local;
    return rt_cuda_check(c, cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&info->blocks, f, threads, shared_bytes),
                         "occupancy", err);
}

static int find(struct rt_device *d, rt_module *m, const char *entry, int threads, uint32_t shared_bytes,
                rt_function **out, struct rt_function_info *info, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    rt_function *f = hd_try_calloc(1, sizeof *f);
    if (!f)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    if (rt_cuda_check(c, c->cu->cuModuleGetFunction(&f->f, m->m, entry), entry, err) != 0 ||
        ask_function(c, f->f, threads, shared_bytes, info, err) != 0) {
        free(f);
        return -1;
    }
    f->next = m->functions;
    *out = m->functions = f;
    return 0;
}

/* ---- waiting --------------------------------------------------------------------------- */

static int sync_stream(struct rt_device *d, struct hd_err *err)
{
    return rt_cuda_stream_sync(d, RT_STREAM_COMPUTE, err);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int poll(struct rt_device *d, double ms, bool *done, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    double start = now_ms(), waited = 0;
    int status;
    HD_TRY(rt_cuda_flush(c, err));
    while ((status = c->cu->cuStreamQuery(rt_cuda_compute(c))) == CU_NOT_READY && waited < ms) {
        if (waited > SPIN_MS)
            usleep(50);
        waited = now_ms() - start;
    }
    *done = status == 0;
    return status == CU_NOT_READY ? 0 : rt_cuda_check(c, status, "kernel", err);
}

/* The word stays in place until the copy is through. */
static int poke(struct rt_device *d, uint64_t to, uint32_t word, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    c->words[0] = word;
    HD_TRY(rt_cuda_check(c, c->cu->cuMemcpyHtoDAsync(to, c->words, sizeof word, c->side), "writing a word", err));
    return rt_cuda_check(c, c->cu->cuStreamSynchronize(c->side), "writing a word", err);
}

/* ---- open and close -------------------------------------------------------------------- */

/* Works for a lost device too: what the driver refuses goes with the context. */
static void close_context(struct rt_cuda *c)
{
    const struct rt_driver *cu = c->cu;
    if (!c->context)
        return;
    enter(&c->d);
    rt_cuda_batch_close(c);
    rt_cuda_graphs_close(c);
    rt_cuda_events_close(c);
    if (c->bounce)
        cu->cuMemFreeHost(c->bounce);
    if (c->staging)
        cu->cuMemFreeHost(c->staging);
    if (c->words)
        cu->cuMemFreeHost(c->words);
    for (int i = 0; i < RT_NSTREAMS; i++)
        if (c->streams[i])
            cu->cuStreamDestroy(c->streams[i]);
    if (c->side)
        cu->cuStreamDestroy(c->side);
    leave(&c->d);
    cu->cuDevicePrimaryCtxRelease(c->device);
    c->context = NULL;
    memset(c->streams, 0, sizeof c->streams);
    c->side = NULL;
    c->bounce = c->staging = NULL;
    c->words = NULL;
}

static void close_device(struct rt_device *d)
{
    close_context(rt_cuda(d));
    free(rt_cuda(d));
}

static int open_context(struct rt_cuda *c, struct hd_err *err);

/* The driver makes a new context when the last user of the device's has released it. Another user
 * in the process holds the broken one: then this fails with its error. */
static int reset(struct rt_device *d, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    close_context(c);
    HD_TRY(open_context(c, err));
    d->lost = false;
    return 0;
}

/* Memory of the host that the driver was not told of is not known to it. */
static bool owns(struct rt_device *d, uint64_t address)
{
    unsigned type;
    return rt_cuda(d)->cu->cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, address) == 0;
}

static const struct rt_device_ops ops = {
    .name = RT_CUDA_NAME,
    .enter = enter,
    .leave = leave,
    .alloc = alloc,
    .free = free_memory,
    .set = rt_cuda_set,
    .upload = rt_cuda_upload,
    .copy = copy,
    .download = rt_cuda_download,
    .host_alloc = rt_cuda_host_alloc,
    .host_free = rt_cuda_host_free,
    .host_register = rt_cuda_host_register,
    .host_unregister = rt_cuda_host_unregister,
    .upload_async = rt_cuda_upload_async,
    .download_async = rt_cuda_download_async,
    .link = link_parts,
    .load = load,
    .unload = unload,
    .find = find,
    .launch = rt_cuda_launch,
    .batch_begin = rt_cuda_batch_begin,
    .batch_end = rt_cuda_batch_end,
    .sync = sync_stream,
    .poll = poll,
    .poke = poke,
    .event = rt_cuda_event,
    .elapsed = rt_cuda_elapsed,
    .event_free = rt_cuda_event_free,
    .record = rt_cuda_record,
    .stream_wait = rt_cuda_stream_wait,
    .stream_sync = rt_cuda_stream_sync,
    .event_done = rt_cuda_event_done,
    .event_sync = rt_cuda_event_sync,
    .foreign_sync = rt_cuda_foreign_sync,
    .owns = owns,
    .open_peer = rt_cuda_open_peer,
    .copy_peer = rt_cuda_copy_peer,
    .reset = reset,
    .close = close_device,
};

static int attribute(const struct rt_cuda *c, enum cu_device_attribute a)
{
    int value = 0;
    c->cu->cuDeviceGetAttribute(&value, (int)a, c->device);
    return value;
}

static int fill_info(struct rt_cuda *c, struct hd_err *err)
{
    struct rt_device_info *i = &c->d.info;
    struct rt_driver_device dev;
    size_t free_bytes = 0, total = 0;
    if (rt_driver_device(c->cu, c->number, &dev) != 0)
        return HD_FAIL(err, RESOURCE, NULL, "CUDA device %d does not tell what it is", c->number);
    HD_TRY(rt_cuda_check(c, c->cu->cuMemGetInfo(&free_bytes, &total), "free memory", err));
    snprintf(i->name, sizeof i->name, "%s", dev.name);
    i->arch = dev.arch;
    i->multiprocessors = attribute(c, CU_MULTIPROCESSORS);
    i->warps = attribute(c, CU_MAX_THREADS) / 32;
    i->memory = dev.memory;
    i->free_memory = free_bytes;
    i->l2_bytes = (uint64_t)attribute(c, CU_L2_BYTES);
    i->shared_bytes = (uint32_t)attribute(c, CU_MAX_SHARED_BYTES);
    /* Two transfers a clock. */
    i->bandwidth = attribute(c, CU_MEMORY_KHZ) * 1e3 * 2 * attribute(c, CU_MEMORY_BITS) / 8;
    i->driver_version = c->cu->version;
    if (!attribute(c, CU_COOPERATIVE))
        return HD_FAIL(err, RESOURCE, NULL, "%s has no cooperative launches", i->name);
    return 0;
}

static int open_context(struct rt_cuda *c, struct hd_err *err)
{
    void *words = NULL;
    HD_TRY(rt_cuda_check(c, c->cu->cuDeviceGet(&c->device, c->number), "device", err));
    HD_TRY(rt_cuda_check(c, c->cu->cuDevicePrimaryCtxRetain(&c->context, c->device), "context", err));
    enter(&c->d);
    int rc = fill_info(c, err);
    for (int i = 0; i < RT_NSTREAMS && rc == 0; i++)
        rc = rt_cuda_check(c, c->cu->cuStreamCreate(&c->streams[i], CU_STREAM_NON_BLOCKING), "stream", err);
    if (rc == 0)
        rc = rt_cuda_check(c, c->cu->cuStreamCreate(&c->side, CU_STREAM_NON_BLOCKING), "stream", err);
    if (rc == 0)
        rc = rt_cuda_check(c, c->cu->cuMemHostAlloc(&words, WORDS * sizeof *c->words, 0), "pinned memory", err);
    c->words = words;
    leave(&c->d);
    return rc;
}

int rt_cuda_arch(int number, int *arch, struct hd_err *err)
{
    const struct rt_driver *cu;
    struct rt_driver_device d;
    HD_TRY(rt_driver_get(&cu, err));
    if (number >= cu->ndevices)
        return HD_FAIL(err, RESOURCE, NULL, "CUDA device %d: expected a number below %d", number, cu->ndevices);
    if (rt_driver_device(cu, number, &d) != 0)
        return HD_FAIL(err, RESOURCE, NULL, "CUDA device %d does not tell what it is", number);
    *arch = d.arch;
    return 0;
}

int rt_cuda_open(int number, struct rt_device **out, struct hd_err *err)
{
    const struct rt_driver *cu;
    int arch;
    HD_TRY(rt_cuda_arch(number, &arch, err));
    HD_TRY(rt_driver_get(&cu, err));
    struct rt_cuda *c = hd_try_calloc(1, sizeof *c);
    if (!c)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    c->cu = cu;
    c->number = number;
    c->d.ops = &ops;
    c->d.self = c;
    if (open_context(c, err) != 0) {
        close_device(&c->d);
        return -1;
    }
    *out = &c->d;
    return 0;
}
