/* A query in numbers. */
#ifndef HEDDLE_PLANNER_ORDER_FACTS_H
#define HEDDLE_PLANNER_ORDER_FACTS_H

#include "planner/order_query.h"

struct ctx;

/* c has room for estimates of the query's relations. */
struct order_graph *order_facts(struct ctx *c, struct order_query *q);

#endif
