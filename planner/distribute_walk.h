/* Internal to distributing: the operators of a plan. */
#ifndef HEDDLE_PLANNER_DISTRIBUTE_WALK_H
#define HEDDLE_PLANNER_DISTRIBUTE_WALK_H

#include "planner/distribute_fragment.h"

/* Of the operator in a plan's tree at `path`, whose topmost typed node is n: the rows that it leaves, of one worker or of each. */
struct dist_rel dist_walk(struct dist *d, const struct cJSON *op, const struct fe_node *n, const char *path);

#endif
