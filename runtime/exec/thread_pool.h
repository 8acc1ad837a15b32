/* The worker threads of a context. A job is a function that as many threads as are free run side
 * by side until it finds no more work; the thread that starts a job works on it too, so a job
 * proceeds even if all threads are busy with other statements. What cannot be interrupted is delegated
 * to threads of the thread pool alone, which are then as many more. */
#ifndef HEDDLE_RUNTIME_EXEC_THREAD_POOL_H
#define HEDDLE_RUNTIME_EXEC_THREAD_POOL_H

#include <stdatomic.h>

#include "runtime/base/stop.h"
#include "runtime/base/util.h"

struct rt_thread_pool;
struct rt_thread_pool *rt_thread_pool_new(void); /* NULL: no memory */
/* No job may be running but those that were left or entrusted: it waits for them. */
void rt_thread_pool_free(struct rt_thread_pool *c);

struct rt_thread_pool_job {
    void (*run)(void *context, int worker);
    void *context;
    /* The thread pool's own: */
    int next, end, threads;
    _Atomic int running;
    bool open;
    bool alone; /* goes on by itself */
    bool lazy;  /* and is not urgent */
    void (*free)(void *context); /* of a job that may be left */
    struct hd_stop left;
    struct rt_thread_pool_job *link;
};

/* Offers workers first..last-1 of the job to the thread pool, which has at least as many threads
 * afterwards unless the system refuses some. Returns at once. */
void rt_thread_pool_start(struct rt_thread_pool *c, struct rt_thread_pool_job *job, int first, int last);
/* Withdraws the workers that nobody took and waits for the others. */
void rt_thread_pool_finish(struct rt_thread_pool *c, struct rt_thread_pool_job *job);

/* For work that cannot be interrupted: n threads of the thread pool do it, the calling one waits, until the
 * work is done (true) or stop is set (false). Then the threads find job->left set where they look,
 * and the last one calls free(context), which may free the job too. Where the system refuses threads
 * the calling one works and does not leave. */
bool rt_thread_pool_delegate(struct rt_thread_pool *c, struct rt_thread_pool_job *job, int n,
                             const struct hd_stop *stop, void (*free)(void *context));
/* For work that goes on by itself: n threads of the thread pool do it, the last one calls free(context). Somebody waits for
 * some of it (urgent), or all jobs that are not urgent have n threads together. False: there are no threads, or too many
 * such jobs wait, and nothing was done. rt_thread_pool_free waits until all is done; whoever wants less has the job find
 * nothing more to do. */
bool rt_thread_pool_entrust(struct rt_thread_pool *c, struct rt_thread_pool_job *job, int n, bool urgent,
                            void (*free)(void *context));

#endif
