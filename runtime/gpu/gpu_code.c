/* Device code by what it was compiled from: loaded modules in memory, images on disk. A key covers
 * the source, all embedded headers, the compiler with its options and the architecture, and
 * Heddle's version. */
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_internal.h"
#include "runtime/gpu/gpu_sources.h"
#include "templates/embed.h"

enum {
    KEPT = 1024,         /* modules that nobody uses are kept up to this number */
    FIXED_THREADS = 128, /* of a block of the fixed kernels, for their occupancy */
    FIXED = -1,          /* in place of a source: a fixed module */
    LIBRARY = -2         /* and below: a library (enum rt_library) */
};

struct function {
    char *entry;
    rt_function *f;
    struct rt_function_info info;
    struct function *next;
};

struct rt_gpu_module {
    struct rt_cache_key key;
    rt_module *module;
    struct function *functions;
    int refs;
    struct rt_gpu_module *next; /* most recently used first */
};

struct rt_gpu_modules {
    struct rt_gpu_module *list;
    int n;
    struct rt_cache_key base; /* of all but the source */
    struct rt_bytes libraries[RT_NLIBRARIES]; /* as compiled; empty until they are linked with */
    bool has_disk;
    struct rt_disk_cache disk;
};

struct rt_gpu_code {
    int n;         /* pipelines */
    unsigned life; /* of the device that the modules are on */
    struct rt_gpu_sources sources;
    struct rt_gpu_module **modules; /* per source */
    struct origin {
        enum rt_cached how;
        double ms;
    } *origins; /* likewise */
    struct rt_kernel *kernels;
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

static struct rt_cache_key base_key(const struct rt_gpu *g, const char *version)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    digest_text(&state, version);
    digest_text(&state, g->d->ops->name);
    digest_text(&state, g->compiler->identity);
    XXH3_128bits_update(&state, &g->d->info.arch, sizeof g->d->info.arch); /* what is linked */
    for (int i = 0; i < hdd_ntemplates; i++) {
        digest_text(&state, hdd_templates[i].name);
        digest_text(&state, hdd_templates[i].text);
    }
    return digest_end(&state);
}

static struct rt_cache_key source_key(const struct rt_gpu *g, const char *text)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, &g->modules->base, sizeof g->modules->base);
    digest_text(&state, text);
    return digest_end(&state);
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
    m->base = base_key(g, o->version);
    m->has_disk = o->cache_dir && rt_disk_cache_init(&m->disk, o->cache_dir, o->cache_limit);
    g->modules = m;
    return 0;
}

