/* Groups that are the parents of a scanned table's rows: whether they are, and what is known of them. */
#ifndef HEDDLE_PLANNER_FLOW_FOLD_H
#define HEDDLE_PLANNER_FLOW_FOLD_H

#include "planner/agg.h"

/* What is known of the children of the groups of stage g over stream s. */
int flow_fold_facts(struct ctx *c, const struct stream *s, const struct stage *g, const struct pl_fold_facts **out);
/* The groups of a stage that was chosen to fold; what gives it its rows is told. */
int flow_fold(struct ctx *c, const struct stream *s, struct stage *g, struct stream *out, struct handle **key_out,
              struct handle **agg_out);

#endif
