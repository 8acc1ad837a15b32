/* The schedule of a program on one or several devices. */
#include "runtime/base/guard.h"
#include "runtime/exec/touch.h"
#include "runtime/gpu/gpu_state.h"
#include "runtime/gpu/gpu_stream.h"
#include "runtime/gpu/gpu_timeline.h"

static int check_cancelled(struct rt_gpu_exec *x, struct hd_err *err)
{
    return hd_stopped(x->o->stop) ? HD_FAIL(err, CANCELLED, NULL, "cancelled") : 0;
}

static bool is_cancelled(void *running)
{
    const struct rt_gpu_exec *x = running;
    return hd_stopped(x->o->stop);
}

/* ---- actions --------------------------------------------------------------------------- */

/* Names the plan node in errors of the device, which do not know it. A device that was lost tells who waits next. */
static int blame(const struct rt_gpu_exec *x, const char *path, struct hd_err *err, int rc)
{
    if (rc == 0 || !path || !err || err->class == HD_ERR_CANCELLED)
        return rc;
    hd_err_set_path(err, path);
    if (x->d->lost && x->queued)
        hd_err_set_detail(err, hd_asprintf(x->arena, "or it was %s was still queued", x->queued));
    return rc;
}

/* What is left is that the result is finished. */
static bool is_last(const struct rt_spec *s, const struct rt_action *a)
{
    const struct rt_action *end = s->actions + s->nactions;
    for (a++; a < end && a->kind == RT_FREE; a++)
        ;
    return a < end && a->kind == RT_FINISH && a->index == s->result_state;
}

static int run_pipeline(struct rt_gpu_exec *x, const struct rt_action *a, struct hd_err *err)
{
    struct rt_pipeline_stats *st = &x->stats->pipelines[a->index];
    double start = rt_gpu_now_ms();
    x->few.last = is_last(x->spec, a);
    int rc = rt_gpu_pipeline_run(x, a->index, a->fragment, err);
    if (a->fragment.part == 0)
        st->start_ms = start - x->began_ms;
    st->ms += rt_gpu_now_ms() - start;
    return blame(x, x->spec->pipelines[a->index].path, err, rc);
}

static int finish(struct rt_gpu_exec *x, int i, struct hd_err *err)
{
    double start = rt_gpu_now_ms();
    struct rt_gpu_span *span = NULL;
    if (!x->few.there)
        HD_TRY(rt_gpu_span_begin(x, RT_SPAN_FINISH, i, &span, err));
    int rc = rt_gpu_state_finish(x, i, err);
    if (rc == 0)
        rc = rt_gpu_span_end(x, span, err);
    x->stats->finish_ms[i] = rt_gpu_now_ms() - start;
    x->stats->state_rows[i] = rt_gpu_state_rows(&x->state[i]);
    blame(x, x->spec->states[i].path, err, rc);
    if (!x->queued)
        x->queued = hd_asprintf(x->arena, "the state %s, whose finish", x->spec->states[i].name);
    return rc;
}

static int alloc_counters(struct rt_gpu_exec *x, struct hd_err *err)
{
    size_t max = 0;
    for (int i = 0; i < x->spec->npipelines; i++)
        max = HD_MAX(max, (size_t)x->spec->pipelines[i].ncounters);
    return x->o->profile && max ? rt_gpu_alloc(x, NULL, max * HDD_COUNTER_COPIES * sizeof(uint64_t), &x->counters, err)
                                : 0;
}

static int bring_columns(struct rt_gpu_exec *x, struct hd_err *err)
{
    double start = rt_gpu_now_ms();
    rt_gpu_residents_begin(x->g);
    rt_gpu_host_begin(x->g);
    HD_TRY(rt_touch_columns(x->spec, x->o->thread_pool, x->o->threads, is_cancelled, x, err));
    HD_TRY(check_cancelled(x, err));
    uint64_t before = rt_gpu_residents_filled(x->g);
    HD_TRY(rt_gpu_args_columns(x, err));
    if (rt_gpu_residents_filled(x->g) != before)
        HD_TRY(x->d->ops->sync(x->d, err));
    x->stats->transfer_ms += rt_gpu_now_ms() - start;
    return 0;
}

