/* Functions that are called by name, over lowered arguments. */
#ifndef HEDDLE_PLANNER_LOWER_FUNCTION_H
#define HEDDLE_PLANNER_LOWER_FUNCTION_H

#include "planner/lower_expr.h"

lx_rule lx_function, lx_ilike, lx_rounding;

#endif
