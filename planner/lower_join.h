/* A join over the streams of its inputs. */
#ifndef HEDDLE_PLANNER_LOWER_JOIN_H
#define HEDDLE_PLANNER_LOWER_JOIN_H

#include "planner/ctx.h"
#include "planner/physical.h"

int lower_join(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out);

#endif