/* Where nobody asks what a kernel took: what is queued between two waits is queued at once. */
static bool is_batched(const struct rt_gpu_exec *x)
{
    return x->spec->ndevices == 1 && !x->o->profile && !x->o->timeline && !x->o->kernel_times;
}

/* The device's own work begins once the columns are there. */
static int upload(struct rt_gpu_exec *x, struct hd_err *err)
{
    HD_TRY(bring_columns(x, err));
    x->began_ms = rt_gpu_now_ms();
    HD_TRY(x->d->ops->event(x->d, &x->began, err));
    if (is_batched(x))
        x->d->ops->batch_begin(x->d);
    x->few.on = rt_gpu_few_expected(x);
    HD_TRY(rt_gpu_args_constants(x, err));
    return alloc_counters(x, err);
}

/* ---- several devices --------------------------------------------------------------------- */

/* The devices of an execution, by their number in the schedule. The thread uses device 0 all along, and the others
 * while it does something there. */
struct team {
    const struct rt_spec *spec;
    int n;
    struct rt_gpu_exec x[RT_MAX_DEVICES];
};

static void step_in(struct rt_gpu_exec *x)
{
    if (x->number > 0)
        rt_gpu_step_in(x->g);
}

static void step_out(struct rt_gpu_exec *x)
{
    if (x->number > 0)
        rt_gpu_step_out(x->g);
}

/* What x queues from now on waits for what the other device has queued so far. */
static int wait_for_device(struct rt_gpu_exec *x, struct rt_gpu_exec *other, struct hd_err *err)
{
    rt_event *e = NULL;
    step_in(other);
    int rc = other->d->ops->record(other->d, RT_STREAM_COMPUTE, &e, err);
    step_out(other);
    if (rc != 0)
        return -1;
    step_in(x);
    rc = x->d->ops->stream_wait(x->d, RT_STREAM_COMPUTE, e, err);
    step_out(x);
    step_in(other);
    other->d->ops->event_free(other->d, e);
    step_out(other);
    return rc;
}

/* The edges that come from other devices; on one device work is queued in the order of the list. */
static int wait_for_edges(struct team *t, const struct rt_action *a, struct hd_err *err)
{
    bool waits[RT_MAX_DEVICES] = {false};
    for (int i = 0; i < a->nafter; i++)
        waits[t->spec->actions[a->after[i]].device] = true;
    for (int d = 0; d < t->n; d++)
        if (waits[d] && d != a->device)
            HD_TRY(wait_for_device(&t->x[a->device], &t->x[d], err));
    return 0;
}

/* Rows name strings by address, wherever they are. */
static int open_peers(struct team *t, struct hd_err *err)
{
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < t->n; k++) {
            bool direct = true;
            step_in(&t->x[i]);
            int rc = i == k ? 0 : t->x[i].d->ops->open_peer(t->x[i].d, t->x[k].d, &direct, err);
            step_out(&t->x[i]);
            if (rc != 0)
                return -1;
            if (!direct)
                return HD_FAIL(err, RESOURCE, NULL, "GPU %d of the query cannot read the memory of GPU %d", i, k);
        }
    return 0;
}

/* ---- the schedule ------------------------------------------------------------------------ */

static int exchange(struct team *t, const struct rt_action *a, struct hd_err *err)
{
    struct rt_gpu_exec *x = &t->x[a->device];
    struct rt_gpu_span *span;
    HD_TRY(rt_gpu_span_begin(x, RT_SPAN_EXCHANGE, a->index, &span, err));
    int rc = rt_gpu_exchange(x, &t->x[a->from], a->index, a->exchange, err);
    if (rc == 0)
        rc = rt_gpu_span_end(x, span, err);
    return blame(x, t->spec->states[a->index].path, err, rc);
}

static int do_action(struct team *t, const struct rt_action *a, struct hd_err *err)
{
    struct rt_gpu_exec *x = &t->x[a->device];
    switch (a->kind) {
    case RT_UPLOAD: return upload(x, err);
    case RT_RUN: return run_pipeline(x, a, err);
    case RT_FINISH: return finish(x, a->index, err);
    case RT_EXCHANGE: return exchange(t, a, err);
    case RT_FREE: rt_gpu_state_free(x, a->index); return 0;
    }
    HD_BUG("action kind %d", (int)a->kind);
}

