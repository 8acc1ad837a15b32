/* The steps that are evaluated for a tile of rows. */
#ifndef HEDDLE_PLANNER_TILE_H
#define HEDDLE_PLANNER_TILE_H

#include "planner/ctx.h"

void pl_choose_tiles(struct ctx *c, struct pl_pipeline *q);
/* Rows of a scanned table that are visited, by estimate: those between the ends that took the place of filters. */
double pl_visited_rows(const struct pl_expr *exprs, const struct pl_pipeline *q);
/* A GPU's tile of a scan that leaves strings to the steps behind it. */
struct pl_tile_steps pl_tile_without_search(struct ctx *c, const struct pl_pipeline *q);

#endif
