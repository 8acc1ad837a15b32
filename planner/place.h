/* Where a GPU keeps the accumulators of a finished pipeline. */
#ifndef HEDDLE_PLANNER_PLACE_H
#define HEDDLE_PLANNER_PLACE_H

#include "planner/ctx.h"

void pl_place_pipeline(const struct ctx *c, struct pl_pipeline *q);

#endif
