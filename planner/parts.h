/* Code of bounded size. */
#ifndef HEDDLE_PLANNER_PARTS_H
#define HEDDLE_PLANNER_PARTS_H

#include "planner/ctx.h"

void pl_frame(struct ctx *c, struct open_pipeline *p); /* whether a pipeline is framed; its expressions, keys, index */
/* Of a sealed pipeline: steps, fields of the sink, nodes of expressions. */
int pl_weight(struct ctx *c, const struct pl_pipeline *q);
/* Whether a tile takes one more step; weight adds up, from 0. */
bool pl_fits_tile(struct ctx *c, const struct pl_pipeline *q, const struct pl_step *s, int *weight);
void pl_cut_parts(struct ctx *c, struct pl_pipeline *q); /* runs of steps and outs */

#endif
