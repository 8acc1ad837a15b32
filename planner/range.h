/* Intervals of possible values of integer, decimal, date and code expressions (NULL aside). */
#ifndef HEDDLE_PLANNER_RANGE_H
#define HEDDLE_PLANNER_RANGE_H

#include "frontend/expr.h"
#include "runtime/spec.h"

struct pl_range {
    bool known;
    hd_i128 lo, hi;
};

struct pl_range range_of_type(struct hd_type t);
/* Of ADD, SUB, MUL; not known where the interval leaves 128 bits. */
struct pl_range range_binary(enum fe_op op, struct pl_range a, struct pl_range b);
/* a op b; true: it leaves 128 bits. */
bool range_op(enum fe_op op, hd_i128 a, hd_i128 b, hd_i128 *out);
/* Of BIT_AND, BIT_OR, BIT_XOR, of shifts by amounts that are not negative; not known where a shift may lose bits. */
struct pl_range range_bits(enum fe_op op, struct pl_range a, struct pl_range b);
/* r is known and lies in t. */
bool range_within(struct pl_range r, struct pl_range t);
/* Narrowest of I32, I64, I128 that holds the interval. */
enum rt_phys lx_narrowest(struct pl_range r);
bool lx_is_date(hd_i128 day); /* of the years 1 to 9999 */

/* e without casts that keep the number and widen the type; the integers that stand for values are the same. */
const struct fe_expr *pl_uncast(const struct fe_expr *e);

#endif
