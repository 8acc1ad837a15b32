/* Device code of programs: what is loaded (gpu_modules.c), what is on disk, and what is compiled. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_modules.h"
#include "runtime/gpu/gpu_sources.h"

enum {
    FIXED_THREADS = 128, /* of a block of the fixed kernels, for their occupancy */
    FIXED = -1,          /* in place of a source: a fixed module */
    LIBRARY = -2,        /* and below: a library (enum rt_library) */
    LOOK_NS = 2000000    /* how often somebody looks whether executions wait for code */
};

struct rt_gpu_code {
    int n;         /* pipelines */
    unsigned life; /* of the device that the modules are on */
    struct rt_gpu_sources sources;
    struct rt_gpu_module **modules; /* per source */
    struct origin {
        enum rt_cached how;
        double ms;
        bool first; /* it is of the first tier */
    } *origins; /* likewise */
    struct rt_kernel *kernels;
    struct rt_gpu_fixed_code fixed[RT_FIXED_MAX + RT_NLIBRARIES]; /* that were not loaded */
    int nfixed;
    const char *first_fixed[RT_FIXED_MAX]; /* modules that are used in their first tier */
    int nfirst_fixed;
    enum rt_fixed_tier fixed_tier;
};

/* ---- compiling ------------------------------------------------------------------------- */

