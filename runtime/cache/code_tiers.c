#include "runtime/cache/code_units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/fault.h"
#include "runtime/base/guard.h"

enum {
    ATTEMPTS = 3,
    LOOK_NS = 5000000 /* between two looks whether who waits is to leave */
};

const char *rt_optimised_name(enum rt_optimised o)
{
    static const char *const name[] = {
#define X(id, text) [RT_OPTIMISED_##id] = text,
        RT_OPTIMISED_STATES(X)
#undef X
    };
    return name[o];
}

int rt_tiers_new(const struct rt_code_source *source, int threads, struct rt_disk_cache *disk, struct rt_cache_key key,
                 struct rt_tiers **out, struct hd_err *err)
{
    int rc;
    pthread_condattr_t monotonic;
    struct rt_tiers *t = hd_try_calloc(1, sizeof *t);
    if (!t)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for compiled code");
    atomic_init(&t->refs, 1);
    t->disk = disk;
    t->key = key;
    hd_arena_init(&t->arena);
    hd_err_init(&t->error);
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    HD_GUARDED(rc, NULL, err, rt_tiers_divide(t, source, threads));
    if (rc == 0)
        *out = t;
    else
        rt_tiers_release(t);
    return rc;
}

static void hold(struct rt_tiers *t)
{
    atomic_fetch_add(&t->refs, 1);
}

void rt_tiers_release(struct rt_tiers *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
        return;
    for (int i = 0; i < t->nunits; i++)
        rt_bytes_release(&t->units[i].object);
    for (int g = 0; g < t->ngroups; g++)
        rt_code_free(t->groups[g].code);
    rt_code_free(t->loaded);
    hd_err_release(&t->error);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->changed);
    hd_arena_release(&t->arena);
    free(t);
}

const struct rt_tier_entries *rt_tiers_entries(const struct rt_tiers *t)
{
    return t->entries;
}

/* ---- linking --------------------------------------------------------------------------- */

static int find_entries(struct rt_code *code, struct rt_code_pipeline *p, enum rt_tier tier, struct hd_err *err)
{
    void *f = rt_code_find(code, p->entry, err);
    if (!f)
        return -1;
    p->entries[tier].entry = (rt_entry_fn)(uintptr_t)f;
    for (int l = 0; l < RT_MAX_LEVELS; l++) {
        if (!p->level[l])
            continue;
        f = rt_code_find(code, p->level[l], err);
        if (!f)
            return -1;
        p->entries[tier].level[l] = (rt_level_fn)(uintptr_t)f;
    }
    return 0;
}

/* Of one group, -1: of all. Nobody reads entries that are not published. */
static int find_all(struct rt_tiers *t, struct rt_code *code, enum rt_tier tier, int group, struct hd_err *err)
{
    for (int i = 0; i < t->npipelines; i++)
        if (group < 0 || t->pipelines[i].group[tier] == group)
            HD_TRY(find_entries(code, &t->pipelines[i], tier, err));
    return 0;
}

static void publish(struct rt_tiers *t, enum rt_tier tier, int group)
{
    for (int i = 0; i < t->npipelines; i++)
        if (group < 0 || t->pipelines[i].group[tier] == group)
            atomic_store_explicit(&t->entries[i].tier[tier], &t->pipelines[i].entries[tier], memory_order_release);
}

int rt_tiers_load(struct rt_tiers *t, const struct rt_bytes *objects, int n, struct hd_err *err)
{
    HD_TRY(rt_code_load(objects, n, &t->loaded, err));
    HD_TRY(find_all(t, t->loaded, RT_TIER_OPTIMISED, -1, err));
    publish(t, RT_TIER_OPTIMISED, -1);
    for (int i = 0; i < t->nunits; i++)
        if (t->groups[t->units[i].group].tier == RT_TIER_OPTIMISED)
            t->units[i].progress = RT_UNIT_COMPILED;
    for (int g = 0; g < t->ngroups; g++)
        if (t->groups[g].tier == RT_TIER_OPTIMISED)
            t->groups[g].left = 0;
    t->settled = true;
    return 0;
}

/* ---- compiling ------------------------------------------------------------------------- */

static double ms_since(const struct timespec *from)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)(t.tv_sec - from->tv_sec) * 1e3 + (double)(t.tv_nsec - from->tv_nsec) / 1e6;
}

/* The next four under the lock. */
static bool is_linked(const struct rt_tiers *t, int group)
{
    return t->groups[group].ms >= 0 || (t->loaded && t->groups[group].tier == RT_TIER_OPTIMISED);
}

static bool is_underway(const struct rt_tiers *t, int group)
{
    const struct rt_code_group *g = &t->groups[group];
    for (int k = 0; k < g->nunits; k++)
        if (t->units[g->first + k].progress == RT_UNIT_ASKED || t->units[g->first + k].progress == RT_UNIT_RUNNING)
            return true;
    return g->left == 0 && !is_linked(t, group) && !g->failed; /* being linked */
}

