/* Rows that pass through a state for one reader only. */
#ifndef HEDDLE_PLANNER_SPLICE_H
#define HEDDLE_PLANNER_SPLICE_H

#include "planner/ctx.h"

/* Puts the only reader of each state of c->appended behind the pipelines that fill it, where the nest of loops has
 * room for that. The state and the reader go. */
void pl_splice(struct ctx *c);

#endif
