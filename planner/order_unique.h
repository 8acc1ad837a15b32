/* Whether columns of a typed node tell its rows apart, and which are keys of a grouping below. */
#ifndef HEDDLE_PLANNER_ORDER_UNIQUE_H
#define HEDDLE_PLANNER_ORDER_UNIQUE_H

#include "frontend/plan.h"

/* No two rows of n have equal values, none NULL, in the columns of `key` ([column]). */
bool order_is_unique(const struct fe_plan *plan, const struct fe_node *n, const bool *key);
/* The grouping by keys below projections and filters; NULL: none. */
const struct fe_node *order_grouping_below(const struct fe_node *n);
/* The column of that grouping that column i of n is; -1: it is computed. */
int order_group_column(const struct fe_node *n, const struct fe_node *grouping, int i);
/* The key of that grouping, over its input, that column i of n is; NULL: none, or one that may raise. */
const struct fe_expr *order_group_key(const struct fe_node *n, const struct fe_node *grouping, int i);

#endif
