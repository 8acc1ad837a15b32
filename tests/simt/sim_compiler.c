#include "tests/simt/sim_compiler.h"

#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"
#include "tests/simt/sim_device.h"

struct host {
    struct rt_compiler c;
    struct hd_arena arena;
};

static int compile(struct rt_compiler *c HD_UNUSED, const char *name, const char *source, struct rt_bytes *image,
                   struct hd_err *err)
{
    const struct sim_compiler host = {.cxx = SIMT_CXX, .flags = SIMT_FLAGS, .root = SIMT_ROOT, .cache = SIMT_CACHE};
    struct hd_arena a;
    const char *path;
    hd_arena_init(&a);
    if (strncmp(source, "//! ", 4) == 0) /* options for NVRTC: kernels that differ in these alone are compiled once */
        source = strchr(source, '\n') + 1;
    int rc = sim_compile(&host, &a, source, &path, err);
    if (rc == 0)
        rc = sim_image_read(path, (void **)&image->p, &image->n, err);
    else
        hd_err_set_path(err, name);
    hd_arena_release(&a);
    return rc;
}

static void close_compiler(struct rt_compiler *c)
{
    struct host *h = c->self;
    hd_arena_release(&h->arena);
    free(h);
}

/* Images depend on the compiler, its flags and the machine. */
int sim_compiler_open(struct rt_compiler **out, struct hd_err *err)
{
    const char *machine;
    struct host *h = calloc(1, sizeof *h);
    if (!h)
        return HD_FAIL(err, RESOURCE, NULL, "no memory for a compiler");
    hd_arena_init(&h->arena);
    h->c = (struct rt_compiler){.compile = compile, .close = close_compiler, .self = h};
    if (sim_machine_text(SIMT_ROOT, &h->arena, &machine, err) != 0) {
        close_compiler(&h->c);
        return -1;
    }
    h->c.identity = hd_asprintf(&h->arena, "%s %s\n%s", SIMT_CXX, SIMT_FLAGS, machine);
    *out = &h->c;
    return 0;
}
