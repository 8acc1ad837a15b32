/* Parents with more children than a fold goes through. */
#ifndef HEDDLE_PLANNER_FOLD_LONG_H
#define HEDDLE_PLANNER_FOLD_LONG_H

#include "planner/agg.h"

/* Whether a foreign key has such parents. */
bool fold_has_long(const struct fe_foreign_key *fk);
/* Their children, all together. */
double fold_long_children(const struct fe_foreign_key *fk);
/* What the groups of a stage are in the way of long parents, whose children are added up wherever their rows come from;
 * NULL: nothing. child, parent: rows of both sides of a join. */
const char *fold_no_long(const struct stage *g, const struct handle *child, const struct handle *parent);

/* Slots with the number of a parent's row among the long ones, -1: it is none of them, and with the row itself where it is none, else
 * -1. Row: a slot. */
struct fold_short {
    int number, row;
};
struct fold_short fold_short(struct ctx *c, struct open_pipeline *p, const struct fe_foreign_key *fk, int row);

/* What a FOLD_ADD step of the fold adds up, and what its value is behind the fold. */
struct fold_sum {
    enum fe_agg_fn fn;
    struct pl_val v;
};
/* p has just closed a fold. A pipeline of its own adds the children of long parents up, as the fold would; the values of n sums become
 * those of either. there: the number of the sum by which a parent is left out where it is 0, -1: none is. */
int fold_long(struct ctx *c, struct open_pipeline *p, struct fold_sum *sums, int n, int there, const char *path);

#endif
