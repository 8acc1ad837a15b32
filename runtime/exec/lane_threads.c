#include "runtime/exec/lane_threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/fault.h"
#include "runtime/base/look.h"

/* A statement that is executed again and again has work for a thread a few times in a millisecond. */
static const double look_ms = 0.5;

struct thread {
    struct rt_lane_threads *of;
    struct thread *link; /* of all */
    int lane;
    pthread_t id;
    pthread_cond_t offered;
    struct rt_lane_work *_Atomic work; /* NULL: it is free */
};

struct rt_lane_threads {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* work that is awaited */
    struct thread *all;
    atomic_bool quit;
};

struct rt_lane_threads *rt_lane_threads_new(void)
{
    struct rt_lane_threads *t = hd_try_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->ended, NULL);
    return t;
}

/* ---- a thread ------------------------------------------------------------------------------ */

static bool has_work(void *thread)
{
    struct thread *h = thread;
    return atomic_load(&h->work) || atomic_load(&h->of->quit);
}

/* NULL: there will be none. */
static struct rt_lane_work *next_work(struct thread *h)
{
    if (!hd_look(has_work, h, look_ms)) {
        pthread_mutex_lock(&h->of->lock);
        while (!has_work(h))
            pthread_cond_wait(&h->offered, &h->of->lock);
        pthread_mutex_unlock(&h->of->lock);
    }
    return atomic_load(&h->work);
}

/* Whoever looks may take the work away as soon as it is done. */
static void end_work(struct thread *h, struct rt_lane_work *w)
{
    pthread_mutex_lock(&h->of->lock);
    atomic_store(&h->work, NULL);
    if (w->awaited)
        pthread_cond_broadcast(&h->of->ended);
    atomic_store(&w->done, true);
    pthread_mutex_unlock(&h->of->lock);
}

static void *thread_main(void *thread)
{
    struct thread *h = thread;
    struct rt_lane_work *w;
    while ((w = next_work(h))) {
        w->run(w->context);
        end_work(h, w);
    }
    return NULL;
}

/* ---- all ----------------------------------------------------------------------------------- */

/* Under the lock; NULL: there is none. */
static struct thread *find_free(struct rt_lane_threads *t, int lane)
{
    for (struct thread *h = t->all; h; h = h->link)
        if (h->lane == lane && !atomic_load(&h->work))
            return h;
    return NULL;
}

/* Under the lock. */
static bool add(struct rt_lane_threads *t, int lane, struct rt_lane_work *w)
{
    char name[16];
    struct thread *h = hd_try_calloc(1, sizeof *h);
    if (!h)
        return false;
    h->of = t;
    h->lane = lane;
    atomic_init(&h->work, w);
    pthread_cond_init(&h->offered, NULL);
    if (hd_fault(HD_FAULT_THREAD) || pthread_create(&h->id, NULL, thread_main, h) != 0) {
        pthread_cond_destroy(&h->offered);
        free(h);
        return false;
    }
    snprintf(name, sizeof name, "heddle-gpu-%d", lane % 1000);
    pthread_setname_np(h->id, name);
    h->link = t->all;
    t->all = h;
    return true;
}

bool rt_lane_start(struct rt_lane_threads *t, int lane, struct rt_lane_work *w)
{
    bool started = true;
    atomic_init(&w->done, false);
    w->awaited = false;
    pthread_mutex_lock(&t->lock);
    struct thread *h = find_free(t, lane);
    if (h) {
        atomic_store(&h->work, w);
        pthread_cond_signal(&h->offered);
    } else
        started = add(t, lane, w);
    pthread_mutex_unlock(&t->lock);
    return started;
}

static bool is_done(void *work)
{
    struct rt_lane_work *w = work;
    return atomic_load(&w->done);
}

void rt_lane_wait(struct rt_lane_threads *t, struct rt_lane_work *w)
{
    if (hd_look(is_done, w, look_ms))
        return;
    pthread_mutex_lock(&t->lock);
    w->awaited = true;
    while (!is_done(w))
        pthread_cond_wait(&t->ended, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void rt_lane_threads_free(struct rt_lane_threads *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->quit, true);
    for (struct thread *h = t->all; h; h = h->link)
        pthread_cond_signal(&h->offered);
    pthread_mutex_unlock(&t->lock);
    for (struct thread *h; (h = t->all);) {
        t->all = h->link;
        pthread_join(h->id, NULL);
        pthread_cond_destroy(&h->offered);
        free(h);
    }
    pthread_cond_destroy(&t->ended);
    pthread_mutex_destroy(&t->lock);
    free(t);
}
