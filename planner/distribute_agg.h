/* Groupings of rows that are spread over workers: in two steps, where the functions allow it. */
#ifndef HEDDLE_PLANNER_DISTRIBUTE_AGG_H
#define HEDDLE_PLANNER_DISTRIBUTE_AGG_H

#include "planner/distribute_fragment.h"

/* op: the aggregate or distinct whose typed node is n, over `in`. */
struct dist_rel dist_aggregate(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in);
struct dist_rel dist_distinct(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in);

#endif
