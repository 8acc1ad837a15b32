#include "runtime/exec/thread_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/base/fault.h"
#include "runtime/base/look.h"

/* A query is a sequence of short jobs: looking this often for the next one, or for the end of the
 * others' work, before sleeping saves a wake-up of 50 us or more in a virtual machine. About 50 us
 * of pauses. */
enum { SPINS = 1500 };
/* Between two looks whether who waits for a delegated job is to leave it. */
enum { LOOK_NS = 5000000 };
/* That wait, at most: what comes faster than it is done is not taken on. */
enum { LAZY_JOBS = 64 };

struct rt_thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t offered; /* a job was offered, or quit */
    pthread_cond_t left;    /* a worker left a job */
    struct rt_thread_pool_job *jobs;
    _Atomic unsigned offers; /* counts rt_thread_pool_start: what spinning threads watch */
    bool quit;
    int nthreads, cap;
    int busy;
    int entrusted; /* threads that jobs want in which their owner does not work; lazy ones are no part of it */
    int lazy_jobs, lazy_busy, lazy_threads; /* of lazy jobs: how many, workers at them, the most that one wanted */
    pthread_t *threads;
};

/* Under the lock: a job that still wants workers. */
static struct rt_thread_pool_job *find_job(struct rt_thread_pool *c)
{
    for (struct rt_thread_pool_job *j = c->jobs; j; j = j->link)
        if (j->next < j->end && !(j->lazy && c->lazy_busy >= j->threads))
            return j;
    return NULL;
}

/* Under the lock. */
static void delist(struct rt_thread_pool *c, struct rt_thread_pool_job *job)
{
    struct rt_thread_pool_job **p = &c->jobs;
    while (*p != job)
        p = &(*p)->link;
    *p = job->link;
    job->open = false;
}

/* Under the lock. */
static bool is_over(const struct rt_thread_pool_job *job)
{
    return job->next == job->end && job->running == 0;
}

/* Under the lock, which it lets go meanwhile: a job that nobody waits for any more, after its last worker. */
static void bury(struct rt_thread_pool *c, struct rt_thread_pool_job *job)
{
    delist(c, job);
    if (job->lazy)
        c->lazy_jobs--;
    else
        c->entrusted -= job->threads;
    pthread_mutex_unlock(&c->lock);
    job->free(job->context);
    pthread_mutex_lock(&c->lock);
}

static void work_on(struct rt_thread_pool *c, struct rt_thread_pool_job *j)
{
    int worker = j->next++;
    bool lazy = j->lazy;
    j->running++;
    c->busy++;
    c->lazy_busy += lazy;
    pthread_mutex_unlock(&c->lock);
    j->run(j->context, worker);
    pthread_mutex_lock(&c->lock);
    c->busy--;
    c->lazy_busy -= lazy;
    if (--j->running > 0)
        return;
    pthread_cond_broadcast(&c->left);
    if (hd_stopped(&j->left) || (j->alone && is_over(j)))
        bury(c, j);
}

/* Without the lock: until something is offered or the back-off ends. */
static void spin(struct rt_thread_pool *c, unsigned seen)
{
    for (int i = 0; i < SPINS && atomic_load(&c->offers) == seen; i++)
        hd_relax();
}

static void *thread_main(void *arg)
{
    struct rt_thread_pool *c = arg;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        struct rt_thread_pool_job *j = find_job(c);
        if (j) {
            work_on(c, j);
            continue;
        }
        if (c->quit)
            break;
        unsigned seen = atomic_load(&c->offers);
        pthread_mutex_unlock(&c->lock);
        spin(c, seen);
        pthread_mutex_lock(&c->lock);
        while (!c->quit && atomic_load(&c->offers) == seen)
            pthread_cond_wait(&c->offered, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

struct rt_thread_pool *rt_thread_pool_new(void)
{
    struct rt_thread_pool *c = hd_try_calloc(1, sizeof *c);
    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->offered, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->left, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return c;
}

void rt_thread_pool_free(struct rt_thread_pool *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->quit = true;
    atomic_fetch_add(&c->offers, 1);
    pthread_cond_broadcast(&c->offered);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->nthreads; i++)
        pthread_join(c->threads[i], NULL);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->offered);
    pthread_cond_destroy(&c->left);
    free(c->threads);
    free(c);
}

