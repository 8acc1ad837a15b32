/* What a device did from when to when, by its own clock. */
#include "runtime/gpu/gpu_timeline.h"

static struct rt_gpu_span *add(struct rt_gpu_exec *x, enum rt_span_kind kind, int index, rt_event *from, rt_event *to)
{
    struct rt_gpu_span *s = HD_NEW(x->arena, struct rt_gpu_span);
    *s = (struct rt_gpu_span){.kind = kind, .index = index, .from = from, .to = to};
    if (x->last_span)
        x->last_span->next = s;
    else
        x->spans = s;
    return x->last_span = s;
}

int rt_gpu_span_begin(struct rt_gpu_exec *x, enum rt_span_kind kind, int index, struct rt_gpu_span **out,
                      struct hd_err *err)
{
    *out = NULL;
    if (!x->o->timeline)
        return 0;
    *out = add(x, kind, index, NULL, NULL);
    return x->d->ops->event(x->d, &(*out)->from, err);
}

int rt_gpu_span_end(struct rt_gpu_exec *x, struct rt_gpu_span *s, struct hd_err *err)
{
    return s ? x->d->ops->event(x->d, &s->to, err) : 0;
}

static void free_event(struct rt_gpu_exec *x, rt_event *e)
{
    if (e)
        x->d->ops->event_free(x->d, e);
}

void rt_gpu_span_add(struct rt_gpu_exec *x, enum rt_span_kind kind, int index, rt_event *from, rt_event *to)
{
    if (x->o->timeline)
        add(x, kind, index, from, to);
}

int rt_gpu_spans_read(struct rt_gpu_exec *x, const struct rt_gpu_exec *first, struct hd_err *err)
{
    double later = x->began_ms - first->began_ms; /* devices have no clock in common */
    for (const struct rt_gpu_span *s = x->spans; s && x->began; s = s->next) {
        struct rt_span out = {.kind = s->kind, .index = s->index, .device = x->number};
        HD_TRY(x->d->ops->elapsed(x->d, x->began, s->from, &out.start_ms, err));
        HD_TRY(x->d->ops->elapsed(x->d, s->from, s->to, &out.ms, err));
        out.start_ms += later;
        rt_exec_stats_span(x->stats, out);
        if (s->kind == RT_SPAN_FINISH)
            x->stats->finish_ms[s->index] = out.ms;
    }
    return 0;
}

void rt_gpu_spans_free(struct rt_gpu_exec *x)
{
    for (struct rt_gpu_span *s = x->spans; s; s = s->next) {
        free_event(x, s->from);
        free_event(x, s->to);
    }
    x->spans = x->last_span = NULL;
}
