/* The GPU of a context: device and compiler put together, and what there is to tell about them. */
#include "api/api_gpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_statement.h"
#include "runtime/base/strbuf.h"
#include "runtime/gpu/compile_process.h"
#include "runtime/gpu/cuda_device.h"
#include "runtime/gpu/driver.h"
#include "runtime/gpu/gpu_ahead.h"
#include "runtime/gpu/gpu_known.h"
#include "runtime/gpu/nvrtc.h"

/* ---- opening --------------------------------------------------------------------------- */

static int open_compiler(int arch, bool cold, struct rt_compiler **out, struct hd_err *err)
{
    struct rt_nvrtc *n;
    HD_TRY(rt_nvrtc_open(NULL, &n, err));
    if (rt_compile_process_open(n, arch, cold, out, err) == 0)
        return 0;
    rt_nvrtc_close(n);
    return -1;
}

/* The compiler first: its process gets ready, and compiles, while the driver makes a context, which takes as long. */
static int open_cuda(int number, bool cold, struct rt_gpu_ahead *ahead, struct rt_device **d, struct rt_compiler **c,
                     struct hd_err *err)
{
    int arch;
    HD_TRY(rt_cuda_arch(number, &arch, err));
    HD_TRY(open_compiler(arch, cold, c, err));
    if (cold && ahead) {
        ahead->arch = arch;
        rt_gpu_ahead_begin(c, ahead);
    }
    if (rt_cuda_open(number, d, err) == 0)
        return 0;
    (*c)->close(*c);
    return -1;
}

api_gpu_opener *api_gpu_open = open_cuda;

static int count_cuda(void)
{
    const struct rt_driver *cu;
    return rt_driver_get(&cu, NULL) == 0 ? cu->ndevices : 0;
}

int (*api_gpu_count)(void) = count_cuda;

/* A broadcast of 137 MB between two H200 over NVLink takes 0.28 ms, with its fragment (docs/scale.md). */
static double link_cuda(const int *devices, int n)
{
    static const double nvlink = 300e9;
    const struct rt_driver *cu;
    return rt_driver_get(&cu, NULL) == 0 && rt_driver_has_links(cu, devices, n) ? nvlink : 0;
}

double (*api_gpu_link)(const int *devices, int n) = link_cuda;

/* Behind the context's GPUs those from the first on; where a machine has fewer, that is opened again. */
static int device_of(const heddle_context *c, int number)
{
    if (number < c->ndevices)
        return c->devices[number];
    return c->devices[0] + number < count_cuda() ? c->devices[0] + number : c->devices[0];
}

static struct rt_gpu_options options_of(const heddle_context *c)
{
    const char *pool = secure_getenv("HEDDLE_POOL");
    return (struct rt_gpu_options){.version = heddle_version(),
                                   .cache_dir = c->cache_dir,
                                   .cache_limit = c->cache_limit,
                                   .memory = c->device_memory ? c->device_memory : c->memory_wanted,
                                   .pin = c->pin,
                                   .direct_memory = pool && strcmp(pool, "direct") == 0};
}

static int open_gpu(const heddle_context *c, const struct api_engine *e, int number, struct rt_gpu_ahead *ahead,
                    struct rt_gpu **out, struct hd_err *err)
{
    struct rt_gpu_options o = options_of(c);
    struct rt_device *d;
    struct rt_compiler *compiler;
    int device = device_of(c, number);
    bool cold =
        ahead ? !rt_gpu_known_stored(ahead->options, device, RT_CUDA_NAME, ahead->spec, ahead->units) : e->compiles;
    HD_TRY(api_gpu_open(device, cold, ahead, &d, &compiler, err));
    HD_TRY(rt_gpu_open(d, compiler, &o, out, err));
    rt_gpu_remember(*out, device);
    return 0;
}

