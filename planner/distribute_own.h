/* Tables that no key of the plan's scheme leads to, and that are read through filters and projections: every worker goes through all
 * of such a table, or through a part of it by a scheme of its own, and what the filters leave is sent to all. */
#ifndef HEDDLE_PLANNER_DISTRIBUTE_OWN_H
#define HEDDLE_PLANNER_DISTRIBUTE_OWN_H

#include "planner/distribute_fragment.h"

/* Of a table's rows the share that an operator asks for, and what it takes to find them, where going through all takes 1. */
struct dist_met {
    double rows, cost;
};
#define DIST_ALL ((struct dist_met){1, 1})

/* Of rel, which goes to an operator of another kind: what the table, filters and expressions take is counted, and where it is of_table
 * and whole it becomes the result of a fragment if that costs less. `pending` is what more it takes to go through all. */
struct dist_rel dist_settle(struct dist *d, struct dist_rel rel, struct dist_met met);

#endif
