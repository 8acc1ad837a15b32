/* A result of few rows comes to the host together with the outcome of the pipeline that makes it: behind that pipeline its rows
 * are put in order and brought together with their strings by a kernel that reads their number on the device
 * (templates/finish/finish_few.cu), and one wait is for all of it. Where the pipeline runs again, or there are more rows or
 * strings than were expected, nothing has changed: the state is finished as any other. */
#include <string.h>

#include "runtime/gpu/gpu_order.h"
#include "runtime/gpu/gpu_timeline.h"

enum {
    ROW_TEXT = 48, /* bytes for each string of a row */
    ROWS_MIN = 256, /* there is room for at least so many, and for so many times as many as are expected, */
    ROWS_TIMES = 4,
    BLOCKS_MIN = 32,
    BLOCKS_MAX = 1024
};

static uint64_t compared_rows(const struct rt_state *s)
{
    return s->nsort ? rt_order_compared(s) : UINT32_MAX;
}

/* Not where executions before had more rows than few. */
static bool is_next(const struct rt_gpu_exec *x, int state)
{
    const struct rt_state *s = &x->spec->states[state];
    bool to_host = !x->o->columns && !x->o->send;
    return x->few.last && state == x->spec->result_state && to_host && rt_gpu_outcomes_have_few(x) &&
           rt_state_seen(x, s) <= compared_rows(s) + 1;
}

/* As many as executions before brought, or as are expected, and more. */
static uint64_t likely_rows(const struct rt_gpu_exec *x, const struct rt_state *s)
{
    uint64_t seen = rt_state_seen(x, s);
    return HD_MAX((uint64_t)ROWS_MIN,
                  seen ? seen + seen / ROWS_TIMES : (uint64_t)HD_MAX(s->est_rows, 0.0) * ROWS_TIMES);
}

/* A bound leaves few rows, whatever comes without it. */
bool rt_gpu_few_expected(struct rt_gpu_exec *x)
{
    const struct rt_state *s = &x->spec->states[x->spec->result_state];
    uint64_t seen = rt_state_seen(x, s);
    if (rt_result_may_be_few(x->spec))
        return true;
    if (!rt_result_can_be_few(x->spec) || seen > compared_rows(s) + 1 || (!seen && !s->bounded))
        return false;
    uint64_t left = seen ? HD_MIN(seen, rt_state_wanted_rows(s)) : rt_state_wanted_rows(s);
    return left <= RT_FEW_BYTES / (uint64_t)s->stride && rt_gpu_finish_is_there(x, "finish_few") &&
           rt_gpu_finish_is_there(x, "finish_land");
}

/* Rows that stay, as far as there is room for them and for their strings. */
static void lay_out(struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint32_t strings)
{
    struct rt_gpu_few *f = &x->few;
    const struct rt_state *s = v->s;
    uint64_t skip = (uint64_t)HD_MAX(s->offset, (int64_t)0), stride = (uint64_t)s->stride;
    uint64_t all = RT_FEW_BYTES / (stride + strings * ROW_TEXT);
    uint64_t rows = likely_rows(x, s);
    f->max = HD_MIN(v->capacity, compared_rows(s));
    f->room = HD_MIN(HD_MIN(rows, all), HD_MIN(f->max, rt_state_wanted_rows(s) - skip));
    f->text = f->room * stride;
    f->text_room = f->room * strings * ROW_TEXT;
    f->bytes = (size_t)(f->text + f->text_room);
}

