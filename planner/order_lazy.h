/* Groupings that come after joins. */
#ifndef HEDDLE_PLANNER_ORDER_LAZY_H
#define HEDDLE_PLANNER_ORDER_LAZY_H

#include "planner/order_query.h"

struct ctx;

/* The query with a grouping above the joins with relations that its keys tell, if those leave few of its rows; NULL: no. */
struct fe_node *order_lazy(struct ctx *c, struct order_query *q);

#endif
