/* The cheapest tree over a query graph. */
#ifndef HEDDLE_PLANNER_ORDER_SEARCH_H
#define HEDDLE_PLANNER_ORDER_SEARCH_H

#include "planner/order_graph.h"

/* With more relations, or more pairs of sets, the search is greedy. */
enum { ORDER_EXACT = 12, ORDER_PAIRS = 1 << 16 };

struct order_found {
    const struct order_plan *best;
    bool exact;
    int pairs; /* that were looked at */
};

struct order_found order_search(struct hd_arena *a, const struct order_graph *g);

#endif
