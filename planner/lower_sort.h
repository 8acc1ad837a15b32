/* Sorts and limits, and the result. */
#ifndef HEDDLE_PLANNER_LOWER_SORT_H
#define HEDDLE_PLANNER_LOWER_SORT_H

#include "planner/ctx.h"
#include "planner/physical.h"

int lower_sort(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
/* The result of the program: the root's rows in a state, sorted if the root is a sort. */
int lower_result(struct ctx *c, struct pl_node *root, struct stream *in);

#endif
