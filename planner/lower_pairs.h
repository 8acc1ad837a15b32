/* Pairs of distinct rows of one input. */
#ifndef HEDDLE_PLANNER_LOWER_PAIRS_H
#define HEDDLE_PLANNER_LOWER_PAIRS_H

#include "planner/physical_tree.h"

/* The node of a typed `pairs` over its input. */
struct pl_node *pl_physical_pairs(struct ctx *c, const struct fe_node *n, struct pl_node *in);
/* in: of the KEEP that has the input's rows. */
int flow_pairs(struct ctx *c, struct pl_node *n, const struct stream *in, struct stream *out);
int lower_pairs(struct ctx *c, const struct pl_node *n, const struct stream *in, struct stream *out);

#endif
