/* One pipeline on many threads.
 *
 * Workers draw morsels from the source. Where generated code meets a long range of children it
 * hands it over (hdr_spawn) and goes on; such ranges lie on a stack of tasks from which all
 * workers cut pieces, before they draw new morsels: so the stack stays as short as the work of
 * one morsel per worker can make it. The job ends when the source is drained, the stack is empty
 * and nobody is at work who could push more. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/cpu/helpers.h"
#include "runtime/exec/exec_internal.h"
#include "runtime/exec/source.h"
#include "runtime/store/store_column.h"

/* A row of a loop over pairs is long work. */
enum {
    MORSEL_UNIT = 1024,
    MORSEL_UNIT_LOOP = 64,
    MORSEL_MAX = 65536,
    MORSEL_MAX_NESTED = 16384,
    MORSEL_MAX_HEAVY = 256,
    MORSEL_ROWS_BELOW = 1 << 20,
    MORSELS_MAX =
        128 /* of a thread: drawing one and filling tiles anew takes some 0.5 us; few rows may have most below (JCC-H) */
};

/* A range of children of one row at one level. */
struct task {
    struct task *next;
    int level;
    uint64_t begin, end;
    size_t bytes;
    unsigned char carried[] __attribute__((aligned(16)));
};

struct rt_job {
    struct rt_exec *x;
    const struct rt_pipeline *p;
    const struct rt_tier_entries *entries;
    _Atomic uint64_t turn; /* pieces begun, where tiers take turns */
    _Atomic uint64_t morsels[RT_TIER_COUNT];
    _Atomic uint64_t swapped_ns; /* 0: no morsel after one of the first tier was one of optimised code */
    uint64_t begin, end, morsel; /* rows of the source */
    _Atomic uint64_t cursor;
    bool by_morsel; /* rows keep the order of the source */
    bool nested; /* has level entries: ranges may be handed over */
    struct rt_thread_pool_job thread_pool;
    bool enlisted; /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct task *tasks; /* under the lock */
    _Atomic int ntasks;
    int active; /* under the lock: workers that may push */
    uint64_t spawned; /* under the lock */
    _Atomic bool enough; /* the sink needs no more rows */
};

static uint64_t source_rows(struct rt_exec *x, const struct rt_pipeline *p)
{
    switch (p->source) {
    case RT_SOURCE_TABLE: return (uint64_t)p->table->rows;
    case RT_SOURCE_ROWS: return x->live[p->state].nrows;
    case RT_SOURCE_INDEX: return x->live[p->state].s->range;
    case RT_SOURCE_DICT: return p->table->cols[p->column].dict.n;
    }
    HD_BUG("source kind %d", (int)p->source);
}

/* Several morsels per thread for balance; large enough that drawing one costs nothing. */
static uint64_t morsel_size(const struct rt_exec *x, const struct rt_pipeline *p, uint64_t n)
{
    uint64_t even = n / ((uint64_t)x->o.threads * 8), unit = p->shape == RT_SHAPE_LOOP ? MORSEL_UNIT_LOOP : MORSEL_UNIT;
    if (p->nlevels == 1)
        return HD_MIN((uint64_t)MORSEL_MAX, even / unit * unit + unit);
    /* Rows of the innermost level count. Those of the source may have none: a morsel of them is not too short either. */
    const uint64_t least = HD_MAX(n / ((uint64_t)x->o.threads * MORSELS_MAX), (uint64_t)MORSEL_MAX_HEAVY);
    double below = HD_MAX(p->below, 1), most = HD_MAX(MORSEL_ROWS_BELOW / below, (double)least);
    unit = (uint64_t)HD_MAX((double)unit / below, 1);
    return HD_MIN((uint64_t)HD_MIN(most, MORSEL_MAX_NESTED), even / unit * unit + unit);
}

static bool job_over(struct rt_job *j)
{
    return rt_exec_stopped(j->x) || atomic_load_explicit(&j->enough, memory_order_relaxed);
}

static void record_result(struct rt_worker *w, int32_t rc)
{
    if (rc != 0 && !rt_exec_stopped(w->x))
        rt_exec_raise_worker(w);
}

