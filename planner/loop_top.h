/* Loops over pairs of which the first ones of each row of the source stay. */
#ifndef HEDDLE_PLANNER_LOOP_TOP_H
#define HEDDLE_PLANNER_LOOP_TOP_H

#include "planner/ctx.h"

/* So many pairs of a row of the source can be among those that stay, and such that tie; 0: that is not known. The level
 * of the pairs is opened by step `level`. */
int pl_loop_top(const struct ctx *c, const struct open_pipeline *p, int level);

#endif
