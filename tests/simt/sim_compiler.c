#include "tests/simt/sim_compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/simt/sim.h"
#include "tests/simt/sim_device.h"

#define TWIN SIMT_ROOT "/tests/simt/twin.cuh"

struct host {
    struct rt_compiler c;
    char identity[1024];
};

static int compile(struct rt_compiler *c HD_UNUSED, const char *name, const char *source,
                   struct rt_bytes *image, struct hd_err *err)
{
    const struct sim_compiler host = {.cxx = SIMT_CXX,
                                      .flags = SIMT_FLAGS,
                                      .root = SIMT_ROOT,
                                      .twin = TWIN,
                                      .cache = SIMT_CACHE};
    struct hd_arena a;
    const char *path;
    hd_arena_init(&a);
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
    free(c->self);
}

/* Images depend on the compiler, its flags and the twin. */
int sim_compiler_open(struct rt_compiler **out, struct hd_err *err)
{
    struct stat twin;
    if (stat(TWIN, &twin) != 0)
        return HD_FAIL(err, TOOL, TWIN, "the file cannot be read");
    struct host *h = calloc(1, sizeof *h);
    if (!h)
        return HD_FAIL(err, RESOURCE, NULL, "no memory for a compiler");
    snprintf(h->identity, sizeof h->identity, "%s %s, twin of %lld.%09ld", SIMT_CXX, SIMT_FLAGS,
             (long long)twin.st_mtim.tv_sec, twin.st_mtim.tv_nsec);
    h->c = (struct rt_compiler){
        .identity = h->identity, .compile = compile, .close = close_compiler, .self = h};
    *out = &h->c;
    return 0;
}
