/* Which words of a thread's copy of the groups have which accumulators. */
#ifndef HEDDLE_PLANNER_PLACE_LANES_H
#define HEDDLE_PLANNER_PLACE_LANES_H

#include "planner/ctx.h"

/* Bits of what each row adds to an accumulator that may share a word; 0: it may not. */
int pl_lane_bits(const struct rt_state *st, const struct pl_out *o);
/* Sets the lane fields of all outs, and the room that they have; words of a group. None is a string or a boolean. */
int pl_lay_lanes(const struct ctx *c, struct pl_sink *s, bool in_place);

#endif
