/* Intervals of typed expressions, before there are flows. */
#ifndef HEDDLE_PLANNER_TYPED_RANGE_H
#define HEDDLE_PLANNER_TYPED_RANGE_H

#include "frontend/plan.h"
#include "planner/range.h"

/* What the value of exact expression e over the output of node n can be, by facts and types. Lowering may find the same
 * or more. */
struct pl_range pl_typed_range(const struct fe_plan *p, const struct fe_node *n, const struct fe_expr *e);

/* e may raise: by lx_may_fail, where its intervals do not exclude it. */
bool pl_typed_may_fail(const struct fe_plan *p, const struct fe_node *n, const struct fe_expr *e);

#endif
