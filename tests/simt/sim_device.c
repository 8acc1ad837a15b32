#include "tests/simt/sim_device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "tests/simt/simt.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum { GUARD = 256, GUARD_BYTE = 0xa5, FRESH_BYTE = 0xcd };

struct buffer {
    struct buffer *next;
    unsigned char *base; /* guard, n bytes, guard */
    size_t n;
};

struct device {
    struct rt_device public;
    struct sim_device_options o;
    struct buffer *buffers;
    uint64_t launches, used;
};

struct rt_function {
    struct rt_function *next;
    void *entry;
    char name[64];
};
struct rt_module {
    void *library;
    int fd; /* open as long as the library: the loader knows libraries by path */
    struct rt_function *functions;
};
struct rt_event {
    struct timespec at;
};

static struct device *device_of(const struct rt_device *d)
{
    return d->self;
}

static int alive(const struct rt_device *d, struct hd_err *err)
{
    return d->lost ? HD_FAIL(err, EXEC, NULL, "%s", d->why) : 0;
}

/* ---- memory ------------------------------------------------------------------------------ */

static void set_guard(unsigned char *p)
{
    memset(p, GUARD_BYTE, GUARD);
    POISON(p, GUARD);
}

static bool guard_intact(unsigned char *p)
{
    bool ok = true;
    UNPOISON(p, GUARD);
    for (size_t i = 0; i < GUARD; i++)
        ok = ok && p[i] == GUARD_BYTE;
    POISON(p, GUARD);
    return ok;
}

static bool buffer_intact(const struct buffer *b)
{
    return guard_intact(b->base) && guard_intact(b->base + GUARD + b->n);
}

static int emu_alloc(struct rt_device *d, size_t n, uint64_t *address, struct hd_err *err)
{
    struct device *e = device_of(d);
    void *p;
    HD_TRY(alive(d, err));
    struct buffer *b = malloc(sizeof *b);
    if (!b || e->used + n > e->o.memory || posix_memalign(&p, GUARD, n + 2 * GUARD) != 0) {
        free(b);
        return HD_FAIL(err, RESOURCE, NULL, "the device has no %zu bytes left", n);
    }
    *b = (struct buffer){.next = e->buffers, .base = p, .n = n};
    memset(b->base + GUARD, FRESH_BYTE, n);
    set_guard(b->base);
    set_guard(b->base + GUARD + n);
    e->buffers = b;
    e->used += n;
    *address = (uintptr_t)(b->base + GUARD);
    return 0;
}

static void emu_free(struct rt_device *d, uint64_t address)
{
    struct device *e = device_of(d);
    for (struct buffer **at = &e->buffers; *at; at = &(*at)->next) {
        struct buffer *b = *at;
        if ((uintptr_t)(b->base + GUARD) != address)
            continue;
        if (!buffer_intact(b))
            HD_BUG("something wrote beside a device buffer of %zu bytes", b->n);
        *at = b->next;
        e->used -= b->n;
        UNPOISON(b->base, b->n + 2 * GUARD);
        free(b->base);
        free(b);
        return;
    }
    HD_BUG("address %llx is no device buffer", (unsigned long long)address);
}

/* The bytes lie in one buffer. */
static unsigned char *bytes_at(struct rt_device *d, uint64_t address, size_t n)
{
    for (const struct buffer *b = device_of(d)->buffers; b; b = b->next) {
        uint64_t from = (uintptr_t)(b->base + GUARD);
        if (address >= from && address + n <= from + b->n)
            return (unsigned char *)(uintptr_t)address;
    }
    HD_BUG("%zu bytes at %llx are in no device buffer", n, (unsigned long long)address);
}

static int emu_set(struct rt_device *d, uint64_t to, int byte, size_t n, struct hd_err *err)
{
    HD_TRY(alive(d, err));
    memset(bytes_at(d, to, n), byte, n);
    return 0;
}

static int emu_upload(struct rt_device *d, uint64_t to, const void *from, size_t n, struct hd_err *err)
{
    HD_TRY(alive(d, err));
    memcpy(bytes_at(d, to, n), from, n);
    return 0;
}

static int emu_copy(struct rt_device *d, uint64_t to, uint64_t from, size_t n, struct hd_err *err)
{
    HD_TRY(alive(d, err));
    memcpy(bytes_at(d, to, n), bytes_at(d, from, n), n);
    return 0;
}

static int emu_download(struct rt_device *d, void *to, uint64_t from, size_t n, struct hd_err *err)
{
    HD_TRY(alive(d, err));
    memcpy(to, bytes_at(d, from, n), n);
    return 0;
}

static int emu_poke(struct rt_device *d, uint64_t to, uint32_t word, struct hd_err *err HD_UNUSED)
{
    memcpy(bytes_at(d, to, sizeof word), &word, sizeof word);
    return 0;
}

