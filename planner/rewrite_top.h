/* Filters on a number of a window, said with a top. */
#ifndef HEDDLE_PLANNER_REWRITE_TOP_H
#define HEDDLE_PLANNER_REWRITE_TOP_H

#include "frontend/plan.h"

struct ctx;

/* c->plan without windows of which nobody reads but a row_number, or a rank, that a filter compares with literals:
 * rows of such numbers are the first ones of each partition. */
void pl_rewrite_tops(struct ctx *c);

#endif
