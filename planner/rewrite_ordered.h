/* Aggregates of rows in an order, said with windows. */
#ifndef HEDDLE_PLANNER_REWRITE_ORDERED_H
#define HEDDLE_PLANNER_REWRITE_ORDERED_H

#include "planner/rewrite_node.h"

bool rw_has_ordered(const struct fe_node *n);
/* What n, an aggregate without grouping sets, is said with; `rest` says what remains of it with others. */
struct fe_node *rw_ordered(struct rewriting *w, struct fe_node *n,
                           struct fe_node *(*rest)(struct rewriting *w, struct fe_node *n));

#endif
