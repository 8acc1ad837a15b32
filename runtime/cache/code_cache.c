#include "runtime/cache/code_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/fault.h"
#include "runtime/cache/disk_cache.h"

enum {
    MODULES = 256, /* loaded modules that nobody uses are kept up to this number */
    MAX_PARTS = 16,
    PART_WEIGHT = 80 /* instructions worth a thread of their own: about 10 ms, of which the
                            fixed cost of a module takes 2 */
};

struct rt_cached_code {
    struct rt_cache_key key;
    struct rt_code *code;
    int refs; /* under the lock */
    bool listed;
    struct rt_cached_code *next; /* most recently used first */
};

struct rt_code_cache {
    pthread_mutex_t lock;
    struct rt_cached_code *list;
    int nlisted;
    char *version;
    bool has_disk;
    struct rt_disk_cache disk;
};

int rt_code_cache_new(const char *version, const char *dir, uint64_t limit, struct rt_code_cache **out,
                      struct hd_err *err)
{
    struct rt_code_cache *c = hd_try_calloc(1, sizeof *c);
    if (!c || !(c->version = strdup(version))) {
        free(c);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for the code cache");
    }
    pthread_mutex_init(&c->lock, NULL);
    c->has_disk = dir && rt_disk_cache_init(&c->disk, dir, limit);
    *out = c;
    return 0;
}

void rt_code_cache_free(struct rt_code_cache *c)
{
    if (!c)
        return;
    while (c->list) {
        struct rt_cached_code *m = c->list;
        c->list = m->next;
        rt_code_free(m->code);
        free(m);
    }
    if (c->has_disk)
        rt_disk_cache_release(&c->disk);
    pthread_mutex_destroy(&c->lock);
    free(c->version);
    free(c);
}

const char *rt_code_cache_dir(const struct rt_code_cache *c)
{
    return c->has_disk ? c->disk.dir : NULL;
}

/* ---- In memory ------------------------------------------------------------------------- */

