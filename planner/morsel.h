/* What threads of a CPU share of a pipeline with levels. */
#ifndef HEDDLE_PLANNER_MORSEL_H
#define HEDDLE_PLANNER_MORSEL_H

#include "planner/pipeline.h"

/* Of a sealed pipeline. */
void pl_choose_morsels(struct pl_pipeline *q);

#endif
