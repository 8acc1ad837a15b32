/* Removes the steps whose value nothing reads, and arguments without a reader. */
#ifndef HEDDLE_PLANNER_PRUNE_H
#define HEDDLE_PLANNER_PRUNE_H

#include "planner/ctx.h"

void pl_prune(struct ctx *c);

#endif
