/* What typing rules make nodes with. */
#ifndef HEDDLE_FRONTEND_EXPR_NODE_H
#define HEDDLE_FRONTEND_EXPR_NODE_H

#include "frontend/ast.h"

/* A node at the place of x; not nullable yet. */
struct fe_expr *fe_make_node(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct hd_type type, int n,
                             struct fe_expr *const *args);
/* NULL where the rule of the operator says so of its arguments. */
struct fe_expr *fe_make(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct hd_type type, int n,
                        struct fe_expr *const *args);
struct fe_expr *fe_make2(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct hd_type type,
                         struct fe_expr *l, struct fe_expr *r);
struct fe_expr *fe_make_literal(struct fe_typing *t, const struct fe_ast *x, struct fe_value v);
struct fe_expr *fe_make_int(struct fe_typing *t, const struct fe_ast *x, int64_t i);
/* To a type that its kind alone says. */
struct fe_expr *fe_cast_to(struct fe_typing *t, struct fe_expr *e, enum hd_type_kind k);
const char *fe_type_name(const struct fe_expr *e, char buf[HD_TEXT_MAX]);
/* Fails: "`what`, found <types of the arguments>" */
int fe_mismatch(struct fe_typing *t, const struct fe_ast *x, const char *what, int n, struct fe_expr *const *args);
/* A bare null takes the other side's type; two of them have none, which is an error. */
int fe_settle_nulls(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a);
/* A bare null gets the type k. */
struct fe_expr *fe_settle(struct fe_typing *t, struct fe_expr *e, enum hd_type_kind k);

/* A string parameter that is never NULL. */
bool fe_is_text_param(const struct fe_expr *e);

#endif
