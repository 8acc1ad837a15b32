/* Aggregates of some rows and of conditions, said with others. */
#ifndef HEDDLE_PLANNER_REWRITE_AGGS_H
#define HEDDLE_PLANNER_REWRITE_AGGS_H

#include "planner/rewrite_node.h"

/* An aggregate with a filter, or with count_if, bool_and or bool_or. */
bool rw_has_filters(const struct fe_node *n);
/* What n is said with; `rest` says what remains of it with others, where there is a need to. */
struct fe_node *rw_filters(struct rewriting *w, struct fe_node *n,
                           struct fe_node *(*rest)(struct rewriting *w, struct fe_node *n));

#endif
