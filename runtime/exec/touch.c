#include "runtime/exec/touch.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/base/arena.h"
#include "runtime/store/store.h"

struct touching {
    const struct fe_table_part *list;
    size_t n;
    _Atomic size_t next;
    bool (*stopped)(void *context);
    void *context;
    pthread_mutex_t lock; /* err */
    struct hd_err err;    /* the first */
    _Atomic bool failed;
};

static void touch_one(struct touching *t, struct fe_table_part part)
{
    struct hd_err e;
    hd_err_init(&e);
    if (rt_store_touch(part, &e) != 0) {
        pthread_mutex_lock(&t->lock);
        hd_err_set(&t->err, e.class, e.file, e.line, e.path, "%s", e.message);
        t->failed = true;
        pthread_mutex_unlock(&t->lock);
    }
    hd_err_release(&e);
}

static void touch_some(void *context, int worker HD_UNUSED)
{
    struct touching *t = context;
    for (size_t i; (i = t->next++) < t->n && !t->failed && !t->stopped(t->context);)
        touch_one(t, t->list[i]);
}

static bool is_same(struct fe_table_part a, struct fe_table_part b)
{
    return a.table == b.table && a.kind == b.kind && a.number == b.number;
}

/* Each part once that is not known to be good: in any execution but the first, none, and no thread is woken up. */
static void list_parts(const struct rt_spec *s, struct fe_table_part *list, size_t *n)
{
    *n = 0;
    for (int i = 0; i < s->npipelines; i++)
        for (int k = 0; k < s->pipelines[i].ntouched; k++) {
            struct fe_table_part part = s->pipelines[i].touched[k];
            size_t at = 0;
            while (at < *n && !is_same(list[at], part))
                at++;
            if (at == *n && !rt_store_is_touched(part))
                list[(*n)++] = part;
        }
}

static int touch_all(struct touching *t, struct rt_thread_pool *thread_pool, int threads, struct hd_err *err)
{
    struct rt_thread_pool_job job = {.run = touch_some, .context = t};
    int last = (int)HD_MIN((size_t)threads, t->n);
    pthread_mutex_init(&t->lock, NULL);
    hd_err_init(&t->err);
    if (last > 1)
        rt_thread_pool_start(thread_pool, &job, 1, last);
    touch_some(t, 0);
    rt_thread_pool_finish(thread_pool, &job);
    pthread_mutex_destroy(&t->lock);
    if (!t->failed)
        return 0;
    hd_err_set(err, t->err.class, t->err.file, t->err.line, t->err.path, "%s", t->err.message);
    hd_err_release(&t->err);
    return -1;
}

int rt_touch_columns(const struct rt_spec *s, struct rt_thread_pool *thread_pool, int threads,
                     bool (*stopped)(void *context), void *context, struct hd_err *err)
{
    struct hd_arena a;
    struct touching t = {.stopped = stopped, .context = context};
    size_t max = 1;
    for (int i = 0; i < s->npipelines; i++)
        max += (size_t)s->pipelines[i].ntouched;
    hd_arena_init(&a);
    struct fe_table_part *list = HD_NEWN(&a, struct fe_table_part, max);
    list_parts(s, list, &t.n);
    t.list = list;
    int rc = touch_all(&t, thread_pool, threads, err);
    hd_arena_release(&a);
    return rc;
}
