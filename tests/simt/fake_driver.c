/* The CUDA driver's interface (runtime/gpu/driver.def) over host memory, built as libcuda.so.1: two devices of one kind.
 * Calls are checked as the driver checks them: a current context, handles of that context, addresses inside of
 * allocations, peers that were enabled. Work is done when it is queued, so order is not what this shows; and the one
 * kernel is that of tests/simt/test_devices.c. $FAKE_DRIVER_APART: the devices have no access to each other;
 * $FAKE_DRIVER_PCIE: they have, but no link of their own. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/simt/fake_driver.h"

enum { DEPTH = 8, MEMORY = 1 << 30 };

static struct cu_context_opaque contexts[DEVICES];

static _Thread_local cu_context stack[DEPTH];
static _Thread_local int depth;

cu_context fake_current(void)
{
    cu_context c = depth > 0 ? stack[depth - 1] : NULL;
    return c && c->users > 0 ? c : NULL;
}

struct cu_event_opaque {
    cu_context c;
    bool timed, recorded;
    struct timespec at;
};

/* ---- memory ------------------------------------------------------------------------------ */

enum kind { DEVICE, HOST, REGISTERED };
static struct block {
    struct block *next;
    cu_context c;
    enum kind kind;
    char *p;
    size_t n;
} *blocks;

static struct block *find(const void *p, size_t n)
{
    struct block *b = blocks;
    while (b && ((const char *)p < b->p || (const char *)p + n > b->p + b->n))
        b = b->next;
    return b;
}

bool fake_on_device(cu_context c, uint64_t address, size_t n)
{
    const struct block *b = find((void *)(uintptr_t)address, n);
    return b && b->kind == DEVICE && b->c == c;
}

static int add(cu_context c, enum kind kind, void *p, size_t n)
{
    struct block *b = malloc(sizeof *b);
    *b = (struct block){blocks, c, kind, p, n};
    blocks = b;
    return OK;
}

static void drop(struct block **at)
{
    struct block *b = *at;
    *at = b->next;
    if (b->kind != REGISTERED)
        free(b->p);
    free(b);
}

static int remove_block(cu_context c, enum kind kind, const void *p, int missing)
{
    for (struct block **at = &blocks; *at; at = &(*at)->next)
        if ((*at)->p == p && (*at)->kind == kind && (*at)->c == c) {
            drop(at);
            return OK;
        }
    return missing;
}

int cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    CURRENT(c);
    *free_bytes = *total = MEMORY;
    return OK;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
    CURRENT(c);
    const struct block *b = find((void *)(uintptr_t)address, 1);
    if (attribute != 2 || !b)
        return INVALID_VALUE;
    *(unsigned *)value = b->kind == DEVICE ? 2 : 1;
    return OK;
}

int cuMemAlloc(uint64_t *address, size_t n)
{
    CURRENT(c);
    if (n == 0)
        return INVALID_VALUE;
    void *p = aligned_alloc(256, (n + 255) / 256 * 256);
    *address = (uintptr_t)p;
    return p ? add(c, DEVICE, p, n) : OUT_OF_MEMORY;
}

int cuMemFree(uint64_t address)
{
    CURRENT(c);
    return remove_block(c, DEVICE, (void *)(uintptr_t)address, INVALID_VALUE);
}

int cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
    CURRENT(c);
    if (flags & ~1u)
        return INVALID_VALUE;
    *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    return *p ? add(c, HOST, *p, n) : OUT_OF_MEMORY;
}

int cuMemFreeHost(void *p)
{
    CURRENT(c);
    return remove_block(c, HOST, p, INVALID_VALUE);
}

int cuMemHostRegister(void *p, size_t n, unsigned flags)
{
    CURRENT(c);
    if (flags & ~1u || n == 0)
        return INVALID_VALUE;
    return find(p, 1) ? ALREADY_REGISTERED : add(c, REGISTERED, p, n);
}

