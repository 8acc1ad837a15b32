#include "tests/gpu/fake_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The size stands before each piece. */
enum { HEAD = 256 };

static struct fake *of(struct rt_device *d)
{
    return d->self;
}

static int alive(struct rt_device *d, struct hd_err *err)
{
    if (of(d)->breaks) {
        d->lost = true;
        snprintf(d->why, sizeof d->why, "a kernel ran wild");
    }
    of(d)->breaks = false;
    return rt_device_alive(d, err);
}

static int alloc(struct rt_device *d, size_t n, uint64_t *address, struct hd_err *err)
{
    struct fake *f = of(d);
    HD_TRY(alive(d, err));
    if (f->held + n > f->memory)
        return HD_FAIL(err, RESOURCE, NULL, "no device memory");
    char *p = aligned_alloc(HEAD, HEAD + (n + HEAD - 1) / HEAD * HEAD);
    memcpy(p, &n, sizeof n);
    *address = (uint64_t)(uintptr_t)(p + HEAD);
    f->held += n;
    f->allocs++;
    return 0;
}

static void free_memory(struct rt_device *d, uint64_t address)
{
    char *p = (char *)(uintptr_t)address - HEAD;
    size_t n;
    memcpy(&n, p, sizeof n);
    of(d)->held -= n;
    free(p);
}

static int upload(struct rt_device *d, uint64_t to, const void *from, size_t n, struct hd_err *err)
{
    HD_TRY(alive(d, err));
    memcpy((void *)(uintptr_t)to, from, n);
    of(d)->uploads++;
    return 0;
}

struct rt_module {
    char *image;
};
struct rt_function {
    int unused;
};
static struct rt_function function;

static int load(struct rt_device *d, const void *image, size_t n, rt_module **out, struct hd_err *err)
{
    HD_TRY(alive(d, err));
    *out = malloc(sizeof **out);
    (*out)->image = strndup(image, n);
    of(d)->loads++;
    of(d)->modules++;
    return 0;
}

static void unload(struct rt_device *d, rt_module *m)
{
    of(d)->modules--;
    free(m->image);
    free(m);
}

static int find(struct rt_device *d HD_UNUSED, rt_module *m, const char *entry, int threads HD_UNUSED,
                uint32_t shared HD_UNUSED, rt_function **out, struct rt_function_info *info, struct hd_err *err)
{
    if (!strstr(m->image, entry))
        return HD_FAIL(err, EXEC, NULL, "%s is not there", entry);
    *out = &function;
    *info = (struct rt_function_info){.registers = 32, .blocks = 1};
    return 0;
}

static int reset(struct rt_device *d, struct hd_err *err)
{
    if (of(d)->stays_lost)
        return HD_FAIL(err, EXEC, NULL, "it stays away");
    of(d)->resets++;
    d->lost = false;
    return 0;
}

static void close_device(struct rt_device *d)
{
    of(d)->closed = true;
}

static const struct rt_device_ops ops = {
    .name = "fake",
    .alloc = alloc,
    .free = free_memory,
    .upload = upload,
    .load = load,
    .unload = unload,
    .find = find,
    .reset = reset,
    .close = close_device,
};

/* The image is the source. */
static int compile(struct rt_compiler *c, const char *name, const char *source, struct rt_bytes *image,
                   struct hd_err *err)
{
    struct fake *f = c->self;
    f->compiles++;
    if (f->refuses && strcmp(f->refuses, name) == 0) {
        HD_FAIL(err, TOOL, NULL, "refused");
        hd_err_set_detail(err, "line 1: no");
        return -1;
    }
    *image = (struct rt_bytes){(unsigned char *)strdup(source), strlen(source)};
    return 0;
}

static void close_compiler(struct rt_compiler *c HD_UNUSED)
{
}

void fake_init(struct fake *f, uint64_t memory, const char *identity)
{
    *f = (struct fake){.memory = memory};
    f->d.ops = &ops;
    f->d.self = f;
    f->d.info.memory = f->d.info.free_memory = memory;
    f->c = (struct rt_compiler){.identity = identity, .compile = compile, .close = close_compiler, .self = f};
}
