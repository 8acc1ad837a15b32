/* Conditions of joins as ranges: a sum of build columns that lies between sums of probe columns. */
#ifndef HEDDLE_PLANNER_BOUNDS_H
#define HEDDLE_PLANNER_BOUNDS_H

#include "frontend/plan.h"

struct ctx;

/* What a sum has of a typed expression: itself, its magnitude, or the square root of that. Roots, which are float64, are
 * rounded up by what the square of a tiny number loses. */
enum pl_term_form { PL_TERM_SELF, PL_TERM_MAGNITUDE, PL_TERM_ROOT };

/* `factor` times a typed expression that reads one side. */
struct pl_term {
    const struct fe_expr *e;
    hd_i128 factor;
    enum pl_term_form form;
};

/* As real numbers: what a decimal is worth, a date in days, a timestamp in microseconds. */
struct pl_sum {
    int n;
    const struct pl_term *v;
};

/* One end of a range. */
struct pl_bound {
    struct pl_sum at;
    bool strict;
    bool rounded; /* floats with arithmetic: what is compared was rounded */
    bool single; /* of float32 */
    bool with_nan; /* and NaN on the build side makes the comparison true */
    int from; /* the conjunct */
};

/* All that conjuncts say of one sum of the build side. */
struct pl_interval {
    struct pl_sum of;
    bool is_float;
    bool squares; /* from a sum of squares with a bound: each of them has that bound */
    int scale; /* of the integers that stand for both sides, where it is no float64 */
    int nlow, nhigh;
    struct pl_bound *low, *high;
};

/* Term by term. */
bool pl_same_sum(const struct pl_sum *a, const struct pl_sum *b);

/* Rows of n, whose columns are numbered from lo, come in the order of what x is about (est_in_order). */
bool pl_comes_by(const struct fe_node *n, const struct pl_interval *x, int lo, bool every);

/* What one unit of a term is worth in units of a scale. */
hd_i128 pl_unit(const struct pl_term *t, int scale);

/* The best interval that conjuncts over the columns of a join give for build columns, whose numbers are lo .. hi - 1: one
 * with two ends before one with one. NULL: none. *reach: where that has an upper end alone, one of another sum with a
 * lower end: near and far ends of intervals that overlap. Else NULL. squares: those of sums of squares,
 * too. */
const struct pl_interval *pl_find_interval(struct ctx *c, const struct fe_node *join, const struct fe_expr *const *v,
                                           int n, int lo, int hi, bool squares, const struct pl_interval **reach);
/* One that holds for exactly the pairs for which all conjuncts hold: nothing is rounded, words hold all that facts and
 * types allow, and the bounds of an end are all open or all closed. NULL: none, and *why_not says why. */
const struct pl_interval *pl_find_exact_interval(struct ctx *c, const struct fe_node *join,
                                                 const struct fe_expr *const *v, int n, int lo, int hi,
                                                 const char **why_not);

#endif
