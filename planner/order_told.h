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

/* Rows of a node by samples, where averages say another number. */
struct order_counted {
    const struct fe_node *n;
    double rows;
};

#endif