static bool all_linked(const struct rt_tiers *t, enum rt_tier tier)
{
    for (int g = 0; g < t->ngroups; g++)
        if (t->groups[g].tier == tier && !is_linked(t, g))
            return false;
    return true;
}

static void give_up(struct rt_tiers *t, int group, struct hd_err *e)
{
    struct rt_code_group *g = &t->groups[group];
    g->attempts += !g->failed;
    g->failed = true;
    for (int k = 0; k < g->nunits; k++)
        if (t->units[g->first + k].progress == RT_UNIT_ASKED)
            t->units[g->first + k].progress = RT_UNIT_IDLE;
    hd_err_release(&t->error);
    t->error = *e;
    hd_err_init(e);
}

/* Objects of a group, in the order of its units. */
static int link_group(struct rt_tiers *t, int group, struct hd_err *err)
{
    struct rt_code_group *g = &t->groups[group];
    struct rt_bytes objects[RT_GROUP_UNITS];
    for (int k = 0; k < g->nunits; k++)
        objects[k] = t->units[g->first + k].object;
    HD_TRY(rt_code_load(objects, g->nunits, &g->code, err));
    return find_all(t, g->code, g->tier, group, err);
}

static void free_objects(struct rt_tiers *t, enum rt_tier tier)
{
    for (int i = 0; i < t->nunits; i++)
        if (t->groups[t->units[i].group].tier == tier)
            rt_bytes_release(&t->units[i].object);
}

/* Where all optimised code is there. */
static void store(struct rt_tiers *t)
{
    struct rt_bytes objects[RT_DISK_CACHE_PARTS];
    int n = 0;
    for (int i = 0; i < t->nunits; i++)
        if (t->groups[t->units[i].group].tier == RT_TIER_OPTIMISED)
            objects[n++] = t->units[i].object;
    if (t->disk)
        rt_disk_cache_store(t->disk, t->key, objects, n);
    free_objects(t, RT_TIER_OPTIMISED);
}

/* By the thread that compiled its last unit. */
static void finish_group(struct rt_tiers *t, int group)
{
    struct rt_code_group *g = &t->groups[group];
    struct hd_err e;
    hd_err_init(&e);
    int rc = link_group(t, group, &e);
    pthread_mutex_lock(&t->lock);
    if (rc == 0) {
        publish(t, g->tier, group);
        g->ms = ms_since(&g->began);
    } else {
        rt_code_free(g->code);
        g->code = NULL;
        g->left = 0;
        give_up(t, group, &e);
        g->attempts = ATTEMPTS; /* the same objects would fail again */
    }
    bool all = rc == 0 && g->tier == RT_TIER_OPTIMISED && all_linked(t, RT_TIER_OPTIMISED);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    if (g->tier == RT_TIER_FIRST)
        rt_bytes_release(&t->units[g->first].object);
    if (all)
        store(t);
    hd_err_release(&e);
}

static void compile_unit(struct rt_tiers *t, struct rt_code_unit *u)
{
    struct rt_code_group *g = &t->groups[u->group];
    struct hd_err e;
    hd_err_init(&e);
    int rc = rt_llvm_compile(t->bitcode, t->size, u->roots, u->nroots, g->tier, &t->stop, &u->object, &e);
    pthread_mutex_lock(&t->lock);
    u->progress = rc == 0 ? RT_UNIT_COMPILED : RT_UNIT_IDLE;
    if (rc == 0)
        g->left--;
    else
        give_up(t, u->group, &e);
    bool last = rc == 0 && g->left == 0;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    if (last)
        finish_group(t, u->group);
    hd_err_release(&e);
}

static struct rt_code_unit *draw_unit(struct rt_tiers *t)
{
    struct rt_code_unit *found = NULL;
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < t->nunits && !found; i++)
        if (t->units[i].progress == RT_UNIT_ASKED)
            found = &t->units[i];
    if (found) {
        struct rt_code_group *g = &t->groups[found->group];
        found->progress = RT_UNIT_RUNNING;
        if (g->began.tv_sec == 0)
            clock_gettime(CLOCK_MONOTONIC, &g->began);
    }
    pthread_mutex_unlock(&t->lock);
    return found;
}

struct work {
    struct rt_thread_pool_job job;
    struct rt_tiers *t;
};

static void compile_units(void *context, int worker HD_UNUSED)
{
    struct work *w = context;
    for (struct rt_code_unit *u; (u = draw_unit(w->t));)
        compile_unit(w->t, u);
}

static void work_free(void *context)
{
    struct work *w = context;
    rt_tiers_release(w->t);
    free(w);
}

