/* Groupings below joins that look one row up. */
#ifndef HEDDLE_PLANNER_ORDER_GROUP_H
#define HEDDLE_PLANNER_ORDER_GROUP_H

struct ctx;

/* c->plan, where its `order` is auto, with lookups that every row of a group shares above the grouping. */
void pl_group_before_lookups(struct ctx *c);

#endif
