/* Groupings of a query that need only some of their rows. */
#ifndef HEDDLE_PLANNER_ORDER_REDUCE_H
#define HEDDLE_PLANNER_ORDER_REDUCE_H

#include "planner/order_query.h"

struct ctx;

/* Groupings that are joined by a key with few rows of a table get only rows with such keys. */
void order_reduce(struct ctx *c, struct order_query *q);

#endif
