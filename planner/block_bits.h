/* Bitmaps that each block of a GPU copies to its shared memory (templates/block_bits.cuh). */
#ifndef HEDDLE_PLANNER_BLOCK_BITS_H
#define HEDDLE_PLANNER_BLOCK_BITS_H

#include "planner/ctx.h"

/* Of a placed pipeline; its blocks become larger if it has some. */
void pl_choose_block_bits(const struct ctx *c, struct pl_pipeline *q);

#endif