/* The rows of source from `begin` on, and all behind them, come too late in the order of a bounded state. */
static bool beyond_bound(const struct rt_job *j, uint64_t begin, uint64_t end)
{
    if (!j->p->front)
        return false;
    const struct rt_live *v = &j->x->live[j->p->writes[0]];
    bool desc = v->s->sort[0].desc;
    int64_t bound = (int64_t)atomic_load_explicit(v->bound_word, memory_order_relaxed);
    if (bound == rt_state_no_bound(v->s))
        return false;
    hd_i128 nearest = rt_col_int(&j->p->table->cols[j->p->column], (int64_t)(desc ? end - 1 : begin));
    return desc ? nearest < bound : nearest > bound;
}

/* Rows of the source for a worker: those that the state's order asks for first. */
static bool draw_rows(struct rt_job *j, uint64_t *begin, uint64_t *end)
{
    if (atomic_load_explicit(&j->cursor, memory_order_relaxed) >= j->end)
        return false;
    *begin = atomic_fetch_add(&j->cursor, j->morsel);
    if (*begin >= j->end)
        return false;
    *end = HD_MIN(*begin + j->morsel, j->end);
    if (j->p->front && j->x->live[j->p->writes[0]].s->sort[0].desc) {
        uint64_t last = j->end - (*begin - j->begin);
        *begin = j->end - (*end - j->begin);
        *end = last;
    }
    return true;
}

/* Of them what zones do not rule out. Ranges of zones are at least a zone apart, so that a morsel meets one at most. */
static bool draw_morsel(struct rt_job *j, uint64_t *begin, uint64_t *end)
{
    _Static_assert((int)MORSEL_MAX <= (int)FE_ZONE_ROWS, "a morsel has rows of two ranges");
    while (draw_rows(j, begin, end)) {
        struct rt_source_rows piece = rt_source_piece(j->p, *begin, *end);
        *begin = piece.begin;
        *end = piece.end;
        if (piece.begin < piece.end)
            return true;
    }
    return false;
}

static const struct rt_entries *entries_of(const struct rt_job *j, enum rt_tier t)
{
    return atomic_load_explicit(&j->entries->tier[t], memory_order_acquire);
}

static enum rt_tier best_tier(const struct rt_job *j)
{
    return entries_of(j, RT_TIER_OPTIMISED) ? RT_TIER_OPTIMISED : RT_TIER_FIRST;
}

/* Asked before each piece of work. */
static enum rt_tier choose_tier(struct rt_job *j)
{
    switch (j->p->tiering) {
    case RT_TIERING_LATER:
    case RT_TIERING_MEANWHILE:
    case RT_TIERING_BEFORE: return best_tier(j);
    case RT_TIERING_NEVER: return RT_TIER_FIRST;
    case RT_TIERING_TURNS: {
        uint64_t turn = atomic_fetch_add(&j->turn, 1) / (uint64_t)j->x->spec->turn_morsels;
        return turn % RT_TIER_COUNT ? RT_TIER_FIRST : RT_TIER_OPTIMISED;
    }
    }
    HD_BUG("tiering %d", (int)j->p->tiering);
}

/* The code for the next piece of work. */
static const struct rt_entries *draw_entries(struct rt_job *j)
{
    enum rt_tier t = choose_tier(j);
    uint64_t none = 0;
    atomic_fetch_add_explicit(&j->morsels[t], 1, memory_order_relaxed);
    if (t == RT_TIER_OPTIMISED && atomic_load_explicit(&j->swapped_ns, memory_order_relaxed) == 0 &&
        atomic_load_explicit(&j->morsels[RT_TIER_FIRST], memory_order_relaxed) > 0)
        atomic_compare_exchange_strong(&j->swapped_ns, &none, rt_now_ns());
    return entries_of(j, t);
}

static bool run_morsel(struct rt_job *j, struct rt_worker *w)
{
    uint64_t begin, end;
    if (!draw_morsel(j, &begin, &end) || beyond_bound(j, begin, end) || !rt_source_verify(j->x, j->p, begin, end))
        return false;
    if (j->by_morsel && rt_morsel_begin(w, j->p->writes[0], begin) != 0)
        return false;
    record_result(w, draw_entries(j)->entry(j->x->args, &w->t, begin, end));
    if (j->by_morsel)
        rt_morsel_end(w, j->p->writes[0]);
    rt_spill_look(j->x->memory.spill);
    return true;
}

static void free_task(struct rt_job *j, struct task *t)
{
    rt_memory_unreserve(&j->x->memory, sizeof *t + t->bytes);
    free(t);
}

/* Under the lock: cuts a piece off the top task. The last piece takes the task along; others get
 * a copy of what it carries, so that no two workers share it. NULL: none, or no memory (then
 * the execution has failed). */