static int launch(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct hdd_few_args *p, uint64_t outcome,
                  struct hd_err *err)
{
    const struct rt_state *s = v->s;
    const struct rt_gpu_few *f = &x->few;
    p->rows = v->rows_at.address;
    p->capacity = v->capacity;
    p->max = f->max;
    p->count = outcome + offsetof(struct rt_outcome, sink_cursor);
    p->abort = outcome + offsetof(struct rt_outcome, progress.abort);
    p->made = outcome + offsetof(struct rt_outcome, string_cursor);
    p->bytes = outcome + offsetof(struct rt_outcome, text_bytes);
    p->skip = (uint64_t)HD_MAX(s->offset, (int64_t)0);
    p->wanted = rt_state_wanted_rows(s) - p->skip;
    p->to = rt_gpu_outcomes_end(x);
    p->room = f->room;
    p->text = p->to + f->text;
    p->text_room = f->text_room;
    uint64_t seen = rt_state_seen(x, s), rows = seen ? seen : (uint64_t)HD_MAX(s->est_rows, 0.0) * ROWS_TIMES;
    uint64_t blocks = HD_MIN(HD_MAX(rows, (uint64_t)BLOCKS_MIN), (uint64_t)BLOCKS_MAX); /* a row each */
    p->blocks = rt_finish_blocks(x, HD_MIN(blocks, f->max), 1);
    return rt_finish_launch(x, "finish_few", "hdd_few_rows", p->blocks, p, err);
}

/* Rows as they are need no kernel. */
static int bring_as_they_are(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct hd_err *err)
{
    uint64_t stride = (uint64_t)v->s->stride, skip = HD_MIN((uint64_t)HD_MAX(v->s->offset, (int64_t)0), v->capacity);
    size_t n = (size_t)(HD_MIN(x->few.room, v->capacity - skip) * stride);
    return rt_gpu_outcomes_land(x, rt_gpu_outcomes_landing(x), v->rows_at.address + skip * stride, n, err);
}

static int queue(struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint64_t outcome, uint64_t heap,
                 struct hd_err *err)
{
    struct rt_gpu_few *f = &x->few;
    struct hdd_few_args p;
    memset(&p, 0, sizeof p);
    p.heap = heap;
    HD_TRY(rt_keys_of_order(x, v->s, &p.keys, &f->more[0], err));
    HD_TRY(rt_keys_of_strings(x, v->s, &p.strings, &f->more[1], err));
    lay_out(x, v, p.strings.n);
    if (p.keys.n || p.strings.n)
        return launch(x, v, &p, outcome, err);
    f->bytes = 0; /* they do not lie behind the outcomes */
    return bring_as_they_are(x, v, err);
}

int rt_gpu_few_queue(struct rt_gpu_exec *x, int state, uint64_t outcome, uint64_t heap, struct hd_err *err)
{
    struct rt_gpu_few *f = &x->few;
    struct rt_gpu_span *span;
    if (!is_next(x, state))
        return 0;
    rt_gpu_few_release(x); /* of a run that had no room */
    HD_TRY(rt_gpu_span_begin(x, RT_SPAN_FINISH, state, &span, err));
    f->queued = true;
    HD_TRY(queue(x, &x->state[state], outcome, heap, err));
    return rt_gpu_span_end(x, span, err);
}

void rt_gpu_few_look(struct rt_gpu_exec *x, int state, const struct rt_outcome *out)
{
    struct rt_gpu_few *f = &x->few;
    struct rt_gpu_state *v = &x->state[state];
    if (!f->queued)
        return;
    uint64_t skip = (uint64_t)HD_MAX(v->s->offset, (int64_t)0), n = HD_MIN(out->sink_cursor, v->capacity);
    f->n = HD_MIN(n - HD_MIN(n, skip), rt_state_wanted_rows(v->s) - skip);
    f->text_bytes = out->text_bytes;
    f->there = n <= f->max && f->n <= f->room && f->text_bytes <= f->text_room;
}

void rt_gpu_few_finish(struct rt_gpu_exec *x, struct rt_gpu_state *v)
{
    v->rows = v->rows_at.address;
    v->nrows = x->few.n;
}

void rt_gpu_few_release(struct rt_gpu_exec *x)
{
    struct rt_gpu_few *f = &x->few;
    for (size_t i = 0; i < HD_COUNT(f->more); i++)
        rt_gpu_release(x, &f->more[i]);
    if (f->ended)
        x->d->ops->event_free(x->d, f->ended);
    *f = (struct rt_gpu_few){.on = f->on, .last = f->last};
}
