/* An admission queue: executions that share an amount of something, such as memory, run as soon as their share is free, in
 * the order in which they came. So a large one is not passed by small ones again and again, and no two that each fit alone
 * push each other beyond the limit. */
#ifndef HEDDLE_RUNTIME_EXEC_ADMISSION_H
#define HEDDLE_RUNTIME_EXEC_ADMISSION_H

#include <pthread.h>

#include "runtime/base/err.h"
#include "runtime/exec/cancel.h"

struct rt_admission_waiter;
struct rt_admission {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t limit, taken; /* of all that run; more than the limit where one alone asks for that */
    int running;
    struct rt_admission_waiter *first, *last;
};
void rt_admission_init(struct rt_admission *a, uint64_t limit);
void rt_admission_release(struct rt_admission *a); /* nobody runs or waits */
/* Waits for `share`; one that is larger than the limit is admitted alone. *waited_ms: how long that took. cancel: of the
 * execution, which runs nothing else meanwhile; CANCELLED once it was fired. */
int rt_admission_enter(struct rt_admission *a, uint64_t share, struct rt_cancel *cancel, double *waited_ms,
                       struct hd_err *err);
void rt_admission_leave(struct rt_admission *a, uint64_t share); /* the same share */

#endif
