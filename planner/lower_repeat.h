/* Copies of rows, as many as an expression says. */
#ifndef HEDDLE_PLANNER_LOWER_REPEAT_H
#define HEDDLE_PLANNER_LOWER_REPEAT_H

#include "planner/ctx.h"
#include "planner/physical.h"

void flow_repeat(struct ctx *c, struct pl_node *n, const struct stream *in, struct stream *out);
int lower_repeat(struct ctx *c, const struct pl_node *n, const struct stream *in, struct stream *out);

#endif
