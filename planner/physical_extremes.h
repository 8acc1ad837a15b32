/* Internal to the physical planner: existence told by a key's minimum and maximum. */
#ifndef HEDDLE_PLANNER_PHYSICAL_EXTREMES_H
#define HEDDLE_PLANNER_PHYSICAL_EXTREMES_H

#include "planner/physical_tree.h"

/* What the forms of a join cost, ns; < 0: not compared by cost. */
struct pl_form_costs {
    double twice, extremes;
    const char *no_once, *no_extremes; /* why not; NULL: possible */
};

/* The node of semi, anti and mark joins whose residual compares one build value: the minimum and the maximum of
 * a key say what every pair would. NULL where the residual has another form, or where a stored index leads to
 * every pair in f->twice nanoseconds and this takes longer; f then says which. */
struct pl_node *pl_extremes(struct ctx *c, const struct fe_node *n, struct pl_join *j, struct pl_form_costs *f);

#endif
