/* Variances, covariances, correlation and regression, said with sums. */
#ifndef HEDDLE_PLANNER_REWRITE_MOMENTS_H
#define HEDDLE_PLANNER_REWRITE_MOMENTS_H

#include "planner/rewrite_node.h"

bool rw_has_moments(const struct fe_node *n);
/* What n, an aggregate without filters and grouping sets, is said with; `rest` says what remains of it with others. */
struct fe_node *rw_moments(struct rewriting *w, struct fe_node *n,
                           struct fe_node *(*rest)(struct rewriting *w, struct fe_node *n));

#endif
