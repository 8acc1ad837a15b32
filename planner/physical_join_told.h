/* Internal to the physical planner: ways of a join, and what a dump says of them. */
#ifndef HEDDLE_PLANNER_PHYSICAL_JOIN_TOLD_H
#define HEDDLE_PLANNER_PHYSICAL_JOIN_TOLD_H

#include "planner/physical_extremes.h"
#include "planner/physical_search.h"

/* One order of the sides of a join, and what it costs. */
struct sides {
    struct pl_join j;
    const struct pl_node *rows; /* the probe side */
    int nprobe; /* conjuncts that read the probe side only */
    const struct fe_expr **probe_only;
    double build, key, fk, child, column, loop, search, band, near; /* ns of each way, < 0: not possible */
    const char *no_build, *no_key, *no_fk, *no_search;
    struct pl_search *found; /* NULL: none */
    struct pl_search *order; /* of a loop over pairs that are near each other; NULL: there is no such */
    bool merges; /* found by key alone, in the order in which both sides come */
    double best; /* ns of the cheapest, with the scan of the probe side */
};

/* The plan wants one side to be sorted. */
static inline bool join_asks_search(const struct pl_join *j)
{
    return j->strategy == FE_MERGE || j->strategy == FE_BAND;
}

struct join_chosen {
    const struct sides *v; /* sides as written, and exchanged */
    int n, taken;
    const struct pl_form_costs *form;
};
/* Decisions of the node for the physical dump. */
void join_tell(struct ctx *c, struct pl_node *p, const struct join_chosen *of);

#endif
