/* Which output columns of each typed node somebody above reads, and whose order the result shows. */
#ifndef HEDDLE_PLANNER_NEED_H
#define HEDDLE_PLANNER_NEED_H

#include "frontend/plan.h"

struct ctx;

/* Fill c->need, the uses of shared subplans, and c->ordered. */
void pl_need_columns(struct ctx *c, const struct fe_node *root);
void pl_need_order(struct ctx *c, const struct fe_node *root);
/* As-of joins: right columns up to the last one that somebody reads. */
int need_ties(const struct ctx *c, const struct fe_node *n);
/* Marks the columns that e reads. */
void need_expr(bool *need, const struct fe_expr *e);

#endif
