/* Set operations said with other operators. */
#ifndef HEDDLE_PLANNER_REWRITE_SETS_H
#define HEDDLE_PLANNER_REWRITE_SETS_H

#include "planner/rewrite_node.h"

/* union, intersect or except. */
bool rw_is_set(const struct fe_node *n);
/* What n, which is one of them over inputs without any, is said with. */
struct fe_node *rw_set(struct rewriting *w, struct fe_node *n);

#endif
