#include "runtime/store/store_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"

struct job {
    rt_task_fn fn;
    void *ctx;
    int64_t n;
    _Atomic int64_t next, done;
    atomic_bool stop;
    int64_t failed_task; /* under the pool's mutex, as is err */
    struct hd_err err;
};

struct rt_pool {
    int threads; /* including the caller */
    pthread_t *ids;
    pthread_mutex_t mutex;
    pthread_cond_t wake, idle;
    struct job *job;
    uint64_t generation; /* counts jobs: a worker takes part in each once */
    int busy;
    bool quit;
    const struct hd_stop *stop; /* NULL: nobody can ask */
};

struct worker {
    struct rt_pool *pool;
    int number;
};

static void record_failure(struct rt_pool *p, struct job *j, int64_t task, struct hd_err *e)
{
    atomic_store(&j->stop, true);
    pthread_mutex_lock(&p->mutex);
    if (j->err.class == HD_ERR_NONE || task < j->failed_task) {
        hd_err_release(&j->err);
        j->err = *e;
        j->failed_task = task;
    } else {
        hd_err_release(e);
    }
    pthread_mutex_unlock(&p->mutex);
}

static void record_cancel(struct rt_pool *p, struct job *j, const char *what)
{
    struct hd_err e;
    hd_err_init(&e);
    HD_FAIL(&e, CANCELLED, NULL, "cancelled%s%s", *what ? " while " : "", what);
    record_failure(p, j, -1, &e);
}

static bool work_one(struct rt_pool *p, struct job *j, int worker)
{
    if (atomic_load(&j->stop))
        return false;
    if (hd_stopped(p->stop)) {
        record_cancel(p, j, "");
        return false;
    }
    int64_t task = atomic_fetch_add(&j->next, 1);
    if (task >= j->n)
        return false;
    struct hd_err e;
    hd_err_init(&e);
    if (j->fn(j->ctx, worker, task, &e) != 0) {
        if (e.class == HD_ERR_NONE)
            HD_BUG("task failed without an error");
        record_failure(p, j, task, &e);
    }
    atomic_fetch_add(&j->done, 1);
    return true;
}

static void *worker_main(void *arg)
{
    struct worker w = *(struct worker *)arg;
    free(arg);
    struct rt_pool *p = w.pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        while (!p->quit && (p->generation == seen || !p->job))
            pthread_cond_wait(&p->wake, &p->mutex);
        if (p->quit)
            break;
        seen = p->generation;
        struct job *j = p->job;
        p->busy++;
        pthread_mutex_unlock(&p->mutex);
        while (work_one(p, j, w.number))
            ;
        pthread_mutex_lock(&p->mutex);
        if (--p->busy == 0)
            pthread_cond_signal(&p->idle);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static bool start_worker(struct rt_pool *p, int number)
{
    struct worker *w = malloc(sizeof *w);
    if (!w)
        return false;
    *w = (struct worker){p, number};
    if (!hd_fault(HD_FAULT_THREAD) && pthread_create(&p->ids[number - 1], NULL, worker_main, w) == 0)
        return true;
    free(w);
    return false;
}

int rt_pool_new(int threads, struct rt_pool **out, struct hd_err *err)
{
    HD_ASSERT(threads >= 1);
    struct rt_pool *p = hd_try_calloc(1, sizeof *p);
    if (p)
        p->ids = hd_try_calloc((size_t)threads, sizeof *p->ids);
    if (!p || !p->ids) {
        free(p);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for %d threads", threads);
    }
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->idle, NULL);
    p->threads = 1;
    while (p->threads < threads && start_worker(p, p->threads))
        p->threads++;
    *out = p;
    return 0;
}

void rt_pool_free(struct rt_pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->mutex);
    p->quit = true;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 1; i < p->threads; i++)
        pthread_join(p->ids[i - 1], NULL);
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->idle);
    free(p->ids);
    free(p);
}

int rt_pool_threads(const struct rt_pool *p)
{
    return p->threads;
}

void rt_pool_stop_by(struct rt_pool *p, const struct hd_stop *stop)
{
    p->stop = stop;
}

bool rt_pool_stopped(const struct rt_pool *p)
{
    return hd_stopped(p->stop);
}

static void report(struct rt_pool *p, struct job *j, const struct rt_progress *pr, const char *what)
{
    if (!pr || !pr->fn)
        return;
    double share = (double)atomic_load(&j->done) / (double)j->n;
    if (pr->fn(pr->user, pr->from + (pr->to - pr->from) * share, what) == 0)
        return;
    record_cancel(p, j, what);
}

int rt_pool_run(struct rt_pool *p, int64_t n, rt_task_fn fn, void *ctx, struct rt_progress *progress, const char *what,
                struct hd_err *err)
{
    struct job j = {.fn = fn, .ctx = ctx, .n = n};
    if (n <= 0)
        return 0;
    if (n > 1 && p->threads > 1) {
        pthread_mutex_lock(&p->mutex);
        p->job = &j;
        p->generation++;
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->mutex);
    }
    while (work_one(p, &j, 0))
        report(p, &j, progress, what);
    pthread_mutex_lock(&p->mutex);
    p->job = NULL; /* a worker that wakes only now finds nothing */
    while (p->busy)
        pthread_cond_wait(&p->idle, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    if (j.err.class == HD_ERR_NONE && hd_stopped(p->stop)) /* the last task may have left off */
        record_cancel(p, &j, what);
    if (j.err.class == HD_ERR_NONE)
        return 0;
    if (err && err->class == HD_ERR_NONE)
        *err = j.err;
    else
        hd_err_release(&j.err);
    return -1;
}
