/* A query in numbers. */
#ifndef HEDDLE_PLANNER_ORDER_FACTS_H
#define HEDDLE_PLANNER_ORDER_FACTS_H

#include "planner/order_query.h"

struct ctx;

/* c has room for estimates of the query's relations. */
struct order_graph *order_facts(struct ctx *c, struct order_query *q);

/* The share of relation r's rows, and so of those that look one of them up, that what is said of it alone leaves. */
double order_share_left(struct ctx *c, struct order_query *q, int r);
/* Rows of tables that are gone through for n. */
double order_rows_scanned(const struct fe_plan *plan, const struct fe_node *n);

#endif
