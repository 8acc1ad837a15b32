/* Streams of emulated devices. A queued task runs when the host waits for it, or when a task that waits for it runs,
 * and not before; or, on streams that are told to be prompt, at once. Both are orders that the interface allows, and the
 * two ends of what may happen: a reader that does not wait for its writer finds, on a stream that is ahead, what was
 * there before; a writer that does not wait for a reader on one that is behind spoils what is yet to be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim_internal.h"

enum { LARGE = 1 << 20 }; /* an upload from this size on waits, as on a GPU */

struct rt_event {
    int refs; /* of the caller, and of tasks */
    struct sim *of;
    enum rt_stream s;
    bool reached, lost; /* lost: never to be reached */
    struct timespec at;
};

enum task_kind { FILL, COPY, KERNEL, RECORD, WAIT };
struct sim_task {
    struct sim_task *next;
    enum task_kind kind;
    struct rt_place to, from; /* no device: of the host */
    unsigned char *kept;      /* instead of from: a copy of the caller's bytes */
    size_t n;
    int byte;
    struct sim_kernel kernel;
    rt_event *event;
};

/* ---- events ------------------------------------------------------------------------------ */

static rt_event *event_ref(rt_event *e)
{
    e->refs++;
    return e;
}

static void event_unref(rt_event *e)
{
    if (--e->refs == 0)
        free(e);
}

static void reach(rt_event *e)
{
    e->reached = true;
    clock_gettime(CLOCK_MONOTONIC, &e->at);
}

/* ---- queues ------------------------------------------------------------------------------ */

void sim_stream_init(struct sim *e)
{
    for (int s = 0; s < RT_NSTREAMS; s++)
        e->stream[s].end = &e->stream[s].first;
    e->held.end = &e->held.first;
}

static struct sim_task *pop(struct sim *e, enum rt_stream s)
{
    struct sim_task *t = e->stream[s].first;
    e->stream[s].first = t->next;
    if (!t->next)
        e->stream[s].end = &e->stream[s].first;
    return t;
}

/* What a batch held back is queued. */
static void flush(struct sim *e)
{
    if (!e->held.first)
        return;
    *e->stream[RT_STREAM_COMPUTE].end = e->held.first;
    e->stream[RT_STREAM_COMPUTE].end = e->held.end;
    e->held.first = NULL;
    e->held.end = &e->held.first;
    e->batches++;
}

static void drop(struct sim_task *t)
{
    if (t->event)
        event_unref(t->event);
    for (int i = 0; i < RT_PARAMS; i++)
        free(t->kernel.param[i]);
    free(t->kept);
    free(t);
}

/* Nothing of it will happen. */
static void drop_all(struct sim *e)
{
    flush(e);
    for (enum rt_stream s = 0; s < RT_NSTREAMS; s++)
        while (e->stream[s].first) {
            struct sim_task *t = pop(e, s);
            if (t->kind == RECORD)
                t->event->lost = true;
            drop(t);
        }
}

static void fail(struct sim *e, const char *why)
{
    if (!*e->failure)
        snprintf(e->failure, sizeof e->failure, "%s", why);
}

static bool is_lost(struct sim *e, struct rt_place p)
{
    if (p.device && p.device->lost)
        fail(e, p.device->why);
    return p.device && p.device->lost;
}

static void pump(struct sim *e, enum rt_stream s, const rt_event *until);

static void run(struct sim *e, const struct sim_task *t)
{
    switch (t->kind) {
    case FILL: memset(sim_bytes(t->to, t->n), t->byte, t->n); return;
    case COPY:
        if (!is_lost(e, t->to) && !is_lost(e, t->from))
            memmove(sim_bytes(t->to, t->n), t->kept ? t->kept : sim_bytes(t->from, t->n), t->n);
        return;
    case KERNEL:
        if (sim_run_kernel(e, &t->kernel) != 0 && e->public.lost)
            drop_all(e);
        return;
    case RECORD: reach(t->event); return;
    case WAIT:
        if (!t->event->reached && !t->event->lost)
            pump(t->event->of, t->event->s, t->event);
        if (t->event->lost)
            fail(e, "a device that this one waits for was lost");
        return;
    }
}

/* Runs what is queued: all, or until the event is reached. */
static void pump(struct sim *e, enum rt_stream s, const rt_event *until)
{
    if (s == RT_STREAM_COMPUTE && !until)
        flush(e);
    while (e->stream[s].first && !(until && until->reached)) {
        struct sim_task *t = pop(e, s);
        run(e, t);
        drop(t);
    }
}

