/* Threads for work that is cut into numbered tasks: commit, load, check. The calling thread
 * works too, as worker 0, and is the only one that reports progress. */
#ifndef HEDDLE_RUNTIME_STORE_POOL_H
#define HEDDLE_RUNTIME_STORE_POOL_H

#include "runtime/base/err.h"
#include "runtime/base/stop.h"
#include "runtime/store/store.h"

struct rt_pool;

/* threads >= 1, the caller included. Fewer are used where the system refuses some. */
int rt_pool_new(int threads, struct rt_pool **out, struct hd_err *err);
void rt_pool_free(struct rt_pool *p);
int rt_pool_threads(const struct rt_pool *p);
/* From now on no task starts once somebody asked to stop: rt_pool_run fails with CANCELLED. For a pool at rest. */
void rt_pool_stop_by(struct rt_pool *p, const struct hd_stop *stop);
bool rt_pool_stopped(const struct rt_pool *p); /* somebody asked; for long tasks, whose results are not wanted then */

typedef int (*rt_task_fn)(void *ctx, int worker, int64_t task, struct hd_err *err);
/* Runs tasks 0..n-1, started in this order. After a failure no further task starts; of several
 * failures the one with the smallest task number is reported, so that errors in data do not
 * depend on timing. progress may be NULL. One caller at a time per pool. */
int rt_pool_run(struct rt_pool *p, int64_t n, rt_task_fn fn, void *ctx, struct rt_progress *progress, const char *what,
                struct hd_err *err);

#endif