int cuMemHostUnregister(void *p)
{
    CURRENT(c);
    return remove_block(c, REGISTERED, p, NOT_REGISTERED);
}

/* ---- transfers --------------------------------------------------------------------------- */

int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t n, cu_stream s)
{
    CURRENT(c);
    if (s->c != c)
        return INVALID_HANDLE;
    if (!fake_on_device(c, to, n))
        return INVALID_VALUE;
    memset((void *)(uintptr_t)to, byte, n);
    return OK;
}

int cuMemcpyHtoDAsync(uint64_t to, const void *from, size_t n, cu_stream s)
{
    CURRENT(c);
    if (s->c != c)
        return INVALID_HANDLE;
    if (!fake_on_device(c, to, n))
        return INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, from, n);
    return OK;
}

int cuMemcpyDtoHAsync(void *to, uint64_t from, size_t n, cu_stream s)
{
    CURRENT(c);
    if (s->c != c)
        return INVALID_HANDLE;
    if (!fake_on_device(c, from, n))
        return INVALID_VALUE;
    memcpy(to, (void *)(uintptr_t)from, n);
    return OK;
}

int cuMemcpyDtoDAsync(uint64_t to, uint64_t from, size_t n, cu_stream s)
{
    CURRENT(c);
    if (s->c != c)
        return INVALID_HANDLE;
    if (!fake_on_device(c, to, n) || !fake_on_device(c, from, n))
        return INVALID_VALUE;
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
    return OK;
}

int cuMemcpyPeerAsync(uint64_t to, cu_context to_context, uint64_t from, cu_context from_context, size_t n, cu_stream s)
{
    CURRENT(c);
    if (s->c != c)
        return INVALID_HANDLE;
    if (to_context->broken || from_context->broken)
        return ILLEGAL_ADDRESS;
    if (!fake_on_device(to_context, to, n) || !fake_on_device(from_context, from, n))
        return INVALID_VALUE;
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
    return OK;
}

/* ---- devices and contexts ---------------------------------------------------------------- */

int cuInit(unsigned flags)
{
    return flags ? INVALID_VALUE : OK;
}

int cuDriverGetVersion(int *version)
{
    *version = 12040;
    return OK;
}

int cuGetErrorName(int error, const char **name)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof text, "FAKE_%d", error);
    *name = text;
    return OK;
}

int cuGetErrorString(int error, const char **text)
{
    *text = error ? "an error of the fake driver" : "no error";
    return OK;
}

int cuDeviceGetCount(int *n)
{
    *n = DEVICES;
    return OK;
}

int cuDeviceGet(cu_device *d, int number)
{
    *d = number;
    return number < DEVICES ? OK : INVALID_VALUE;
}

int cuDeviceGetName(char *name, int n, cu_device d)
{
    snprintf(name, (size_t)n, "fake device %d", d);
    return OK;
}

int cuDeviceGetAttribute(int *value, int attribute, cu_device d)
{
    switch ((enum cu_device_attribute)attribute) {
    case CU_ARCH_MAJOR: *value = 9; break;
    case CU_ARCH_MINOR: *value = 0; break;
    case CU_MAX_SHARED_BYTES: *value = 227 << 10; break;
    case CU_MAX_THREADS: *value = 2048; break;
    case CU_MULTIPROCESSORS:
    case CU_MEMORY_KHZ:
    case CU_MEMORY_BITS:
    case CU_L2_BYTES:
    case CU_COOPERATIVE: *value = 1; break;
    }
    return d < DEVICES ? OK : INVALID_VALUE;
}

