/* Internal: arithmetic, casts and dates of lower_expr.c. */
#ifndef HEDDLE_PLANNER_LOWER_ARITH_H
#define HEDDLE_PLANNER_LOWER_ARITH_H

#include "planner/lower.h"

int lx_arith(struct ctx *c, struct pipe *p, struct handle *const *env, const struct fe_expr *e, struct pl_val *out);
void lx_realise(struct ctx *c, struct pl_val *v);
/* Narrowest of I32, I64, I128 that holds the interval. */
enum rt_phys lx_narrowest(struct pl_range r);

bool lx_is_date(hd_i128 day); /* of the years 1 to 9999 */

/* Class that holds every value of the type. */
enum rt_phys lx_full_phys(struct hd_type t);

#endif
