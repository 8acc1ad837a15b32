#include "tests/simt/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/gpu/cuda_device.h"
#include "runtime/gpu/nvrtc.h"
#include "tests/simt/check.h"
#include "tests/simt/sim_compiler.h"
#include "tests/simt/sim_device.h"

enum { COPIES = 8 << 20 }; /* bytes of all copies of a test */

static struct rt_gpu *gpu;
static struct rt_piece copies;
static uint64_t copied;

static void stop(const struct hd_err *err)
{
    fprintf(stderr, "%s: %s\n%s\n", err->path, err->message, err->detail ? err->detail : "");
    exit(1);
}

static void open_gpu(struct rt_device *d, struct rt_compiler *c)
{
    const struct rt_gpu_options o = {.version = "test", .direct_memory = true};
    struct hd_err err;
    hd_err_init(&err);
    if (rt_gpu_open(d, c, &o, &gpu, &err) != 0)
        stop(&err);
    rt_gpu_enter(gpu);
    CHECK(rt_gpu_pool_alloc(gpu->pool, COPIES, &copies), "no memory");
}

bool states_open_emulator(uint64_t seed)
{
    struct sim_device_options o;
    struct rt_device *d;
    struct rt_compiler *c;
    struct hd_err err;
    hd_err_init(&err);
    sim_device_options_init(&o);
    o.seed = seed;
    o.memory = UINT64_C(140) << 30; /* as a large GPU: room is a share of it */
    if (sim_device_open(&o, &d, &err) != 0 || sim_compiler_open(&c, &err) != 0)
        stop(&err);
    open_gpu(d, c);
    return true;
}

bool states_open_cuda(void)
{
    struct rt_device *d;
    struct rt_nvrtc *n;
    struct rt_compiler *c;
    struct hd_err err;
    hd_err_init(&err);
    if (rt_cuda_open(0, &d, &err) != 0 || rt_nvrtc_open(NULL, &n, &err) != 0) {
        printf("skipped: %s\n", err.message);
        return false;
    }
    if (rt_nvrtc_compiler(n, d->info.arch, &c, &err) != 0)
        stop(&err);
    open_gpu(d, c);
    return true;
}

void states_close(void)
{
    rt_gpu_pool_release(gpu->pool, &copies);
    rt_gpu_leave(gpu);
    rt_gpu_close(gpu);
}

void states_bench_init(struct states_bench *b, const struct rt_spec *spec, struct rt_gpu_state *live,
                       struct hd_arena *arena)
{
    memset(b, 0, sizeof *b);
    hd_err_init(&b->err);
    live->s = &spec->states[0];
    b->x = (struct rt_gpu_exec){.g = gpu, .d = gpu->d, .spec = spec, .state = live, .arena = arena};
}

void states_bench_check(const struct states_bench *b)
{
    CHECK(b->x.used == 0, "%llu bytes are not given back", (unsigned long long)b->x.used);
    copied = 0;
}

void states_ok(int rc, const struct states_bench *b)
{
    if (rc != 0)
        stop(&b->err);
}

uint64_t states_to_device(struct states_bench *b, const void *p, size_t n)
{
    uint64_t to = copies.address + copied;
    copied += n;
    CHECK(copied <= COPIES, "more copies than %d bytes", COPIES);
    if (n)
        states_ok(b->x.d->ops->upload(b->x.d, to, p, n, &b->err), b);
    return to;
}
