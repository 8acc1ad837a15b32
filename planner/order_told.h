/* What the search for a join order leaves behind, for explain and for estimates. */
#ifndef HEDDLE_PLANNER_ORDER_TOLD_H
#define HEDDLE_PLANNER_ORDER_TOLD_H

#include "frontend/plan.h"

/* Of a join that was made of a tree. */
struct order_told {
    const struct fe_node *n;
    double rows; /* estimated */
    bool top;    /* the last join of the tree; the others say no more */
    bool moved;  /* else it stays as it is written */
    const char *tree; /* as text: what is gone through, then what is looked up for it */
    int relations, pairs; /* of sets, that were looked at; 0: the search was greedy */
    double cost, written; /* nanoseconds, of the cheapest tree that was found and of the written one */
};

/* What samples say of a node, where averages say another number. */
struct order_counted {
    const struct fe_node *n;
    double rows; /* < 0: as averages have it */
    const struct fe_table
        *met; /* of a join by keys: so many rows of this side the other one leads to, before its own filters; or NULL */
    double nmet;
};

#endif
