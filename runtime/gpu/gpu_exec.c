/* The schedule of a program on a device. */
#include "runtime/base/guard.h"
#include "runtime/exec/touch.h"
#include "runtime/gpu/gpu_internal.h"

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
        hd_err_set_detail(err,
                          hd_asprintf(x->arena, "or it was the state %s, whose finish was still queued", x->queued));
    return rc;
}

static int run_pipeline(struct rt_gpu_exec *x, const struct rt_action *a, struct hd_err *err)
{
    struct rt_pipeline_stats *st = &x->stats->pipelines[a->index];
    double start = rt_gpu_now_ms();
    int rc = rt_gpu_pipeline_run(x, a->index, a->fragment, err);
    if (a->fragment.part == 0)
        st->start_ms = start - x->began_ms;
    st->ms += rt_gpu_now_ms() - start;
    blame(x, x->spec->pipelines[a->index].path, err, rc);
    if (st->kernel.launches) /* it waited */
        x->queued = NULL;
    return rc;
}

static int finish(struct rt_gpu_exec *x, int i, struct hd_err *err)
{
    double start = rt_gpu_now_ms();
    int rc = rt_gpu_state_finish(x, i, err);
    x->stats->finish_ms[i] = rt_gpu_now_ms() - start;
    x->stats->state_rows[i] = x->state[i].nrows;
    blame(x, x->spec->states[i].path, err, rc);
    if (!x->queued)
        x->queued = x->spec->states[i].name;
    return rc;
}

static int take_counters(struct rt_gpu_exec *x, struct hd_err *err)
{
    size_t most = 0;
    for (int i = 0; i < x->spec->npipelines; i++)
        most = HD_MAX(most, (size_t)x->spec->pipelines[i].ncounters);
    return x->o->profile && most ? rt_gpu_take(x, NULL, most * HDD_COUNTER_COPIES * sizeof(uint64_t), &x->counters, err)
                                 : 0;
}

static int bring_columns(struct rt_gpu_exec *x, struct hd_err *err)
{
    double start = rt_gpu_now_ms();
    rt_gpu_residents_begin(x->g);
    HD_TRY(rt_touch_columns(x->spec, x->o->crew, x->o->threads, is_cancelled, x, err));
    HD_TRY(check_cancelled(x, err));
    HD_TRY(rt_gpu_args_columns(x, err));
    HD_TRY(x->d->ops->sync(x->d, err));
    x->stats->transfer_ms += rt_gpu_now_ms() - start;
    return 0;
}

/* The device's own work begins once the columns are there. */
static int upload(struct rt_gpu_exec *x, struct hd_err *err)
{
    HD_TRY(bring_columns(x, err));
    x->began_ms = rt_gpu_now_ms();
    HD_TRY(x->d->ops->event(x->d, &x->began, err));
    HD_TRY(rt_gpu_args_constants(x, err));
    return take_counters(x, err);
}

static int run_action(struct rt_gpu_exec *x, const struct rt_action *a, struct hd_err *err)
{
    HD_TRY(check_cancelled(x, err));
    switch (a->kind) {
    case RT_UPLOAD: return upload(x, err);
    case RT_RUN: return run_pipeline(x, a, err);
    case RT_FINISH: return finish(x, a->index, err);
    case RT_EXCHANGE: HD_BUG("one device");
    case RT_FREE: rt_gpu_state_free(x, a->index); return 0;
    }
    HD_BUG("action kind %d", (int)a->kind);
}

/* One action after the other, in an order that the edges allow. */
static int run_actions(struct rt_gpu_exec *x, struct hd_err *err)
{
    rt_event *ended = NULL;
    for (int i = 0; i < x->spec->nactions; i++)
        HD_TRY(run_action(x, &x->spec->actions[i], err));
    HD_TRY(x->d->ops->event(x->d, &ended, err));
    int rc = x->d->ops->elapsed(x->d, x->began, ended, &x->stats->execute_ms, err);
    x->d->ops->event_free(x->d, ended);
    return blame(x, x->spec->states[x->spec->result_state].path, err, rc); /* of what was queued last */
}

/* ---- executions ------------------------------------------------------------------------ */

static int run_all(struct rt_gpu_exec *x, struct rt_gpu_rows *out, struct hd_err *err)
{
    HD_TRY(run_actions(x, err));
    int result = x->spec->result_state;
    return blame(x, x->spec->states[result].path, err,
                 rt_gpu_rows_to_host(x, result, &out->arena, &out->rows, &out->n, err));
}

static void release(struct rt_gpu_exec *x)
{
    /* Of a failed execution something may still be queued: memory is given in order, and what it
     * reads on the host lives in the arena. */
    x->d->ops->sync(x->d, NULL);
    for (int i = 0; i < x->spec->nstates; i++)
        rt_gpu_state_free(x, i);
    rt_gpu_give(x, &x->constants);
    rt_gpu_give(x, &x->scratch);
    rt_gpu_give(x, &x->counters);
    rt_gpu_give(x, &x->far_words);
    for (struct rt_gpu_texts *t = x->texts; t; t = t->next)
        rt_gpu_give(x, &t->piece);
    if (x->began)
        x->d->ops->event_free(x->d, x->began);
}

static int prepare(struct rt_gpu_exec *x)
{
    x->state = HD_NEWN(x->arena, struct rt_gpu_state, x->spec->nstates + 1);
    for (int i = 0; i < x->spec->nstates; i++)
        x->state[i].s = &x->spec->states[i];
    rt_exec_stats_prepare(x->stats, x->spec, 0);
    x->limit = x->o->memory_limit;
    x->first_rows = x->o->first_rows;
    return 0;
}

int rt_gpu_run(struct rt_gpu *g, const struct rt_spec *spec, const struct rt_gpu_code *code,
               const struct rt_gpu_run_options *o, struct rt_gpu_rows *out, struct rt_exec_stats *stats,
               struct hd_err *err)
{
    struct hd_arena arena;
    struct rt_gpu_exec x = {.g = g, .d = g->d, .spec = spec, .arena = &arena, .code = code, .o = o, .stats = stats};
    *out = (struct rt_gpu_rows){.n = 0};
    hd_arena_init(&arena);
    hd_arena_init(&out->arena);
    int rc;
    HD_GUARDED(rc, NULL, err, prepare(&x));
    if (rc == 0)
        rc = rt_gpu_begin(g, o->stop, err);
    if (rc == 0) {
        if (rt_gpu_code_valid(g, code))
            HD_GUARDED(rc, NULL, err, run_all(&x, out, err));
        else
            rc = HD_FAIL(err, EXEC, NULL, "another query lost the GPU meanwhile");
        release(&x);
        rt_gpu_leave(g);
    }
    stats->peak_bytes = x.peak;
    hd_arena_release(&arena);
    if (rc != 0)
        hd_arena_release(&out->arena);
    return rc;
}
