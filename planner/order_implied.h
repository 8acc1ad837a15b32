/* What follows from the conditions of a query. */
#ifndef HEDDLE_PLANNER_ORDER_IMPLIED_H
#define HEDDLE_PLANNER_ORDER_IMPLIED_H

#include "planner/order_query.h"

/* Makes inner joins of left ones whose NULLs a condition drops, and of semi joins that find one row at most; takes from
 * an `or` what all of its arms say; finds what equals each other; and says of each what is said of one of them. */
void order_imply(struct order_query *q);

#endif
