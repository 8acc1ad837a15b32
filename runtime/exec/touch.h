/* Verifies the files of all columns that a program reads, before it reads them. */
#ifndef HEDDLE_RUNTIME_EXEC_TOUCH_H
#define HEDDLE_RUNTIME_EXEC_TOUCH_H

#include "runtime/base/err.h"
#include "runtime/exec/crew.h"
#include "runtime/spec.h"

/* The first use in a process reads the files, so several at a time, on up to `threads` threads
 * of the crew. stopped: asked between columns; true ends it early, without an error. */
int rt_touch_columns(const struct rt_spec *s, struct rt_crew *crew, int threads, bool (*stopped)(void *context),
                     void *context, struct hd_err *err);

#endif
