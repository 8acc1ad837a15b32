/* Internal to the files of ranges: the columns of a RANGES node. */
#ifndef HEDDLE_PLANNER_RANGE_COLUMNS_H
#define HEDDLE_PLANNER_RANGE_COLUMNS_H

#include "planner/ctx.h"
#include "planner/physical.h"

/* Columns of one side where expressions over both sides look for them. */
struct handle **range_env(struct ctx *c, const struct pl_ranges *r, const struct stream *s, bool probe);
/* Rows of the build side at most; they have numbers of 31 bits. */
double range_rows(const struct stream *build);
/* Range and width of a running field whose argument is v. */
struct pl_val range_running(const struct pl_running *w, const struct stream *build, struct pl_val v);
/* What a running field is for a range, of the field in its last row and in the row before its first (NULL: the range
 * begins with the first row of all). */
struct handle *range_value(struct ctx *c, const struct pl_running *w, struct handle *last, struct handle *before,
                           const char *path);
/* The output: columns of the probe side, the number of pairs, values of running fields. */
void range_output(struct ctx *c, const struct pl_node *n, const struct stream *probe, struct handle *count,
                  struct handle *const *values, struct stream *out);

#endif
