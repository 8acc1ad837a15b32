/* Trees of inner joins, filters and projections that have something in common. */
#ifndef HEDDLE_PLANNER_SHARE_BLOCK_H
#define HEDDLE_PLANNER_SHARE_BLOCK_H

#include "planner/share_match.h"

typedef bool share_matcher(struct ctx *c, const struct fe_node *x, const struct fe_node *y, bool within,
                           struct share_match *out);

/* share_match of two such trees; relations are matched by `match`. */
bool share_block(struct ctx *c, const struct fe_node *x, const struct fe_node *y, bool within, share_matcher *match,
                 struct share_match *out);

#endif