void sim_finish(struct sim *e)
{
    for (enum rt_stream s = 0; s < RT_NSTREAMS; s++)
        pump(e, s, NULL);
}

static void queue(struct sim *e, enum rt_stream s, const struct sim_task *task)
{
    struct sim_task *t = malloc(sizeof *t);
    if (!t)
        HD_BUG("no memory for a task");
    *t = *task;
    t->next = NULL;
    if (s == RT_STREAM_COMPUTE && e->batch && (t->kind == KERNEL || t->kind == FILL)) {
        *e->held.end = t;
        e->held.end = &t->next;
        return;
    }
    if (s == RT_STREAM_COMPUTE)
        flush(e);
    *e->stream[s].end = t;
    e->stream[s].end = &t->next;
    if (e->o.prompt >> s & 1)
        pump(e, s, NULL);
}

void sim_batch_begin(struct rt_device *d)
{
    SIM_LOCK();
    sim_of(d)->batch = true;
}

int sim_batch_end(struct rt_device *d, struct hd_err *err HD_UNUSED)
{
    struct sim *e = sim_of(d);
    SIM_LOCK();
    flush(e);
    e->batch = false;
    if (e->o.prompt >> RT_STREAM_COMPUTE & 1)
        pump(e, RT_STREAM_COMPUTE, NULL);
    return 0;
}

/* What the host waited for is done: has something failed? */
static int settle(struct rt_device *d, struct hd_err *err)
{
    struct sim *e = sim_of(d);
    HD_TRY(rt_device_alive(d, err));
    if (!*e->failure)
        return 0;
    HD_FAIL(err, EXEC, NULL, "%s", e->failure);
    e->failure[0] = 0;
    return -1;
}

/* ---- transfers --------------------------------------------------------------------------- */

static int queue_copy(struct rt_device *d, enum rt_stream s, struct rt_place to, struct rt_place from, size_t n,
                      struct hd_err *err)
{
    HD_TRY(rt_device_alive(d, err));
    if (to.device)
        HD_TRY(rt_device_alive(to.device, err));
    if (from.device)
        HD_TRY(rt_device_alive(from.device, err));
    if (n == 0)
        return 0;
    sim_bytes(to, n);
    sim_bytes(from, n);
    queue(sim_of(d), s, &(struct sim_task){.kind = COPY, .to = to, .from = from, .n = n});
    return 0;
}

static struct rt_place here(struct rt_device *d, uint64_t address)
{
    return (struct rt_place){d, address};
}

static struct rt_place host(const void *p)
{
    return (struct rt_place){NULL, (uintptr_t)p};
}

int sim_set(struct rt_device *d, uint64_t to, int byte, size_t n, struct hd_err *err)
{
    SIM_LOCK();
    HD_TRY(rt_device_alive(d, err));
    sim_bytes(here(d, to), n);
    sim_of(d)->clears++;
    queue(sim_of(d), RT_STREAM_COMPUTE, &(struct sim_task){.kind = FILL, .to = here(d, to), .byte = byte, .n = n});
    return 0;
}

int sim_copy(struct rt_device *d, uint64_t to, uint64_t from, size_t n, struct hd_err *err)
{
    SIM_LOCK();
    return queue_copy(d, RT_STREAM_COMPUTE, here(d, to), here(d, from), n, err);
}

int sim_upload(struct rt_device *d, uint64_t to, const void *from, size_t n, struct hd_err *err)
{
    struct sim *e = sim_of(d);
    SIM_LOCK();
    HD_TRY(rt_device_alive(d, err));
    unsigned char *there = sim_bytes(here(d, to), n);
    if (n >= LARGE) {
        pump(e, RT_STREAM_COMPUTE, NULL);
        memcpy(there, from, n);
        return settle(d, err);
    }
    unsigned char *kept = malloc(n + 1);
    if (!kept)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    if (n)
        memcpy(kept, from, n);
    queue(e, RT_STREAM_COMPUTE, &(struct sim_task){.kind = COPY, .to = here(d, to), .kept = kept, .n = n});
    return 0;
}

int sim_download(struct rt_device *d, void *to, uint64_t from, size_t n, struct hd_err *err)
{
    SIM_LOCK();
    HD_TRY(rt_device_alive(d, err));
    sim_of(d)->waits++;
    pump(sim_of(d), RT_STREAM_COMPUTE, NULL);
    HD_TRY(settle(d, err));
    if (n)
        memcpy(to, sim_bytes(here(d, from), n), n);
    return 0;
}

