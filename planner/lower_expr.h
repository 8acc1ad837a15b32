/* Constants and conversions; comparisons, conditions and text over lowered arguments. */
#ifndef HEDDLE_PLANNER_LOWER_EXPR_H
#define HEDDLE_PLANNER_LOWER_EXPR_H

#include "planner/ctx.h"

struct pl_val lx_const(struct ctx *c, const struct fe_value *v);
int lx_as_phys(struct ctx *c, struct pl_val *v, enum rt_phys phys); /* widen in place */
int lx_as_string(struct ctx *c, struct pl_val *v);                   /* dictionary code -> STR */
/* Brings two values to one comparable physical form (codes of one dictionary stay codes). */
int lx_unify(struct ctx *c, struct pl_val *a, struct pl_val *b);

void lx_realise(struct ctx *c, struct pl_val *v);
/* Operators over lowered arguments v. */
int lx_logic(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_unary_bool(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_compare(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_in(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out); /* reads v[0] only */
int lx_like(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_substring(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
int lx_case(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
bool lx_is_constant(const struct pl_val *v, bool value);

#endif
