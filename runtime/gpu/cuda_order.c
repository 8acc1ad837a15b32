/* Streams and events of the CUDA device: what is done after what. */
#include <stdlib.h>

#include "runtime/base/fault.h"
#include <string.h>

#include "runtime/gpu/cuda_internal.h"

/* A spare one, or a new one: making an event takes as long as a launch. */
static int get_event(struct rt_cuda *c, bool timed, rt_event **out, struct hd_err *err)
{
    rt_event *e = c->spare[timed];
    if (e) {
        c->spare[timed] = e->next;
        *out = e;
        return 0;
    }
    e = hd_try_calloc(1, sizeof *e);
    if (!e)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    e->of = c;
    e->timed = timed;
    if (rt_cuda_check(c, c->cu->cuEventCreate(&e->e, timed ? 0 : CU_EVENT_DISABLE_TIMING), "event", err) != 0) {
        free(e);
        return -1;
    }
    *out = e;
    return 0;
}

static int record(struct rt_cuda *c, enum rt_stream s, bool timed, rt_event **out, struct hd_err *err)
{
    rt_event *e = NULL;
    HD_TRY(rt_cuda_flush_for(c, s, err));
    HD_TRY(get_event(c, timed, &e, err));
    if (rt_cuda_check(c, c->cu->cuEventRecord(e->e, c->streams[s]), "event", err) != 0) {
        rt_cuda_event_free(&c->d, e);
        return -1;
    }
    *out = e;
    return 0;
}

int rt_cuda_event(struct rt_device *d, rt_event **out, struct hd_err *err)
{
    return record(rt_cuda(d), RT_STREAM_COMPUTE, true, out, err);
}

int rt_cuda_record(struct rt_device *d, enum rt_stream s, rt_event **out, struct hd_err *err)
{
    return record(rt_cuda(d), s, false, out, err);
}

int rt_cuda_elapsed(struct rt_device *d, rt_event *from, rt_event *to, double *ms, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    float t = 0;
    HD_TRY(rt_cuda_check(c, c->cu->cuEventSynchronize(to->e), "event", err));
    HD_TRY(rt_cuda_check(c, c->cu->cuEventElapsedTime(&t, from->e, to->e), "event", err));
    *ms = (double)t;
    return 0;
}

/* A stream that waits for the event waits for what was recorded before it was told to, so the event can be recorded
 * anew at once. */
void rt_cuda_event_free(struct rt_device *d, rt_event *e)
{
    struct rt_cuda *c = rt_cuda(d);
    e->next = c->spare[e->timed];
    c->spare[e->timed] = e;
}

void rt_cuda_events_close(struct rt_cuda *c)
{
    for (int timed = 0; timed < 2; timed++)
        while (c->spare[timed]) {
            rt_event *e = c->spare[timed];
            c->spare[timed] = e->next;
            c->cu->cuEventDestroy(e->e);
            free(e);
        }
}

int rt_cuda_stream_wait(struct rt_device *d, enum rt_stream s, rt_event *e, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    HD_TRY(rt_device_alive(&e->of->d, err));
    HD_TRY(rt_cuda_flush_for(c, s, err));
    return rt_cuda_check(c, c->cu->cuStreamWaitEvent(c->streams[s], e->e, 0), "waiting for an event", err);
}

int rt_cuda_stream_sync(struct rt_device *d, enum rt_stream s, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    HD_TRY(rt_cuda_flush_for(c, s, err));
    return rt_cuda_check(c, c->cu->cuStreamSynchronize(c->streams[s]), s == RT_STREAM_COMPUTE ? "kernel" : "transfer",
                         err);
}

int rt_cuda_event_done(struct rt_device *d, rt_event *e, bool *done, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    int status = c->cu->cuEventQuery(e->e);
    *done = status == 0;
    return status == CU_NOT_READY ? 0 : rt_cuda_check(c, status, "event", err);
}

int rt_cuda_foreign_sync(struct rt_device *d, void *event, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    cu_event e;
    memcpy(&e, event, sizeof e);
    return rt_cuda_check(c, c->cu->cuEventSynchronize(e), "the producer's event", err);
}

int rt_cuda_event_sync(struct rt_device *d, rt_event *e, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d);
    return rt_cuda_check(c, c->cu->cuEventSynchronize(e->e), "event", err);
}
