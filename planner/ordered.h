/* Shared by the files that say aggregates of rows in an order with other operators: rewrite_ordered.c joins the parts,
 * ordered_quantile.c makes one, ordered_node.c has expressions and nodes. */
#ifndef HEDDLE_PLANNER_ORDERED_H
#define HEDDLE_PLANNER_ORDERED_H

#include "planner/rewrite_node.h"

/* Of the groups of a part, or of the rest, whose first one is `value`. */
struct ordered_columns {
    int value, next, rows; /* the value, the one behind it, how many values there are */
};

struct ordered_part {
    int first; /* aggregate */
    bool whole; /* it has all groups */
    struct fe_expr *counts; /* rows that do; NULL: all */
    struct fe_node *groups;
    int base; /* its first column in the rows joined */
};

struct ordering {
    struct rewriting *w;
    const struct fe_node *n; /* the aggregate */
    struct fe_node *(*rest)(struct rewriting *w, struct fe_node *n); /* says other aggregates */
    struct fe_node *in; /* its input, in a form that can be copied */
    int nparts;
    struct ordered_part *parts;
    int *part; /* [aggregate]: its part; -1: it is not of rows in an order */
    struct ordered_columns *at; /* [aggregate] */
};

/* ---- ordered_node.c ---- */

extern const struct hd_type ro_integer, ro_real, ro_truth, ro_wide;

struct fe_expr *ro_op(const struct ordering *o, enum fe_op e, struct hd_type t, struct fe_expr *x, struct fe_expr *y);
struct fe_expr *ro_number(const struct ordering *o, struct hd_type t, hd_i128 v);
struct fe_expr *ro_plus(const struct ordering *o, struct fe_expr *x, int64_t v);
/* `other` may be NULL. */
struct fe_expr *ro_when(const struct ordering *o, struct fe_expr *condition, struct fe_expr *x, struct fe_expr *other);
/* x or y, x and y; x may be NULL. */
struct fe_expr *ro_either(const struct ordering *o, struct fe_expr *x, struct fe_expr *y);
struct fe_expr *ro_both(const struct ordering *o, struct fe_expr *x, struct fe_expr *y);
struct fe_expr *ro_is_there(const struct ordering *o, struct fe_expr *x);
struct fe_expr *ro_cast(const struct ordering *o, struct fe_expr *e, struct hd_type t);

struct fe_node *ro_filtered(const struct ordering *o, struct fe_node *in, struct fe_expr *pred);
/* A projection of expressions over in, with room. */
struct fe_node *ro_projected(const struct ordering *o, struct fe_node *in, int room);
void ro_add(struct fe_node *p, struct fe_expr *e, const char *name);
/* The first n of its input's columns. */
void ro_add_columns(const struct ordering *o, struct fe_node *p, int n);
/* The rows of a part that count: keys, then the value, of which -0 and 0 are one and bool is an integer. */
struct fe_node *ro_values(const struct ordering *o, const struct ordered_part *p, struct fe_expr *value);
/* in ordered by its columns 0 .. nkeys - 1, with partitions by the first ngroup of them; columns are to be added. */
struct fe_node *ro_window(const struct ordering *o, struct fe_node *in, int ngroup, int nkeys, int room);
int ro_add_column(struct fe_node *window, struct fe_window_column c, const char *name);
/* Groups by the first nk columns of in, with room for aggregates; the column that one more has. */
struct fe_node *ro_grouped(const struct ordering *o, struct fe_node *in, int nk, int room);
int ro_add_agg(struct fe_node *g, enum fe_agg_fn fn, struct fe_expr *arg, const char *name);

/* ---- ordered_quantile.c ---- */

void ro_quantiles(struct ordering *o, int part);
/* The result of aggregate i over the rows joined. */
struct fe_expr *ro_quantile(const struct ordering *o, const struct fe_node *all, int i);
/* Rows of the input are read twice. */
bool ro_reads_twice(const struct ordering *o, const struct ordered_part *p);

/* ---- ordered_distinct.c ---- */

void ro_distincts(struct ordering *o, int part);
/* The result, of a column that may lack the group. */
struct fe_expr *ro_distinct(const struct ordering *o, struct fe_expr *e);

/* ---- ordered_text.c ---- */

void ro_texts(struct ordering *o, int part);

#endif
