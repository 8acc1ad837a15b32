/* Which rows of tables a program reads at most: an executor that has memory of its own needs no others there. */
#ifndef HEDDLE_PLANNER_SLICES_H
#define HEDDLE_PLANNER_SLICES_H

#include "planner/ctx.h"

/* Sets rt_arg.scans of the sealed program's arguments. */
void pl_seal_slices(struct ctx *c);

#endif