/* Under the lock. False: the system refuses some, which in a job whose owner works too only costs time. */
static bool hire(struct rt_thread_pool *c, int wanted)
{
    if (wanted > c->cap) {
        pthread_t *p = hd_try_realloc(c->threads, (size_t)wanted * sizeof *p);
        if (!p)
            return false;
        c->threads = p;
        c->cap = wanted;
    }
    while (c->nthreads < wanted) {
        if (hd_fault(HD_FAULT_THREAD) || pthread_create(&c->threads[c->nthreads], NULL, thread_main, c) != 0)
            return false;
        char name[16];
        snprintf(name, sizeof name, "heddle-%d", (c->nthreads + 1) % 1000);
        pthread_setname_np(c->threads[c->nthreads++], name);
    }
    return true;
}

/* Under the lock. */
static void offer(struct rt_thread_pool *c, struct rt_thread_pool_job *job)
{
    job->open = true;
    job->link = c->jobs;
    c->jobs = job;
    atomic_fetch_add(&c->offers, 1);
    pthread_cond_broadcast(&c->offered);
}

void rt_thread_pool_start(struct rt_thread_pool *c, struct rt_thread_pool_job *job, int first, int last)
{
    job->next = first;
    job->end = last;
    job->running = 0;
    job->open = job->alone = job->lazy = false;
    if (first >= last)
        return;
    pthread_mutex_lock(&c->lock);
    hire(c, last - first + c->entrusted + c->lazy_busy);
    offer(c, job);
    pthread_mutex_unlock(&c->lock);
}

void rt_thread_pool_finish(struct rt_thread_pool *c, struct rt_thread_pool_job *job)
{
    if (!job->open)
        return;
    pthread_mutex_lock(&c->lock);
    job->end = job->next;
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < SPINS && atomic_load(&job->running) > 0; i++)
        hd_relax();
    pthread_mutex_lock(&c->lock);
    while (job->running > 0)
        pthread_cond_wait(&c->left, &c->lock);
    delist(c, job);
    pthread_mutex_unlock(&c->lock);
}

/* ---- work that may be left ------------------------------------------------------------- */

/* Under the lock, which it lets go meanwhile. */
static void look_later(struct rt_thread_pool *c)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += LOOK_NS;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&c->left, &c->lock, &t);
}

/* Under the lock. */
static void leave(struct rt_thread_pool *c, struct rt_thread_pool_job *job)
{
    job->end = job->next;
    hd_stop_ask(&job->left);
    if (job->running == 0)
        bury(c, job);
}

/* Under the lock. */
static void prepare_entrusted(struct rt_thread_pool_job *job, int n, void (*free_context)(void *))
{
    job->next = 0;
    job->end = job->threads = n;
    job->running = 0;
    job->alone = job->lazy = false;
    job->free = free_context;
    atomic_init(&job->left.asked, false);
}

/* Under the lock. */
static bool can_take_on(struct rt_thread_pool *c, int n, bool urgent)
{
    if (urgent)
        return hire(c, c->busy + n) || c->nthreads > 0;
    c->lazy_threads = HD_MAX(c->lazy_threads, n);
    return c->lazy_jobs < LAZY_JOBS && (hire(c, c->busy - c->lazy_busy + c->lazy_threads) || c->nthreads > 0);
}

bool rt_thread_pool_entrust(struct rt_thread_pool *c, struct rt_thread_pool_job *job, int n, bool urgent,
                            void (*free_context)(void *))
{
    pthread_mutex_lock(&c->lock);
    bool taken = can_take_on(c, n, urgent);
    if (taken) {
        prepare_entrusted(job, n, free_context);
        job->alone = true;
        job->lazy = !urgent;
        if (urgent)
            c->entrusted += n;
        else
            c->lazy_jobs++;
        offer(c, job);
    }
    pthread_mutex_unlock(&c->lock);
    return taken;
}

bool rt_thread_pool_delegate(struct rt_thread_pool *c, struct rt_thread_pool_job *job, int n,
                             const struct hd_stop *stop, void (*free_context)(void *context))
{
    pthread_mutex_lock(&c->lock);
    /* Beside all that others want, some of whom may have none yet; what runs of theirs is counted twice. */
    if (!hire(c, c->busy + c->entrusted + n)) {
        pthread_mutex_unlock(&c->lock);
        job->run(job->context, 0);
        return true;
    }
    prepare_entrusted(job, n, free_context);
    c->entrusted += n;
    offer(c, job);
    while (!is_over(job) && !hd_stopped(stop))
        look_later(c);
    bool over = is_over(job);
    if (over) {
        delist(c, job);
        c->entrusted -= n;
    } else {
        leave(c, job);
    }
    pthread_mutex_unlock(&c->lock);
    return over;
}
