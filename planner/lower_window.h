/* Windows: rows that know others of their partition. */
#ifndef HEDDLE_PLANNER_LOWER_WINDOW_H
#define HEDDLE_PLANNER_LOWER_WINDOW_H

#include "planner/ctx.h"
#include "planner/physical.h"

/* What is known of the rows of a window. */
int flow_window(struct ctx *c, struct pl_node *n, const struct stream *in, struct stream *out);
int lower_window(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);

#endif