static struct task *cut_piece(struct rt_job *j)
{
    struct task *top = j->tasks;
    if (!top)
        return NULL;
    uint64_t most = j->p->piece_children[top->level] ? j->p->piece_children[top->level] : HDD_SPLIT;
    if (top->end - top->begin <= most) {
        j->tasks = top->next;
        atomic_fetch_sub(&j->ntasks, 1);
        return top;
    }
    struct task *piece = hd_try_malloc(sizeof *piece + top->bytes);
    if (!piece || !rt_memory_reserve(&j->x->memory, sizeof *piece + top->bytes)) {
        free(piece);
        rt_exec_raise_memory(j->x, NULL);
        return NULL;
    }
    memcpy(piece, top, sizeof *piece + top->bytes);
    top->begin += most;
    piece->end = top->begin;
    return piece;
}

static bool run_piece(struct rt_job *j, struct rt_worker *w)
{
    if (atomic_load_explicit(&j->ntasks, memory_order_relaxed) == 0)
        return false;
    pthread_mutex_lock(&j->lock);
    struct task *t = cut_piece(j);
    pthread_mutex_unlock(&j->lock);
    if (!t)
        return false;
    record_result(w, draw_entries(j)->level[t->level](j->x->args, &w->t, t->carried, t->begin, t->end));
    free_task(j, t);
    return true;
}

static void enter(struct rt_job *j)
{
    pthread_mutex_lock(&j->lock);
    j->active++;
    pthread_mutex_unlock(&j->lock);
}

/* Waits for a task while others are at work. False: all is done. */
static bool wait_for_task(struct rt_job *j)
{
    pthread_mutex_lock(&j->lock);
    j->active--;
    while (!j->tasks && j->active > 0 && !job_over(j))
        pthread_cond_wait(&j->change, &j->lock);
    bool more = j->tasks && !job_over(j);
    if (more)
        j->active++;
    else
        pthread_cond_broadcast(&j->change);
    pthread_mutex_unlock(&j->lock);
    return more;
}

static void work(void *context, int worker)
{
    struct rt_job *j = context;
    struct rt_worker *w = &j->x->workers[worker];
    uint64_t start = rt_now_ns(), idle = 0;
    if (j->nested)
        enter(j);
    for (;;) {
        if (!job_over(j) && (run_piece(j, w) || run_morsel(j, w)))
            continue;
        if (!j->nested)
            break;
        uint64_t from = rt_now_ns();
        bool more = wait_for_task(j);
        idle += rt_now_ns() - from;
        if (!more)
            break;
    }
    w->busy_ns += rt_now_ns() - start - idle;
}

/* Under the lock or before the job is known to others. */
static void enlist(struct rt_job *j)
{
    if (j->enlisted || j->x->o.threads == 1 || (j->p->ordered && !j->by_morsel))
        return;
    j->enlisted = true;
    rt_thread_pool_start(j->x->o.thread_pool, &j->thread_pool, 1, j->x->o.threads);
}

/* Takes over the range if there is memory for it. */
static bool push_task(struct rt_job *j, int32_t level, const void *carried, size_t bytes, uint64_t begin, uint64_t end)
{
    size_t size = sizeof(struct task) + bytes;
    if (!rt_memory_reserve(&j->x->memory, size))
        return false;
    struct task *t = hd_try_malloc(size);
    if (!t) {
        rt_memory_unreserve(&j->x->memory, size);
        return false;
    }
    *t = (struct task){.level = level, .begin = begin, .end = end, .bytes = bytes};
    memcpy(t->carried, carried, bytes);
    pthread_mutex_lock(&j->lock);
    t->next = j->tasks;
    j->tasks = t;
    j->spawned++;
    atomic_fetch_add(&j->ntasks, 1);
    enlist(j);
    pthread_cond_broadcast(&j->change);
    pthread_mutex_unlock(&j->lock);
    return true;
}

int32_t hdr_spawn(struct hdd_thread *t, int32_t level, void *carried, int64_t bytes, int64_t begin, int64_t end)
{
    struct rt_worker *w = t->exec;
    struct rt_job *j = w->x->job;
    if (rt_exec_stopped(w->x))
        return rt_worker_fail(w, RT_FAIL_CANCELLED, -1);
    /* Where order matters the range runs now, in its place. */
    if (j->p->ordered)
        return entries_of(j, choose_tier(j))->level[level](w->x->args, t, carried, (uint64_t)begin, (uint64_t)end);
    if (push_task(j, level, carried, (size_t)bytes, (uint64_t)begin, (uint64_t)end))
        return 0;
    return rt_worker_fail(w, RT_FAIL_MEMORY, -1);
}

