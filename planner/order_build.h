/* Joins of a query as typed nodes again. */
#ifndef HEDDLE_PLANNER_ORDER_BUILD_H
#define HEDDLE_PLANNER_ORDER_BUILD_H

#include "planner/order_query.h"

/* Filters relations by what conditions say of them alone; a scan takes its filter in. */
void order_filter_sources(struct order_query *q);
/* A scan that relation r is, with what conditions say of it. */
struct fe_node *order_filtered_scan(struct order_query *q, int r, const struct fe_node *scan);
/* The tree, with the columns of the query's root. Joins of it are told to `tell`. */
struct fe_node *order_build(struct order_query *q, const struct order_plan *plan,
                            void (*tell)(void *, struct fe_node *, const struct order_plan *), void *data);
/* Joins of relations as they were, with what conditions say of them, and n expressions over them as columns. */
struct fe_node *order_part(const struct order_query *q, order_set s, int n, struct fe_expr *const *e,
                           const struct fe_column *cols);

#endif
