/* What subplans cost that are computed once and kept, and at each use. */
#ifndef HEDDLE_PLANNER_SHARE_COST_H
#define HEDDLE_PLANNER_SHARE_COST_H

#include "frontend/plan.h"

struct ctx;

/* Of a typed node of c->physical, in units of pl_rates; < 0: it is not there. */
double share_cost(const struct ctx *c, const struct fe_node *n);
/* Of writing the rows of n, columns of so many bytes, and of reading them so often. */
double share_cost_kept(const struct ctx *c, double rows, int bytes, int uses);
/* Of grouping rows that are groups. */
double share_cost_groups(const struct ctx *c, double rows);
/* Whether computing once costs less by more than estimates tell apart. */
bool share_worth(const struct ctx *c, double together, double at_each);

#endif
