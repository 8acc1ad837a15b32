/* Internal to the files of flows: aggregates over ranges. */
#ifndef HEDDLE_PLANNER_FLOW_RANGES_H
#define HEDDLE_PLANNER_FLOW_RANGES_H

#include "planner/ctx.h"

/* What is known of the rows of a RANGES node; in: those of its inputs. */
int flow_ranges(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);

#endif
