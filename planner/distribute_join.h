/* Joins of rows that are spread over workers. */
#ifndef HEDDLE_PLANNER_DISTRIBUTE_JOIN_H
#define HEDDLE_PLANNER_DISTRIBUTE_JOIN_H

#include "planner/distribute_fragment.h"

/* op: the join whose typed node is n. */
struct dist_rel dist_join(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel left,
                          struct dist_rel right);

#endif
