/* Arithmetic, casts and dates over lowered arguments. */
#ifndef HEDDLE_PLANNER_LOWER_ARITH_H
#define HEDDLE_PLANNER_LOWER_ARITH_H

#include "planner/ctx.h"

int lx_arith(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
/* Converts to a logical type without raising where facts allow (union branches, keys). */
int lx_cast(struct ctx *c, struct pl_val *v, struct hd_type to, const char *path);
/* Class that holds every value of the type. */
enum rt_phys lx_full_phys(struct hd_type t);

#endif
