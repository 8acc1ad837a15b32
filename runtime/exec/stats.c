#include "runtime/exec/stats.h"

#include <string.h>

#include "runtime/base/vec.h"

void rt_exec_stats_init(struct rt_exec_stats *s)
{
    memset(s, 0, sizeof *s);
    hd_arena_init(&s->arena);
}

void rt_exec_stats_release(struct rt_exec_stats *s)
{
    hd_arena_release(&s->arena);
    rt_exec_stats_init(s);
}

const char *rt_span_name(enum rt_span_kind k)
{
    static const char *const name[] = {
#define X(id, text) [RT_SPAN_##id] = text,
        RT_SPANS(X)
#undef X
    };
    return name[k];
}

void rt_exec_stats_span(struct rt_exec_stats *s, struct rt_span span)
{
    hd_grow1(&s->arena, s->spans, s->nspans);
    s->spans[s->nspans++] = span;
}

void rt_exec_stats_late(struct rt_exec_stats *s, const char *name, double ms)
{
    hd_grow1(&s->arena, s->late, s->nlate);
    s->late[s->nlate++] = (struct rt_late_code){name, ms};
}

void rt_exec_stats_prepare(struct rt_exec_stats *s, const struct rt_spec *spec, int threads)
{
    rt_exec_stats_release(s);
    s->threads = threads;
    s->npipelines = spec->npipelines;
    s->nstates = spec->nstates;
    s->pipelines = HD_NEWN(&s->arena, struct rt_pipeline_stats, spec->npipelines);
    s->finish_ms = HD_NEWN(&s->arena, double, spec->nstates);
    s->state_rows = HD_NEWN(&s->arena, uint64_t, spec->nstates);
    s->state_spilled = HD_NEWN(&s->arena, uint64_t, spec->nstates);
    for (int i = 0; i < spec->npipelines; i++) {
        s->pipelines[i].swap_ms = -1;
        s->pipelines[i].busy_ms = HD_NEWN(&s->arena, double, threads);
        s->pipelines[i].counters = HD_NEWN(&s->arena, uint64_t, spec->pipelines[i].ncounters);
    }
}
