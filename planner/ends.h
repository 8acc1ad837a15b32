/* Ends of scans: where a table is sorted by what its rows are filtered by, they lie together. */
#ifndef HEDDLE_PLANNER_ENDS_H
#define HEDDLE_PLANNER_ENDS_H

#include "planner/ctx.h"

/* On a GPU, before steps without a reader are dropped: comparisons of a sorted column with constants become ends, and one comparison of
 * the row's number with the first that passes, as executors may begin in front of it: the column is not read. */
void pl_take_exact_ends(struct ctx *c);
/* Adds the other ends of the pipeline's source (struct rt_end of runtime/spec.h), for which an executor searches. */
void pl_seal_ends(struct ctx *c, struct pl_pipeline *q);

/* What must hold of each row of a pipeline's source or it is dropped, and nothing is raised before: the filters in front of all
 * other steps and of all that may raise, parts of `and` one by one. steps: those in front of the filter. */
typedef void (*pl_condition_fn)(void *context, int steps, int e);
void pl_visit_conditions(const struct ctx *c, const struct pl_pipeline *q, pl_condition_fn visit, void *context);

#endif