/* Without threads, the calling one does what it would have to wait for; what is not taken on may be asked for again. */
static void start(struct rt_tiers *t, struct rt_thread_pool *thread_pool, int threads, bool waited_for)
{
    struct work *w = hd_try_calloc(1, sizeof *w);
    struct work here = {.t = t};
    if (w) {
        *w = (struct work){.job = {.run = compile_units, .context = w}, .t = t};
        hold(t);
        if (rt_thread_pool_entrust(thread_pool, &w->job, threads, waited_for, work_free))
            return;
        work_free(w);
    }
    if (waited_for) {
        compile_units(&here, 0);
        return;
    }
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < t->nunits; i++)
        if (t->units[i].progress == RT_UNIT_ASKED)
            t->units[i].progress = RT_UNIT_IDLE;
    pthread_mutex_unlock(&t->lock);
}

/* ---- what is asked for ----------------------------------------------------------------- */

/* Under the lock: units that are to be compiled now. */
static int ask(struct rt_tiers *t, int group)
{
    struct rt_code_group *g = &t->groups[group];
    int n = 0;
    if (is_linked(t, group) || is_underway(t, group) || g->attempts >= ATTEMPTS || hd_stopped(&t->stop))
        return 0;
    g->failed = false;
    for (int k = 0; k < g->nunits; k++) {
        struct rt_code_unit *u = &t->units[g->first + k];
        if (u->progress == RT_UNIT_IDLE) {
            u->progress = RT_UNIT_ASKED;
            n++;
        }
    }
    return n;
}

static bool begins_optimised(const struct rt_tiers *t, int group)
{
    return is_linked(t, group) || is_underway(t, group);
}

/* Under the lock. */
static int ask_for_begin(struct rt_tiers *t, int pipeline, enum rt_tiering tiering)
{
    const int *group = t->pipelines[pipeline].group;
    int first = group[RT_TIER_FIRST], optimised = group[RT_TIER_OPTIMISED];
    switch (tiering) {
    case RT_TIERING_LATER: return begins_optimised(t, optimised) ? 0 : ask(t, first);
    case RT_TIERING_MEANWHILE: return (is_linked(t, optimised) ? 0 : ask(t, first)) + ask(t, optimised);
    case RT_TIERING_BEFORE: return ask(t, optimised);
    case RT_TIERING_NEVER: return ask(t, first);
    case RT_TIERING_TURNS: return ask(t, first) + ask(t, optimised);
    }
    HD_BUG("tiering %d", (int)tiering);
}

void rt_tiers_begin(struct rt_tiers *t, const struct rt_spec *spec, struct rt_thread_pool *thread_pool, int threads)
{
    int n = 0;
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < t->npipelines; i++)
        n += ask_for_begin(t, i, spec->pipelines[i].tiering);
    pthread_mutex_unlock(&t->lock);
    if (n > 0)
        start(t, thread_pool, HD_MIN(n, threads), true);
}

void rt_tiers_settle(struct rt_tiers *t, const struct rt_spec *spec, struct rt_thread_pool *thread_pool, int threads)
{
    int n = 0;
    pthread_mutex_lock(&t->lock);
    t->settled = true;
    for (int i = 0; i < t->npipelines; i++)
        if (spec->pipelines[i].tiering != RT_TIERING_NEVER)
            n += ask(t, t->pipelines[i].group[RT_TIER_OPTIMISED]);
    pthread_mutex_unlock(&t->lock);
    if (n > 0)
        start(t, thread_pool, HD_MIN(n, threads), false);
}

void rt_tiers_stop(struct rt_tiers *t)
{
    pthread_mutex_lock(&t->lock);
    hd_stop_ask(&t->stop);
    for (int i = 0; i < t->nunits; i++)
        if (t->units[i].progress == RT_UNIT_ASKED)
            t->units[i].progress = RT_UNIT_IDLE;
    pthread_mutex_unlock(&t->lock);
}

bool rt_tiers_is_premature(struct rt_tiers *t)
{
    bool any = false;
    pthread_mutex_lock(&t->lock);
    for (int g = 0; g < t->ngroups; g++)
        any = any || is_underway(t, g);
    any = any && !t->settled;
    pthread_mutex_unlock(&t->lock);
    return any;
}

/* ---- waiting --------------------------------------------------------------------------- */

static bool is_there(const struct rt_tiers *t, int pipeline, enum rt_tier tier)
{
    return atomic_load_explicit(&t->entries[pipeline].tier[tier], memory_order_acquire) != NULL;
}

