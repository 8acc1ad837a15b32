/* What launches of pipelines leave behind. Each has a slot of device memory with its progress and the cursors of what it
 * appends to. A pipeline that cannot fail and whose sink has a place for every row needs no host before the next one is
 * queued: its slot is read together with those of later launches, where the host must wait anyway. */
#include <string.h>

#include "runtime/exec/failure_text.h"
#include "runtime/gpu/gpu_state.h"

/* Between two looks whether somebody cancelled. */
static const double POLL_MS = 2;
enum { SLOT = (sizeof(struct rt_outcome) + 255) / 256 * 256, CURSORS = HDD_CURSORS * sizeof(struct hdd_cursor) };
enum { SCARCE_SHARE = 64 }; /* of the memory is what an execution can do without */

/* Cursors of all launches lie in front, since a result of few rows lies behind the slots that are used. */
static size_t cursors_size(const struct rt_gpu_exec *x)
{
    return x->outcomes.ncursors > 1 ? (size_t)RT_OUTCOMES * CURSORS : 0;
}

static size_t cleared_size(const struct rt_gpu_exec *x)
{
    return cursors_size(x) + (size_t)RT_OUTCOMES * SLOT;
}

static uint64_t slot_at(const struct rt_gpu_exec *x, int i)
{
    return x->outcomes.slots.address + cursors_size(x) + (uint64_t)i * SLOT;
}

uint64_t rt_gpu_outcomes_end(const struct rt_gpu_exec *x)
{
    return slot_at(x, x->outcomes.used);
}

unsigned char *rt_gpu_outcomes_landing(const struct rt_gpu_exec *x)
{
    return (unsigned char *)x->g->landing + (size_t)(x->outcomes.used - x->outcomes.settled) * SLOT;
}

/* All slots, and a result of few rows. */
enum { LANDING = RT_OUTCOMES * SLOT + RT_FEW_BYTES };

bool rt_gpu_outcomes_have_few(const struct rt_gpu_exec *x)
{
    return x->outcomes.slots.n > cleared_size(x);
}

/* Where memory is scarce, there is none for a result of few rows, nor for more than one cursor. */
static int alloc_slots(struct rt_gpu_exec *x, struct hd_err *err)
{
    uint64_t share = rt_gpu_limit(x) / SCARCE_SHARE;
    x->outcomes.ncursors = share >= (uint64_t)RT_OUTCOMES * CURSORS ? HDD_CURSORS : 1;
    size_t few = x->few.on && share >= RT_FEW_BYTES ? RT_FEW_BYTES : 0;
    return rt_gpu_alloc_zeroed(x, NULL, cleared_size(x) + few, &x->outcomes.slots, err);
}

/* Slots that are as they were when nothing was launched. */
static int clear_slots(struct rt_gpu_exec *x, struct hd_err *err)
{
    struct rt_gpu_outcomes *o = &x->outcomes;
    HD_TRY(rt_gpu_outcomes_settle(x, NULL, err));
    HD_TRY(rt_gpu_outcomes_times(x, err));
    o->used = o->settled = o->timed = 0;
    o->overwritten = false;
    return x->d->ops->set(x->d, o->slots.address, 0, cleared_size(x), err);
}

int rt_gpu_outcome_take(struct rt_gpu_exec *x, const struct rt_launched *l, uint64_t *slot, uint64_t *cursors,
                        struct hd_err *err)
{
    struct rt_gpu_outcomes *o = &x->outcomes;
    if (!x->g->landing)
        HD_TRY(x->d->ops->host_alloc(x->d, LANDING, &x->g->landing, err));
    if (!o->slots.address)
        HD_TRY(alloc_slots(x, err));
    if (o->used == RT_OUTCOMES || o->overwritten)
        HD_TRY(clear_slots(x, err));
    o->launched[o->used] = *l;
    *slot = slot_at(x, o->used);
    *cursors =
        o->ncursors > 1 ? o->slots.address + (uint64_t)o->used * CURSORS : *slot + offsetof(struct rt_outcome, tiles);
    o->used++;
    return 0;
}

struct rt_launched *rt_gpu_outcome_last(struct rt_gpu_exec *x)
{
    return &x->outcomes.launched[x->outcomes.used - 1];
}

/* Kernels poll their abort words, so all of them end soon (told again and again: the slots' clearing may still be queued); the last one is told first, so that none reads what an earlier
 * one has left half-written. */
static int abort_all(struct rt_gpu_exec *x, struct hd_err *err)
{
    for (int i = x->outcomes.used; i-- > x->outcomes.settled;)
        HD_TRY(x->d->ops->poke(x->d, slot_at(x, i) + offsetof(struct rt_outcome, progress.abort), 1, err));
    return 0;
}

