/* Sorts and limits, and the result. */
#ifndef HEDDLE_PLANNER_LOWER_SORT_H
#define HEDDLE_PLANNER_LOWER_SORT_H

#include "planner/ctx.h"
#include "planner/physical.h"

/* The field of a sort key: that of its column, or one of its own. */
int lower_sort_key(struct ctx *c, struct stream *s, const struct fe_sort_key *key, int state, const int *field);
int lower_sort(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
/* The sort or top whose state is the result: the root, or what it takes columns of as they are; NULL: none. */
struct pl_node *lower_result_sort(struct pl_node *root);
/* The result of the program: the root's rows in a state. in: the input of that sort, else the root's rows. */
int lower_result(struct ctx *c, struct pl_node *root, struct stream *in);

#endif
