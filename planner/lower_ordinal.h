/* Values as integers that order like them, and back. */
#ifndef HEDDLE_PLANNER_LOWER_ORDINAL_H
#define HEDDLE_PLANNER_LOWER_ORDINAL_H

#include "planner/lower_expr.h"

lx_rule lx_ordinal, lx_of_ordinal;
/* The integers that values of type t become; not known: values of strings do not. */
struct pl_range ordinal_range(struct hd_type t);

#endif
