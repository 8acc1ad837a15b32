#include "runtime/exec/cancel.h"

void rt_cancel_init(struct rt_cancel *c)
{
    pthread_mutex_init(&c->lock, NULL);
    atomic_init(&c->flag.asked, false);
    c->stop = NULL;
    c->running = NULL;
}

void rt_cancel_release(struct rt_cancel *c)
{
    pthread_mutex_destroy(&c->lock);
}

void rt_cancel_fire(struct rt_cancel *c)
{
    pthread_mutex_lock(&c->lock);
    hd_stop_ask(&c->flag);
    if (c->running)
        c->stop(c->running);
    pthread_mutex_unlock(&c->lock);
}

void rt_cancel_reset(struct rt_cancel *c)
{
    atomic_store(&c->flag.asked, false);
}

void rt_cancel_set(struct rt_cancel *c, void (*stop)(void *running), void *running)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = stop;
    c->running = running;
    if (running && hd_stopped(&c->flag))
        stop(running);
    pthread_mutex_unlock(&c->lock);
}
