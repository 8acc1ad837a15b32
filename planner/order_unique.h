/* Whether columns of a typed node tell its rows apart. */
#ifndef HEDDLE_PLANNER_ORDER_UNIQUE_H
#define HEDDLE_PLANNER_ORDER_UNIQUE_H

#include "frontend/plan.h"

/* No two rows of n have equal values, none NULL, in the columns of `key` ([column]). */
bool order_is_unique(const struct fe_plan *plan, const struct fe_node *n, const bool *key);

#endif
