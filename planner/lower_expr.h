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
/* Makes an operator of its arguments' values, none of which is the constant NULL where the operator is strict. */
typedef int lx_rule(struct ctx *c, const struct fe_expr *e, struct pl_val *v, struct pl_val *out);
lx_rule lx_literal, lx_parameter, lx_logic, lx_unary_bool, lx_compare, lx_like, lx_case, lx_extreme;
lx_rule lx_in; /* reads v[0] only */
bool lx_is_constant(const struct pl_val *v, bool value);

/* The escape character of a like, 0 if it has none; of a parameter once its value is checked. */
char lx_escape(const struct fe_expr *e, const struct pl_val *v);
int lx_check_escape(struct ctx *c, const struct fe_expr *e, const struct pl_val *v);

#endif