static bool same_key(struct rt_cache_key a, struct rt_cache_key b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

/* Under the lock: moves the module to the front and counts one more user. */
static struct rt_cached_code *find(struct rt_code_cache *c, struct rt_cache_key key)
{
    for (struct rt_cached_code **p = &c->list; *p; p = &(*p)->next)
        if (same_key((*p)->key, key)) {
            struct rt_cached_code *m = *p;
            *p = m->next;
            m->next = c->list;
            c->list = m;
            m->refs++;
            return m;
        }
    return NULL;
}

/* Under the lock: takes the least recently used module that nobody uses off the list. */
static struct rt_cached_code *drop_one(struct rt_code_cache *c)
{
    struct rt_cached_code **last = NULL;
    for (struct rt_cached_code **p = &c->list; *p; p = &(*p)->next)
        if ((*p)->refs == 0)
            last = p;
    if (!last)
        return NULL;
    struct rt_cached_code *m = *last;
    *last = m->next;
    m->listed = false;
    c->nlisted--;
    return m;
}

/* Under the lock. A module that another thread listed meanwhile stays; this one then lives as
 * long as its user. */
static void list_module(struct rt_code_cache *c, struct rt_cached_code *m)
{
    for (struct rt_cached_code *p = c->list; p; p = p->next)
        if (same_key(p->key, m->key))
            return;
    m->listed = true;
    m->next = c->list;
    c->list = m;
    c->nlisted++;
}

static void destroy(struct rt_cached_code *m)
{
    if (!m)
        return;
    rt_code_free(m->code);
    free(m);
}

void rt_cached_code_release(struct rt_code_cache *c, struct rt_cached_code *m)
{
    struct rt_cached_code *gone = NULL;
    if (!m)
        return;
    pthread_mutex_lock(&c->lock);
    if (--m->refs == 0 && !m->listed)
        gone = m;
    else if (c->nlisted > MODULES)
        gone = drop_one(c);
    pthread_mutex_unlock(&c->lock);
    destroy(gone);
}

void *rt_cached_code_find(struct rt_cached_code *m, const char *name, struct hd_err *err)
{
    return rt_code_find(m->code, name, err);
}

/* ---- Compiling ------------------------------------------------------------------------- */

/* On the heap and with a copy of all it reads: LLVM cannot be interrupted, so a statement that is
 * cancelled leaves its compilation to the threads that are at it. */
struct compilation {
    struct rt_thread_pool_job job;
    struct rt_bytes bitcode;
    int threads;
    char **names;
    uint64_t *weights;
    int nnames, nparts;
    int *part; /* of each function */
    struct rt_bytes objects[MAX_PARTS];
    struct hd_err errors[MAX_PARTS]; /* per part; what concerns all is in the first */
    _Atomic int next;
};

static void compilation_free(void *compilation)
{
    struct compilation *c = compilation;
    for (int i = 0; i < c->nnames; i++)
        free(c->names[i]);
    free(c->names);
    free(c->weights);
    free(c->part);
    for (int i = 0; i < MAX_PARTS; i++) {
        rt_bytes_release(&c->objects[i]);
        hd_err_release(&c->errors[i]);
    }
    rt_bytes_release(&c->bitcode);
    free(c);
}

static struct compilation *compilation_new(const void *bitcode, size_t n, int threads)
{
    struct compilation *c = hd_try_calloc(1, sizeof *c);
    void *copy = c ? hd_try_malloc(n) : NULL;
    if (!copy) {
        free(c);
        return NULL;
    }
    c->bitcode = (struct rt_bytes){memcpy(copy, bitcode, n), n};
    c->threads = threads;
    for (int i = 0; i < MAX_PARTS; i++)
        hd_err_init(&c->errors[i]);
    return c;
}

static void compile_part(struct compilation *c, int part)
{
    const char **roots = hd_try_calloc((size_t)c->nnames, sizeof *roots);
    int n = 0;
    if (!roots) {
        HD_FAIL(&c->errors[part], RESOURCE, NULL, "out of memory while compiling");
        return;
    }
    for (int i = 0; i < c->nnames; i++)
        if (c->part[i] == part)
            roots[n++] = c->names[i];
    rt_orc_compile(c->bitcode.p, c->bitcode.n, roots, n, &c->job.left, &c->objects[part], &c->errors[part]);
    free(roots);
}

static void compile_parts(void *context, int worker HD_UNUSED)
{
    struct compilation *c = context;
    for (int part; (part = c->next++) < c->nparts && !hd_stopped(&c->job.left);)
        compile_part(c, part);
}

/* Largest function first, always to the lightest part. Functions come in the order of the
 * pipelines, and a few dozen at most. */
static void divide(struct compilation *c)
{
    uint64_t load[MAX_PARTS] = {0};
    for (int i = 0; i < c->nnames; i++)
        c->part[i] = -1;
    for (int k = 0; k < c->nnames; k++) {
        int big = -1, light = 0;
        for (int i = 0; i < c->nnames; i++)
            if (c->part[i] < 0 && (big < 0 || c->weights[i] > c->weights[big]))
                big = i;
        for (int p = 1; p < c->nparts; p++)
            if (load[p] < load[light])
                light = p;
        c->part[big] = light;
        load[light] += c->weights[big];
    }
}

static int choose_parts(const struct compilation *c)
{
    uint64_t total = 0;
    for (int i = 0; i < c->nnames; i++)
        total += c->weights[i];
    uint64_t n = HD_MIN(total / PART_WEIGHT, (uint64_t)HD_MIN(c->threads, MAX_PARTS));
    return (int)HD_MAX(HD_MIN(n, (uint64_t)c->nnames), (uint64_t)1);
}

static void read_module(void *context, int worker HD_UNUSED)
{
    struct compilation *c = context;
    struct hd_err *err = &c->errors[0];
    if (rt_orc_functions(c->bitcode.p, c->bitcode.n, &c->names, &c->weights, &c->nnames, err) != 0)
        return;
    c->part = hd_try_calloc((size_t)c->nnames, sizeof *c->part);
    if (!c->part) {
        HD_FAIL(err, RESOURCE, NULL, "out of memory while compiling");
        return;
    }
    c->nparts = choose_parts(c);
    divide(c);
}

static int adopt_error(const struct hd_err *e, struct hd_err *err)
{
    hd_err_set(err, e->class, __FILE__, __LINE__, NULL, "%s", e->message);
    hd_err_set_detail(err, e->detail);
    return -1;
}

static int first_error(const struct compilation *c, struct hd_err *err)
{
    for (int i = 0; i < MAX_PARTS; i++)
        if (c->errors[i].class != HD_ERR_NONE)
            return adopt_error(&c->errors[i], err);
    return 0;
}

/* Has the thread pool do a part of the work. *c becomes NULL if it was left. */
static int delegate(struct compilation **c, void (*run)(void *context, int worker), int n,
                    struct rt_thread_pool *thread_pool, const struct hd_stop *stop, struct hd_err *err)
{
    (*c)->job = (struct rt_thread_pool_job){.run = run, .context = *c};
    if (rt_thread_pool_delegate(thread_pool, &(*c)->job, n, stop, compilation_free))
        return first_error(*c, err);
    *c = NULL;
    return HD_FAIL(err, CANCELLED, NULL, "cancelled");
}

/* ---- Print ----------------------------------------------------------------------------- */

/* Like a compilation, it may be left. */
struct printing {
    struct rt_thread_pool_job job;
    struct rt_bytes bitcode;
    enum rt_orc_text what;
    char *text;
    struct hd_err error;
};

static void printing_free(void *printing)
{
    struct printing *p = printing;
    rt_bytes_release(&p->bitcode);
    free(p->text);
    hd_err_release(&p->error);
    free(p);
}

static void print_module(void *context, int worker HD_UNUSED)
{
    struct printing *p = context;
    rt_orc_print(p->bitcode.p, p->bitcode.n, p->what, &p->text, &p->error);
}

int rt_code_print(struct rt_thread_pool *thread_pool, const struct hd_stop *stop, const void *bitcode, size_t n,
                  enum rt_orc_text what, char **text, struct hd_err *err)
{
    struct printing *p = hd_try_calloc(1, sizeof *p);
    void *copy = p ? hd_try_malloc(n) : NULL;
    if (!copy) {
        free(p);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for the text of a module");
    }
    p->bitcode = (struct rt_bytes){memcpy(copy, bitcode, n), n};
    p->what = what;
    p->job = (struct rt_thread_pool_job){.run = print_module, .context = p};
    hd_err_init(&p->error);
    if (!rt_thread_pool_delegate(thread_pool, &p->job, 1, stop, printing_free))
        return HD_FAIL(err, CANCELLED, NULL, "cancelled");
    int rc = p->text ? 0 : adopt_error(&p->error, err);
    *text = p->text;
    p->text = NULL;
    printing_free(p);
    return rc;
}

/* ---- Get ------------------------------------------------------------------------------- */

static struct rt_cache_key make_key(const struct rt_code_cache *c, const void *bitcode, size_t n)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, c->version, strlen(c->version) + 1);
    XXH3_128bits_update(&state, rt_orc_identity(), strlen(rt_orc_identity()) + 1);
    XXH3_128bits_update(&state, bitcode, n);
    XXH128_hash_t h = XXH3_128bits_digest(&state);
    return (struct rt_cache_key){h.high64, h.low64};
}

