/* Tables that no key of the plan's scheme leads to, and that are read through filters and projections: every worker goes through all
 * of such a table, or through a part of it by a scheme of its own, and what the filters leave is sent to all. */
#ifndef HEDDLE_PLANNER_DISTRIBUTE_OWN_H
#define HEDDLE_PLANNER_DISTRIBUTE_OWN_H

#include "planner/distribute_fragment.h"

/* Of rel, which goes to an operator of another kind: what its filters and expressions take is counted, and where it is of_table and
 * whole it becomes the result of a fragment if that costs less. met: the share of the table's rows that they are asked of, below 1 where
 * the operator finds rows by an index. */
struct dist_rel dist_settle(struct dist *d, struct dist_rel rel, double met);

#endif
