#include "tests/simt/sim_device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "templates/device.cuh"
#include "tests/simt/sim_internal.h"

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
/* ---- turns --------------------------------------------------------------------------------- */

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

int sim_lock(void)
{
    pthread_mutex_lock(&turn);
    return 0;
}

void sim_unlock(const int *held HD_UNUSED)
{
    pthread_mutex_unlock(&turn);
}

/* Beside whatever is queued. */
static int poke(struct rt_device *d, uint64_t to, uint32_t word, struct hd_err *err HD_UNUSED)
{
    SIM_LOCK();
    memcpy(sim_bytes((struct rt_place){d, to}, sizeof word), &word, sizeof word);
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

static int load(struct rt_device *d, const void *image, size_t n, rt_module **out, struct hd_err *err)
{
    char path[64];
    HD_TRY(rt_device_alive(d, err));
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

static void unload(struct rt_device *d, rt_module *m)
{
    SIM_LOCK();
    sim_finish(sim_of(d));
    while (m->functions) {
        struct rt_function *f = m->functions;
        m->functions = f->next;
        free(f);
    }
    dlclose(m->library);
    close(m->fd);
    free(m);
}

static int find(struct rt_device *d HD_UNUSED, rt_module *m, const char *entry, int threads,
                uint32_t shared_bytes HD_UNUSED, rt_function **out, struct rt_function_info *info, struct hd_err *err)
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
    return 0;
}

/* Parameters are passed by reference (twin.cuh). */
static void run_thread(void *context)
{
    const struct sim_kernel *k = context;
    void (*one)(const void *);
    void (*two)(const void *, const void *);
    memcpy(&one, &k->entry, sizeof one);
    memcpy(&two, &k->entry, sizeof two);
    if (k->param[1])
        two(k->param[0], k->param[1]);
    else
        one(k->param[0]);
}

static int launch(struct rt_device *d, rt_function *f, const struct rt_launch *l, struct hd_err *err)
{
    struct sim *e = sim_of(d);
    SIM_LOCK();
    HD_TRY(rt_device_alive(d, err));
    struct sim_kernel k = {.entry = f->entry,
                           .wrong = hd_fault_device(e->o.number),
                           .o = {.blocks = l->blocks,
                                 .warps = l->threads / SIMT_LANES,
                                 .seed = e->o.seed,
                                 .max_switches = e->o.max_switches}};
    memcpy(k.name, f->name, sizeof k.name);
    for (int i = 0; i < l->nparams; i++) {
        k.param[i] = malloc(l->param[i].n + 1);
        if (!k.param[i])
            HD_BUG("no memory for parameters");
        if (l->param[i].n)
            memcpy(k.param[i], l->param[i].p, l->param[i].n);
    }
    e->launches++;
    sim_queue_kernel(e, &k);
    return 0;
}

int sim_run_kernel(struct sim *e, const struct sim_kernel *k)
{
    struct simt_report report;
    size_t n;
    if (k->wrong) {
        e->public.lost = true;
        snprintf(e->public.why, sizeof e->public.why, "%s used a wrong address", k->name);
        return -1;
    }
    if (simt_launch(&k->o, run_thread, (void *)k, &report) != 0)
        snprintf(e->failure, sizeof e->failure, "%s: %.180s", k->name, report.message);
    else if (sim_overrun(e, &n))
        snprintf(e->failure, sizeof e->failure, "%s wrote beside a buffer of %zu bytes", k->name, n);
    else
        return 0;
    return -1;
}

/* ---- other devices ------------------------------------------------------------------------- */

/* All of them are the host's memory. */
static int open_peer(struct rt_device *d, struct rt_device *other, bool *direct, struct hd_err *err)
{
    HD_TRY(rt_device_alive(d, err));
    HD_TRY(rt_device_alive(other, err));
    *direct = true;
    return 0;
}

/* What was on the device is given back by then, but for what a test took by itself. */
static int reset(struct rt_device *d, struct hd_err *err HD_UNUSED)
{
    SIM_LOCK();
    sim_host_close(sim_of(d));
    sim_of(d)->failure[0] = 0;
    d->lost = false;
    return 0;
}

/* ---- the device -------------------------------------------------------------------------- */

static void close_device(struct rt_device *d)
{
    struct sim *e = sim_of(d);
    SIM_LOCK();
    sim_finish(e);
    sim_free_all(e);
    sim_host_close(e);
    free(e);
}

static const struct rt_device_ops operations = {.name = "emulator",
                                                .alloc = sim_alloc,
                                                .free = sim_free,
                                                .set = sim_set,
                                                .upload = sim_upload,
                                                .copy = sim_copy,
                                                .download = sim_download,
                                                .host_alloc = sim_host_alloc,
                                                .host_free = sim_host_free,
                                                .host_register = sim_host_register,
                                                .host_unregister = sim_host_unregister,
                                                .upload_async = sim_upload_async,
                                                .download_async = sim_download_async,
                                                .load = load,
                                                .unload = unload,
                                                .find = find,
                                                .launch = launch,
                                                .batch_begin = sim_batch_begin,
                                                .batch_end = sim_batch_end,
                                                .sync = sim_sync,
                                                .poll = sim_poll,
                                                .poke = poke,
                                                .event = sim_event,
                                                .elapsed = sim_elapsed,
                                                .event_free = sim_event_free,
                                                .record = sim_record,
                                                .stream_wait = sim_stream_wait,
                                                .stream_sync = sim_stream_sync,
                                                .event_done = sim_event_done,
                                                .event_sync = sim_event_sync,
                                                .owns = sim_owns,
                                                .open_peer = open_peer,
                                                .copy_peer = sim_copy_peer,
                                                .reset = reset,
                                                .close = close_device};

void sim_device_options_init(struct sim_device_options *o)
{
    *o = (struct sim_device_options){.multiprocessors = 2, .memory = UINT64_C(4) << 30, .l2_bytes = 1 << 20};
}

int sim_device_open(const struct sim_device_options *o, struct rt_device **out, struct hd_err *err)
{
    struct sim *e = calloc(1, sizeof *e);
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
                                             .bandwidth = 1e9, /* of a device that there is not: reports have floors */
                                             .shared_bytes = HDD_SHARED_BYTES};
    sim_stream_init(e);
    *out = &e->public;
    return 0;
}

void sim_device_seed(struct rt_device *d, uint64_t seed)
{
    sim_of(d)->o.seed = seed;
}

uint64_t sim_device_launches(const struct rt_device *d)
{
    return sim_of(d)->launches;
}

uint64_t sim_device_waits(const struct rt_device *d)
{
    return sim_of(d)->waits;
}

uint64_t sim_device_clears(const struct rt_device *d)
{
    return sim_of(d)->clears;
}

uint64_t sim_device_batches(const struct rt_device *d)
{
    return sim_of(d)->batches;
}