static int load_module(struct rt_cache_key key, const struct rt_bytes *objects, int n, struct rt_cached_code **out,
                       struct hd_err *err)
{
    struct rt_cached_code *m = hd_try_calloc(1, sizeof *m);
    if (!m)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for compiled code");
    m->key = key;
    m->refs = 1;
    if (rt_code_load(objects, n, &m->code, err) != 0) {
        free(m);
        return -1;
    }
    *out = m;
    return 0;
}

static bool load_from_disk(struct rt_code_cache *c, struct rt_cache_key key, struct rt_cached_code **out)
{
    struct rt_bytes *parts;
    int n;
    if (!c->has_disk || !rt_disk_cache_load(&c->disk, key, &parts, &n))
        return false;
    bool ok = load_module(key, parts, n, out, NULL) == 0;
    for (int i = 0; i < n; i++)
        rt_bytes_release(&parts[i]);
    free(parts);
    return ok;
}

static int compile_and_load(struct rt_code_cache *c, struct rt_thread_pool *thread_pool, int threads,
                            const struct hd_stop *stop, struct rt_cache_key key, const void *bitcode, size_t n,
                            struct rt_cached_code **out, struct hd_err *err)
{
    struct compilation *work = compilation_new(bitcode, n, threads);
    if (!work)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory while compiling");
    int rc = delegate(&work, read_module, 1, thread_pool, stop, err);
    if (rc == 0)
        rc = delegate(&work, compile_parts, work->nparts, thread_pool, stop, err);
    if (rc == 0)
        rc = load_module(key, work->objects, work->nparts, out, err);
    if (rc == 0 && c->has_disk)
        rt_disk_cache_store(&c->disk, key, work->objects, work->nparts);
    if (work)
        compilation_free(work);
    return rc;
}

int rt_code_cache_get(struct rt_code_cache *c, struct rt_thread_pool *thread_pool, int threads,
                      const struct hd_stop *stop, const void *bitcode, size_t n, bool fresh,
                      struct rt_cached_code **out, enum rt_cached *how, struct hd_err *err)
{
    struct rt_cache_key key = make_key(c, bitcode, n);
    struct rt_cached_code *m = NULL;
    if (!fresh) {
        pthread_mutex_lock(&c->lock);
        m = find(c, key);
        pthread_mutex_unlock(&c->lock);
    }
    *how = RT_CACHED_MEMORY;
    if (!m && !fresh && load_from_disk(c, key, &m))
        *how = RT_CACHED_DISK;
    if (*how == RT_CACHED_MEMORY && m) {
        *out = m;
        return 0;
    }
    if (!m) {
        *how = RT_COMPILED;
        HD_TRY(compile_and_load(c, thread_pool, threads, stop, key, bitcode, n, &m, err));
    }
    pthread_mutex_lock(&c->lock);
    list_module(c, m);
    pthread_mutex_unlock(&c->lock);
    *out = m;
    return 0;
}
