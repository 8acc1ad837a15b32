/* Loops over the children of a row: where they begin and end in a pipeline under construction. */
#ifndef HEDDLE_PLANNER_LOWER_FOLD_H
#define HEDDLE_PLANNER_LOWER_FOLD_H

#include "planner/ctx.h"

/* Begins a fold over the children, by foreign key fk of table t, of a row that is loaded; gives the child's row. What
 * follows is done for each child, until fold_close. */
struct handle *fold_open(struct ctx *c, struct open_pipeline *p, struct handle *parent, const struct fe_table *t,
                         int fk, const char *path);
/* Ends it. Handles that were loaded inside are to be loaded again. */
void fold_close(struct ctx *c, struct open_pipeline *p, const char *path);

#endif
