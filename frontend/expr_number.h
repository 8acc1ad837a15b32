/* Typing rules of ops.def: numbers. */
#ifndef HEDDLE_FRONTEND_EXPR_NUMBER_H
#define HEDDLE_FRONTEND_EXPR_NUMBER_H

#include "frontend/ast.h"

int ft_ADDSUB(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_MUL(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_DIV(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_MOD(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_BITS(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_BITS_SET(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_NEG(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_NUMBER(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_FLOAT(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_ROUNDING(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);

#endif
