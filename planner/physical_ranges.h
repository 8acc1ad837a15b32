/* Internal to the physical planner: aggregates over a range join whose pairs nobody visits. */
#ifndef HEDDLE_PLANNER_PHYSICAL_RANGES_H
#define HEDDLE_PLANNER_PHYSICAL_RANGES_H

#include "planner/physical_tree.h"

/* An aggregate over an inner join without keys. */
struct pl_over_pairs {
    const struct fe_node *join; /* NULL: it is no such aggregate */
    const char *why_not;        /* its pairs are visited; NULL: they need not be */
    double ranges, band, loop;  /* ns without pairs, by those of each range, by all; < 0: not compared */
    struct pl_ranges r;
    struct pl_weighted w;
    int nprobe, nbuild; /* conjuncts that read one side only */
    const struct fe_expr **probe_only, **build_only;
};

/* What typed aggregate n is, and whether its pairs are worth visiting: then o->why_not is NULL. */
void pl_look_at_pairs(struct ctx *c, const struct fe_node *n, struct pl_over_pairs *o);
/* The node of such an aggregate over the join's inputs, left and right. */
struct pl_node *pl_aggregate_ranges(struct ctx *c, const struct fe_node *n, struct pl_over_pairs *o,
                                    struct pl_node *const *sides);
/* Tells at p, the node of the aggregate, what was compared. */
void pl_tell_pairs(struct ctx *c, struct pl_node *p, const struct pl_over_pairs *o);

#endif