int sim_upload_async(struct rt_device *d, enum rt_stream s, uint64_t to, const void *from, size_t n, struct hd_err *err)
{
    SIM_LOCK();
    return queue_copy(d, s, here(d, to), host(from), n, err);
}

int sim_download_async(struct rt_device *d, enum rt_stream s, void *to, uint64_t from, size_t n, struct hd_err *err)
{
    SIM_LOCK();
    return queue_copy(d, s, host(to), here(d, from), n, err);
}

int sim_copy_peer(struct rt_device *d, enum rt_stream s, struct rt_place to, struct rt_place from, size_t n,
                  struct hd_err *err)
{
    SIM_LOCK();
    if (d != to.device && d != from.device)
        HD_BUG("a copy between devices is queued on a third one");
    return queue_copy(d, s, to, from, n, err);
}

/* ---- kernels, and waiting ---------------------------------------------------------------- */

void sim_queue_kernel(struct sim *e, const struct sim_kernel *k)
{
    queue(e, RT_STREAM_COMPUTE, &(struct sim_task){.kind = KERNEL, .kernel = *k});
}

int sim_stream_sync(struct rt_device *d, enum rt_stream s, struct hd_err *err)
{
    SIM_LOCK();
    sim_of(d)->waits++;
    pump(sim_of(d), s, NULL);
    return settle(d, err);
}

int sim_sync(struct rt_device *d, struct hd_err *err)
{
    return sim_stream_sync(d, RT_STREAM_COMPUTE, err);
}

int sim_poll(struct rt_device *d, double ms HD_UNUSED, bool *done, struct hd_err *err)
{
    *done = true;
    return sim_sync(d, err);
}

static int record(struct rt_device *d, enum rt_stream s, rt_event **out, struct hd_err *err)
{
    HD_TRY(rt_device_alive(d, err));
    rt_event *e = malloc(sizeof *e);
    if (!e)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    *e = (rt_event){.refs = 1, .of = sim_of(d), .s = s};
    queue(sim_of(d), s, &(struct sim_task){.kind = RECORD, .event = event_ref(e)});
    *out = e;
    return 0;
}

int sim_event(struct rt_device *d, rt_event **out, struct hd_err *err)
{
    SIM_LOCK();
    return record(d, RT_STREAM_COMPUTE, out, err);
}

int sim_record(struct rt_device *d, enum rt_stream s, rt_event **out, struct hd_err *err)
{
    SIM_LOCK();
    return record(d, s, out, err);
}

void sim_event_free(struct rt_device *d HD_UNUSED, rt_event *e)
{
    SIM_LOCK();
    event_unref(e);
}

int sim_stream_wait(struct rt_device *d, enum rt_stream s, rt_event *e, struct hd_err *err)
{
    SIM_LOCK();
    HD_TRY(rt_device_alive(d, err));
    if (e->lost || e->of->public.lost)
        return HD_FAIL(err, EXEC, NULL, "%s", e->of->public.why);
    queue(sim_of(d), s, &(struct sim_task){.kind = WAIT, .event = event_ref(e)});
    return 0;
}

/* Of the caller's device, with its stream as far as the event. */
static int wait_for(struct rt_device *d, rt_event *e, struct hd_err *err)
{
    if (e->of != sim_of(d))
        HD_BUG("the host waits for another device's event");
    pump(e->of, e->s, e);
    return settle(d, err);
}

int sim_event_sync(struct rt_device *d, rt_event *e, struct hd_err *err)
{
    SIM_LOCK();
    return wait_for(d, e, err);
}

/* Nothing goes on behind the host's back: who asks again and again must get there. */
int sim_event_done(struct rt_device *d, rt_event *e, bool *done, struct hd_err *err)
{
    SIM_LOCK();
    *done = e->reached;
    return wait_for(d, e, err);
}

int sim_elapsed(struct rt_device *d, rt_event *from, rt_event *to, double *ms, struct hd_err *err)
{
    SIM_LOCK();
    HD_TRY(wait_for(d, from, err));
    HD_TRY(wait_for(d, to, err));
    *ms = (double)(to->at.tv_sec - from->at.tv_sec) * 1e3 + (double)(to->at.tv_nsec - from->at.tv_nsec) / 1e6;
    return 0;
}