int cuDeviceTotalMem(size_t *n, cu_device d)
{
    *n = MEMORY;
    return d < DEVICES ? OK : INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(cu_context *c, cu_device d)
{
    *c = &contexts[d];
    contexts[d].users++;
    return OK;
}

/* With its last user goes what is in it, and who may use it. */
int cuDevicePrimaryCtxRelease(cu_device d)
{
    cu_context c = &contexts[d];
    if (c->users == 0)
        return INVALID_CONTEXT;
    if (--c->users > 0)
        return OK;
    for (struct block **at = &blocks; *at;)
        if ((*at)->c == c)
            drop(at);
        else
            at = &(*at)->next;
    *c = (struct cu_context_opaque){0};
    for (int i = 0; i < DEVICES; i++)
        contexts[i].peer[d] = false;
    return OK;
}

int cuCtxPushCurrent(cu_context c)
{
    if (depth == DEPTH || !c || c->users == 0)
        return INVALID_CONTEXT;
    stack[depth++] = c;
    return OK;
}

int cuCtxPopCurrent(cu_context *c)
{
    if (depth == 0)
        return INVALID_CONTEXT;
    *c = stack[--depth];
    return OK;
}

int cuDeviceCanAccessPeer(int *can, cu_device d, cu_device peer)
{
    *can = d != peer && !getenv("FAKE_DRIVER_APART");
    return d < DEVICES && peer < DEVICES ? OK : INVALID_VALUE;
}

int cuDeviceGetP2PAttribute(int *value, int attribute, cu_device from, cu_device to)
{
    bool access = from != to && !getenv("FAKE_DRIVER_APART");
    if (from == to || from >= DEVICES || to >= DEVICES || (attribute != CU_P2P_ACCESS && attribute != CU_P2P_ATOMICS))
        return INVALID_VALUE;
    *value = access && (attribute == CU_P2P_ACCESS || !getenv("FAKE_DRIVER_PCIE"));
    return OK;
}

int cuCtxEnablePeerAccess(cu_context peer, unsigned flags)
{
    CURRENT(c);
    if (flags)
        return INVALID_VALUE;
    if (c == peer || peer->users == 0)
        return INVALID_CONTEXT;
    if (getenv("FAKE_DRIVER_APART"))
        return PEER_UNSUPPORTED;
    if (c->peer[peer - contexts])
        return PEER_ENABLED;
    c->peer[peer - contexts] = true;
    return OK;
}

/* ---- code -------------------------------------------------------------------------------- */

int cuLinkCreate(unsigned n, const int *options, void **values, cu_link *l)
{
    (void)n, (void)options, (void)values, (void)l;
    return NOT_SUPPORTED;
}

int cuLinkAddData(cu_link l, int input, const void *p, size_t bytes, const char *name, unsigned n, const int *options,
                  void **values)
{
    (void)l, (void)input, (void)p, (void)bytes, (void)name, (void)n, (void)options, (void)values;
    return NOT_SUPPORTED;
}

int cuLinkComplete(cu_link l, const void **image, size_t *bytes)
{
    (void)l, (void)image, (void)bytes;
    return NOT_SUPPORTED;
}

int cuLinkDestroy(cu_link l)
{
    (void)l;
    return NOT_SUPPORTED;
}

int cuModuleLoadData(cu_module *m, const void *image)
{
    CURRENT(c);
    if (!image)
        return INVALID_VALUE;
    *m = malloc(sizeof **m);
    (*m)->c = c;
    return OK;
}

int cuModuleUnload(cu_module m)
{
    cu_context of = m->c;
    free(m); /* of a broken context too, as for streams */
    CURRENT(c);
    return of == c ? OK : INVALID_HANDLE;
}

/* A function is its module. */
int cuModuleGetFunction(cu_function *f, cu_module m, const char *name)
{
    CURRENT(c);
    *f = (cu_function)m;
    return m->c != c ? INVALID_HANDLE : strcmp(name, "test_move") == 0 ? OK : NOT_FOUND;
}

int cuFuncGetAttribute(int *value, int attribute, cu_function f)
{
    (void)attribute, (void)f;
    CURRENT(c);
    *value = 32;
    return OK;
}

int cuFuncSetAttribute(cu_function f, int attribute, int value)
{
    (void)f, (void)attribute, (void)value;
    CURRENT(c);
    return OK;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, cu_function f, int threads, size_t shared_bytes)
{
    (void)f, (void)threads, (void)shared_bytes;
    CURRENT(c);
    *n = 1;
    return OK;
}

static bool may_use(cu_context c, uint64_t address, size_t n)
{
    const struct block *b = find((void *)(uintptr_t)address, n);
    return b && b->kind == DEVICE && (b->c == c || c->peer[b->c - contexts]);
}

int cuLaunchKernel(cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared_bytes, cu_stream s, void **params, void **extra)
{
    CURRENT(c);
    struct {
        uint64_t to, from, n;
    } a;
    (void)shared_bytes;
    if (((cu_module)f)->c != c || s->c != c)
        return INVALID_HANDLE;
    if (gx == 0 || gy != 1 || gz != 1 || bx == 0 || bx > 1024 || by != 1 || bz != 1 || extra)
        return INVALID_VALUE;
    memcpy(&a, params[0], sizeof a);
    if (!may_use(c, a.to, a.n * 4) || !may_use(c, a.from, a.n * 4))
        c->broken = true; /* whoever asks next is told */
    else
        memmove((void *)(uintptr_t)a.to, (void *)(uintptr_t)a.from, a.n * 4);
    return OK;
}

int cuLaunchCooperativeKernel(cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared_bytes, cu_stream s, void **params)
{
    return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared_bytes, s, params, NULL);
}

