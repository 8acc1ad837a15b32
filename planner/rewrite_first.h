/* The first row of each group, said with a minimum. */
#ifndef HEDDLE_PLANNER_REWRITE_FIRST_H
#define HEDDLE_PLANNER_REWRITE_FIRST_H

#include "planner/rewrite_node.h"

/* A top of one row of each group. */
bool rw_may_be_first(const struct fe_node *n);
/* Such a one whose order and columns fit one integer. */
bool rw_is_first(const struct rewriting *w, const struct fe_node *n);
struct fe_node *rw_first(const struct rewriting *w, const struct fe_node *n);

#endif
