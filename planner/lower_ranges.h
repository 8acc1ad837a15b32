/* Internal to lowering: aggregates over ranges. */
#ifndef HEDDLE_PLANNER_LOWER_RANGES_H
#define HEDDLE_PLANNER_LOWER_RANGES_H

#include "planner/ctx.h"

/* Ends the build side of a RANGES node in sorted rows; out: the probe side, with what is read from them. */
int lower_ranges(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);

#endif
