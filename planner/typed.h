/* Typed expressions: taking them apart, making new ones. */
#ifndef HEDDLE_PLANNER_TYPED_H
#define HEDDLE_PLANNER_TYPED_H

#include "frontend/expr.h"

/* An operator over up to two arguments; column `col` of an environment. */
struct fe_expr *pl_expr_node(struct hd_arena *a, enum fe_op op, struct hd_type t, bool nullable, const char *path,
                             int n, struct fe_expr *x, struct fe_expr *y);
struct fe_expr *pl_col_node(struct hd_arena *a, int col, struct hd_type t, bool nullable, const char *path);

/* a = b, and with null_equal true of two NULLs too. */
struct fe_expr *pl_key_equal(struct hd_arena *a, struct fe_expr *x, struct fe_expr *y, const char *path,
                             bool null_equal);
/* e over columns whose numbers are larger by `by`. */
struct fe_expr *pl_expr_shifted(struct hd_arena *a, const struct fe_expr *e, int by);

/* Appends the conjuncts of e, in plan order. */
void pl_conjuncts(struct hd_arena *a, const struct fe_expr *e, const struct fe_expr ***v, int *n);
/* Appends them in the order in which they are tried: cheap ones first, unless one of them may raise. */
void pl_order_conjuncts(struct hd_arena *a, const struct fe_expr *e, const struct fe_expr ***v, int *n);
/* Some column in [lo, hi) is read. */
bool pl_expr_uses(const struct fe_expr *e, int lo, int hi);
/* <>, <, <=, >, >=. */
bool pl_is_inequality(enum fe_op op);

#endif
