#ifndef HEDDLE_PLANNER_PARENT_FILTERS_H
#define HEDDLE_PLANNER_PARENT_FILTERS_H

#include "planner/ctx.h"

/* In each pipeline: comparisons of children's foreign key with constants become comparisons of the parent's key in front of the step
 * that finds the children, or go where that key has passed the same comparison before. */
void pl_filter_parents(struct ctx *c);

#endif
