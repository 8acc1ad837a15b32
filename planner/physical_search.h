/* Internal to the physical planner: joins that search a sorted state. */
#ifndef HEDDLE_PLANNER_PHYSICAL_SEARCH_H
#define HEDDLE_PLANNER_PHYSICAL_SEARCH_H

#include "planner/physical_tree.h"

/* How join j, with the sides that it has, is searched: by keys, by a range that its conditions give, or both. NULL: by
 * neither. */
struct pl_search *pl_find_search(struct ctx *c, const struct pl_join *j);
/* The share of the build rows of a key that its range leaves, where nothing is known of it. */
double pl_search_share(const struct pl_search *s);
/* The search s, by one key alone, is a merge of two sides that come in the key's order, where a table would hash. */
bool pl_is_merge(const struct ctx *c, const struct pl_join *j, const struct pl_search *s);
/* What it costs, in ns of one thread. */
double pl_price_search(const struct ctx *c, const struct pl_join *j, const struct pl_search *s);
/* The column whose values the range alone is about, of a table that is sorted by it; -1 none; and what it costs to search
 * there. */
int pl_band_column(const struct pl_join *j, const struct pl_search *s);
double pl_price_band(const struct ctx *c, const struct pl_join *j, const struct pl_search *s);
/* A range in which pairs lie that a sum of squares bounds, for a loop in its order; NULL: none. What that costs: rows are
 * sorted unless they come so, each probe row looks at every part of them, and at the pairs of the range. */
struct pl_search *pl_find_near(struct ctx *c, const struct pl_join *j);
double pl_price_near(const struct pl_search *s, double pairs, double build, double probe, bool in_order,
                     int comparisons);
/* Comparing all rows that have a probe row's keys, beside finding them. */
double pl_price_pairs(const struct ctx *c, const struct pl_join *j);
/* j becomes that search of typed node n: where words do not tell keys apart, keys are conjuncts on pairs. */
void pl_take_search(struct ctx *c, const struct fe_node *n, struct pl_join *j, struct pl_search *s);

#endif
