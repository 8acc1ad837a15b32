/* Scans of one table with the same costly conditions. */
#ifndef HEDDLE_PLANNER_SHARE_SCANS_H
#define HEDDLE_PLANNER_SHARE_SCANS_H

#include <stdbool.h>

struct ctx;

/* Makes shared subplans of what scans of c->physical have in common, in c->plan, where that costs less; the nodes of a plan
 * whose joins were ordered are changed in place. True: c->plan is another one, and what was made of it is out of date. */
bool pl_share_scans(struct ctx *c);

#endif
