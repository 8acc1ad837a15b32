/* Internal to the physical planner: joins that look at all pairs. */
#ifndef HEDDLE_PLANNER_PHYSICAL_LOOP_H
#define HEDDLE_PLANNER_PHYSICAL_LOOP_H

#include "planner/physical_tree.h"

/* What looking at all pairs of join j of typed node n costs, in ns of one thread. */
double pl_price_loop(const struct ctx *c, const struct pl_join *j);
/* Makes the keys of j the first conjuncts of its condition on pairs; it has no keys then. */
void pl_loop_keys(struct ctx *c, const struct fe_node *n, struct pl_join *j);

#endif