/* ---- code -------------------------------------------------------------------------------- */

int sim_image_read(const char *path, void **image, size_t *n, struct hd_err *err)
{
    FILE *f = fopen(path, "rb");
    *image = NULL;
    if (!f)
        return HD_FAIL(err, IO, path, "the file cannot be read");
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    *image = malloc(*n + 1);
    size_t got = *image ? fread(*image, 1, *n, f) : 0;
    fclose(f);
    return got == *n ? 0 : HD_FAIL(err, IO, path, "the file cannot be read");
}

static int emu_load(struct rt_device *d, const void *image, size_t n, rt_module **out, struct hd_err *err)
{
    char path[64];
    HD_TRY(alive(d, err));
    int fd = memfd_create("kernel", MFD_CLOEXEC);
    if (fd < 0 || write(fd, image, n) != (ssize_t)n)
        return HD_FAIL(err, IO, NULL, "an image cannot be written to memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        close(fd);
        return HD_FAIL(err, TOOL, NULL, "%s", dlerror());
    }
    *out = malloc(sizeof **out);
    **out = (struct rt_module){.library = library, .fd = fd};
    return 0;
}

static void emu_unload(struct rt_device *d HD_UNUSED, rt_module *m)
{
    while (m->functions) {
        struct rt_function *f = m->functions;
        m->functions = f->next;
        free(f);
    }
    dlclose(m->library);
    close(m->fd);
    free(m);
}

static int emu_find(struct rt_device *d, rt_module *m, const char *entry, int threads, uint32_t shared_bytes HD_UNUSED,
                    rt_function **out, struct rt_function_info *info, struct hd_err *err)
{
    rt_function *f = calloc(1, sizeof *f);
    f->entry = dlsym(m->library, entry);
    snprintf(f->name, sizeof f->name, "%s", entry);
    f->next = m->functions;
    *out = m->functions = f;
    if (!f->entry || threads % SIMT_LANES)
        return HD_FAIL(err, TOOL, NULL, "no kernel %s for %d threads", entry, threads);
    if (info)
        *info = (struct rt_function_info){.registers = 32, .blocks = 1};
    (void)d;
    return 0;
}

struct call {
    void *entry;
    void **params;
};

/* Parameters are passed by reference (twin.cuh). */
static void run_thread(void *context)
{
    const struct call *c = context;
    void (*one)(const void *);
    void (*two)(const void *, const void *);
    memcpy(&one, &c->entry, sizeof one);
    memcpy(&two, &c->entry, sizeof two);
    if (c->params[1])
        two(c->params[0], c->params[1]);
    else
        one(c->params[0]);
}

/* The emulator runs one kernel at a time, whoever's. */
static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;

static int emu_launch(struct rt_device *d, rt_function *f, uint32_t blocks, uint32_t threads,
                      uint32_t shared_bytes HD_UNUSED, bool cooperative HD_UNUSED, void **params, struct hd_err *err)
{
    struct device *e = device_of(d);
    struct call c = {f->entry, params};
    HD_TRY(alive(d, err));
    struct simt_options so = {
        .blocks = blocks, .warps = threads / SIMT_LANES, .seed = e->o.seed, .max_switches = e->o.max_switches};
    struct simt_report report;
    e->launches++;
    if (hd_fault(HD_FAULT_DEVICE)) {
        d->lost = true;
        snprintf(d->why, sizeof d->why, "%s used a wrong address", f->name);
        return 0; /* a launch is only queued: whoever waits next is told */
    }
    pthread_mutex_lock(&one_launch);
    int rc = simt_launch(&so, run_thread, &c, &report);
    pthread_mutex_unlock(&one_launch);
    if (rc != 0)
        return HD_FAIL(err, EXEC, NULL, "%s: %s", f->name, report.message);
    for (const struct buffer *b = e->buffers; b; b = b->next)
        if (!buffer_intact(b))
            return HD_FAIL(err, EXEC, NULL, "%s wrote beside a buffer of %zu bytes", f->name, b->n);
    return 0;
}

static int emu_sync(struct rt_device *d, struct hd_err *err)
{
    return alive(d, err);
}

static int emu_poll(struct rt_device *d, double ms HD_UNUSED, bool *done, struct hd_err *err)
{
    *done = true;
    return alive(d, err);
}

/* ---- time -------------------------------------------------------------------------------- */

static int emu_event(struct rt_device *d HD_UNUSED, rt_event **out, struct hd_err *err HD_UNUSED)
{
    *out = malloc(sizeof **out);
    clock_gettime(CLOCK_MONOTONIC, &(*out)->at);
    return 0;
}

