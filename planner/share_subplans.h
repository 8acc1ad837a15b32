/* Joins and groupings that a plan has more than once. */
#ifndef HEDDLE_PLANNER_SHARE_SUBPLANS_H
#define HEDDLE_PLANNER_SHARE_SUBPLANS_H

#include <stdbool.h>

struct ctx;

/* Makes a shared subplan of joins or groupings of c->plan that give the same rows, where c->physical tells that it costs less;
 * nodes of a plan whose joins were ordered are changed in place. True: c->plan is another one, what was made of it is out of
 * date, and there may be more. */
bool pl_share_subplans(struct ctx *c);

#endif