/* A source that is not loaded. */
struct job {
    const char *name, *text; /* copies once it belongs to a compilation */
    const char *fixed;       /* name of a fixed module or a library, for good */
    int source;              /* or FIXED, LIBRARY - i: of no program */
    const struct rt_unit *first; /* of a source: what is compiled in its place; NULL: it is */
    bool quick;                  /* of a fixed module: likewise */
    bool is_first;               /* so it was */
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
    enum rt_gpu_code_for who;
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

bool rt_gpu_give_way(const struct rt_gpu *g, const struct hd_stop *stop)
{
    while (g->compiling && !hd_stopped(stop))
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    return !hd_stopped(stop);
}

static void compile_some(void *context, int worker HD_UNUSED)
{
    struct compilation *c = context;
    const struct hd_stop *left = &c->thread_pool_job.left;
    for (int i; (i = c->next++) < c->n && !hd_stopped(left);)
        if (c->jobs[i].how != RT_CACHED_DISK && (c->who != RT_CODE_BEHIND || rt_gpu_give_way(c->g, left)))
            compile_one(c->g, &c->jobs[i]);
}

static void job_init(struct rt_gpu *g, struct job *j, const char *name, const char *text)
{
    *j = (struct job){.name = name, .text = text, .key = rt_gpu_source_key(g, text)};
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

static struct compilation *compilation_new(struct rt_gpu *g, int njobs, enum rt_gpu_code_for who)
{
    struct compilation *c = hd_try_calloc(1, sizeof *c);
    struct job *jobs = hd_try_calloc((size_t)njobs, sizeof *jobs);
    if (!c || !jobs) {
        free(c);
        free(jobs);
        return NULL;
    }
    c->g = g;
    c->who = who;
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
    if (j->rc == 0 && j->how == RT_COMPILED && !j->is_first && j->image.p && g->modules->has_disk)
        rt_disk_cache_store(&g->modules->disk, j->key, &j->image, 1);
}

/* ---- fixed kernels --------------------------------------------------------------------- */

/* Under the lock: the module in its first tier. */
static struct rt_gpu_module *find_first_fixed(struct rt_gpu *g, const char *module)
{
    char *text = rt_gpu_fixed_first(module);
    struct rt_gpu_module *m = text ? rt_gpu_module_find(g, rt_gpu_source_key(g, text)) : NULL;
    free(text);
    return m;
}

static void note_first_fixed(struct rt_gpu_code *c, const char *module)
{
    HD_ASSERT(c->nfirst_fixed < RT_FIXED_MAX);
    c->first_fixed[c->nfirst_fixed++] = module;
}

static bool is_first_fixed(const struct rt_gpu_code *c, const char *module)
{
    for (int i = 0; c && i < c->nfirst_fixed; i++)
        if (strcmp(c->first_fixed[i], module) == 0)
            return true;
    return false;
}

static int fixed_module(struct rt_gpu_exec *x, const char *module, struct rt_gpu_module **out, struct hd_err *err)
{
    struct rt_gpu *g = x->g;
    struct job j;
    job_init(g, &j, module, rt_gpu_fixed_text(module));
    *out = rt_gpu_module_find(g, j.key);
    if (!*out && is_first_fixed(x->code, module))
        *out = find_first_fixed(g, module);
    if (*out)
        return 0;
    j.source = FIXED;
    double start = rt_gpu_now_ms();
    if (!image_from_disk(g, &j))
        compile_one(g, &j);
    int rc = j.rc == 0 ? link_job(g, &j, err) : job_error(&j, err);
    if (rc == 0)
        rc = rt_gpu_module_load(g, j.key, &j.image, out, err);
    if (rc == 0)
        store_job(g, &j);
    job_release(&j);
    if (x->stats) /* of a query */
        rt_exec_stats_late(x->stats, module, rt_gpu_now_ms() - start);
    return rc;
}

int rt_gpu_finish_function(struct rt_gpu_exec *x, const char *module, const char *entry, rt_function **out,
                           struct hd_err *err)
{
    struct rt_gpu_module *m;
    struct rt_gpu_function *f;
    HD_TRY(fixed_module(x, module, &m, err));
    rt_gpu_module_leave(m); /* it is used while the lock is held, and is now the most recently used */
    HD_TRY(rt_gpu_module_function(x->g, m, entry, FIXED_THREADS, 0, &f, err));
    *out = f->f;
    return 0;
}

bool rt_gpu_finish_is_there(struct rt_gpu_exec *x, const char *module)
{
    struct rt_gpu_modules *all = x->g->modules;
    struct rt_cache_key key = rt_gpu_source_key(x->g, rt_gpu_fixed_text(module));
    struct rt_gpu_module *m = rt_gpu_module_find(x->g, key);
    if (m)
        rt_gpu_module_leave(m);
    return m || (all->has_disk && rt_disk_cache_has(&all->disk, key));
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

const struct rt_gpu_fixed_code *rt_gpu_code_fixed(const struct rt_gpu_code *c, int *n)
{
    *n = c->nfixed;
    return c->fixed;
}

bool rt_gpu_code_valid(const struct rt_gpu *g, const struct rt_gpu_code *c)
{
    return c->life == g->life;
}

static void code_free(struct rt_gpu *g, struct rt_gpu_code *c)
{
    for (int i = 0; rt_gpu_code_valid(g, c) && c->modules && i < c->sources.n; i++)
        if (c->modules[i])
            rt_gpu_module_leave(c->modules[i]);
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
    rt_gpu_modules_drop_unused(g);
    rt_gpu_leave(g);
}

static int fill_kernel(struct rt_gpu *g, const struct rt_unit *u, struct rt_gpu_module *m, struct rt_kernel *k,
                       struct hd_err *err)
{
    struct rt_gpu_function *f;
    uint32_t shared = rt_gpu_shared_bytes(&g->d->info, u);
    if (shared > g->d->info.shared_bytes)
        return HD_FAIL(err, RESOURCE, NULL,
                       "%s: the rows between its joins need %u bytes of shared memory in a "
                       "block, the device has %u",
                       u->entry, u->shared_bytes, g->d->info.shared_bytes);
    HD_TRY(rt_gpu_module_function(g, m, u->entry, u->threads, shared, &f, err));
    *k = (struct rt_kernel){f->f, f->info, u, &f->room, &f->seen, &f->heap};
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

/* Under the lock: the module of a source, or of its first tier where there is none and the disk has none either. */
static struct rt_gpu_module *find_module(struct rt_gpu *g, const struct job *j, struct origin *o)
{
    struct rt_gpu_module *m = rt_gpu_module_find(g, j->key);
    if (m || !j->first || rt_gpu_module_where(g, j->key) == RT_CACHED_DISK)
        return m;
    m = rt_gpu_module_find(g, rt_gpu_source_key(g, j->first->text));
    o->first = m != NULL;
    return m;
}

/* Under the lock: modules that are loaded already; the others become jobs. */
static void find_loaded(struct rt_gpu *g, struct rt_gpu_code *c, struct compilation *batch)
{
    for (int i = 0; i < c->sources.n; i++) {
        const struct rt_gpu_source *s = &c->sources.v[i];
        struct job j;
        job_init(g, &j, s->name, s->text);
        j.libraries = s->libraries;
        j.first = batch->who == RT_CODE_RUN ? s->first : NULL;
        c->origins[i].how = RT_CACHED_MEMORY;
        c->modules[i] = batch->who == RT_CODE_FRESH ? NULL : find_module(g, &j, &c->origins[i]);
        if (!c->modules[i])
            add_job(batch, &j, i);
    }
}

/* Under the lock: likewise of a fixed module. */
static struct rt_gpu_module *find_fixed_module(struct rt_gpu *g, struct rt_gpu_code *c, const struct job *j)
{
    struct rt_gpu_module *m = rt_gpu_module_find(g, j->key);
    if (m || !j->quick || rt_gpu_module_where(g, j->key) == RT_CACHED_DISK)
        return m;
    m = find_first_fixed(g, j->fixed);
    if (m)
        note_first_fixed(c, j->fixed);
    return m;
}

/* Under the lock: the same for the fixed kernels that the program will need. They belong to no
 * program, and are found again when their turn comes. */
static void find_fixed(struct rt_gpu *g, const struct rt_spec *spec, struct rt_gpu_code *c, struct compilation *batch)
{
    const char *names[RT_FIXED_MAX];
    int n = rt_gpu_fixed_modules(spec, &g->d->info, batch->who == RT_CODE_AHEAD, names);
    c->fixed_tier = spec->fixed_tier;
    for (int i = 0; i < n; i++) {
        struct job j;
        job_init(g, &j, names[i], rt_gpu_fixed_text(names[i]));
        j.fixed = names[i];
        j.quick = batch->who == RT_CODE_RUN && spec->fixed_tier != RT_FIXED_OPTIMISED;
        struct rt_gpu_module *m = find_fixed_module(g, c, &j);
        if (m)
            rt_gpu_module_leave(m);
        else
            add_job(batch, &j, FIXED);
    }
}

/* What takes longest goes first. (In one process NVRTC parses one source at a time, 60 ms each with
 * 13.0; only what follows runs side by side. Hence compile_process.h.) */
static int by_time(const void *a, const void *b)
{
    const struct job *m = a, *n = b;
    double x = rt_gpu_expected_ms(m->name, m->text), y = rt_gpu_expected_ms(n->name, n->text);
    return (x < y) - (x > y);
}

/* Its first tier is compiled in its place. */
static void begin_in_first(struct rt_gpu *g, struct compilation *batch, struct job *j)
{
    free((char *)(uintptr_t)j->text);
    j->text = j->quick ? rt_gpu_fixed_first(j->fixed) : strdup(j->first->text);
    j->libraries = j->quick ? 0 : j->first->libraries;
    j->is_first = true;
    if (j->text)
        j->key = rt_gpu_source_key(g, j->text);
    else
        batch->no_memory = true;
}

/* What is on disk; and where something has to be compiled, the libraries that it is linked with.
 * True: there is something to compile. */
static bool find_stored(struct rt_gpu *g, struct compilation *batch)
{
    bool missing = false;
    unsigned libraries = 0;
    for (int i = 0; i < batch->n; i++) {
        struct job *j = &batch->jobs[i];
        double start = rt_gpu_now_ms();
        bool found = !(batch->who == RT_CODE_FRESH && j->source >= 0) && image_from_disk(g, j);
        j->ms = rt_gpu_now_ms() - start;
        if (!found && (j->first || j->quick))
            begin_in_first(g, batch, j);
        missing |= !found;
        libraries |= found ? 0 : j->libraries;
    }
    for (int i = 0; i < RT_NLIBRARIES && g->d->ops->link; i++) {
        struct job j;
        if (!((libraries & ~batch->libraries) >> i & 1))
            continue;
        const char *name = rt_gpu_library_name(i);
        job_init(g, &j, name, rt_gpu_fixed_text(name));
        j.fixed = name;
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
    *m = fresh ? NULL : rt_gpu_module_find(g, j->key);
    if (*m)
        return 0;
    HD_TRY(link_job(g, j, err));
    return rt_gpu_module_load(g, j->key, &j->image, m, err);
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
        HD_TRY(load_one(g, j, done->who == RT_CODE_FRESH && j->source >= 0, &m, err));
        if (j->source == FIXED) {
            if (j->is_first)
                note_first_fixed(c, j->fixed);
            rt_gpu_module_leave(m);
            continue;
        }
        c->origins[j->source] = (struct origin){j->how, j->ms, j->is_first};
        c->modules[j->source] = m;
    }
    return 0;
}

static void note_fixed(struct rt_gpu_code *c, const struct compilation *done)
{
    for (int k = 0; k < done->n; k++)
        if (done->jobs[k].fixed)
            c->fixed[c->nfixed++] =
                (struct rt_gpu_fixed_code){done->jobs[k].fixed, done->jobs[k].how, done->jobs[k].ms};
}

/* Under the lock, once what was missing is compiled. */
static int load_code(struct rt_gpu *g, const struct rt_unit *units, struct rt_gpu_code *c, struct compilation *batch,
                     enum rt_cached *how, struct hd_err *err)
{
    int rc = rt_gpu_code_valid(g, c) ? load_compiled(g, batch, c, how, err)
                                     : HD_FAIL(err, EXEC, NULL, "another query lost the GPU meanwhile");
    for (int i = 0; i < c->n && rc == 0; i++) {
        const struct rt_unit *u = c->origins[c->sources.of[i]].first ? units[i].first : &units[i];
        rc = fill_kernel(g, u, c->modules[c->sources.of[i]], &c->kernels[i], err);
    }
    return rc;
}

static int find_code(struct rt_gpu *g, const struct rt_spec *spec, struct rt_gpu_code *c, struct compilation *batch,
                     const struct hd_stop *stop, struct hd_err *err)
{
    HD_TRY(rt_gpu_begin(g, stop, err));
    c->life = g->life;
    find_fixed(g, spec, c, batch);
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
    const int waits = (*batch)->who != RT_CODE_BEHIND;
    HD_TRY(find_code(g, spec, c, *batch, stop, err));
    if ((*batch)->n && find_stored(g, *batch)) {
        if ((*batch)->no_memory)
            return HD_FAIL(err, RESOURCE, NULL, "out of memory while compiling");
        qsort((*batch)->jobs, (size_t)(*batch)->n, sizeof *(*batch)->jobs, by_time);
        g->compiling += waits;
        int rc = compile_all(batch, thread_pool, threads, stop, err);
        g->compiling -= waits;
        HD_TRY(rc);
    }
    HD_TRY(rt_gpu_begin(g, stop, err));
    note_fixed(c, *batch);
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
                    struct rt_thread_pool *thread_pool, int threads, const struct hd_stop *stop,
                    enum rt_gpu_code_for who, struct rt_gpu_code **out, enum rt_cached *how, struct hd_err *err)
{
    struct rt_gpu_code *c;
    struct compilation *batch = NULL;
    *how = RT_CACHED_MEMORY;
    int rc = code_new(units, spec->npipelines, &c, err);
    if (rc == 0) {
        batch = compilation_new(g, c->sources.n + RT_FIXED_MAX + RT_NLIBRARIES, who);
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

/* ---- tiers ------------------------------------------------------------------------------- */

int rt_gpu_code_firsts(const struct rt_gpu_code *c)
{
    int n = c->fixed_tier == RT_FIXED_STAYS_FIRST ? 0 : c->nfirst_fixed;
    for (int i = 0; i < c->sources.n; i++)
        n += c->origins[i].first;
    return n;
}

bool rt_gpu_code_is_first(const struct rt_gpu_code *c, int pipeline)
{
    return c->origins[c->sources.of[pipeline]].first;
}

/* Under the lock. A source with a first tier is one pipeline's. */
static void optimise_one(struct rt_gpu *g, const struct rt_unit *u, struct rt_gpu_code *c, int pipeline)
{
    struct rt_kernel k;
    int source = c->sources.of[pipeline];
    struct rt_gpu_module *m = rt_gpu_module_find(g, rt_gpu_source_key(g, c->sources.v[source].text));
    if (!m)
        return;
    if (fill_kernel(g, u, m, &k, NULL) != 0) {
        rt_gpu_module_leave(m);
        return;
    }
    rt_gpu_module_leave(c->modules[source]);
    c->modules[source] = m;
    c->kernels[pipeline] = k;
    c->origins[source] = (struct origin){.how = RT_CACHED_MEMORY};
}

/* Under the lock. Optimised modules are found first (fixed_module). */
static void optimise_fixed(struct rt_gpu *g, struct rt_gpu_code *c)
{
    int kept = 0;
    for (int i = 0; i < c->nfirst_fixed; i++) {
        struct rt_gpu_module *m = rt_gpu_module_find(g, rt_gpu_source_key(g, rt_gpu_fixed_text(c->first_fixed[i])));
        if (m)
            rt_gpu_module_leave(m);
        else
            c->first_fixed[kept++] = c->first_fixed[i];
    }
    c->nfirst_fixed = kept;
}

int rt_gpu_code_optimise(struct rt_gpu *g, const struct rt_unit *units, struct rt_gpu_code *c)
{
    if (rt_gpu_code_firsts(c) == 0)
        return 0;
    rt_gpu_enter(g);
    for (int i = 0; i < c->n && rt_gpu_code_valid(g, c); i++)
        if (rt_gpu_code_is_first(c, i))
            optimise_one(g, &units[i], c, i);
    if (rt_gpu_code_valid(g, c))
        optimise_fixed(g, c);
    rt_gpu_leave(g);
    return rt_gpu_code_firsts(c);
}
