/* Estimates of typed nodes and expressions, from facts alone. They steer choices; no answer depends on them. */
#ifndef HEDDLE_PLANNER_ESTIMATE_H
#define HEDDLE_PLANNER_ESTIMATE_H

#include "frontend/plan.h"

struct ctx;
struct handle;

/* A typed expression may raise. */
bool lx_may_fail(const struct fe_expr *e);
/* One bounds a column from above, the other from below, by values that are the same for all rows. */
bool lx_bounds_range(const struct fe_expr *x, const struct fe_expr *y);
double lx_selectivity(const struct ctx *c, struct handle *const *env, const struct fe_expr *e);
/* Of conjunct i: the share of those rows for which the conjuncts before it hold. */
double lx_selectivity_after(const struct ctx *c, struct handle *const *env, const struct fe_expr *const *v, int i);

/* Estimated output rows of a node, and the share of its key values that its filters leave (1: all). */
double est_rows(const struct ctx *c, const struct fe_node *n);
double est_share(const struct ctx *c, const struct fe_node *n);
/* Share of the rows below a FILTER that it leaves. */
double est_filter_share(const struct ctx *c, const struct fe_node *n);
/* Columns of a node that are those of a table, or computed of them; NULL: they are not. Those of a table that its scan's filter
 * reads, by their numbers there. Handles are only looked at. */
struct handle **est_columns(const struct ctx *c, const struct fe_node *n);
struct handle **est_scanned(const struct ctx *c, const struct fe_table *t, const struct fe_expr *filter);
const struct fe_table *node_table(const struct fe_node *n); /* SCAN: its table, else NULL */

/* Rows of n come with ascending values of column expression e, never NULL. every: and n keeps all rows of a table. */
bool est_in_order(const struct fe_node *n, const struct fe_expr *e, bool every);

/* What facts say of a key expression over a node's output. */
struct est_key {
    double distinct; /* values; < 0 unknown */
    double heavy; /* share of the rows that have the most frequent value */
};
/* What was asked of a node, column by column for keys (NULL: none yet). */
struct est_node {
    bool has_rows, has_share, *has_key;
    double rows, share;
    struct est_key *keys;
    const struct fe_table *met; /* as in struct order_counted */
    double nmet;
};
struct est_key est_key(const struct ctx *c, const struct fe_node *n, const struct fe_expr *e);

/* Build rows that a probe row meets on average for a value that is frequent on both sides, where
 * `build` rows are left of the build side. Typed sides may be NULL: 0. */
double est_skew(const struct ctx *c, const struct fe_node *probe, const struct fe_node *build, int nkeys,
                struct fe_expr *const *pkeys, struct fe_expr *const *bkeys, double rows);

#endif
