/* What the rows of a pipeline touch of memory (struct rt_access of runtime/spec.h): so that an execution that counts
 * rows can say how many bytes they are. */
#ifndef HEDDLE_PLANNER_ACCESS_H
#define HEDDLE_PLANNER_ACCESS_H

#include "planner/ctx.h"

/* Of a pipeline whose steps, sink and counters are there. */
void pl_seal_accesses(struct ctx *c, const struct pl_pipeline *q);
/* A GPU adds up what each row brings in the rows of the sink's groups, where they are. */
void pl_access_atomics(const struct pl_pipeline *q, const struct rt_state *st);

#endif
