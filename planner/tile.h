/* The steps that are evaluated for a tile of rows. */
#ifndef HEDDLE_PLANNER_TILE_H
#define HEDDLE_PLANNER_TILE_H

#include "planner/ctx.h"

void pl_choose_tiles(struct ctx *c, struct pl_pipeline *q);

#endif
