/* When the device did what: events around what is queued, asked for their times when all is done. Without a timeline
 * nothing is recorded. */
#ifndef HEDDLE_RUNTIME_GPU_TIMELINE_H
#define HEDDLE_RUNTIME_GPU_TIMELINE_H

#include "runtime/gpu/gpu_internal.h"

struct rt_gpu_span {
    struct rt_gpu_span *next;
    enum rt_span_kind kind;
    int index;
    rt_event *from, *to;
};
/* What is queued from here, *out NULL without a timeline, to there. */
int rt_gpu_span_begin(struct rt_gpu_exec *x, enum rt_span_kind kind, int index, struct rt_gpu_span **out,
                      struct hd_err *err);
int rt_gpu_span_end(struct rt_gpu_exec *x, struct rt_gpu_span *s, struct hd_err *err);
/* With a timeline: takes two events of a launch over; either may be NULL. */
void rt_gpu_span_add(struct rt_gpu_exec *x, enum rt_span_kind kind, int index, rt_event *from, rt_event *to);
/* Into stats, where time 0 is `first`'s began. All is done. */
int rt_gpu_spans_read(struct rt_gpu_exec *x, const struct rt_gpu_exec *first, struct hd_err *err);
void rt_gpu_spans_free(struct rt_gpu_exec *x);

#endif
