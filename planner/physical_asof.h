/* Internal to the physical planner: as-of joins. */
#ifndef HEDDLE_PLANNER_PHYSICAL_ASOF_H
#define HEDDLE_PLANNER_PHYSICAL_ASOF_H

#include "planner/physical_tree.h"

/* The node of a typed as-of join over its inputs, left and right. */
struct pl_node *pl_physical_asof(struct ctx *c, const struct fe_node *n, struct pl_node *const *sides);

#endif
