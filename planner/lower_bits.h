/* Operators of bits, and hashes, over lowered arguments. */
#ifndef HEDDLE_PLANNER_LOWER_BITS_H
#define HEDDLE_PLANNER_LOWER_BITS_H

#include "planner/lower_expr.h"

lx_rule lx_bits, lx_shift_bits, lx_hash;

#endif
