/* The schedule: pipelines are launched, overflowed ones again with more room; states are
 * finished and freed. */
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

struct run {
    const struct sim_program *p;
    const struct rt_spec *spec;
    const struct sim_kernel *kernels;
    const struct grid_options *o;
    struct sim_result *r;
    struct hd_arena arena;
    uint64_t *words;
    struct hd_err *err;
};

static uint64_t source_rows(const struct run *x, const struct rt_pipeline *p)
{
    switch (p->source) {
    case RT_SOURCE_TABLE: return (uint64_t)p->table->rows;
    case RT_SOURCE_ROWS: return x->r->states[p->state].nrows;
    case RT_SOURCE_INDEX: return x->r->states[p->state].s->range;
    case RT_SOURCE_DICT: return p->table->cols[p->column].dict.n;
    }
    HD_BUG("source %d", (int)p->source);
}

static int failed_row(const struct run *x, const struct hdd_progress *g)
{
    static const char *const text[] = {"",
#define X(id, words) words,
                                       RT_FAILURES(X)
#undef X
    };
    const char *path = g->failure_path >= 0 ? x->spec->paths[g->failure_path] : "";
    return HD_FAIL(x->err, EXEC, path, "%s", text[g->failure]);
}

/* The heap of texts of a pipeline: small at first, so that it overflows. */
struct heap {
    char *at;
    uint64_t capacity, cursor;
};

static void grow_heap(struct run *x, struct heap *h)
{
    h->capacity = h->capacity ? HD_MAX(h->cursor, 2 * h->capacity) : 100;
    h->at = hd_alloc(&x->r->texts, h->capacity);
}

/* One launch; the caller looks whether it overflowed. */
static int launch(struct run *x, int index, struct heap *heap, struct hdd_progress *g)
{
    const struct pl_pipeline *pipe = &x->p->pl->pipelines[index];
    struct sim_state *sink = &x->r->states[pipe->sink.state];
    struct grid_options o = *x->o;
    struct simt_report report;
    struct grid_code code = {x->kernels[index].entry, x->p->art.units[index].gift_bytes,
                             x->p->art.units[index].slot_bytes};
    struct rt_balance_report balance;
    o.balance = pipe->spec->balance;
    o.report = &balance;
    if (pipe->spec->ordered) /* one warp takes all tiles, in order */
        o.blocks = o.scan_warps = 1;
    sim_args_fill(x->spec, x->r->states, x->words, &x->arena);
    struct hdd_launch l = {.source_rows = source_rows(x, pipe->spec),
                           .counters = (uintptr_t)x->r->counters[index],
                           .text_heap = (uintptr_t)heap->at,
                           .text_capacity = heap->capacity,
                           .text_cursor = (uintptr_t)&heap->cursor,
                           .sink = {.rows = (uintptr_t)sink->rows,
                                    .capacity = sink->capacity,
                                    .cursor = (uintptr_t)&sink->cursor,
                                    .slots = (uintptr_t)sink->groups,
                                    .mask = sink->mask}};
    const hdd_u64 far = (uintptr_t)x->words, *words = (const hdd_u64 *)x->words;
    heap->cursor = 0;
    int status = grid_run(&o, &code, x->p->art.units[index].far_args ? &far : words, l, g, &report);
    x->r->stats.launches++;
    x->r->stats.switches += report.switches;
    x->r->stats.visits += balance.all_visits;
    x->r->stats.idle_lanes += balance.all_idle_lanes;
    if (status != 0)
        return HD_FAIL(x->err, TOOL, pipe->spec->path, "%s: %s", pipe->spec->name,
                       report.message);
    return g->failure && heap->cursor <= heap->capacity ? failed_row(x, g) : 0;
}

static void add_stats(struct sim_stats *s, const struct hdd_progress *g)
{
    s->gifts += g->gifts;
}

static int run_pipeline(struct run *x, int index)
{
    struct sim_state *sink = &x->r->states[x->p->pl->pipelines[index].sink.state];
    struct sim_mark mark = sim_state_mark(sink);
    size_t counters = sizeof(uint64_t) * (size_t)x->spec->pipelines[index].ncounters;
    struct heap heap = {0};
    struct hdd_progress g;
    if (x->p->art.units[index].makes_text)
        grow_heap(x, &heap);
    int status = launch(x, index, &heap, &g);
    while (status == 0 && (sim_state_overflowed(sink) || heap.cursor > heap.capacity)) {
        if (heap.cursor > heap.capacity)
            grow_heap(x, &heap);
        sim_state_regrow(sink, &mark);
        memset(x->r->counters[index], 0, counters);
        x->r->stats.retries++;
        status = launch(x, index, &heap, &g);
    }
    sim_mark_release(&mark);
    add_stats(&x->r->stats, &g);
    if (status == 0 && sink->s->kind != RT_STATE_AGG_SCALAR)
        sink->nrows = sink->cursor;
    return status;
}

static int run_actions(struct run *x)
{
    for (int i = 0; i < x->spec->nactions; i++) {
        const struct rt_action *a = &x->spec->actions[i];
        if (a->kind == RT_RUN)
            HD_TRY(run_pipeline(x, a->index));
        else if (a->kind == RT_FINISH)
            HD_TRY(sim_state_finish(&x->r->states[a->index], x->err));
        else
            sim_state_release(&x->r->states[a->index]);
    }
    return 0;
}

static void init_result(struct sim_result *r, const struct rt_spec *s)
{
    *r = (struct sim_result){.nstates = s->nstates};
    hd_arena_init(&r->texts);
    r->states = sim_alloc(sizeof *r->states * (size_t)s->nstates);
    r->counters = sim_alloc(sizeof *r->counters * (size_t)(s->npipelines + 1));
    for (int i = 0; i < s->nstates; i++)
        sim_state_init(&r->states[i], &s->states[i]);
    for (int i = 0; i < s->npipelines; i++)
        r->counters[i] = sim_alloc(sizeof(uint64_t) * (size_t)s->pipelines[i].ncounters);
}

int sim_run(const struct sim_program *p, const struct sim_kernel *kernels,
            const struct grid_options *o, struct sim_result *r, struct hd_err *err)
{
    struct run x = {
        .p = p, .spec = p->pl->spec, .kernels = kernels, .o = o, .r = r, .err = err};
    hd_arena_init(&x.arena);
    x.words = sim_alloc(sizeof *x.words * (size_t)(x.spec->nwords + 1));
    init_result(r, x.spec);
    int status = run_actions(&x);
    free(x.words);
    hd_arena_release(&x.arena);
    return status;
}

void sim_result_release(struct sim_result *r)
{
    for (int i = 0; i < r->nstates; i++)
        sim_state_release(&r->states[i]);
    for (int i = 0; r->counters && r->counters[i]; i++)
        free(r->counters[i]);
    free(r->counters);
    free(r->states);
    hd_arena_release(&r->texts);
    *r = (struct sim_result){0};
}