static int run_action(struct team *t, const struct rt_action *a, struct hd_err *err)
{
    struct rt_gpu_exec *x = &t->x[a->device];
    HD_TRY(check_cancelled(x, err));
    if (t->n > 1)
        HD_TRY(wait_for_edges(t, a, err));
    step_in(x);
    int rc = do_action(t, a, err);
    step_out(x);
    return rc;
}

static int read_spans(struct team *t, struct hd_err *err)
{
    int rc = 0;
    for (int d = 0; d < t->n && rc == 0; d++) {
        step_in(&t->x[d]);
        rc = rt_gpu_spans_read(&t->x[d], &t->x[0], err);
        step_out(&t->x[d]);
    }
    return rc;
}

static int read_times(struct rt_gpu_exec *x, struct hd_err *err)
{
    step_in(x);
    int rc = rt_gpu_outcomes_times(x, err);
    step_out(x);
    return rc;
}

/* Kernels that are still queued are told to end where the execution was cancelled. */
static int give_up(struct rt_gpu_exec *x)
{
    if (!x->d->lost)
        rt_gpu_outcomes_settle(x, NULL, NULL);
    return -1;
}

/* Some may have been counted since they were finished. */
static void read_state_rows(const struct rt_gpu_exec *x)
{
    for (int i = 0; i < x->spec->nstates && x->spec->ndevices == 1; i++)
        if (x->state[i].finished)
            x->stats->state_rows[i] = rt_gpu_state_rows(&x->state[i]);
}

/* One action after the other, in an order that the edges allow. */
static int run_actions(struct team *t, struct hd_err *err)
{
    struct rt_gpu_exec *x = &t->x[0];
    HD_TRY(open_peers(t, err));
    for (int i = 0; i < t->spec->nactions; i++)
        if (run_action(t, &t->spec->actions[i], err) != 0)
            return give_up(x);
    if (!x->few.there)
        HD_TRY(x->d->ops->event(x->d, &x->ended, err));
    int rc = rt_gpu_outcomes_settle(x, NULL, err);
    read_state_rows(x);
    for (int d = 0; d < t->n && rc == 0; d++)
        rc = read_times(&t->x[d], err);
    if (rc == 0)
        rc = read_spans(t, err);
    return blame(x, x->spec->states[x->spec->result_state].path, err, rc); /* of what was queued last */
}

/* ---- executions ------------------------------------------------------------------------ */

static int give_result(struct rt_gpu_exec *x, uint64_t *nrows, struct hd_err *err)
{
    if (x->o->send)
        return rt_gpu_rows_to_sent(x, x->o->send, err);
    if (x->o->columns)
        return rt_gpu_rows_to_columns(x, x->o->columns, err);
    return rt_gpu_rows_to_taker(x, x->spec->result_state, nrows, err);
}

/* The time is asked for last: whoever brings the result waits, and one wait takes less than two. */
static int run_all(struct team *t, uint64_t *nrows, struct hd_err *err)
{
    struct rt_gpu_exec *x = &t->x[0];
    HD_TRY(run_actions(t, err));
    int rc = give_result(x, nrows, err);
    if (rc == 0)
        rc = x->d->ops->elapsed(x->d, x->began, x->few.there ? x->few.ended : x->ended, &x->stats->execute_ms, err);
    if (rc == 0)
        rt_state_remember_rows(x);
    return blame(x, x->spec->states[x->spec->result_state].path, err, rc);
}

static void release(struct rt_gpu_exec *x)
{
    x->d->ops->batch_end(x->d, NULL);
    for (int i = 0; i < x->spec->nstates; i++)
        rt_gpu_state_free(x, i);
    rt_gpu_few_release(x);
    rt_gpu_outcomes_release(x);
    rt_gpu_release(x, &x->constants);
    rt_gpu_release(x, &x->scratch);
    rt_gpu_release(x, &x->counters);
    rt_gpu_release(x, &x->chunks);
    rt_gpu_release(x, &x->far_words);
    for (struct rt_gpu_strings *t = x->strings; t; t = t->next)
        rt_gpu_release(x, &t->piece);
    rt_gpu_zeros_release(x);
    rt_gpu_spans_free(x);
    if (x->began)
        x->d->ops->event_free(x->d, x->began);
    if (x->ended)
        x->d->ops->event_free(x->d, x->ended);
}

