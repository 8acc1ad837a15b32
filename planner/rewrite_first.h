/* The first row of each group, said with a minimum. */
#ifndef HEDDLE_PLANNER_REWRITE_FIRST_H
#define HEDDLE_PLANNER_REWRITE_FIRST_H

#include "planner/range.h"
#include "planner/rewrite_node.h"

/* The integers that values of e, an expression over the columns of `in`, become. */
typedef struct pl_range rw_ordinals(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e);

/* A top of one row of each group. */
bool rw_may_be_first(const struct fe_node *n);
/* Such a one whose order and columns fit one integer. */
bool rw_is_first(const struct rewriting *w, const struct fe_node *n, rw_ordinals *ordinals);
struct fe_node *rw_first(const struct rewriting *w, const struct fe_node *n, rw_ordinals *ordinals);

#endif
