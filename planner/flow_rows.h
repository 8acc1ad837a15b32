/* Internal to the files of flows: rows of tables, of states, and those that pass conditions. */
#ifndef HEDDLE_PLANNER_FLOW_ROWS_H
#define HEDDLE_PLANNER_FLOW_ROWS_H

#include "planner/physical_tree.h"
#include "planner/store.h"

/* A pipeline begins that scans a table, or reads a state: its rows, no columns yet. */
struct stream flow_begin(struct ctx *c, struct handle *source, double rows);
struct handle *flow_row(struct ctx *c, const struct fe_table *t);
/* Rows that were stored. */
struct stream flow_over(struct ctx *c, const struct stored *st);
struct stream flow_scan(struct ctx *c, const struct fe_node *n);
int flow_scan_filter(struct ctx *c, struct pl_node *scan, struct handle *row, struct stream *s);
/* Which columns are kept by the id of their row: records it at n. */
const bool *flow_kept(struct ctx *c, struct pl_node *n, const struct kept *k);
/* Those rows for which the conjuncts hold; share: room for what each leaves of them. */
int flow_filter(struct ctx *c, struct pl_node *node, struct stream *s, struct handle *const *env,
                const struct fe_expr *const *v, int n, double *share);
/* Rows of several streams in one state of typed node n. */
struct stream flow_appended(struct ctx *c, const struct fe_node *n, double rows, double max_rows);

#endif
