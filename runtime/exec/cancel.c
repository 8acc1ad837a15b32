#include "runtime/exec/cancel.h"

#include <stddef.h>

void rt_cancel_init(struct rt_cancel *c)
{
    pthread_mutex_init(&c->lock, NULL);
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
    if (c->running)
        c->stop(c->running);
    pthread_mutex_unlock(&c->lock);
}

void rt_cancel_set(struct rt_cancel *c, void (*stop)(void *running), void *running)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = stop;
    c->running = running;
    pthread_mutex_unlock(&c->lock);
}
