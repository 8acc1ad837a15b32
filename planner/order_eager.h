/* Groupings that come before joins. */
#ifndef HEDDLE_PLANNER_ORDER_EAGER_H
#define HEDDLE_PLANNER_ORDER_EAGER_H

#include "frontend/plan.h"

/* A grouping of a left join's rows as a left join with groups of its right side; NULL: it stays as it is. */
struct fe_node *order_eager(struct hd_arena *a, const struct fe_plan *plan, const struct fe_node *n);

#endif
