/* Ends of scans: where a table is sorted by what its rows are filtered by, they lie together. */
#ifndef HEDDLE_PLANNER_ENDS_H
#define HEDDLE_PLANNER_ENDS_H

#include "planner/ctx.h"

/* Sets the ends of the pipeline's source (struct rt_end of runtime/spec.h), for which an executor searches. */
void pl_seal_ends(struct ctx *c, struct pl_pipeline *q);

#endif
