/* Grouping sets said with groupings. */
#ifndef HEDDLE_PLANNER_REWRITE_GROUPS_H
#define HEDDLE_PLANNER_REWRITE_GROUPS_H

#include "planner/rewrite_node.h"

/* An aggregate with grouping sets or `grouping`. */
bool rw_has_sets(const struct fe_node *n);
/* What n is said with; `plainly` says an aggregate without these with others, where there is a need to. */
struct fe_node *rw_grouping_sets(struct rewriting *w, struct fe_node *n,
                                 struct fe_node *(*plainly)(struct rewriting *w, struct fe_node *n));

#endif
