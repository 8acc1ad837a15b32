/* The program of what was lowered. */
#ifndef HEDDLE_PLANNER_SEAL_H
#define HEDDLE_PLANNER_SEAL_H

#include "planner/ctx.h"

void pl_seal(struct ctx *c);

#endif
