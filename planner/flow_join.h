/* What is known of the rows of joins, and the choice of their tables. */
#ifndef HEDDLE_PLANNER_FLOW_JOIN_H
#define HEDDLE_PLANNER_FLOW_JOIN_H

#include "planner/join.h"

int flow_join(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);
/* Groups of several passes, joined by their keys: the columns of pass i come to those that are there. */
int flow_join_groups(struct ctx *c, struct pl_node *n, struct pl_join *d, struct stream *s, struct stream *b,
                     struct handle **cols);

#endif
