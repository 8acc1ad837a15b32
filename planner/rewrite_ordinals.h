/* What values can be, before there are facts of flows. */
#ifndef HEDDLE_PLANNER_REWRITE_ORDINALS_H
#define HEDDLE_PLANNER_REWRITE_ORDINALS_H

#include "planner/range.h"
#include "planner/rewrite_node.h"

/* The integers that values of e, an expression over the columns of `in`, become (FE_ORDINAL). */
struct pl_range rw_ordinals(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e);

#endif
