/* Loaded modules by what they were compiled from. A key covers the source, all embedded headers, the compiler with its
 * options and the architecture, and Heddle's version. */
#include "runtime/gpu/gpu_modules.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/fault.h"
#include "templates/embed.h"

enum { KEPT = 1024 }; /* modules that nobody uses are kept up to this number */

struct rt_gpu_module {
    struct rt_cache_key key;
    rt_module *module;
    struct rt_gpu_function *functions;
    int refs;
    struct rt_gpu_module *next; /* most recently used first */
};

/* ---- keys ------------------------------------------------------------------------------ */

static void digest_text(XXH3_state_t *state, const char *text)
{
    XXH3_128bits_update(state, text, strlen(text) + 1);
}

static struct rt_cache_key digest_end(XXH3_state_t *state)
{
    XXH128_hash_t h = XXH3_128bits_digest(state);
    return (struct rt_cache_key){h.high64, h.low64};
}

struct rt_cache_key rt_gpu_base_key(const char *version, const char *device, const char *compiler, int arch)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    digest_text(&state, version);
    digest_text(&state, device);
    digest_text(&state, compiler);
    XXH3_128bits_update(&state, &arch, sizeof arch); /* what is linked */
    for (int i = 0; i < hdd_ntemplates; i++) {
        digest_text(&state, hdd_templates[i].name);
        digest_text(&state, hdd_templates[i].text);
    }
    return digest_end(&state);
}

struct rt_cache_key rt_gpu_key(struct rt_cache_key base, const char *text)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, &base, sizeof base);
    digest_text(&state, text);
    return digest_end(&state);
}

struct rt_cache_key rt_gpu_source_key(const struct rt_gpu *g, const char *text)
{
    return rt_gpu_key(g->modules->base, text);
}

static bool same_key(struct rt_cache_key a, struct rt_cache_key b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

/* ---- loaded modules -------------------------------------------------------------------- */

int rt_gpu_modules_new(struct rt_gpu *g, const struct rt_gpu_options *o, struct hd_err *err)
{
    struct rt_gpu_modules *m = hd_try_calloc(1, sizeof *m);
    if (!m)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    m->base = rt_gpu_base_key(o->version, g->d->ops->name, g->compiler->identity, g->d->info.arch);
    m->has_disk = o->cache_dir && rt_disk_cache_init(&m->disk, o->cache_dir, o->cache_limit);
    g->modules = m;
    return 0;
}

static void module_free(struct rt_gpu *g, struct rt_gpu_module *m)
{
    while (m->functions) {
        struct rt_gpu_function *f = m->functions;
        m->functions = f->next;
        free(f->entry);
        free(f);
    }
    g->d->ops->unload(g->d, m->module);
    free(m);
}

void rt_gpu_modules_clear(struct rt_gpu *g)
{
    struct rt_gpu_modules *all = g->modules;
    while (all->list) {
        struct rt_gpu_module *m = all->list;
        all->list = m->next;
        module_free(g, m);
    }
    all->n = 0;
}

void rt_gpu_modules_free(struct rt_gpu *g)
{
    struct rt_gpu_modules *all = g->modules;
    if (!all)
        return;
    rt_gpu_modules_clear(g);
    if (all->has_disk)
        rt_disk_cache_release(&all->disk);
    for (int i = 0; i < RT_NLIBRARIES; i++)
        rt_bytes_release(&all->libraries[i]);
    free(all);
    g->modules = NULL;
}

struct rt_gpu_module *rt_gpu_module_find(struct rt_gpu *g, struct rt_cache_key key)
{
    for (struct rt_gpu_module **p = &g->modules->list; *p; p = &(*p)->next)
        if (same_key((*p)->key, key)) {
            struct rt_gpu_module *m = *p;
            *p = m->next;
            m->next = g->modules->list;
            g->modules->list = m;
            m->refs++;
            return m;
        }
    return NULL;
}

void rt_gpu_modules_drop_unused(struct rt_gpu *g)
{
    struct rt_gpu_modules *all = g->modules;
    struct rt_gpu_module **last = NULL;
    if (all->n <= KEPT)
        return;
    for (struct rt_gpu_module **p = &all->list; *p; p = &(*p)->next)
        if ((*p)->refs == 0)
            last = p;
    if (!last)
        return;
    struct rt_gpu_module *m = *last;
    *last = m->next;
    all->n--;
    module_free(g, m);
}

enum rt_cached rt_gpu_module_where(const struct rt_gpu *g, struct rt_cache_key key)
{
    for (const struct rt_gpu_module *m = g->modules->list; m; m = m->next)
        if (same_key(m->key, key))
            return RT_CACHED_MEMORY;
    return g->modules->has_disk && rt_disk_cache_has(&g->modules->disk, key) ? RT_CACHED_DISK : RT_COMPILED;
}

int rt_gpu_module_load(struct rt_gpu *g, struct rt_cache_key key, const struct rt_bytes *image,
                       struct rt_gpu_module **out, struct hd_err *err)
{
    struct rt_gpu_module *m = hd_try_calloc(1, sizeof *m);
    if (!m)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for compiled code");
    if (g->d->ops->load(g->d, image->p, image->n, &m->module, err) != 0) {
        free(m);
        return -1;
    }
    m->key = key;
    m->refs = 1;
    m->next = g->modules->list;
    g->modules->list = m;
    g->modules->n++;
    rt_gpu_modules_drop_unused(g);
    *out = m;
    return 0;
}

int rt_gpu_module_function(struct rt_gpu *g, struct rt_gpu_module *m, const char *entry, int threads,
                           uint32_t shared_bytes, struct rt_gpu_function **out, struct hd_err *err)
{
    for (struct rt_gpu_function *f = m->functions; f; f = f->next)
        if (strcmp(f->entry, entry) == 0) {
            *out = f;
            return 0;
        }
    struct rt_gpu_function *f = hd_try_calloc(1, sizeof *f);
    if (!f || !(f->entry = strdup(entry))) {
        free(f);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for compiled code");
    }
    if (g->d->ops->find(g->d, m->module, entry, threads, shared_bytes, &f->f, &f->info, err) != 0) {
        free(f->entry);
        free(f);
        return -1;
    }
    f->next = m->functions;
    *out = m->functions = f;
    return 0;
}

void rt_gpu_module_leave(struct rt_gpu_module *m)
{
    m->refs--;
}
