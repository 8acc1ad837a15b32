/* Zones of a table that a scan visits: those where its filters may let a row pass, as far as the zone maps of columns tell. */
#ifndef HEDDLE_PLANNER_ZONES_H
#define HEDDLE_PLANNER_ZONES_H

#include "planner/ctx.h"

/* Sets the conditions and the ranges of the pipeline's source (struct rt_zoning of runtime/spec.h), where some zone is left out. */
void pl_seal_zones(struct ctx *c, struct pl_pipeline *q);
/* The share of the source's rows that a pipeline visits by zones; 1: all. */
double pl_zones_share(const struct rt_pipeline *r);

#endif
