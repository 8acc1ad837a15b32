/* What launches of pipelines leave behind. Each has a slot of device memory with its progress and the cursors of what it
 * appends to. A pipeline whose sink has a place for every row needs no host before the next one is queued: its slot is
 * read together with those of later launches, where the host must wait anyway. Then failures are reported in the order
 * of the launches, so that the first one is the error of the execution, as if the host had waited each time. What later
 * launches make of incomplete states is thrown away. */
#include <string.h>

#include "runtime/exec/failure_text.h"
#include "runtime/gpu/gpu_internal.h"

/* Between two looks whether somebody cancelled. */
static const double POLL_MS = 2;
enum { SLOT = (sizeof(struct rt_outcome) + 255) / 256 * 256 };

static uint64_t slot_at(const struct rt_gpu_exec *x, int i)
{
    return x->outcomes.slots.address + (uint64_t)i * SLOT;
}

int rt_gpu_outcome_take(struct rt_gpu_exec *x, const struct rt_launched *l, uint64_t *slot, struct hd_err *err)
{
    struct rt_gpu_outcomes *o = &x->outcomes;
    if (o->used == RT_OUTCOMES)
        HD_TRY(rt_gpu_outcomes_settle(x, NULL, err));
    if (!x->g->landing)
        HD_TRY(x->d->ops->host_alloc(x->d, (size_t)RT_OUTCOMES * SLOT, &x->g->landing, err));
    if (!o->slots.address)
        HD_TRY(rt_gpu_alloc(x, NULL, (size_t)RT_OUTCOMES * SLOT, &o->slots, err));
    if (o->used == 0 || o->used == RT_OUTCOMES) {
        HD_TRY(x->d->ops->set(x->d, o->slots.address, 0, (size_t)RT_OUTCOMES * SLOT, err));
        o->used = o->settled = 0;
    }
    o->launched[o->used] = *l;
    *slot = slot_at(x, o->used++);
    return 0;
}

struct rt_launched *rt_gpu_outcome_last(struct rt_gpu_exec *x)
{
    return &x->outcomes.launched[x->outcomes.used - 1];
}

/* Kernels poll their abort words, so all of them end soon. */
static int abort_all(struct rt_gpu_exec *x, struct hd_err *err)
{
    for (int i = x->outcomes.settled; i < x->outcomes.used; i++)
        HD_TRY(x->d->ops->poke(x->d, slot_at(x, i) + offsetof(struct rt_outcome, progress.abort), 1, err));
    return 0;
}

static int wait_or_cancel(struct rt_gpu_exec *x, struct hd_err *err)
{
    bool done = false, aborted = false;
    while (!done) {
        HD_TRY(x->d->ops->poll(x->d, POLL_MS, &done, err));
        if (!done && !aborted && hd_stopped(x->o->stop)) {
            HD_TRY(abort_all(x, err));
            aborted = true;
        }
    }
    return 0;
}

static int failed_row(const struct rt_gpu_exec *x, const struct hdd_progress *g, struct hd_err *err)
{
    const struct rt_spec *s = x->spec;
    const struct rt_site *site =
        g->failure_path >= 0 && g->failure_path < s->nsites ? &s->sites[g->failure_path] : NULL;
    struct rt_failed v = {.known = g->has_values, .a = {g->value[0], g->value[1]}};
    if (site && site->form == RT_SITE_FUNCTION_2) /* of two floats, a word each */
        v.b[0] = g->value[1];
    if (site && site->form == RT_SITE_INFIX) /* of two int64 */
        for (int i = 0; i < 2; i++) {
            uint64_t *word = i ? v.b : v.a;
            word[0] = g->value[i];
            word[1] = (uint64_t)((int64_t)g->value[i] >> 63);
        }
    struct hd_strbuf text;
    if (g->failure == RT_FAIL_CAST_STRING) { /* value[0]: its length */
        v.a[0] = (uintptr_t)g->text;
        v.a[1] = g->value[0];
    }
    hd_strbuf_init(&text);
    rt_failure_text(&text, (enum rt_failure)g->failure, site, &v);
    HD_FAIL(err, EXEC, site ? site->path : NULL, "%s", text.s);
    hd_strbuf_release(&text);
    return -1;
}

static void free_events(struct rt_gpu_exec *x, struct rt_launched *l)
{
    if (x->o->timeline) /* they belong to a span */
        return;
    if (l->from)
        x->d->ops->event_free(x->d, l->from);
    if (l->to)
        x->d->ops->event_free(x->d, l->to);
}

static int record(struct rt_gpu_exec *x, struct rt_launched *l, const struct rt_outcome *o, struct hd_err *err)
{
    double ms = 0;
    int rc = l->to ? x->d->ops->elapsed(x->d, l->from, l->to, &ms, err) : 0;
    free_events(x, l);
    l->stats->kernel_ms += ms;
    l->stats->donations += o->progress.donations;
    return rc;
}

/* Of the launches since the last time; all of them are recorded. */
static int read_all(struct rt_gpu_exec *x, int first, int end, struct rt_outcome *last, struct hd_err *err)
{
    int rc = 0;
    for (int i = first; i < end; i++) {
        struct rt_launched *l = &x->outcomes.launched[i];
        struct rt_outcome o;
        memcpy(&o, (const char *)x->g->landing + (size_t)(i - first) * SLOT, sizeof o);
        int recorded = record(x, l, &o, rc == 0 ? err : NULL);
        bool strings = o.string_cursor > l->heap; /* whatever failed, strings were missing */
        if (rc == 0 && recorded == 0 && o.progress.failure && !strings && !hd_stopped(x->o->stop))
            rc = failed_row(x, &o.progress, err);
        if (rc == 0)
            rc = recorded;
        if (last)
            *last = o;
    }
    return rc;
}

int rt_gpu_outcomes_settle(struct rt_gpu_exec *x, struct rt_outcome *last, struct hd_err *err)
{
    struct rt_gpu_outcomes *o = &x->outcomes;
    int first = o->settled, n = o->used - first;
    if (n == 0)
        return 0;
    HD_TRY(x->d->ops->download_async(x->d, RT_STREAM_COMPUTE, x->g->landing, slot_at(x, first), (size_t)n * SLOT, err));
    HD_TRY(wait_or_cancel(x, err));
    x->queued = NULL;
    o->settled = o->used;
    int rc = read_all(x, first, o->used, last, err);
    return rc == 0 && hd_stopped(x->o->stop) ? HD_FAIL(err, CANCELLED, NULL, "cancelled") : rc;
}

bool rt_gpu_outcomes_wait(const struct rt_gpu_exec *x)
{
    return x->outcomes.settled < x->outcomes.used;
}

void rt_gpu_outcomes_release(struct rt_gpu_exec *x)
{
    for (int i = x->outcomes.settled; i < x->outcomes.used; i++)
        free_events(x, &x->outcomes.launched[i]);
    x->outcomes.settled = x->outcomes.used;
    rt_gpu_release(x, &x->outcomes.slots);
}
