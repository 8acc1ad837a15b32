/* Casts that give NULL where they fail. */
#ifndef HEDDLE_PLANNER_LOWER_TRY_H
#define HEDDLE_PLANNER_LOWER_TRY_H

#include "planner/lower_expr.h"

lx_rule lx_try_cast;

#endif
