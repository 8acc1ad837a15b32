/* What is known of groups, and the choice of their states. */
#ifndef HEDDLE_PLANNER_FLOW_AGG_H
#define HEDDLE_PLANNER_FLOW_AGG_H

#include "planner/ctx.h"

int flow_aggregate(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
int flow_merge(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
int flow_extremes(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);

#endif
