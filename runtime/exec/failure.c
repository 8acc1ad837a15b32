/* How an execution fails: the first failure wins, everybody is told to stop, and the schedule
 * reports it once all workers have left the job. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/helpers.h"
#include "runtime/exec/exec_internal.h"

static const char *const failure_texts[] = {"nothing",
#define X(id, text) text,
                                            RT_FAILURES(X)
#undef X
};

static enum hd_err_class class_of(enum rt_failure f)
{
    switch (f) {
    case RT_FAIL_MEMORY: return HD_ERR_RESOURCE;
    case RT_FAIL_CANCELLED: return HD_ERR_CANCELLED;
    case RT_FAIL_NONE:
    case RT_FAIL_OVERFLOW:
    case RT_FAIL_DIV_ZERO:
    case RT_FAIL_CAST_RANGE:
    case RT_FAIL_CAST_TEXT:
    case RT_FAIL_SUBSTRING:
    case RT_FAIL_DATE_RANGE: break;
    }
    return HD_ERR_EXEC;
}

/* The workers' stop words are read by generated code without synchronisation: a stale value
 * costs time, never correctness. */
void rt_exec_tell_all(struct rt_exec *x, int stop)
{
    for (int i = 0; i < x->o.threads; i++)
        __atomic_store_n(&x->workers[i].t.stop, stop, __ATOMIC_RELAXED);
}

void rt_exec_raise(struct rt_exec *x, enum hd_err_class c, const char *path, const char *fmt,
                   ...)
{
    va_list ap;
    pthread_mutex_lock(&x->fail_lock);
    if (!rt_exec_stopped(x)) {
        va_start(ap, fmt);
        hd_err_vset(&x->error, c, __FILE__, __LINE__, path, fmt, ap);
        va_end(ap);
        atomic_store(&x->failure, (int)c);
    }
    pthread_mutex_unlock(&x->fail_lock);
    rt_exec_tell_all(x, 1);
}

void rt_exec_raise_memory(struct rt_exec *x, const struct rt_state *s)
{
    rt_exec_raise(x, HD_ERR_RESOURCE, s ? s->path : NULL,
                  "the memory limit of %llu bytes is reached (%s%s)",
                  (unsigned long long)rt_memory_limit(&x->memory),
                  s ? rt_state_kind_name(s->kind) : "texts", s ? " state of the plan" : "");
}

void rt_exec_raise_worker(struct rt_worker *w)
{
    const struct rt_spec *s = w->x->spec;
    enum rt_failure f = (enum rt_failure)w->t.failure;
    int path = w->t.failure_path;
    if (f == RT_FAIL_MEMORY)
        rt_exec_raise_memory(w->x, w->state >= 0 ? &s->states[w->state] : NULL);
    else
        rt_exec_raise(w->x, class_of(f), path >= 0 && path < s->npaths ? s->paths[path] : NULL,
                      "%s", failure_texts[f]);
}

int32_t rt_worker_fail(struct rt_worker *w, enum rt_failure f, int state)
{
    w->state = state;
    w->t.failure = (int32_t)f;
    w->t.failure_path = -1;
    return 1;
}

int32_t hdr_fail(struct hdd_thread *t, int32_t failure, int32_t path)
{
    t->failure = failure;
    t->failure_path = path;
    return 1;
}
