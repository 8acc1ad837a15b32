#include "tests/simt/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "templates/embed.h"
#include "tests/simt/sim.h"

uint64_t states_seed;
static struct rt_device *device;

void states_bench_init(struct states_bench *b, const struct rt_spec *spec,
                       struct rt_gpu_state *live, struct hd_arena *arena)
{
    struct sim_device_options o;
    memset(b, 0, sizeof *b);
    hd_err_init(&b->err);
    sim_device_options_init(&o);
    o.seed = states_seed;
    if (!device)
        states_ok(sim_device_open(&o, &device, &b->err), b);
    live->s = &spec->states[0];
    b->x = (struct rt_gpu_exec){.d = device, .spec = spec, .state = live, .arena = arena};
}

void states_bench_close(void)
{
    device->ops->close(device);
}

void states_ok(int rc, const struct states_bench *b)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s: %s\n%s\n", b->err.path, b->err.message,
            b->err.detail ? b->err.detail : "");
    exit(1);
}

uint64_t states_to_device(struct states_bench *b HD_UNUSED, const void *p, size_t n HD_UNUSED)
{
    return (uintptr_t)p;
}

/* ---- what the executor brings otherwise -------------------------------------------------- */

int rt_gpu_take(struct rt_gpu_exec *x, const struct rt_state *s HD_UNUSED, size_t n,
                struct rt_piece *out, struct hd_err *err)
{
    out->n = n;
    return x->d->ops->alloc(x->d, n, &out->address, err);
}

void rt_gpu_give(struct rt_gpu_exec *x, struct rt_piece *p)
{
    if (p->address)
        x->d->ops->free(x->d, p->address);
    *p = (struct rt_piece){0, 0};
}

struct loaded {
    char module[32];
    rt_module *m;
};

static const char *source_of(struct hd_arena *a, const char *module)
{
    const char *name = hd_asprintf(a, "%s.cu", module);
    for (int i = 0; i < hdd_ntemplates; i++)
        if (strcmp(hdd_templates[i].name, name) == 0)
            return hdd_templates[i].text;
    HD_BUG("%s is not embedded", name);
}

static int load(struct rt_device *d, const char *module, rt_module **out, struct hd_err *err)
{
    const struct sim_compiler c = {.cxx = SIMT_CXX,
                                   .flags = SIMT_FLAGS,
                                   .root = SIMT_ROOT,
                                   .twin = SIMT_ROOT "/tests/simt/twin.cuh",
                                   .cache = SIMT_CACHE};
    struct hd_arena a;
    const char *path;
    void *image = NULL;
    size_t n;
    hd_arena_init(&a);
    int rc = sim_compile(&c, &a, source_of(&a, module), &path, err);
    if (rc == 0)
        rc = sim_image_read(path, &image, &n, err);
    if (rc == 0)
        rc = d->ops->load(d, image, n, out, err);
    free(image);
    hd_arena_release(&a);
    return rc;
}

int rt_gpu_finish_function(struct rt_gpu_exec *x, const char *module, const char *entry,
                           rt_function **out, struct hd_err *err)
{
    static struct loaded all[8];
    static int n;
    int i = 0;
    while (i < n && strcmp(all[i].module, module) != 0)
        i++;
    if (i == n) {
        HD_ASSERT(n < (int)HD_COUNT(all));
        snprintf(all[n].module, sizeof all[n].module, "%s", module);
        HD_TRY(load(x->d, module, &all[n].m, err));
        n++;
    }
    return x->d->ops->find(x->d, all[i].m, entry, 128, out, NULL, err);
}
