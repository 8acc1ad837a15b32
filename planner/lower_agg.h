/* Groupings over the streams of their inputs. */
#ifndef HEDDLE_PLANNER_LOWER_AGG_H
#define HEDDLE_PLANNER_LOWER_AGG_H

#include "planner/ctx.h"
#include "planner/physical.h"

int lower_aggregate(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
int lower_merge(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
int lower_extremes(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);

#endif
