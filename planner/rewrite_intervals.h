/* Groups and sums of intervals. */
#ifndef HEDDLE_PLANNER_REWRITE_INTERVALS_H
#define HEDDLE_PLANNER_REWRITE_INTERVALS_H

#include "planner/rewrite_node.h"

/* An aggregate or distinct with keys that are intervals, or a sum of some. */
bool rw_has_intervals(const struct fe_node *n);
/* The same rows from one that has neither. */
struct fe_node *rw_intervals(const struct rewriting *w, const struct fe_node *n);

#endif
