/* Arithmetic, casts and dates over lowered arguments. */
#ifndef HEDDLE_PLANNER_LOWER_ARITH_H
#define HEDDLE_PLANNER_LOWER_ARITH_H

#include "planner/lower_expr.h"

lx_rule lx_add_sub_mul, lx_divide, lx_negate, lx_extract, lx_date_trunc, lx_units_between, lx_shift_date, lx_of_parts,
    lx_cast_node;
/* Converts to a logical type without raising where facts allow (union branches, keys). */
int lx_cast(struct ctx *c, struct pl_val *v, struct hd_type to, const char *path);
/* Settles width and check of an exact result whose values lie in r unless it overflows the site's type. */
void lx_settle(struct ctx *c, struct pl_val *out, struct pl_range r, enum rt_phys at_least, struct rt_site site);
/* Class that holds every value of the type. */
enum rt_phys lx_full_phys(struct hd_type t);

#endif
