/* What is known of the rows of physical nodes before pipelines exist, and the choices that follow: tables of joins,
 * states of groupings, keys that others determine. A stream without pipeline has handles that never load. */
#ifndef HEDDLE_PLANNER_FLOW_H
#define HEDDLE_PLANNER_FLOW_H

#include "planner/ctx.h"

/* Goes through the physical plan, inputs first, and records the choices at its nodes. */
int pl_flow(struct ctx *c);

#endif