static void module_free(struct rt_gpu *g, struct rt_gpu_module *m)
{
    while (m->functions) {
        struct function *f = m->functions;
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

/* One more user of a module that is loaded; it becomes the most recently used. */
static struct rt_gpu_module *find_module(struct rt_gpu *g, struct rt_cache_key key)
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

static void drop_unused(struct rt_gpu *g)
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

static int load_module(struct rt_gpu *g, struct rt_cache_key key, const struct rt_bytes *image,
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
    drop_unused(g);
    *out = m;
    return 0;
}

static int find_function(struct rt_gpu *g, struct rt_gpu_module *m, const char *entry, int threads,
                         uint32_t shared_bytes, struct function **out, struct hd_err *err)
{
    for (struct function *f = m->functions; f; f = f->next)
        if (strcmp(f->entry, entry) == 0) {
            *out = f;
            return 0;
        }
    struct function *f = hd_try_calloc(1, sizeof *f);
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

/* ---- compiling ------------------------------------------------------------------------- */

/* A source that is not loaded. */
struct job {
    const char *name, *text; /* copies once it belongs to a compilation */
    int source;              /* or FIXED, LIBRARY - i: of no program */
    unsigned libraries;      /* that it is linked with */
    struct rt_cache_key key;
    struct rt_bytes image;
    enum rt_cached how;
    double ms; /* that it took */
    struct hd_err err;
    int rc;
};

/* On the heap, with copies of the sources: a statement that is cancelled leaves it to the threads that
 * are at it. */
struct compilation {
    struct rt_thread_pool_job thread_pool_job;
    struct rt_gpu *g;
    struct job *jobs;
    int n;
    bool no_memory;     /* for a copy */
    bool fresh;         /* sources of the program are compiled in any case */
    unsigned libraries; /* that were there when it began; they stay */
    _Atomic int next;
};

static bool image_from_disk(struct rt_gpu *g, struct job *j)
{
    struct rt_bytes *parts;
    int n;
    if (!g->modules->has_disk || !rt_disk_cache_load(&g->modules->disk, j->key, &parts, &n))
        return false;
    j->image = parts[0];
    for (int i = 1; i < n; i++)
        rt_bytes_release(&parts[i]);
    free(parts);
    j->how = RT_CACHED_DISK;
    return true;
}

/* Any thread: touches nothing of the device. */
static void compile_one(struct rt_gpu *g, struct job *j)
{
    double start = rt_gpu_now_ms();
    j->how = RT_COMPILED;
    j->rc = g->compiler->compile(g->compiler, j->name, j->text, &j->image, &j->err);
    j->ms = rt_gpu_now_ms() - start;
}

static void compile_some(void *context, int worker HD_UNUSED)
{
    struct compilation *c = context;
    for (int i; (i = c->next++) < c->n && !hd_stopped(&c->thread_pool_job.left);)
        if (c->jobs[i].how != RT_CACHED_DISK)
            compile_one(c->g, &c->jobs[i]);
}

static void job_init(struct rt_gpu *g, struct job *j, const char *name, const char *text)
{
    *j = (struct job){.name = name, .text = text, .key = source_key(g, text)};
    hd_err_init(&j->err);
}

static void job_release(struct job *j)
{
    rt_bytes_release(&j->image);
    hd_err_release(&j->err);
}

static void compilation_free(void *compilation)
{
    struct compilation *c = compilation;
    for (int i = 0; i < c->n; i++) {
        free((char *)(uintptr_t)c->jobs[i].name);
        free((char *)(uintptr_t)c->jobs[i].text);
        job_release(&c->jobs[i]);
    }
    free(c->jobs);
    free(c);
}

static struct compilation *compilation_new(struct rt_gpu *g, int njobs, bool fresh)
{
    struct compilation *c = hd_try_calloc(1, sizeof *c);
    struct job *jobs = hd_try_calloc((size_t)njobs, sizeof *jobs);
    if (!c || !jobs) {
        free(c);
        free(jobs);
        return NULL;
    }
    c->g = g;
    c->fresh = fresh;
    c->jobs = jobs;
    return c;
}

/* *c becomes NULL if it was left. */
static int compile_all(struct compilation **c, struct rt_thread_pool *thread_pool, int threads,
                       const struct hd_stop *stop, struct hd_err *err)
{
    (*c)->thread_pool_job = (struct rt_thread_pool_job){.run = compile_some, .context = *c};
    if (rt_thread_pool_delegate(thread_pool, &(*c)->thread_pool_job, HD_MIN(threads, (*c)->n), stop, compilation_free))
        return 0;
    *c = NULL;
    return HD_FAIL(err, CANCELLED, NULL, "cancelled");
}

/* Hands the error of a job over. */
static int job_error(const struct job *j, struct hd_err *err)
{
    hd_err_set(err, j->err.class, j->err.file, j->err.line, j->err.path, "%s", j->err.message);
    hd_err_set_detail(err, j->err.detail);
    return -1;
}

/* Under the lock: what was compiled becomes what a device loads. */
static int link_job(struct rt_gpu *g, struct job *j, struct hd_err *err)
{
    struct rt_bytes parts[1 + RT_NLIBRARIES] = {j->image}, linked;
    int n = 1;
    if (j->how != RT_COMPILED || !j->libraries || !g->d->ops->link)
        return 0;
    for (int i = 0; i < RT_NLIBRARIES; i++)
        if (j->libraries >> i & 1)
            parts[n++] = g->modules->libraries[i];
    HD_TRY(g->d->ops->link(g->d, j->name, parts, n, &linked, err));
    rt_bytes_release(&j->image);
    j->image = linked;
    return 0;
}

static void store_job(struct rt_gpu *g, const struct job *j)
{
    if (j->rc == 0 && j->how == RT_COMPILED && j->image.p && g->modules->has_disk)
        rt_disk_cache_store(&g->modules->disk, j->key, &j->image, 1);
}

/* ---- fixed kernels --------------------------------------------------------------------- */

/* templates/finish/<module>.cu */
static const char *fixed_text(const char *module)
{
    size_t n = strlen(module);
    for (int i = 0; i < hdd_ntemplates; i++)
        if (strncmp(hdd_templates[i].name, module, n) == 0 && strcmp(hdd_templates[i].name + n, ".cu") == 0)
            return hdd_templates[i].text;
    HD_BUG("%s.cu is not embedded", module);
}

static int fixed_module(struct rt_gpu *g, const char *module, struct rt_gpu_module **out, struct hd_err *err)
{
    struct job j;
    job_init(g, &j, module, fixed_text(module));
    *out = find_module(g, j.key);
    if (*out)
        return 0;
    j.source = FIXED;
    if (!image_from_disk(g, &j))
        compile_one(g, &j);
    int rc = j.rc == 0 ? link_job(g, &j, err) : job_error(&j, err);
    if (rc == 0)
        rc = load_module(g, j.key, &j.image, out, err);
    if (rc == 0)
        store_job(g, &j);
    job_release(&j);
    return rc;
}

int rt_gpu_finish_function(struct rt_gpu_exec *x, const char *module, const char *entry, rt_function **out,
                           struct hd_err *err)
{
    struct rt_gpu_module *m;
    struct function *f;
    HD_TRY(fixed_module(x->g, module, &m, err));
    m->refs--; /* it is used while the lock is held, and is now the most recently used */
    HD_TRY(find_function(x->g, m, entry, FIXED_THREADS, 0, &f, err));
    *out = f->f;
    return 0;
}

/* ---- programs -------------------------------------------------------------------------- */

const struct rt_kernel *rt_gpu_code_kernel(const struct rt_gpu_code *c, int pipeline)
{
    return &c->kernels[pipeline];
}

enum rt_cached rt_gpu_code_how(const struct rt_gpu_code *c, int pipeline, double *ms)
{
    int source = c->sources.of[pipeline];
    *ms = c->origins[source].ms / c->sources.v[source].nunits;
    return c->origins[source].how;
}

bool rt_gpu_code_valid(const struct rt_gpu *g, const struct rt_gpu_code *c)
{
    return c->life == g->life;
}

static void code_free(struct rt_gpu *g, struct rt_gpu_code *c)
{
    for (int i = 0; rt_gpu_code_valid(g, c) && c->modules && i < c->sources.n; i++)
        if (c->modules[i])
            c->modules[i]->refs--;
    rt_gpu_sources_release(&c->sources);
    free(c->modules);
    free(c->kernels);
    free(c->origins);
    free(c);
}

void rt_gpu_code_release(struct rt_gpu *g, struct rt_gpu_code *c)
{
    if (!c)
        return;
    rt_gpu_enter(g);
    code_free(g, c);
    drop_unused(g);
    rt_gpu_leave(g);
}

static int fill_kernel(struct rt_gpu *g, const struct rt_unit *u, struct rt_gpu_module *m, struct rt_kernel *k,
                       struct hd_err *err)
{
    struct function *f;
    if (u->shared_bytes > g->d->info.shared_bytes)
        return HD_FAIL(err, RESOURCE, NULL,
                       "%s: the rows between its joins need %u bytes of shared memory in a "
                       "block, the device has %u",
                       u->entry, u->shared_bytes, g->d->info.shared_bytes);
    HD_TRY(find_function(g, m, u->entry, u->threads, u->shared_bytes, &f, err));
    *k = (struct rt_kernel){f->f, f->info, u};
    if (f->info.blocks < 1)
        return HD_FAIL(err, TOOL, NULL, "%s: a block of %d threads does not fit the device", u->entry, u->threads);
    return 0;
}

static void add_job(struct compilation *batch, const struct job *j, int source)
{
    struct job *mine = &batch->jobs[batch->n++];
    *mine = *j;
    mine->source = source;
    mine->name = strdup(j->name);
    mine->text = strdup(j->text);
    batch->no_memory = batch->no_memory || !mine->name || !mine->text;
}

/* Under the lock: modules that are loaded already; the others become jobs. */
static void find_loaded(struct rt_gpu *g, struct rt_gpu_code *c, struct compilation *batch)
{
    for (int i = 0; i < c->sources.n; i++) {
        const struct rt_gpu_source *s = &c->sources.v[i];
        struct job j;
        job_init(g, &j, s->name, s->text);
        j.libraries = s->libraries;
        c->modules[i] = batch->fresh ? NULL : find_module(g, j.key);
        c->origins[i].how = RT_CACHED_MEMORY;
        if (!c->modules[i])
            add_job(batch, &j, i);
    }
}

/* Under the lock: the same for the fixed kernels that the program will need. They belong to no
 * program, and are found again when their turn comes. */
static void find_fixed(struct rt_gpu *g, const struct rt_spec *spec, struct compilation *batch)
{
    const char *names[RT_FIXED_MAX];
    int n = rt_gpu_fixed_modules(spec, names);
    for (int i = 0; i < n; i++) {
        struct job j;
        job_init(g, &j, names[i], fixed_text(names[i]));
        struct rt_gpu_module *m = find_module(g, j.key);
        if (m)
            m->refs--;
        else
            add_job(batch, &j, FIXED);
    }
}

/* What takes longest goes first. (In one process NVRTC parses one source at a time, 60 ms each with
 * 13.0; only what follows runs side by side. Hence compile_process.h.) */
static int by_length(const void *a, const void *b)
{
    size_t x = strlen(((const struct job *)a)->text), y = strlen(((const struct job *)b)->text);
    return (x < y) - (x > y);
}

static const char *const library_names[RT_NLIBRARIES] = {
#define X(id, name) name,
    RT_LIBRARIES(X)
#undef X
};

/* What is on disk; and where something has to be compiled, the libraries that it is linked with.
 * True: there is something to compile. */
static bool find_stored(struct rt_gpu *g, struct compilation *batch)
{
    bool missing = false;
    unsigned libraries = 0;
    for (int i = 0; i < batch->n; i++) {
        struct job *j = &batch->jobs[i];
        double start = rt_gpu_now_ms();
        bool found = !(batch->fresh && j->source >= 0) && image_from_disk(g, j);
        j->ms = rt_gpu_now_ms() - start;
        missing |= !found;
        libraries |= found ? 0 : j->libraries;
    }
    for (int i = 0; i < RT_NLIBRARIES && g->d->ops->link; i++) {
        struct job j;
        if (!((libraries & ~batch->libraries) >> i & 1))
            continue;
        job_init(g, &j, library_names[i], fixed_text(library_names[i]));
        image_from_disk(g, &j);
        add_job(batch, &j, LIBRARY - i);
    }
    return missing;
}

/* Under the lock, before the rest is linked. */
static int keep_libraries(struct rt_gpu *g, struct compilation *done, struct hd_err *err)
{
    for (int k = 0; k < done->n; k++) {
        struct job *j = &done->jobs[k];
        if (j->source > LIBRARY)
            continue;
        if (j->rc != 0)
            return job_error(j, err);
        store_job(g, j);
        struct rt_bytes *library = &g->modules->libraries[LIBRARY - j->source];
        rt_bytes_release(library);
        *library = j->image;
        j->image = (struct rt_bytes){NULL, 0};
    }
    return 0;
}

static int load_one(struct rt_gpu *g, struct job *j, bool fresh, struct rt_gpu_module **m, struct hd_err *err)
{
    *m = fresh ? NULL : find_module(g, j->key);
    if (*m)
        return 0;
    HD_TRY(link_job(g, j, err));
    return load_module(g, j->key, &j->image, m, err);
}

/* Under the lock. Another thread may have loaded the same meanwhile. */
static int load_compiled(struct rt_gpu *g, struct compilation *done, struct rt_gpu_code *c, enum rt_cached *how,
                         struct hd_err *err)
{
    HD_TRY(keep_libraries(g, done, err));
    for (int k = 0; k < done->n; k++) {
        struct job *j = &done->jobs[k];
        struct rt_gpu_module *m;
        if (j->source <= LIBRARY)
            continue;
        if (j->rc != 0)
            return job_error(j, err);
        *how = HD_MIN(*how, j->how);
        HD_TRY(load_one(g, j, done->fresh && j->source >= 0, &m, err));
        if (j->source == FIXED) {
            m->refs--;
            continue;
        }
        c->origins[j->source] = (struct origin){j->how, j->ms};
        c->modules[j->source] = m;
    }
    return 0;
}

/* Under the lock, once what was missing is compiled. */
static int load_code(struct rt_gpu *g, const struct rt_unit *units, struct rt_gpu_code *c, struct compilation *batch,
                     enum rt_cached *how, struct hd_err *err)
{
    int rc = rt_gpu_code_valid(g, c) ? load_compiled(g, batch, c, how, err)
                                     : HD_FAIL(err, EXEC, NULL, "another query lost the GPU meanwhile");
    for (int i = 0; i < c->n && rc == 0; i++)
        rc = fill_kernel(g, &units[i], c->modules[c->sources.of[i]], &c->kernels[i], err);
    return rc;
}

static int find_code(struct rt_gpu *g, const struct rt_spec *spec, struct rt_gpu_code *c, struct compilation *batch,
                     const struct hd_stop *stop, struct hd_err *err)
{
    HD_TRY(rt_gpu_begin(g, stop, err));
    c->life = g->life;
    find_fixed(g, spec, batch);
    find_loaded(g, c, batch);
    for (int i = 0; i < RT_NLIBRARIES; i++)
        batch->libraries |= g->modules->libraries[i].p ? 1u << i : 0;
    rt_gpu_leave(g);
    return batch->no_memory ? HD_FAIL(err, RESOURCE, NULL, "out of memory while compiling") : 0;
}

static int get_code(struct rt_gpu *g, const struct rt_spec *spec, const struct rt_unit *units, struct rt_gpu_code *c,
                    struct compilation **batch, struct rt_thread_pool *thread_pool, int threads,
                    const struct hd_stop *stop, enum rt_cached *how, struct hd_err *err)
{
    HD_TRY(find_code(g, spec, c, *batch, stop, err));
    if ((*batch)->n && find_stored(g, *batch)) {
        qsort((*batch)->jobs, (size_t)(*batch)->n, sizeof *(*batch)->jobs, by_length);
        HD_TRY(compile_all(batch, thread_pool, threads, stop, err));
    }
    HD_TRY(rt_gpu_begin(g, stop, err));
    int rc = load_code(g, units, c, *batch, how, err);
    rt_gpu_leave(g);
    for (int k = 0; k < (*batch)->n && rc == 0; k++)
        if ((*batch)->jobs[k].source > LIBRARY)
            store_job(g, &(*batch)->jobs[k]);
    return rc;
}

static int code_new(const struct rt_unit *units, int n, struct rt_gpu_code **out, struct hd_err *err)
{
    struct rt_gpu_code *c = *out = hd_try_calloc(1, sizeof *c);
    if (!c)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for compiled code");
    c->n = n;
    HD_TRY(rt_gpu_sources_init(&c->sources, units, n, err));
    c->modules = hd_try_calloc((size_t)c->sources.n + 1, sizeof *c->modules);
    c->origins = hd_try_calloc((size_t)c->sources.n + 1, sizeof *c->origins);
    c->kernels = hd_try_calloc((size_t)n + 1, sizeof *c->kernels);
    return c->modules && c->origins && c->kernels ? 0 : HD_FAIL(err, RESOURCE, NULL, "out of memory for compiled code");
}

int rt_gpu_code_get(struct rt_gpu *g, const struct rt_spec *spec, const struct rt_unit *units,
                    struct rt_thread_pool *thread_pool, int threads, const struct hd_stop *stop, bool fresh,
                    struct rt_gpu_code **out, enum rt_cached *how, struct hd_err *err)
{
    struct rt_gpu_code *c;
    struct compilation *batch = NULL;
    *how = RT_CACHED_MEMORY;
    int rc = code_new(units, spec->npipelines, &c, err);
    if (rc == 0) {
        batch = compilation_new(g, c->sources.n + RT_FIXED_MAX + RT_NLIBRARIES, fresh);
        rc = batch ? get_code(g, spec, units, c, &batch, thread_pool, threads, stop, how, err)
                   : HD_FAIL(err, RESOURCE, NULL, "out of memory for compiled code");
    }
    if (batch)
        compilation_free(batch);
    if (rc == 0)
        *out = c;
    else
        rt_gpu_code_release(g, c);
    return rc;
}
