/* Where rows come from: tables, rows of the plan, several streams that end in one state. */
#ifndef HEDDLE_PLANNER_LOWER_ROWS_H
#define HEDDLE_PLANNER_LOWER_ROWS_H

#include "planner/ctx.h"
#include "planner/physical.h"

int lower_scan(struct ctx *c, const struct pl_node *n, struct stream *out);
int lower_values(struct ctx *c, const struct pl_node *n, struct stream *out);
/* The scan's columns at a row of its table; its filter is applied by scan_filter. */
void scan_columns(struct ctx *c, const struct fe_node *n, struct handle *row, struct stream *s);
int scan_filter(struct ctx *c, const struct pl_node *n, struct handle *row, struct stream *s);
/* Rows of several streams in one state, in the columns of typed node n. */
int lower_appended(struct ctx *c, const struct fe_node *n, struct stream *parts, int nparts, struct stream *out);

#endif