static int wait_or_cancel(struct rt_gpu_exec *x, struct hd_err *err)
{
    bool done = false;
    while (!done) {
        HD_TRY(x->d->ops->poll(x->d, POLL_MS, &done, err));
        if (!done && hd_stopped(x->o->stop))
            HD_TRY(abort_all(x, err));
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

/* Asking for a time takes as long as a launch: it is done when nothing waits for the host. */
int rt_gpu_outcomes_times(struct rt_gpu_exec *x, struct hd_err *err)
{
    struct rt_gpu_outcomes *o = &x->outcomes;
    for (; o->timed < o->settled; o->timed++) {
        struct rt_launched *l = &o->launched[o->timed];
        double ms = 0;
        if (l->to)
            HD_TRY(x->d->ops->elapsed(x->d, l->from, l->to, &ms, err));
        l->stats->timed |= l->to != NULL;
        l->stats->kernel_ms += ms;
        free_events(x, l);
    }
    return 0;
}

/* The number of rows that was on the device alone. */
static void count(struct rt_gpu_state *v, uint64_t rows)
{
    v->count_at = 0;
    v->guessed = false;
    v->asked = rows;
    if (v->finished && !v->sparse)
        v->nrows = rows;
}

/* Of the launches since the last time. */
static int read_all(struct rt_gpu_exec *x, int first, int end, struct rt_outcome *last, struct hd_err *err)
{
    int rc = 0;
    for (int i = first; i < end; i++) {
        struct rt_launched *l = &x->outcomes.launched[i];
        struct rt_outcome o;
        memcpy(&o, (const char *)x->g->landing + (size_t)(i - first) * SLOT, sizeof o);
        bool strings = o.string_cursor > l->heap; /* whatever failed, strings were missing */
        if (rc == 0 && l->room && o.sink_cursor > l->room && !hd_stopped(x->o->stop)) {
            x->overrun = true; /* what came behind it had not all rows: its failures are none */
            rc = HD_FAIL(err, EXEC, NULL, "%llu rows came, there was room for %llu", (unsigned long long)o.sink_cursor,
                         (unsigned long long)l->room);
        }
        if (rc == 0 && o.progress.failure && !strings && !hd_stopped(x->o->stop))
            rc = failed_row(x, &o.progress, err);
        if (l->counted)
            count(l->counted, o.sink_cursor);
        if (l->source)
            *l->source_rows += rt_gpu_state_rows(l->source);
        l->stats->donations += o.progress.donations;
        if (last)
            *last = o;
    }
    return rc;
}

int rt_gpu_outcomes_land(struct rt_gpu_exec *x, unsigned char *to, uint64_t from, size_t n, struct hd_err *err)
{
    enum { KERNEL_MAX = 16 << 10, WORDS_OF_THREAD = 2 }; /* more comes faster by the engine for copies */
    struct hdd_land_args p = {.from = from, .to = (uintptr_t)to, .words = (n + 7) / 8};
    if (n > KERNEL_MAX || !x->few.on) /* its code is not there */
        return x->d->ops->download_async(x->d, RT_STREAM_COMPUTE, to, from, n, err);
    p.blocks = rt_finish_blocks(x, p.words, (uint64_t)RT_FINISH_THREADS * WORDS_OF_THREAD);
    return rt_finish_launch(x, "finish_land", "hdd_land", p.blocks, &p, err);
}

int rt_gpu_outcomes_settle(struct rt_gpu_exec *x, struct rt_outcome *last, struct hd_err *err)
{
    struct rt_gpu_outcomes *o = &x->outcomes;
    int first = o->settled, n = o->used - first;
    if (n == 0)
        return 0;
    size_t bytes = (size_t)n * SLOT + (x->few.queued ? x->few.bytes : 0);
    o->overwritten |= x->few.queued && x->few.bytes > 0;
    x->few.landed = rt_gpu_outcomes_landing(x);
    HD_TRY(rt_gpu_outcomes_land(x, x->g->landing, slot_at(x, first), bytes, err));
    if (x->few.queued && !x->few.ended)
        HD_TRY(x->d->ops->event(x->d, &x->few.ended, err));
    HD_TRY(wait_or_cancel(x, err));
    x->queued = NULL;
    o->settled = o->used;
    int rc = read_all(x, first, o->used, last, err);
    return rc == 0 && hd_stopped(x->o->stop) ? HD_FAIL(err, CANCELLED, NULL, "cancelled") : rc;
}

void rt_gpu_outcomes_release(struct rt_gpu_exec *x)
{
    for (int i = x->outcomes.timed; i < x->outcomes.used; i++)
        free_events(x, &x->outcomes.launched[i]);
    x->outcomes.timed = x->outcomes.settled = x->outcomes.used;
    rt_gpu_release(x, &x->outcomes.slots);
}
