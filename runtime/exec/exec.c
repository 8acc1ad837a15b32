/* The schedule of a program. */
#include "runtime/exec/exec.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/base/guard.h"
#include "runtime/cpu/helpers.h"
#include "runtime/exec/exec_internal.h"
#include "runtime/exec/touch.h"

char *hdr_string_alloc(struct hdd_thread *t, size_t n)
{
    struct rt_worker *w = t->exec;
    char *p = rt_heap_alloc(&w->x->memory, &w->heap, n);
    if (!p)
        rt_worker_fail(w, RT_FAIL_MEMORY, -1);
    return p;
}

/* ---- Columns --------------------------------------------------------------------------- */

static bool is_stopped(void *x)
{
    return rt_exec_stopped(x);
}

static int touch_columns(struct rt_exec *x)
{
    struct hd_err e;
    hd_err_init(&e);
    if (rt_touch_columns(x->spec, x->o.thread_pool, x->o.threads, is_stopped, x, &e) != 0)
        rt_exec_raise(x, e.class, e.path, "%s", e.message);
    hd_err_release(&e);
    return rt_exec_stopped(x) ? -1 : 0;
}

/* ---- Schedule -------------------------------------------------------------------------- */

/* Counters of all workers, and whatever else is a table of the spec's size. */
static int init_tables(struct rt_exec *x, struct rt_exec_stats *stats)
{
    int ncounters = 1;
    for (int i = 0; i < x->spec->npipelines; i++)
        ncounters = HD_MAX(ncounters, x->spec->pipelines[i].ncounters);
    for (int i = 0; i < x->o.threads; i++)
        x->workers[i].counters = HD_NEWN(&x->arena, uint64_t, ncounters + RT_LINE / 8);
    rt_exec_stats_prepare(stats, x->spec, x->o.threads);
    return 0;
}

static int init_workers(struct rt_exec *x)
{
    int rc;
    size_t n = (size_t)x->o.threads;
    x->workers = aligned_alloc(RT_LINE, n * sizeof *x->workers);
    if (!x->workers)
        return -1;
    memset(x->workers, 0, n * sizeof *x->workers);
    for (int i = 0; i < x->o.threads; i++) {
        struct rt_worker *w = &x->workers[i];
        w->x = x;
        w->t.exec = w;
        w->t.index = i;
    }
    HD_GUARDED(rc, NULL, NULL, init_tables(x, x->stats));
    return rc;
}

static struct rt_exec *exec_new(const struct rt_spec *spec, const struct rt_tier_entries *entries,
                                const struct rt_exec_options *o, struct rt_exec_stats *stats)
{
    struct rt_exec *x = hd_try_calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->spec = spec;
    x->entries = entries;
    x->o = *o;
    x->stats = stats;
    hd_arena_init(&x->arena);
    hd_err_init(&x->error);
    pthread_mutex_init(&x->fail_lock, NULL);
    rt_memory_init(&x->memory, o->memory_limit ? o->memory_limit : UINT64_MAX, o->memory);
    if (o->filed_beyond)
        x->memory.filed_beyond = o->filed_beyond;
    for (int i = 0; i < spec->nstates; i++)
        x->tracks_matches = x->tracks_matches || spec->states[i].track_matches;
    if ((!o->spill || rt_memory_spill(&x->memory, &x->failure)) && init_workers(x) == 0)
        return x;
    rt_memory_release(&x->memory);
    hd_arena_release(&x->arena);
    free(x->workers);
    free(x);
    return NULL;
}

static void exec_free(struct rt_exec *x)
{
    for (int i = 0; x->live && i < x->spec->nstates; i++)
        rt_state_free(x, i);
    for (int i = 0; i < x->o.threads; i++)
        rt_heap_free(&x->memory, &x->workers[i].heap);
    rt_memory_release(&x->memory);
    free(x->locals);
    free(x->workers);
    hd_err_release(&x->error);
    pthread_mutex_destroy(&x->fail_lock);
    hd_arena_release(&x->arena);
    free(x);
}

/* Columns are in memory: they need to be verified once. That time counts as transfer. */
static int upload(struct rt_exec *x)
{
    uint64_t start = rt_now_ns();
    HD_TRY(touch_columns(x));
    uint64_t took = rt_now_ns() - start;
    x->stats->transfer_ms += (double)took / 1e6;
    x->started_ns += took;
    return 0;
}

