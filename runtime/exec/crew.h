/* The worker threads of a context. A job is a function that as many threads as are free run side
 * by side until it finds no more work; the thread that starts a job works on it too, so a job
 * proceeds even if all threads are busy with other statements. */
#ifndef HEDDLE_RUNTIME_EXEC_CREW_H
#define HEDDLE_RUNTIME_EXEC_CREW_H

#include <stdatomic.h>

#include "runtime/base/util.h"

struct rt_crew;
struct rt_crew *rt_crew_new(void); /* NULL: no memory */
/* No job may be running. */
void rt_crew_free(struct rt_crew *c);

struct rt_crew_job {
    void (*run)(void *context, int worker);
    void *context;
    /* The crew's own: */
    int next, end;
    _Atomic int running;
    bool open;
    struct rt_crew_job *link;
};

/* Offers workers first..last-1 of the job to the crew, which has at least as many threads
 * afterwards unless the system refuses some. Returns at once. */
void rt_crew_start(struct rt_crew *c, struct rt_crew_job *job, int first, int last);
/* Withdraws the workers that nobody took and waits for the others. */
void rt_crew_finish(struct rt_crew *c, struct rt_crew_job *job);

#endif
