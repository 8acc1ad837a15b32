/* Lowering the physical plan. */
#ifndef HEDDLE_PLANNER_LOWER_H
#define HEDDLE_PLANNER_LOWER_H

#include "planner/ctx.h"

/* Lowers the physical plan; fills c->pipes and all they refer to. Strategies that were asked for and turn out not to
 * be possible fail with class USER. */
int pl_lower(struct ctx *c);

#endif
