/* Stops what is done for a statement from any thread, whenever it is asked: the flag stays until it is
 * taken back. Lives longer than the executions it is given to; one at a time. */
#ifndef HEDDLE_RUNTIME_EXEC_CANCEL_H
#define HEDDLE_RUNTIME_EXEC_CANCEL_H

#include <pthread.h>

#include "runtime/base/stop.h"

struct rt_cancel {
    struct hd_stop flag;
    pthread_mutex_t lock;
    void (*stop)(void *running); /* called under the lock */
    void *running;               /* NULL: nothing */
};
void rt_cancel_init(struct rt_cancel *c);
void rt_cancel_release(struct rt_cancel *c);
void rt_cancel_fire(struct rt_cancel *c);
/* Once it was reported: the next execution is not meant. */
void rt_cancel_reset(struct rt_cancel *c);
/* For executors that do not look at the flag, at their begin and, with running NULL, at their end.
 * Calls stop at once if the flag is set. c NULL is fine. */
void rt_cancel_set(struct rt_cancel *c, void (*stop)(void *running), void *running);
static inline const struct hd_stop *rt_cancel_flag(const struct rt_cancel *c)
{
    return c ? &c->flag : NULL;
}

#endif
