/* Loops over pairs: which pipelines are, and what they do once per row of each side. */
#ifndef HEDDLE_PLANNER_LOOP_H
#define HEDDLE_PLANNER_LOOP_H

#include "planner/ctx.h"

/* Chooses; then steps that look at one side only are moved to where that side's row is alone. */
void pl_plan_loop(struct ctx *c, struct open_pipeline *p);
/* Rows that a thread of a GPU holds, once the tuples' layout and the sink's place are known. */
void pl_size_loop(const struct ctx *c, struct pl_pipeline *q);
/* loop_part.c: what a CPU keeps of the state's rows, of a loop with a size. */
void pl_size_part(const struct ctx *c, struct pl_pipeline *q);
/* loop_bound.c: what a warp of a GPU asks of a row of the state before it tests pairs with it. */
void pl_bound_loop(const struct ctx *c, struct pl_pipeline *q);

#endif