bool api_gpu_stored(const heddle_context *c, const struct api_program *p)
{
    struct rt_gpu_options o = options_of(c);
    return rt_gpu_known_stored(&o, c->devices[0], RT_CUDA_NAME, p->pl->spec, p->plain.cuda.units);
}

/* Whoever comes while another thread opens it waits for that. */
static void open_slot(heddle_context *c, const struct api_engine *e, struct api_gpu_slot *s, int number,
                      struct rt_gpu_ahead *ahead)
{
    pthread_mutex_lock(&s->lock);
    if (atomic_load(&s->state) == API_GPU_UNTRIED) {
        atomic_store(&s->state, API_GPU_OPENING);
        int rc = open_gpu(c, e, number, ahead, &s->gpu, &s->error);
        atomic_store(&s->state, rc == 0 ? API_GPU_OPEN : API_GPU_NONE);
    }
    pthread_mutex_unlock(&s->lock);
}

static int get(heddle_context *c, struct api_engine *e, int number, struct rt_gpu_ahead *ahead, struct rt_gpu **out,
               struct hd_err *err)
{
    struct api_gpu_slot *s = &e->gpus[number];
    if (atomic_load(&s->state) != API_GPU_OPEN)
        open_slot(c, e, s, number, ahead);
    *out = s->gpu;
    if (*out)
        return 0;
    return hd_err_set(err, s->error.class, s->error.file, s->error.line, NULL, "backend cuda: %s", s->error.message);
}

int api_gpu_get(heddle_context *c, struct api_engine *e, int number, struct rt_gpu **out, struct hd_err *err)
{
    return get(c, e, number, NULL, out, err);
}

int api_gpu_get_for(heddle_context *c, struct api_engine *e, int number, const struct api_program *p, int threads,
                    bool fresh, struct rt_gpu **out, struct hd_err *err)
{
    struct rt_gpu_options o = options_of(c);
    struct rt_gpu_ahead ahead = {.options = &o,
                                 .device = RT_CUDA_NAME,
                                 .spec = p->pl->spec,
                                 .units = p->plain.cuda.units,
                                 .pool = e->thread_pool,
                                 .threads = threads,
                                 .fresh = fresh};
    if (fresh)
        o.cache_dir = NULL;
    return get(c, e, number, &ahead, out, err);
}

/* A machine without a device is known at once. */
enum api_gpu_state api_gpu_state(const heddle_context *c HD_UNUSED, struct api_engine *e, char *why, size_t n)
{
    struct api_gpu_slot *s = &e->gpus[0];
    enum api_gpu_state state = atomic_load(&s->state);
    if (state == API_GPU_NONE)
        snprintf(why, n, "%s", s->error.message);
    if (state != API_GPU_UNTRIED || api_gpu_open != open_cuda || rt_driver_has_device_files())
        return state;
    snprintf(why, n, "the system has no NVIDIA device");
    return API_GPU_NONE;
}

void api_gpu_forget(heddle_context *c, const struct fe_table *t)
{
    pthread_mutex_lock(&c->mutex);
    struct api_engine *e = c->exec;
    pthread_mutex_unlock(&c->mutex);
    for (int i = 0; e && i < RT_MAX_DEVICES; i++)
        if (atomic_load(&e->gpus[i].state) == API_GPU_OPEN)
            rt_gpu_forget(e->gpus[i].gpu, t->id);
}

/* ---- explain --------------------------------------------------------------------------- */

enum { USUAL_ARCH = 90 };

static int print_ptx(const struct rt_nvrtc *n, int arch, const struct cg_cuda_artifact *art, struct hd_strbuf *out,
                     struct hd_err *err)
{
    bool cubin;
    int best = rt_nvrtc_arch(n, arch, &cubin);
    for (int i = 0; i < art->nunits; i++) {
        struct rt_bytes ptx;
        HD_TRY(rt_nvrtc_compile(n, art->units[i].entry, art->units[i].text, best ? best : USUAL_ARCH, RT_NVRTC_PTX,
                                &ptx, NULL, err));
        hd_strbuf_addf(out, "%s%s", i ? "\n" : "", (const char *)ptx.p);
        rt_bytes_release(&ptx);
    }
    return 0;
}

