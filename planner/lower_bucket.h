/* width_bucket over lowered arguments. */
#ifndef HEDDLE_PLANNER_LOWER_BUCKET_H
#define HEDDLE_PLANNER_LOWER_BUCKET_H

#include "planner/lower_expr.h"

lx_rule lx_bucket;

#endif
