/* Typing rules of ops.def: dates and timestamps. */
#ifndef HEDDLE_FRONTEND_EXPR_DATE_H
#define HEDDLE_FRONTEND_EXPR_DATE_H

#include "frontend/ast.h"

/* a[0] + or - a[1] units, where x is `date + interval n unit` or the like and `interval` its interval. */
int fe_type_interval(struct fe_typing *t, const struct fe_ast *x, const struct fe_ast *interval, struct fe_expr **a,
                     struct fe_expr **out);

/* a[0] + a[1] where one is a date and the other a time: a timestamp. */
bool fe_is_date_and_time(struct fe_expr *const *a);
void fe_type_date_and_time(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);

int ft_ADDDATE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_DATEADD(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_DATEDIF(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_UNITS(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_EXTRACT(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_EPOCH(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_TRUNC(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_LASTDAY(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_MAKEDATE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_MICROS(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_SECONDS(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_STRPTIME(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);
int ft_STRFTIME(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out);

/* The date or timestamp moved by n months, days or microseconds (op). */
struct fe_expr *fe_moved(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct fe_expr *date,
                         struct fe_expr *n);
/* n times the factor, as int64. */
struct fe_expr *fe_interval_count(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *n, int64_t factor);
/* By how many months, days or microseconds (ADD_MONTHS, ADD_DAYS, ADD_MICROS) a unit of intervals moves. */
int64_t fe_interval_step(enum fe_field unit, enum fe_op *op);

#endif
