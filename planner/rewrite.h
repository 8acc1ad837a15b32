/* Typed plans said with fewer operators. */
#ifndef HEDDLE_PLANNER_REWRITE_H
#define HEDDLE_PLANNER_REWRITE_H

#include "frontend/plan.h"

/* The plan without the aggregates of frontend/aggs_said.def and filters of aggregates, without grouping sets, union,
 * intersect and except, and without tops that are minima; plan itself, which stays as it is, if it has none. */
const struct fe_plan *pl_rewrite(struct hd_arena *a, const struct fe_plan *plan);

#endif
