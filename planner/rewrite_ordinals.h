/* What values can be, before there are facts of flows. */
#ifndef HEDDLE_PLANNER_REWRITE_ORDINALS_H
#define HEDDLE_PLANNER_REWRITE_ORDINALS_H

#include "planner/range.h"
#include "planner/rewrite_node.h"

/* The integers that values of e, an expression over the columns of `in`, become (FE_ORDINAL). */
struct pl_range rw_ordinals(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e);
/* The same, where e may be computed. */
struct pl_range rw_computed_ordinals(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e);
/* Rows of the largest table that e reads. */
double rw_rows(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e);
/* Values that e has at most, NULL among them; < 0: many. */
double rw_distinct(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e);

#endif
