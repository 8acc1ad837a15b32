/* Typed plans said with fewer operators. */
#ifndef HEDDLE_PLANNER_REWRITE_H
#define HEDDLE_PLANNER_REWRITE_H

#include "frontend/plan.h"

/* The plan without aggregates arg_min and arg_max and without grouping sets, union, intersect and except; plan itself,
 * which stays as it is, if it has none. */
const struct fe_plan *pl_rewrite(struct hd_arena *a, const struct fe_plan *plan);

#endif
