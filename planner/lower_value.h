/* Values in a pipeline: handles load and expressions are lowered where a consumer first asks. */
#ifndef HEDDLE_PLANNER_LOWER_VALUE_H
#define HEDDLE_PLANNER_LOWER_VALUE_H

#include "planner/ctx.h"

/* Lowers e over env in pipeline p. */
int lx_expr(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct fe_expr *e,
            struct pl_val *out);
/* The value of a handle in pipeline p, loading it if this is its first use. */
int h_value(struct ctx *c, struct open_pipeline *p, struct handle *h, struct pl_val *out);
/* What the value of an H_COLUMN will be, but for its expression. */
struct pl_val h_column_value(const struct ctx *c, const struct handle *h);
/* The PROBE_KEY step that finds a row of t by key index `index`; the caller sets probe and slot. */
int h_probe_key(struct ctx *c, struct open_pipeline *p, const struct fe_table *t, int index, struct pl_val key,
                const char *path);
/* One filter step for each conjunct, in this order; those that are always true have none. share: of the
 * rows, estimated, for which each holds. */
int lx_filter(struct ctx *c, struct stream *s, struct handle *const *env, const struct fe_expr *const *v,
              const double *share, int n);
/* A column node for handle h. */
struct fe_expr *lx_col(struct ctx *c, int col, const struct handle *h, const char *path);

#endif
