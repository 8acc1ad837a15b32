/* Joins of a typed plan taken apart. */
#ifndef HEDDLE_PLANNER_ORDER_FLATTEN_H
#define HEDDLE_PLANNER_ORDER_FLATTEN_H

#include "planner/order_query.h"

/* Whether n is a join or filter that can be taken apart, but for what may raise of an inner join's or filter's condition. */
bool order_may_flatten(const struct order_query *q, const struct fe_node *n);
/* Fills q's sources, columns, terms and map from its root. */
void order_flatten(struct order_query *q);
/* e with what `map` has for its columns. */
struct fe_expr *order_put_in(const struct order_query *q, const struct fe_expr *e, struct fe_expr *const *map);
/* Relations that e, over the query's columns, reads. */
order_set order_relations_of(const struct order_query *q, const struct fe_expr *e);
/* Adds a conjunct; owner -1, or the source whose join it belongs to. */
void order_add_term(struct order_query *q, struct fe_expr *e, int owner, bool implied);

#endif
