/* Typing rules of ops.def: intervals. */
#ifndef HEDDLE_FRONTEND_EXPR_INTERVAL_H
#define HEDDLE_FRONTEND_EXPR_INTERVAL_H

#include "frontend/ast.h"

/* The value of `interval n unit`, x, of the amount n. */
int fe_interval_value(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *n, struct fe_expr **out);
/* a[0] + a[1], a[0] - a[1] (x->op) where one is an interval, and a product with one. */
bool fe_has_interval(struct fe_expr *const *a);
int fe_interval_sum(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int fe_interval_product(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int fe_interval_negative(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *a, struct fe_expr **out);
/* a[0] and a[1] months, days or microseconds (x->op). */
int fe_interval_moved(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int fe_interval_extract(struct fe_typing *t, const struct fe_ast *x, enum fe_field field, struct fe_expr *a,
                        struct fe_expr **out);

int ft_INTERVAL_PART(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_MAKE_INTERVAL(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_INTERVAL_SUM(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_INTERVAL_TIMES(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);

#endif