int api_gpu_ptx(heddle_context *c, const struct cg_cuda_artifact *art, struct hd_strbuf *out, struct hd_err *err)
{
    const struct rt_driver *cu;
    struct rt_driver_device d = {.arch = USUAL_ARCH};
    struct rt_nvrtc *n;
    if (rt_driver_get(&cu, NULL) == 0 && c->devices[0] < cu->ndevices)
        rt_driver_device(cu, c->devices[0], &d);
    HD_TRY(rt_nvrtc_open(NULL, &n, err));
    int rc = print_ptx(n, d.arch, art, out, err);
    rt_nvrtc_close(n);
    return rc;
}

/* ---- info ------------------------------------------------------------------------------ */

static void add_text(struct hd_strbuf *b, const char *key, const char *value)
{
    hd_strbuf_addf(b, "\"%s\": ", key);
    hd_strbuf_add_json(b, value, strlen(value));
}

static void add_devices(struct hd_strbuf *b, const struct rt_driver *cu)
{
    for (int i = 0; i < cu->ndevices; i++) {
        struct rt_driver_device d;
        if (rt_driver_device(cu, i, &d) != 0)
            continue;
        hd_strbuf_addf(b, "%s{\"number\": %d, ", i ? ", " : "", i);
        add_text(b, "name", d.name);
        hd_strbuf_addf(b, ", \"compute_capability\": \"%d.%d\", \"memory\": %" PRIu64 "}", d.arch / 10, d.arch % 10,
                       d.memory);
    }
}

static void add_driver(struct hd_strbuf *b)
{
    const struct rt_driver *cu;
    struct hd_err e;
    hd_err_init(&e);
    if (rt_driver_get(&cu, &e) == 0) {
        hd_strbuf_addf(b, "\"cuda_driver\": \"%d.%d\", \"devices\": [", cu->version / 1000, cu->version % 1000 / 10);
        add_devices(b, cu);
    } else {
        hd_strbuf_adds(b, "\"cuda_driver\": null, ");
        add_text(b, "cuda_driver_missing", e.message);
        hd_strbuf_adds(b, ", \"devices\": [");
    }
    hd_strbuf_adds(b, "]");
    hd_err_release(&e);
}

/* What compiles sources side by side, or why nothing does. */
static void add_compiler(struct hd_strbuf *b, const struct rt_nvrtc *n)
{
    char *path, text[1100];
    struct hd_err e;
    hd_err_init(&e);
    if (rt_compile_process_check(n, &path, &e) == 0) {
        add_text(b, "compiler_process", path);
        free(path);
    } else {
        snprintf(text, sizeof text, "%s%s%s", e.path, *e.path ? ": " : "", e.message);
        hd_strbuf_adds(b, "\"compiler_process\": null, ");
        add_text(b, "compiler_process_missing", text);
    }
    hd_err_release(&e);
}

static void add_nvrtc(struct hd_strbuf *b)
{
    struct rt_nvrtc *n;
    struct hd_err e;
    hd_err_init(&e);
    if (rt_nvrtc_open(NULL, &n, &e) == 0) {
        add_text(b, "nvrtc", rt_nvrtc_version(n));
        hd_strbuf_adds(b, ", ");
        add_text(b, "nvrtc_library", rt_nvrtc_path(n));
        hd_strbuf_adds(b, ", ");
        add_compiler(b, n);
        rt_nvrtc_close(n);
    } else {
        hd_strbuf_adds(b, "\"nvrtc\": null, ");
        add_text(b, "nvrtc_missing", e.message);
    }
    hd_err_release(&e);
}

void api_gpu_info(struct hd_strbuf *b)
{
    add_driver(b);
    hd_strbuf_adds(b, ", ");
    add_nvrtc(b);
}
