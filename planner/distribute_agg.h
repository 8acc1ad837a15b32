/* Groupings of rows that are spread over workers: in two steps, where the functions allow it. */
#ifndef HEDDLE_PLANNER_DISTRIBUTE_AGG_H
#define HEDDLE_PLANNER_DISTRIBUTE_AGG_H

#include "planner/distribute_fragment.h"

/* op: the aggregate or distinct whose typed node is n, over `in`. */
struct dist_rel dist_aggregate(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in);
struct dist_rel dist_distinct(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in);
/* The columns of n, whose keys have those values, that say on which worker a row is; NULL: none does. */
bool *dist_by_keys(struct dist *d, const struct dist_rel *in, const struct fe_node *n, int nkeys,
                   struct fe_expr *const *keys);

#endif
