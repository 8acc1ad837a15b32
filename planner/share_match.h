/* What two subplans have in common. */
#ifndef HEDDLE_PLANNER_SHARE_MATCH_H
#define HEDDLE_PLANNER_SHARE_MATCH_H

#include "planner/share_block.h"

/* Whether y gives x's rows, as far as `within`, with all columns of either; else also whether it gives some of them, or
 * coarser groups of them. Join trees are alike if they join the same relations by the same conditions, in whatever order and
 * whatever columns they pass on. What may raise in a join tree is like nothing. */
bool share_match(struct ctx *c, const struct fe_node *x, const struct fe_node *y, bool within, struct share_match *out);

#endif
