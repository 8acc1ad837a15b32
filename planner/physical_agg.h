/* Internal to the physical planner: aggregates. */
#ifndef HEDDLE_PLANNER_PHYSICAL_AGG_H
#define HEDDLE_PLANNER_PHYSICAL_AGG_H

#include "planner/physical_tree.h"

/* The node of a typed aggregate or distinct over its input. */
struct pl_node *pl_physical_aggregate(struct ctx *c, const struct fe_node *n, struct pl_node *in);

#endif
