#include "runtime/gpu/gpu_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_modules.h"
#include "runtime/gpu/gpu_sources.h"

enum progress {
    WAITING,
    RUNNING,
    DONE,
    TAKEN /* by who asked for it, to have or to compile */
};

struct source {
    char *name, *text;
    enum progress progress;
    int rc;
    struct rt_bytes image;
};

struct ahead {
    struct rt_compiler c, *inner;
    struct rt_thread_pool_job job;
    pthread_mutex_t lock; /* of what follows, but for the image of a source that runs */
    pthread_cond_t changed;
    struct source *sources;
    int n;
    bool working; /* threads have the job */
};

/* ---- what is begun with ------------------------------------------------------------------ */

static struct source *next_waiting(struct ahead *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->sources[i].progress == WAITING)
            return &a->sources[i];
    return NULL;
}

/* An error is no news before somebody asks: then the source is compiled again. */
static void compile_some(void *ahead, int worker HD_UNUSED)
{
    struct ahead *a = ahead;
    struct source *s;
    pthread_mutex_lock(&a->lock);
    while ((s = next_waiting(a))) {
        struct hd_err none;
        hd_err_init(&none);
        s->progress = RUNNING;
        pthread_mutex_unlock(&a->lock);
        s->rc = a->inner->compile(a->inner, s->name, s->text, &s->image, &none);
        hd_err_release(&none);
        pthread_mutex_lock(&a->lock);
        s->progress = DONE;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
}

static void job_is_over(void *ahead)
{
    struct ahead *a = ahead;
    pthread_mutex_lock(&a->lock);
    a->working = false;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* ---- as a compiler ----------------------------------------------------------------------- */

/* Under the lock. NULL: the source has to be compiled. */
static struct source *claim(struct ahead *a, const char *text)
{
    for (int i = 0; i < a->n; i++) {
        struct source *s = &a->sources[i];
        if (s->progress == TAKEN || strcmp(s->text, text) != 0)
            continue;
        bool begun = s->progress != WAITING;
        while (s->progress == RUNNING)
            pthread_cond_wait(&a->changed, &a->lock);
        if (s->progress == TAKEN)
            return NULL;
        s->progress = TAKEN;
        return begun && s->rc == 0 ? s : NULL;
    }
    return NULL;
}

static int compile(struct rt_compiler *c, const char *name, const char *text, struct rt_bytes *image,
                   struct hd_err *err)
{
    struct ahead *a = c->self;
    pthread_mutex_lock(&a->lock);
    struct source *s = claim(a, text);
    if (s) {
        *image = s->image;
        s->image = (struct rt_bytes){NULL, 0};
    }
    pthread_mutex_unlock(&a->lock);
    return s ? 0 : a->inner->compile(a->inner, name, text, image, err);
}

static const char *trouble(struct rt_compiler *c)
{
    struct ahead *a = c->self;
    return a->inner->trouble ? a->inner->trouble(a->inner) : NULL;
}

static void release(struct ahead *a)
{
    for (int i = 0; i < a->n; i++) {
        free(a->sources[i].name);
        free(a->sources[i].text);
        rt_bytes_release(&a->sources[i].image);
    }
    free(a->sources);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static void close_ahead(struct rt_compiler *c)
{
    struct ahead *a = c->self;
    pthread_mutex_lock(&a->lock);
    for (struct source *s; (s = next_waiting(a));)
        s->progress = TAKEN;
    while (a->working)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    a->inner->close(a->inner);
    release(a);
}

/* ---- a program --------------------------------------------------------------------------- */

/* first: what begins in its place, NULL if it does itself. */
static void add(struct ahead *a, const struct rt_disk_cache *disk, struct rt_cache_key base, const char *name,
                const char *text, const char *first)
{
    struct source *s = &a->sources[a->n];
    if (disk && rt_disk_cache_has(disk, rt_gpu_key(base, text)))
        return;
    s->name = strdup(name);
    s->text = strdup(first ? first : text);
    a->n++;
    if (!s->name || !s->text)
        s->progress = TAKEN; /* by who asks */
}

static void add_fixed(struct ahead *a, const struct rt_disk_cache *disk, struct rt_cache_key base, const char *name,
                      bool quick)
{
    char *first = quick ? rt_gpu_fixed_first(name) : NULL;
    add(a, disk, base, name, rt_gpu_fixed_text(name), first);
    free(first);
}

static void add_program(struct ahead *a, const struct rt_gpu_ahead *p, const struct rt_disk_cache *disk,
                        const struct rt_gpu_sources *sources)
{
    /* What depends on the device's cache can wait. */
    const struct rt_device_info info = {.arch = p->arch, .l2_bytes = UINT64_MAX};
    const char *names[RT_FIXED_MAX];
    struct rt_cache_key base = rt_gpu_base_key(p->options->version, p->device, a->inner->identity, p->arch);
    unsigned libraries = 0;
    for (int i = 0; i < sources->n; i++) {
        const struct rt_gpu_source *s = &sources->v[i];
        const struct rt_unit *first = p->fresh ? NULL : s->first;
        int before = a->n;
        add(a, disk, base, s->name, s->text, first ? first->text : NULL);
        if (a->n > before)
            libraries |= first ? first->libraries : s->libraries;
    }
    int n = rt_gpu_fixed_modules(p->spec, &info, false, names);
    for (int i = 0; i < n; i++)
        add_fixed(a, disk, base, names[i], !p->fresh && p->spec->fixed_tier != RT_FIXED_OPTIMISED);
    for (int i = 0; i < RT_NLIBRARIES; i++)
        if (libraries >> i & 1)
            add_fixed(a, disk, base, rt_gpu_library_name(i), false);
}

static int longer(const void *a, const void *b)
{
    const struct source *x = a, *y = b;
    double m = x->name && x->text ? rt_gpu_expected_ms(x->name, x->text) : 0;
    double n = y->name && y->text ? rt_gpu_expected_ms(y->name, y->text) : 0;
    return (m < n) - (m > n);
}

static struct ahead *ahead_new(struct rt_compiler *inner, int room)
{
    struct ahead *a = hd_try_calloc(1, sizeof *a);
    struct source *sources = hd_try_calloc((size_t)room, sizeof *sources);
    if (!a || !sources) {
        free(a);
        free(sources);
        return NULL;
    }
    a->sources = sources;
    a->inner = inner;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    a->c = (struct rt_compiler){.identity = inner->identity,
                                .compile = compile,
                                .trouble = trouble,
                                .beside = inner->beside,
                                .close = close_ahead,
                                .self = a};
    return a;
}

/* False: nothing was begun with. */
static bool begin(struct ahead *a, const struct rt_gpu_ahead *p)
{
    qsort(a->sources, (size_t)a->n, sizeof *a->sources, longer);
    a->job = (struct rt_thread_pool_job){.run = compile_some, .context = a};
    a->working = true;
    return a->n > 0 && rt_thread_pool_entrust(p->pool, &a->job, HD_MIN(HD_MAX(p->threads, 1), a->n), true, job_is_over);
}

void rt_gpu_ahead_begin(struct rt_compiler **c, const struct rt_gpu_ahead *p)
{
    struct rt_gpu_sources sources;
    struct rt_disk_cache disk;
    struct ahead *a = NULL;
    if (rt_gpu_sources_init(&sources, p->units, p->spec->npipelines, NULL) == 0)
        a = ahead_new(*c, sources.n + RT_FIXED_MAX + RT_NLIBRARIES);
    if (a) {
        bool kept = p->options->cache_dir && rt_disk_cache_init(&disk, p->options->cache_dir, p->options->cache_limit);
        add_program(a, p, kept ? &disk : NULL, &sources);
        if (kept)
            rt_disk_cache_release(&disk);
        if (begin(a, p))
            *c = &a->c;
        else
            release(a);
    }
    rt_gpu_sources_release(&sources);
}
