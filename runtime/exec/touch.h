/* Verifies the files of all columns that a program reads, before it reads them. */
#ifndef HEDDLE_RUNTIME_EXEC_TOUCH_H
#define HEDDLE_RUNTIME_EXEC_TOUCH_H

#include "runtime/base/err.h"
#include "runtime/exec/thread_pool.h"
#include "runtime/spec.h"

/* The first use in a process reads the files, so several at a time, on up to `threads` threads
 * of the thread pool. stopped: asked between columns; true ends it early, without an error. */
int rt_touch_columns(const struct rt_spec *s, struct rt_thread_pool *thread_pool, int threads,
                     bool (*stopped)(void *context), void *context, struct hd_err *err);

#endif
