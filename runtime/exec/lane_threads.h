/* Threads for work that has to run side by side: several lanes that wait for each other, each of which needs a thread of its
 * own, at once. They are kept for further work of the lane, for which they look for a moment before they sleep. */
#ifndef HEDDLE_RUNTIME_EXEC_LANE_THREADS_H
#define HEDDLE_RUNTIME_EXEC_LANE_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>

struct rt_lane_threads;
struct rt_lane_threads *rt_lane_threads_new(void); /* NULL: no memory */
void rt_lane_threads_free(struct rt_lane_threads *t); /* nothing may be running; NULL is fine */

struct rt_lane_work {
    void (*run)(void *context);
    void *context;
    /* The threads' own: */
    atomic_bool done;
    bool awaited; /* by a thread that sleeps */
};

/* Runs the work on a thread of its own, one that is free and had that lane before if there is any. False: the system refuses
 * one. Any thread; any number of works of one lane may run at the same time. */
bool rt_lane_start(struct rt_lane_threads *t, int lane, struct rt_lane_work *w);
/* Waits until the work has ended. */
void rt_lane_wait(struct rt_lane_threads *t, struct rt_lane_work *w);

#endif