void rt_job_enough(struct rt_exec *x)
{
    if (x->tracks_matches)
        return;
    atomic_store(&x->job->enough, true);
    rt_exec_tell_all(x, 1);
}

/* Sources of one morsel: half of the pipelines begin in either tier, and with another number of threads the others. */
static uint64_t first_turn(const struct rt_exec *x, int pipeline)
{
    return (uint64_t)(pipeline + x->o.threads / 2) * (uint64_t)x->spec->turn_morsels;
}

static void job_init(struct rt_job *j, struct rt_exec *x, int pipeline, struct rt_fragment f)
{
    *j = (struct rt_job){.x = x, .p = &x->spec->pipelines[pipeline], .entries = &x->entries[pipeline]};
    uint64_t rows = source_rows(x, j->p);
    struct rt_source_rows span = rt_source_span(x->spec, j->p, f, rows);
    j->begin = span.begin;
    j->end = span.end;
    j->cursor = j->begin;
    j->turn = first_turn(x, pipeline);
    j->morsel = morsel_size(x, j->p, j->end - j->begin);
    j->by_morsel = rt_rows_by_morsel(x, j->p);
    const struct rt_entries *any = entries_of(j, best_tier(j));
    for (int i = 0; i < RT_MAX_LEVELS; i++)
        j->nested = j->nested || (any->level[i] && !j->p->ordered);
    j->thread_pool = (struct rt_thread_pool_job){.run = work, .context = j};
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->change, NULL);
}

static void job_release(struct rt_job *j)
{
    while (j->tasks) {
        struct task *t = j->tasks;
        j->tasks = t->next;
        free_task(j, t);
    }
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->change);
}

static void prepare_workers(struct rt_exec *x, const struct rt_pipeline *p)
{
    for (int i = 0; i < x->o.threads; i++) {
        struct rt_worker *w = &x->workers[i];
        w->busy_ns = 0;
        w->state = -1;
        w->t.failure = RT_FAIL_NONE;
        w->t.failure_path = -1;
        w->t.counters = x->o.profile ? w->counters : NULL;
        if (p->ncounters)
            memset(w->counters, 0, (size_t)p->ncounters * sizeof *w->counters);
    }
    rt_exec_tell_all(x, 0);
    if (rt_exec_stopped(x)) /* raised meanwhile: not to be forgotten */
        rt_exec_tell_all(x, 1);
}

static void collect_stats(struct rt_exec *x, const struct rt_job *j, struct rt_pipeline_stats *st)
{
    st->source_rows += rt_source_visited(j->p, j->begin, j->end);
    st->spawned += j->spawned;
    for (int t = 0; t < RT_TIER_COUNT; t++)
        st->morsels[t] += atomic_load(&j->morsels[t]);
    uint64_t swapped = atomic_load(&j->swapped_ns);
    if (swapped && st->swap_ms < 0)
        st->swap_ms = (double)(swapped - x->started_ns) / 1e6;
    for (int i = 0; i < x->o.threads; i++) {
        st->busy_ms[i] += (double)x->workers[i].busy_ns / 1e6;
        for (int k = 0; k < j->p->ncounters; k++)
            st->counters[k] += x->workers[i].counters[k];
    }
}

int rt_pipeline_run(struct rt_exec *x, int pipeline, struct rt_fragment f)
{
    struct rt_job job;
    struct rt_pipeline_stats *st = &x->stats->pipelines[pipeline];
    uint64_t start = rt_now_ns();
    if (f.part == 0)
        HD_TRY(rt_states_verify(x, &x->spec->pipelines[pipeline]));
    job_init(&job, x, pipeline, f);
    prepare_workers(x, job.p);
    x->job = &job;
    if (job.end - job.begin > job.morsel)
        enlist(&job);
    work(&job, 0);
    rt_thread_pool_finish(x->o.thread_pool, &job.thread_pool);
    x->job = NULL;
    if (f.part == 0)
        st->start_ms = (double)(start - x->started_ns) / 1e6;
    st->ms += (double)(rt_now_ns() - start) / 1e6;
    collect_stats(x, &job, st);
    job_release(&job);
    return rt_exec_stopped(x) ? -1 : 0;
}
