/* Internal to the physical planner: joins. */
#ifndef HEDDLE_PLANNER_PHYSICAL_JOIN_H
#define HEDDLE_PLANNER_PHYSICAL_JOIN_H

#include "planner/physical_tree.h"

/* The node of a typed join over its inputs, left and right. Fails with class USER where the plan asks for what is
 * not possible. */
int pl_physical_join(struct ctx *c, const struct fe_node *n, struct pl_node *const *sides, struct pl_node **out);

#endif
