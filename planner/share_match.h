/* What two subplans have in common. */
#ifndef HEDDLE_PLANNER_SHARE_MATCH_H
#define HEDDLE_PLANNER_SHARE_MATCH_H

#include "frontend/plan.h"

struct ctx;

/* A subplan that two others can be made of: [0] the first, [1] the second. */
struct share_match {
    struct fe_node *n;
    struct fe_expr **of[2]; /* [column of each]: over n's columns */
    struct fe_expr *rest;   /* condition on n's rows that the second has and the first has not; or NULL */
    struct fe_node *coarser; /* the second is this grouping of n's rows, which are groups, and its input is to be set; or NULL */
};

/* Whether y gives x's rows, as far as `within`, with all columns of either; else also whether it gives some of them, or
 * coarser groups of them. Join trees are alike if they join the same relations by the same conditions, in whatever order and
 * whatever columns they pass on. What may raise in a join tree is like nothing. */
bool share_match(struct ctx *c, const struct fe_node *x, const struct fe_node *y, bool within, struct share_match *out);
/* e, with each column replaced. */
struct fe_expr *share_over(struct ctx *c, const struct fe_expr *e, struct fe_expr *const *columns);
/* What estimates and explanations say of `from` is said of `to`. */
void share_tell(struct ctx *c, const struct fe_node *from, const struct fe_node *to);
/* An inner join that is taken apart. */
bool share_is_inner(const struct fe_node *n);

#endif
