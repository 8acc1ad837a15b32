/* Stops a running execution from any thread. Lives longer than the executions it is given to;
 * one at a time. */
#ifndef HEDDLE_RUNTIME_EXEC_CANCEL_H
#define HEDDLE_RUNTIME_EXEC_CANCEL_H

#include <pthread.h>

struct rt_cancel {
    pthread_mutex_t lock;
    void (*stop)(void *running); /* called under the lock */
    void *running;               /* NULL: nothing */
};
void rt_cancel_init(struct rt_cancel *c);
void rt_cancel_release(struct rt_cancel *c);
void rt_cancel_fire(struct rt_cancel *c); /* without effect when nothing runs */
/* For executors, at their begin and, with running NULL, at their end. c NULL is fine. */
void rt_cancel_set(struct rt_cancel *c, void (*stop)(void *running), void *running);

#endif
