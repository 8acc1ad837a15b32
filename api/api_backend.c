#include "api/api_backend.h"

#include <string.h>

static const struct api_backend *const backends[] = {
#ifdef HEDDLE_HAS_CUDA
    &api_backend_cuda,
#endif
#ifdef HEDDLE_HAS_LLVM
    &api_backend_cpu,
#endif
};

/* What the build is without. */
static const struct absent {
    const char *name; /* NULL ends the list */
    const char *option; /* of CMake */
    const char *member; /* of heddle_context_info */
    const char *stages[4];
} absents[] = {
#ifndef HEDDLE_HAS_CUDA
    {"cuda", "HEDDLE_CUDA", "cuda_driver", {"cuda", "ptx"}},
#endif
#ifndef HEDDLE_HAS_LLVM
    {"cpu", "HEDDLE_LLVM", "llvm", {"llvm", "llvm-opt", "asm"}},
#endif
    {0},
};

static int refuse(const struct absent *a, const char *what, struct hd_err *err)
{
    return HD_FAIL(err, RESOURCE, NULL, "%s: this build is without the %s backend (%s=OFF)", what, a->name, a->option);
}

int api_backends_open(const heddle_context *c, struct api_engine *e, struct hd_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        rc = backends[i]->open_engine(c, e, rc ? NULL : err) ? -1 : rc;
    return rc;
}

void api_backends_quit(struct api_engine *e)
{
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (backends[i]->quit_engine)
            backends[i]->quit_engine(e);
}

void api_backends_close(struct api_engine *e)
{
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        backends[i]->close_engine(e);
}

void api_backends_forget(heddle_context *c, const struct fe_table *t)
{
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (backends[i]->forget)
            backends[i]->forget(c, t);
}

int api_backends_devices(void)
{
    int n = 0;
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (backends[i]->devices)
            n = HD_MAX(n, backends[i]->devices());
    return n;
}

double api_backends_link(const int *devices, int n)
{
    double link = 0;
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (backends[i]->link)
            link = HD_MAX(link, backends[i]->link(devices, n));
    return link;
}

bool api_backends_lost(struct api_engine *e, int slot)
{
    bool lost = false;
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        lost |= backends[i]->lost && backends[i]->lost(e, slot);
    return lost;
}

int api_backends_wait(heddle_context *c, void *event, struct hd_err *err)
{
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (backends[i]->wait)
            return backends[i]->wait(c, event, err);
    return HD_FAIL(err, UNSUPPORTED, NULL, "this build has no backend with a device");
}

int api_backends_warm(heddle_context *c, const char *arch, struct hd_strbuf *out, struct hd_err *err)
{
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (backends[i]->warm)
            return backends[i]->warm(c, arch, out, err);
    const struct absent *a = absents;
    while (a->name && strcmp(a->name, "cuda") != 0)
        a++;
    HD_ASSERT(a->name);
    return refuse(a, "warm", err);
}

int api_backends_memory(heddle_context *c, struct rt_device_memory *out, struct hd_err *err)
{
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (backends[i]->memory_of)
            return backends[i]->memory_of(c, out, err);
    return HD_FAIL(err, UNSUPPORTED, NULL, "this build has no backend with a device");
}

void api_backends_info(struct hd_strbuf *b)
{
    for (size_t i = HD_COUNT(backends); i-- > 0;)
        backends[i]->info(b);
    for (const struct absent *a = absents; a->name; a++)
        hd_strbuf_addf(b, ", \"%s\": null, \"%s_missing\": \"this build is without the %s backend (%s=OFF)\"",
                       a->member, a->member, a->name, a->option);
}

const struct api_stage *api_stage_find(const struct api_stage *list, const char *name, size_t n)
{
    for (; list->name; list++)
        if (strlen(list->name) == n && memcmp(list->name, name, n) == 0)
            return list;
    return NULL;
}

static int no_stage(const struct api_stage *own, const char *name, int n, struct hd_err *err)
{
    struct hd_strbuf known;
    hd_strbuf_init(&known);
    for (const struct api_stage *s = own; s->name; s++)
        hd_strbuf_addf(&known, s == own ? "%s" : ", %s", s->name);
    for (size_t i = HD_COUNT(backends); i-- > 0;)
        for (const struct api_stage *s = backends[i]->stages; s->name; s++)
            hd_strbuf_addf(&known, ", %s", s->name);
    HD_FAIL(err, USER, NULL, "stage \"%.*s\" is not one of %s", n, name, known.s);
    hd_strbuf_release(&known);
    return -1;
}

int api_backend_stage(const struct api_stage *own, const char *name, size_t n, const struct api_stage **out,
                      struct hd_err *err)
{
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if ((*out = api_stage_find(backends[i]->stages, name, n)))
            return 0;
    for (const struct absent *a = absents; a->name; a++)
        for (const char *const *s = a->stages; *s; s++)
            if (strlen(*s) == n && memcmp(*s, name, n) == 0)
                return refuse(a, *s, err);
    return no_stage(own, name, (int)HD_MIN(n, (size_t)40), err);
}

static const char ANY[] = "auto";

int api_backend_check(const char *name, struct hd_err *err)
{
    struct hd_strbuf known;
    if (strcmp(name, ANY) == 0)
        return 0;
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (strcmp(name, backends[i]->name) == 0)
            return 0;
    for (const struct absent *a = absents; a->name; a++)
        if (strcmp(name, a->name) == 0)
            return refuse(a, "backend", err);
    hd_strbuf_init(&known);
    for (size_t i = HD_COUNT(backends); i-- > 0;)
        hd_strbuf_addf(&known, i ? ", %s" : " or %s", backends[i]->name);
    HD_FAIL(err, USER, NULL, "backend: expected %s%s, found \"%s\"", ANY, known.s, name);
    hd_strbuf_release(&known);
    return -1;
}

const struct api_backend *api_backend_named(const char *name)
{
    if (strcmp(name, ANY) == 0)
        return HD_COUNT(backends) == 1 ? backends[0] : NULL;
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (strcmp(name, backends[i]->name) == 0)
            return backends[i];
    HD_BUG("backend %s", name);
}

const struct api_backend *api_backend_of(enum pl_side side)
{
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (backends[i]->side == side)
            return backends[i];
    return NULL;
}
