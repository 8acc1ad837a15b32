/* The order of joins by cost, where a plan asks for it. */
#ifndef HEDDLE_PLANNER_JOIN_ORDER_H
#define HEDDLE_PLANNER_JOIN_ORDER_H

struct ctx;

/* c->plan with its joins in another order, where its `order` is auto; columns and rows stay. */
void pl_order_joins(struct ctx *c);

#endif
