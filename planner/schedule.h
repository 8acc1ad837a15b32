/* What runs when and where. */
#ifndef HEDDLE_PLANNER_SCHEDULE_H
#define HEDDLE_PLANNER_SCHEDULE_H

#include "planner/ctx.h"

/* Ends a pipeline: it runs next and, if finish, the sink's state is complete then. */
void pb_end(struct ctx *c, struct open_pipeline *p, bool finish);
/* Nothing that was not ended yet fills the state. */
void pb_finish(struct ctx *c, int state);
/* Makes the graph of actions of sealed pipelines, and with it the distribution of states. */
void pl_schedule(struct ctx *c, struct rt_spec *s);

#endif
