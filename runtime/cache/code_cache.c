#include "runtime/cache/code_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/fault.h"
#include "runtime/cache/disk_cache.h"

enum { MODULES = 256 /* programs whose code nobody uses are kept up to this number */ };

struct rt_cached_code {
    struct rt_cache_key key;
    struct rt_tiers *tiers;
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
        rt_tiers_release(m->tiers);
        free(m);
    }
    if (c->has_disk)
        rt_disk_cache_release(&c->disk);
    pthread_mutex_destroy(&c->lock);
    free(c->version);
    free(c);
}

void rt_code_cache_quit(struct rt_code_cache *c)
{
    if (!c) /* it could not be made */
        return;
    pthread_mutex_lock(&c->lock);
    for (struct rt_cached_code *m = c->list; m && !c->has_disk; m = m->next)
        rt_tiers_stop(m->tiers);
    pthread_mutex_unlock(&c->lock);
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

/* Under the lock: nobody finds it any more. */
static void delist(struct rt_code_cache *c, struct rt_cached_code *m)
{
    for (struct rt_cached_code **p = &c->list; *p; p = &(*p)->next)
        if (*p == m) {
            *p = m->next;
            m->listed = false;
            c->nlisted--;
            return;
        }
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
    rt_tiers_release(m->tiers);
    free(m);
}

void rt_cached_code_release(struct rt_code_cache *c, struct rt_cached_code *m)
{
    struct rt_cached_code *gone = NULL;
    if (!m)
        return;
    pthread_mutex_lock(&c->lock);
    if (--m->refs == 0 && rt_tiers_is_premature(m->tiers)) {
        delist(c, m);
        rt_tiers_stop(m->tiers);
    }
    if (m->refs == 0 && !m->listed)
        gone = m;
    else if (c->nlisted > MODULES)
        gone = drop_one(c);
    pthread_mutex_unlock(&c->lock);
    destroy(gone);
}

void rt_code_cache_drop(struct rt_code_cache *c, struct rt_cached_code *m)
{
    pthread_mutex_lock(&c->lock);
    delist(c, m);
    pthread_mutex_unlock(&c->lock);
    rt_cached_code_release(c, m);
}

/* ---- Print ----------------------------------------------------------------------------- */

/* Like a compilation, it may be left. */
struct printing {
    struct rt_thread_pool_job job;
    struct rt_bytes bitcode;
    enum rt_llvm_text what;
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
    rt_llvm_print(p->bitcode.p, p->bitcode.n, p->what, &p->text, &p->error);
}

static int adopt_error(const struct hd_err *e, struct hd_err *err)
{
    hd_err_set(err, e->class, __FILE__, __LINE__, NULL, "%s", e->message);
    hd_err_set_detail(err, e->detail);
    return -1;
}

int rt_code_print(struct rt_thread_pool *thread_pool, const struct hd_stop *stop, const void *bitcode, size_t n,
                  enum rt_llvm_text what, char **text, struct hd_err *err)
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

/* ---- Warm ------------------------------------------------------------------------------ */

static void warm(void *context HD_UNUSED, int worker HD_UNUSED)
{
    rt_llvm_warm();
}

void rt_code_warm(struct rt_thread_pool *thread_pool)
{
    struct rt_thread_pool_job *job = hd_try_calloc(1, sizeof *job);
    if (!job)
        return;
    *job = (struct rt_thread_pool_job){.run = warm, .context = job};
    if (!rt_thread_pool_entrust(thread_pool, job, 1, false, free))
        free(job);
}

/* ---- Get ------------------------------------------------------------------------------- */

static struct rt_cache_key make_key(const struct rt_code_cache *c, const void *bitcode, size_t n)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, c->version, strlen(c->version) + 1);
    XXH3_128bits_update(&state, rt_llvm_identity(), strlen(rt_llvm_identity()) + 1);
    XXH3_128bits_update(&state, bitcode, n);
    XXH128_hash_t h = XXH3_128bits_digest(&state);
    return (struct rt_cache_key){h.high64, h.low64};
}

static int new_code(struct rt_code_cache *c, const struct rt_code_source *source, int threads, struct rt_cache_key key,
                    struct rt_cached_code **out, struct hd_err *err)
{
    struct rt_cached_code *m = hd_try_calloc(1, sizeof *m);
    if (!m)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for compiled code");
    m->key = key;
    m->refs = 1;
    if (rt_tiers_new(source, threads, c->has_disk ? &c->disk : NULL, key, &m->tiers, err) != 0) {
        free(m);
        return -1;
    }
    *out = m;
    return 0;
}

/* False where there is no entry that can be linked. */
static bool load_from_disk(struct rt_code_cache *c, struct rt_cached_code *m)
{
    struct rt_bytes *parts;
    int n;
    if (!c->has_disk || !rt_disk_cache_load(&c->disk, m->key, &parts, &n))
        return false;
    bool ok = rt_tiers_load(m->tiers, parts, n, NULL) == 0;
    for (int i = 0; i < n; i++)
        rt_bytes_release(&parts[i]);
    free(parts);
    return ok;
}

int rt_code_cache_get(struct rt_code_cache *c, struct rt_thread_pool *thread_pool, int threads,
                      const struct rt_code_source *source, bool fresh, struct rt_cached_code **out, enum rt_cached *how,
                      struct hd_err *err)
{
    struct rt_cache_key key = make_key(c, source->bitcode, source->size);
    struct rt_cached_code *m = NULL;
    *how = RT_CACHED_MEMORY;
    if (!fresh) {
        pthread_mutex_lock(&c->lock);
        m = find(c, key);
        pthread_mutex_unlock(&c->lock);
    }
    if (!m) {
        HD_TRY(new_code(c, source, threads, key, &m, err));
        *how = !fresh && load_from_disk(c, m) ? RT_CACHED_DISK : RT_COMPILED;
        pthread_mutex_lock(&c->lock);
        list_module(c, m);
        pthread_mutex_unlock(&c->lock);
    }
    rt_tiers_begin(m->tiers, source->spec, thread_pool, threads);
    *out = m;
    return 0;
}

struct rt_tiers *rt_cached_code_tiers(struct rt_cached_code *m)
{
    return m->tiers;
}