static bool can_begin(const struct rt_tiers *t, int pipeline, enum rt_tiering tiering)
{
    bool first = is_there(t, pipeline, RT_TIER_FIRST), optimised = is_there(t, pipeline, RT_TIER_OPTIMISED);
    switch (tiering) {
    case RT_TIERING_LATER:
    case RT_TIERING_MEANWHILE: return first || optimised;
    case RT_TIERING_BEFORE: return optimised;
    case RT_TIERING_NEVER: return first;
    case RT_TIERING_TURNS: return first && optimised;
    }
    HD_BUG("tiering %d", (int)tiering);
}

/* Under the lock: what the pipeline still lacks is not being compiled. Where it may begin with either tier, one that
 * is underway is waited for. */
static bool is_lost(const struct rt_tiers *t, int pipeline, enum rt_tiering tiering)
{
    const int *group = t->pipelines[pipeline].group;
    bool first = !is_there(t, pipeline, RT_TIER_FIRST) && !is_underway(t, group[RT_TIER_FIRST]);
    bool optimised = !is_there(t, pipeline, RT_TIER_OPTIMISED) && !is_underway(t, group[RT_TIER_OPTIMISED]);
    switch (tiering) {
    case RT_TIERING_LATER:
    case RT_TIERING_MEANWHILE: return first && optimised;
    case RT_TIERING_BEFORE: return optimised;
    case RT_TIERING_NEVER: return first;
    case RT_TIERING_TURNS: return first || optimised;
    }
    HD_BUG("tiering %d", (int)tiering);
}

/* Under the lock, which it lets go meanwhile. */
static void look_later(struct rt_tiers *t)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += LOOK_NS;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&t->changed, &t->lock, &at);
}

static int fail_lost(struct rt_tiers *t, struct hd_err *err)
{
    pthread_mutex_lock(&t->lock);
    if (t->error.class != HD_ERR_NONE) {
        hd_err_set(err, t->error.class, __FILE__, __LINE__, NULL, "%s", t->error.message);
        hd_err_set_detail(err, t->error.detail);
    } else {
        HD_FAIL(err, TOOL, NULL, "the code of a pipeline could not be compiled");
    }
    pthread_mutex_unlock(&t->lock);
    return -1;
}

/* Under the lock: whether somebody took back what the pipeline waits for (a queue that was full, a statement that was
 * stopped), and it is asked for again. What failed is not. */
static bool asked_again(struct rt_tiers *t, int pipeline, enum rt_tiering tiering)
{
    const int *group = t->pipelines[pipeline].group;
    for (int i = 0; i < RT_TIER_COUNT; i++)
        if (t->groups[group[i]].failed)
            return false;
    return ask_for_begin(t, pipeline, tiering) > 0;
}

int rt_tiers_wait(struct rt_tiers *t, int pipeline, enum rt_tiering tiering, const struct hd_stop *stop,
                  struct hd_err *err)
{
    struct work here = {.t = t};
    while (!can_begin(t, pipeline, tiering)) {
        bool lost = false;
        pthread_mutex_lock(&t->lock);
        while (!can_begin(t, pipeline, tiering) && !hd_stopped(stop) && !(lost = is_lost(t, pipeline, tiering)))
            look_later(t);
        lost = lost && !asked_again(t, pipeline, tiering);
        pthread_mutex_unlock(&t->lock);
        if (lost)
            return fail_lost(t, err);
        if (hd_stopped(stop))
            return HD_FAIL(err, CANCELLED, NULL, "cancelled");
        if (!can_begin(t, pipeline, tiering))
            compile_units(&here, 0); /* by this thread: the queue may still be full */
    }
    return 0;
}

/* ---- what is told ---------------------------------------------------------------------- */

/* Under the lock. */
static enum rt_optimised optimised_state(const struct rt_tiers *t)
{
    bool failed = false;
    if (all_linked(t, RT_TIER_OPTIMISED))
        return RT_OPTIMISED_DONE;
    for (int g = 0; g < t->ngroups; g++) {
        if (t->groups[g].tier == RT_TIER_FIRST)
            continue;
        if (is_underway(t, g))
            return RT_OPTIMISED_UNDERWAY;
        failed = failed || t->groups[g].failed;
    }
    return failed ? RT_OPTIMISED_FAILED : RT_OPTIMISED_NOT;
}

void rt_tiers_tell(struct rt_tiers *t, struct rt_tiers_about *about)
{
    *about = (struct rt_tiers_about){0};
    pthread_mutex_lock(&t->lock);
    about->optimised = optimised_state(t);
    if (about->optimised == RT_OPTIMISED_FAILED)
        snprintf(about->problem, sizeof about->problem, "%s", t->error.message);
    pthread_mutex_unlock(&t->lock);
}

double rt_tiers_ms(struct rt_tiers *t, int pipeline, enum rt_tier tier)
{
    pthread_mutex_lock(&t->lock);
    double ms = t->groups[t->pipelines[pipeline].group[tier]].ms;
    pthread_mutex_unlock(&t->lock);
    return ms;
}
