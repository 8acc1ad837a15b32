/* Internal to the physical planner: the order in which rows come. */
#ifndef HEDDLE_PLANNER_PHYSICAL_ORDER_H
#define HEDDLE_PLANNER_PHYSICAL_ORDER_H

#include "planner/physical.h"

/* Whether the rows of p come in the order of a column, as far as costs of lookups are concerned: that of the scan, or of the
 * sort, at the far end of its pipeline, through filters, projections and the probe sides of joins. */
bool pl_node_in_order(const struct pl_node *p, const struct fe_expr *e);

#endif
