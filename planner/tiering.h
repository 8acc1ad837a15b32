/* When the optimised code of a pipeline is made. */
#ifndef HEDDLE_PLANNER_TIERING_H
#define HEDDLE_PLANNER_TIERING_H

#include "planner/ctx.h"

/* Of a sealed pipeline: estimated work against the time that a compiler takes. */
void pl_choose_tiering(struct ctx *c, struct pl_pipeline *q);
/* first_tier.c: the kernel that a GPU begins with, of a pipeline whose own is sized. */
void pl_choose_first_tier(struct ctx *c, struct pl_pipeline *p);
/* Likewise of the kernels that finish states, of a program that is scheduled. */
void pl_choose_fixed_tier(struct ctx *c);

#endif
