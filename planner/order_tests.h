/* In which order conjuncts of a scan are tested. */
#ifndef HEDDLE_PLANNER_ORDER_TESTS_H
#define HEDDLE_PLANNER_ORDER_TESTS_H

#include "frontend/plan.h"

struct ctx;

/* Conjuncts of the filters of all scans of n, those first that drop most rows for what they read. Filters that may raise stay
 * as they are written. c has room for estimates. */
void order_tests(struct ctx *c, struct fe_node *n);

#endif