/* The time until there is code counts as compilation. */
static int wait_for_code(struct rt_exec *x, int pipeline)
{
    struct hd_err e;
    if (!x->o.wait_for_code)
        return 0;
    hd_err_init(&e);
    uint64_t start = rt_now_ns();
    if (x->o.wait_for_code(x->o.code, pipeline, &e) != 0)
        rt_exec_raise(x, e.class, e.path, "%s", e.message);
    hd_err_release(&e);
    uint64_t took = rt_now_ns() - start;
    x->stats->code_ms += (double)took / 1e6;
    x->started_ns += took;
    return rt_exec_stopped(x) ? -1 : 0;
}

static int run_pipeline(struct rt_exec *x, const struct rt_action *a)
{
    HD_TRY(wait_for_code(x, a->index));
    rt_args_resolve(x);
    uint64_t start = rt_now_ns();
    int rc = rt_pipeline_run(x, a->index, a->fragment);
    rt_exec_span(x, RT_SPAN_RUN, a->index, start);
    return rc;
}

static int finish(struct rt_exec *x, int state)
{
    uint64_t start = rt_now_ns();
    int rc = rt_state_finish(x, state);
    x->stats->finish_ms[state] = rt_exec_span(x, RT_SPAN_FINISH, state, start);
    x->stats->state_rows[state] = x->live[state].nrows;
    return rc;
}

/* All devices are the one memory: what one has, the others have, and what is freed on another one than the first
 * stays there. */
static int run_action(struct rt_exec *x, const struct rt_action *a)
{
    switch (a->kind) {
    case RT_UPLOAD: return a->device == 0 ? upload(x) : 0;
    case RT_RUN: return run_pipeline(x, a);
    case RT_FINISH: return finish(x, a->index);
    case RT_EXCHANGE: return 0;
    case RT_FREE:
        if (a->device == 0)
            rt_state_free(x, a->index);
        return 0;
    }
    HD_BUG("action kind %d", (int)a->kind);
}

/* One action after the other: the list is in an order that the edges allow, and every thread works for each. */
static int run_all(struct rt_exec *x)
{
    x->started_ns = rt_now_ns();
    HD_TRY(rt_states_init(x));
    HD_TRY(rt_args_init(x));
    for (int i = 0; i < x->spec->nactions; i++)
        HD_TRY(run_action(x, &x->spec->actions[i]));
    return rt_exec_stopped(x) ? -1 : 0;
}

/* Arenas are the calling thread's alone, which asks them for nothing while a job runs. */
static int run_guarded(struct rt_exec *x)
{
    int rc;
    struct hd_err e;
    hd_err_init(&e);
    HD_GUARDED(rc, NULL, &e, run_all(x));
    if (e.class != HD_ERR_NONE)
        rt_exec_raise(x, e.class, NULL, "%s", e.message);
    hd_err_release(&e);
    return rc;
}

static void stop(void *running)
{
    rt_exec_raise(running, HD_ERR_CANCELLED, NULL, "cancelled");
}

/* What only running needs: everything but the result's rows and strings. */
static void free_rest(struct rt_exec *x)
{
    for (int i = 0; i < x->spec->nstates; i++)
        if (i != x->spec->result_state)
            rt_state_free(x, i);
}

static void note_memory(const struct rt_exec *x)
{
    x->stats->peak_bytes = atomic_load(&x->memory.peak);
    x->stats->spilled_bytes = rt_spill_bytes(x->memory.spill);
    for (int i = 0; x->live && i < x->spec->nstates; i++) {
        const struct rt_live *v = &x->live[i];
        x->stats->state_spilled[i] = v->region.filed + v->flushed.filed + atomic_load(&v->filed);
    }
}

int rt_exec_run(const struct rt_spec *spec, const struct rt_tier_entries *entries, const struct rt_exec_options *o,
                struct rt_result **out, struct rt_exec_stats *stats, struct hd_err *err)
{
    HD_ASSERT(o->threads >= 1);
    struct rt_exec *x = exec_new(spec, entries, o, stats);
    struct rt_result *r = hd_try_calloc(1, sizeof *r);
    if (!x || !r) {
        free(r);
        if (x)
            exec_free(x);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for an execution");
    }
    rt_cancel_set(o->cancel, stop, x);
    int rc = run_guarded(x);
    rt_cancel_set(o->cancel, NULL, NULL);
    if (x->started_ns)
        stats->execute_ms = (double)(rt_now_ns() - x->started_ns) / 1e6;
    note_memory(x);
    x->stats = NULL; /* the caller's; the result may live longer */
    if (rc != 0) {
        hd_err_set(err, x->error.class, __FILE__, __LINE__, x->error.path, "%s", x->error.message);
        free(r);
        exec_free(x);
        return -1;
    }
    free_rest(x);
    r->x = x;
    *out = r;
    return 0;
}

void rt_result_free(struct rt_result *r)
{
    if (!r)
        return;
    exec_free(r->x);
    free(r);
}