/* ---- streams and events ------------------------------------------------------------------ */

int cuStreamCreate(cu_stream *s, unsigned flags)
{
    CURRENT(c);
    if (flags != CU_STREAM_NON_BLOCKING)
        return INVALID_VALUE;
    *s = malloc(sizeof **s);
    (*s)->c = c;
    return OK;
}

int cuStreamDestroy(cu_stream s)
{
    free(s); /* of a broken context too, where the driver does it with the context */
    return OK;
}

int cuStreamSynchronize(cu_stream s)
{
    CURRENT(c);
    return s->c == c ? OK : INVALID_HANDLE;
}

int cuStreamQuery(cu_stream s)
{
    return cuStreamSynchronize(s);
}

int cuStreamWaitEvent(cu_stream s, cu_event e, unsigned flags)
{
    CURRENT(c);
    return s->c != c ? INVALID_HANDLE : e->c->broken ? ILLEGAL_ADDRESS : flags ? INVALID_VALUE : OK;
}

int cuEventCreate(cu_event *e, unsigned flags)
{
    CURRENT(c);
    if (flags & ~(unsigned)CU_EVENT_DISABLE_TIMING)
        return INVALID_VALUE;
    *e = calloc(1, sizeof **e);
    (*e)->c = c;
    (*e)->timed = !(flags & CU_EVENT_DISABLE_TIMING);
    return OK;
}

int cuEventRecord(cu_event e, cu_stream s)
{
    CURRENT(c);
    if (e->c != s->c || s->c != c)
        return INVALID_HANDLE;
    e->recorded = true;
    clock_gettime(CLOCK_MONOTONIC, &e->at);
    return OK;
}

int cuEventQuery(cu_event e)
{
    CURRENT(c);
    return e->c == c ? OK : INVALID_HANDLE;
}

int cuEventSynchronize(cu_event e)
{
    return cuEventQuery(e);
}

int cuEventElapsedTime(float *ms, cu_event from, cu_event to)
{
    CURRENT(c);
    if (!from->timed || !to->timed || !from->recorded || !to->recorded)
        return INVALID_HANDLE;
    *ms = (float)((double)(to->at.tv_sec - from->at.tv_sec) * 1e3 + (double)(to->at.tv_nsec - from->at.tv_nsec) / 1e6);
    return OK;
}

int cuEventDestroy(cu_event e)
{
    free(e);
    return OK;
}
