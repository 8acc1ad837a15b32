/* Internal: what operators become over lowered arguments (lower_expr.c, lower_arith.c). */
#ifndef HEDDLE_PLANNER_LOWER_ARITH_H
#define HEDDLE_PLANNER_LOWER_ARITH_H

#include "planner/lower.h"

/* Operators over lowered arguments. */
int lx_arith(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_logic(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_unary_bool(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_compare(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_in(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out); /* reads v[0] only */
int lx_like(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_substring(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_case(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
bool lx_is_constant(const struct pl_val *v, bool value);

void lx_realise(struct ctx *c, struct pl_val *v);
/* Class that holds every value of the type. */
enum rt_phys lx_full_phys(struct hd_type t);

#endif
