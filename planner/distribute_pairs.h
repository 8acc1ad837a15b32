/* Pairs of rows that are spread over workers. */
#ifndef HEDDLE_PLANNER_DISTRIBUTE_PAIRS_H
#define HEDDLE_PLANNER_DISTRIBUTE_PAIRS_H

#include "planner/distribute_fragment.h"

/* n, as it is written, of the rows of `in`: blocks of pairs, of which each worker has as many. */
struct dist_rel dist_pairs(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in);

#endif
