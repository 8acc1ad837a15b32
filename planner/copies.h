/* Fields of wide rows that a ROWS sink takes as they are. Before pl_prune: their loads go. */
#ifndef HEDDLE_PLANNER_COPIES_H
#define HEDDLE_PLANNER_COPIES_H

#include "planner/ctx.h"

void pl_copy_fields(struct ctx *c, struct open_pipeline *p);

#endif