/* Of a failed execution something may still be queued, the end of others was waited for: memory is given in order, but what it reads on the host lives
 * in the arena, and what it reads on another device goes, too. */
static void release_all(struct team *t, bool failed)
{
    for (int i = 0; i < t->n; i++) {
        step_in(&t->x[i]);
        rt_gpu_stream_close(t->x[i].stream);
        if (failed || t->n > 1 || t->x[i].o->columns)
            t->x[i].d->ops->sync(t->x[i].d, NULL);
        step_out(&t->x[i]);
    }
    for (int i = 0; i < t->n; i++) {
        step_in(&t->x[i]);
        release(&t->x[i]);
        step_out(&t->x[i]);
    }
}

static int prepare(struct team *t, bool guesses)
{
    for (int d = 0; d < t->n; d++) {
        struct rt_gpu_exec *x = &t->x[d];
        *x = (struct rt_gpu_exec){.number = d,
                                  .g = x->g,
                                  .d = x->g->d,
                                  .spec = t->spec,
                                  .arena = x->arena,
                                  .code = x->code,
                                  .o = x->o,
                                  .stats = x->stats,
                                  .peak = x->peak,
                                  .guesses = guesses && t->n == 1 && !x->o->profile};
        x->state = HD_NEWN(x->arena, struct rt_gpu_state, t->spec->nstates + 1);
        for (int i = 0; i < t->spec->nstates; i++)
            x->state[i].s = &t->spec->states[i];
        x->limit = x->o->memory_limit;
        x->zeros.on = true;
        x->first_rows = x->o->first_rows;
        rt_state_recall(x);
    }
    rt_exec_stats_prepare(t->x[0].stats, t->spec, 0);
    t->x[0].stats->lacked = 0;
    t->x[0].stats->begun_anew = false;
    return 0;
}

static int run_prepared(struct team *t, uint64_t *nrows, struct hd_err *err)
{
    int rc;
    HD_GUARDED(rc, NULL, err, run_all(t, nrows, err));
    release_all(t, rc != 0);
    return rc;
}

/* Nothing of the result has been given away where there was an overrun. */
static int run_guessing(struct team *t, uint64_t *nrows, struct hd_err *err)
{
    struct rt_gpu_exec *x = &t->x[0];
    int rc = run_prepared(t, nrows, err);
    if (rc == 0 || !x->overrun || x->d->lost)
        return rc;
    if (err)
        hd_err_release(err);
    HD_GUARDED(rc, NULL, err, prepare(t, false));
    x->stats->begun_anew = true;
    return rc == 0 ? run_prepared(t, nrows, err) : rc;
}

/* From the first device on, which every execution locks first. */
static int run_from(struct team *t, int device, uint64_t *nrows, struct hd_err *err)
{
    struct rt_gpu_exec *x = &t->x[device];
    int rc;
    if (device == t->n)
        return run_guessing(t, nrows, err);
    HD_TRY(rt_gpu_begin(x->g, x->o->stop, err));
    step_out(x);
    if (rt_gpu_code_valid(x->g, x->code))
        rc = run_from(t, device + 1, nrows, err);
    else
        rc = HD_FAIL(err, EXEC, NULL, "another query lost the GPU meanwhile");
    step_in(x);
    rt_gpu_leave(x->g);
    return rc;
}

int rt_gpu_run(struct rt_gpu *g, const struct rt_spec *spec, const struct rt_gpu_code *code,
               const struct rt_gpu_run_options *o, uint64_t *nrows, struct rt_exec_stats *stats, struct hd_err *err)
{
    struct hd_arena arena;
    struct team t = {.spec = spec, .n = spec->ndevices};
    for (int d = 0; d < t.n; d++) {
        struct rt_gpu *its = d ? o->peers[d - 1].g : g;
        t.x[d] = (struct rt_gpu_exec){
            .g = its, .arena = &arena, .code = d ? o->peers[d - 1].code : code, .o = o, .stats = stats};
    }
    *nrows = 0;
    hd_arena_init(&arena);
    int rc;
    HD_GUARDED(rc, NULL, err, prepare(&t, true));
    if (rc == 0)
        rc = run_from(&t, 0, nrows, err);
    stats->peak_bytes = 0;
    for (int d = 0; d < t.n; d++)
        stats->peak_bytes += t.x[d].peak;
    hd_arena_release(&arena);
    return rc;
}
