#include "runtime/exec/stats.h"

#include <string.h>

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

void rt_exec_stats_prepare(struct rt_exec_stats *s, const struct rt_spec *spec, int threads)
{
    rt_exec_stats_release(s);
    s->threads = threads;
    s->npipelines = spec->npipelines;
    s->nstates = spec->nstates;
    s->pipelines = HD_NEWN(&s->arena, struct rt_pipeline_stats, spec->npipelines);
    s->finish_ms = HD_NEWN(&s->arena, double, spec->nstates);
    s->state_rows = HD_NEWN(&s->arena, uint64_t, spec->nstates);
    for (int i = 0; i < spec->npipelines; i++) {
        s->pipelines[i].busy_ms = HD_NEWN(&s->arena, double, threads);
        s->pipelines[i].counters = HD_NEWN(&s->arena, uint64_t, spec->pipelines[i].ncounters);
    }
}
