/* Trees of inner joins, filters and projections that have something in common. */
#ifndef HEDDLE_PLANNER_SHARE_BLOCK_H
#define HEDDLE_PLANNER_SHARE_BLOCK_H

#include "frontend/plan.h"

struct ctx;

/* A subplan that two others can be made of: [0] the first, [1] the second. */
struct share_match {
    struct fe_node *n;
    struct fe_expr **of[2]; /* [column of each]: over n's columns */
    struct fe_expr *rest;   /* condition on n's rows that the second has and the first has not; or NULL */
    struct fe_node
        *coarser; /* the second is this grouping of n's rows, which are groups, and its input is to be set; or NULL */
};

typedef bool share_matcher(struct ctx *c, const struct fe_node *x, const struct fe_node *y, bool within,
                           struct share_match *out);

/* share_match of two such trees; relations are matched by `match`. */
bool share_block(struct ctx *c, const struct fe_node *x, const struct fe_node *y, bool within, share_matcher *match,
                 struct share_match *out);

/* e, with each column replaced. */
struct fe_expr *share_over(struct ctx *c, const struct fe_expr *e, struct fe_expr *const *columns);
/* What estimates and explanations say of `from` is said of `to`. */
void share_tell(struct ctx *c, const struct fe_node *from, const struct fe_node *to);
/* An inner join that is taken apart. */
bool share_is_inner(const struct fe_node *n);

#endif
