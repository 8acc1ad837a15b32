/* Work on all threads of an execution, and the memory that is cleared so. */
#include <string.h>
#include <time.h>

#include "runtime/exec/exec_internal.h"

uint64_t rt_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double rt_exec_span(struct rt_exec *x, enum rt_span_kind kind, int index, uint64_t start_ns)
{
    struct rt_span s = {.kind = kind,
                        .index = index,
                        .start_ms = (double)(start_ns - x->started_ns) / 1e6,
                        .ms = (double)(rt_now_ns() - start_ns) / 1e6};
    rt_exec_stats_span(x->stats, s);
    return s.ms;
}

struct parallel {
    struct rt_exec *x;
    rt_work_fn fn;
    void *context;
    uint64_t n;
    _Atomic uint64_t next;
};

static void draw_tasks(void *context, int worker)
{
    struct parallel *p = context;
    for (;;) {
        uint64_t task = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (task >= p->n || rt_exec_stopped(p->x))
            return;
        p->fn(p->context, &p->x->workers[worker], task);
        rt_spill_look(p->x->memory.spill);
    }
}

int rt_exec_parallel(struct rt_exec *x, uint64_t n, rt_work_fn fn, void *context)
{
    struct parallel p = {.x = x, .fn = fn, .context = context, .n = n};
    struct rt_thread_pool_job job = {.run = draw_tasks, .context = &p};
    int last = (int)HD_MIN((uint64_t)x->o.threads, n);
    if (last > 1)
        rt_thread_pool_start(x->o.thread_pool, &job, 1, last);
    draw_tasks(&p, 0);
    rt_thread_pool_finish(x->o.thread_pool, &job);
    return rt_exec_stopped(x) ? -1 : 0;
}

/* Between two tasks an execution can be stopped: rows that are worked on in well under 100 ms. */
enum { CUT_MAX = 1 << 18 };

struct rt_cut rt_cut(const struct rt_exec *x, uint64_t n, uint64_t min)
{
    uint64_t tasks = x->o.threads == 1 ? 1 : (uint64_t)x->o.threads * 4;
    uint64_t size = HD_MIN((n + tasks - 1) / tasks, (uint64_t)CUT_MAX);
    struct rt_cut c = {.n = n, .size = HD_MAX(min, size)};
    c.ntasks = (n + c.size - 1) / c.size;
    return c;
}

enum { CLEAR_PIECE = 1 << 20 };

static void clear_piece(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct rt_block *b = context;
    size_t from = (size_t)task * CLEAR_PIECE;
    memset((char *)b->p + from, 0, HD_MIN(b->dirty - from, (size_t)CLEAR_PIECE));
}

int rt_exec_block(struct rt_exec *x, const struct rt_state *s, size_t n, bool zero, struct rt_block *b)
{
    if (!rt_block_new(&x->memory, n, false, b)) {
        rt_exec_raise_memory(x, s);
        return -1;
    }
    if (b->filed)
        atomic_fetch_add(&x->live[s - x->spec->states].filed, b->n);
    if (!zero)
        return 0;
    return rt_exec_parallel(x, (b->dirty + CLEAR_PIECE - 1) / CLEAR_PIECE, clear_piece, b);
}
