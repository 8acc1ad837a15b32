/* What samples of a query's tables say. */
#ifndef HEDDLE_PLANNER_ORDER_SAMPLE_H
#define HEDDLE_PLANNER_ORDER_SAMPLE_H

#include "planner/order_query.h"

struct ctx;

/* Fills g->samples, and has what they say of single relations in g->relations. Sources are filtered already. */
void order_sample(struct ctx *c, const struct order_query *q, struct order_graph *g);

#endif
