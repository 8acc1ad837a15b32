/* How an execution fails: the first failure wins, everybody is told to stop, and the schedule
 * reports it once all workers have left the job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/helpers.h"
#include "runtime/exec/exec_internal.h"
#include "runtime/exec/failure_text.h"

static enum hd_err_class class_of(enum rt_failure f)
{
    switch (f) {
    case RT_FAIL_MEMORY: return HD_ERR_RESOURCE;
    case RT_FAIL_CANCELLED: return HD_ERR_CANCELLED;
    case RT_FAIL_NONE:
    case RT_FAIL_OVERFLOW:
    case RT_FAIL_DIV_ZERO:
    case RT_FAIL_CAST_RANGE:
    case RT_FAIL_CAST_STRING:
    case RT_FAIL_SUBSTRING:
    case RT_FAIL_DATE_RANGE:
    case RT_FAIL_DOMAIN:
    case RT_FAIL_STRING_SIZE: break;
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

void rt_exec_raise(struct rt_exec *x, enum hd_err_class c, const char *path, const char *fmt, ...)
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
    char what[64], text[RT_REFUSAL_TEXT];
    snprintf(what, sizeof what, "%s%s", s ? rt_state_kind_name(s->kind) : "texts", s ? " state of the plan" : "");
    enum hd_err_class c = rt_memory_refusal(&x->memory, what, text);
    rt_exec_raise(x, c, s ? s->path : NULL, "%s", text);
}

void rt_exec_raise_worker(struct rt_worker *w)
{
    const struct rt_spec *s = w->x->spec;
    const struct hdd_thread *t = &w->t;
    enum rt_failure f = (enum rt_failure)t->failure;
    const struct rt_site *site =
        t->failure_path >= 0 && t->failure_path < s->nsites ? &s->sites[t->failure_path] : NULL;
    struct rt_failed v = {.known = t->has_values, .a = {t->a_lo, t->a_hi}, .b = {t->b_lo, t->b_hi}};
    struct hd_strbuf text;
    if (f == RT_FAIL_MEMORY) {
        rt_exec_raise_memory(w->x, w->state >= 0 ? &s->states[w->state] : NULL);
        return;
    }
    hd_strbuf_init(&text);
    rt_failure_text(&text, f, site, &v);
    rt_exec_raise(w->x, class_of(f), site ? site->path : NULL, "%s", text.s);
    hd_strbuf_release(&text);
}

int32_t rt_worker_fail(struct rt_worker *w, enum rt_failure f, int state)
{
    w->state = state;
    w->t.failure = (int32_t)f;
    w->t.failure_path = -1;
    w->t.has_values = 0;
    return 1;
}

int32_t hdr_fail(struct hdd_thread *t, int32_t failure, int32_t path)
{
    t->failure = failure;
    t->failure_path = path;
    t->has_values = 0;
    return 1;
}

int32_t hdr_fail_value(struct hdd_thread *t, int32_t failure, int32_t path, int64_t alo, int64_t ahi, int64_t blo,
                       int64_t bhi)
{
    hdr_fail(t, failure, path);
    t->has_values = 1;
    t->a_lo = (uint64_t)alo;
    t->a_hi = (uint64_t)ahi;
    t->b_lo = (uint64_t)blo;
    t->b_hi = (uint64_t)bhi;
    return 1;
}