static int emu_elapsed(struct rt_device *d HD_UNUSED, rt_event *from, rt_event *to, double *ms,
                       struct hd_err *err HD_UNUSED)
{
    *ms = (double)(to->at.tv_sec - from->at.tv_sec) * 1e3 + (double)(to->at.tv_nsec - from->at.tv_nsec) / 1e6;
    return 0;
}

static void emu_event_free(struct rt_device *d HD_UNUSED, rt_event *event)
{
    free(event);
}

/* ---- order, and other devices -------------------------------------------------------------- */

/* All is done when it is queued. */
static int emu_record(struct rt_device *d, enum rt_stream s HD_UNUSED, rt_event **out, struct hd_err *err)
{
    HD_TRY(alive(d, err));
    return emu_event(d, out, err);
}

static int emu_stream_wait(struct rt_device *d, enum rt_stream s HD_UNUSED, rt_event *e HD_UNUSED, struct hd_err *err)
{
    return alive(d, err);
}

static int emu_stream_sync(struct rt_device *d, enum rt_stream s HD_UNUSED, struct hd_err *err)
{
    return alive(d, err);
}

static int emu_event_done(struct rt_device *d, rt_event *e HD_UNUSED, bool *done, struct hd_err *err)
{
    *done = true;
    return alive(d, err);
}

static int emu_event_sync(struct rt_device *d, rt_event *e HD_UNUSED, struct hd_err *err)
{
    return alive(d, err);
}

static int emu_open_peer(struct rt_device *d, struct rt_device *other, bool *direct, struct hd_err *err)
{
    HD_TRY(alive(d, err));
    HD_TRY(alive(other, err));
    *direct = true;
    return 0;
}

static int emu_copy_peer(struct rt_device *d, enum rt_stream s HD_UNUSED, struct rt_place to, struct rt_place from,
                         size_t n, struct hd_err *err)
{
    if (d != to.device && d != from.device)
        HD_BUG("a copy between devices is queued on a third one");
    HD_TRY(alive(to.device, err));
    HD_TRY(alive(from.device, err));
    memcpy(bytes_at(to.device, to.address, n), bytes_at(from.device, from.address, n), n);
    return 0;
}

/* What was on the device is given back by then, but for what a test took by itself. */
static int emu_reset(struct rt_device *d, struct hd_err *err HD_UNUSED)
{
    d->lost = false;
    return 0;
}

/* ---- the device -------------------------------------------------------------------------- */

static void emu_close(struct rt_device *d)
{
    struct device *e = device_of(d);
    while (e->buffers)
        emu_free(d, (uintptr_t)(e->buffers->base + GUARD));
    free(e);
}

static const struct rt_device_ops operations = {.name = "emulator",
                                                .alloc = emu_alloc,
                                                .free = emu_free,
                                                .set = emu_set,
                                                .upload = emu_upload,
                                                .copy = emu_copy,
                                                .download = emu_download,
                                                .load = emu_load,
                                                .unload = emu_unload,
                                                .find = emu_find,
                                                .launch = emu_launch,
                                                .sync = emu_sync,
                                                .poll = emu_poll,
                                                .poke = emu_poke,
                                                .event = emu_event,
                                                .elapsed = emu_elapsed,
                                                .event_free = emu_event_free,
                                                .record = emu_record,
                                                .stream_wait = emu_stream_wait,
                                                .stream_sync = emu_stream_sync,
                                                .event_done = emu_event_done,
                                                .event_sync = emu_event_sync,
                                                .open_peer = emu_open_peer,
                                                .copy_peer = emu_copy_peer,
                                                .reset = emu_reset,
                                                .close = emu_close};

void sim_device_options_init(struct sim_device_options *o)
{
    *o = (struct sim_device_options){.multiprocessors = 2, .memory = UINT64_C(4) << 30, .l2_bytes = 1 << 20};
}

int sim_device_open(const struct sim_device_options *o, struct rt_device **out, struct hd_err *err)
{
    struct device *e = calloc(1, sizeof *e);
    if (!e)
        return HD_FAIL(err, RESOURCE, NULL, "no memory for a device");
    e->o = *o;
    e->public = (struct rt_device){.ops = &operations, .self = e};
    e->public.info = (struct rt_device_info){.name = "SIMT emulator",
                                             .multiprocessors = o->multiprocessors,
                                             .warps = 4,
                                             .memory = o->memory,
                                             .free_memory = o->memory,
                                             .l2_bytes = o->l2_bytes,
                                             .shared_bytes = 227 << 10};
    *out = &e->public;
    return 0;
}

void sim_device_seed(struct rt_device *d, uint64_t seed)
{
    device_of(d)->o.seed = seed;
}

uint64_t sim_device_launches(const struct rt_device *d)
{
    return device_of(d)->launches;
}

uint64_t sim_device_live(const struct rt_device *d)
{
    uint64_t n = 0;
    for (const struct buffer *b = device_of(d)->buffers; b; b = b->next)
        n++;
    return n;
}
