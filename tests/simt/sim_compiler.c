#include "tests/simt/sim_compiler.h"

#include <stdlib.h>

#include "tests/simt/sim.h"
#include "tests/simt/sim_device.h"

static int compile(struct rt_compiler *c HD_UNUSED, const char *name, const char *source,
                   struct rt_bytes *image, struct hd_err *err)
{
    const struct sim_compiler host = {.cxx = SIMT_CXX,
                                      .flags = SIMT_FLAGS,
                                      .root = SIMT_ROOT,
                                      .twin = SIMT_ROOT "/tests/simt/twin.cuh",
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
    free(c);
}

/* Images are kept by what the host compiler's own cache keeps them by: nothing else. */
int sim_compiler_open(struct rt_compiler **out, struct hd_err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return HD_FAIL(err, RESOURCE, NULL, "no memory for a compiler");
    **out = (struct rt_compiler){
        .identity = SIMT_CXX " " SIMT_FLAGS, .compile = compile, .close = close_compiler};
    return 0;
}
