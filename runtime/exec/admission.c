#include "runtime/exec/admission.h"

#include <time.h>

/* On the stack of who waits. */
struct rt_admission_waiter {
    struct rt_admission_waiter *next;
};

void rt_admission_init(struct rt_admission *a, uint64_t limit)
{
    *a = (struct rt_admission){.limit = limit};
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
}

void rt_admission_release(struct rt_admission *a)
{
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Whoever waits looks at its flag again. */
static void wake(void *running)
{
    struct rt_admission *a = running;
    pthread_mutex_lock(&a->lock);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static void append(struct rt_admission *a, struct rt_admission_waiter *w)
{
    w->next = NULL;
    if (a->last)
        a->last->next = w;
    else
        a->first = w;
    a->last = w;
}

static void drop(struct rt_admission *a, struct rt_admission_waiter *w)
{
    struct rt_admission_waiter *before = NULL, *at = a->first;
    for (; at != w; at = at->next)
        before = at;
    if (before)
        before->next = w->next;
    else
        a->first = w->next;
    if (a->last == w)
        a->last = before;
}

static bool fits(const struct rt_admission *a, uint64_t share)
{
    return a->running == 0 || (a->taken <= a->limit && share <= a->limit - a->taken);
}

/* Under the lock. False: cancelled. */
static bool wait_for_turn(struct rt_admission *a, uint64_t share, const struct rt_cancel *cancel)
{
    struct rt_admission_waiter w;
    append(a, &w);
    while (!hd_stopped(rt_cancel_flag(cancel)) && (a->first != &w || !fits(a, share)))
        pthread_cond_wait(&a->changed, &a->lock);
    drop(a, &w);
    pthread_cond_broadcast(&a->changed); /* the next one may fit, too */
    return !hd_stopped(rt_cancel_flag(cancel));
}

int rt_admission_enter(struct rt_admission *a, uint64_t share, struct rt_cancel *cancel, double *waited_ms,
                       struct hd_err *err)
{
    double start = now_ms();
    rt_cancel_set(cancel, wake, a);
    pthread_mutex_lock(&a->lock);
    bool admitted = wait_for_turn(a, share, cancel);
    if (admitted) {
        a->taken += share;
        a->running++;
    }
    pthread_mutex_unlock(&a->lock);
    rt_cancel_set(cancel, NULL, NULL);
    *waited_ms = now_ms() - start;
    return admitted ? 0 : HD_FAIL(err, CANCELLED, NULL, "cancelled");
}

void rt_admission_leave(struct rt_admission *a, uint64_t share)
{
    pthread_mutex_lock(&a->lock);
    a->taken -= share;
    a->running--;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}
