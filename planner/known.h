/* What is known of values before pipelines exist: the integer that will hold one, its range, whether it may be NULL,
 * its dictionary. Handles in this stage never load; those of states have no state (h_kept, h_summed). */
#ifndef HEDDLE_PLANNER_KNOWN_H
#define HEDDLE_PLANNER_KNOWN_H

#include "planner/agg.h"

/* What h's value will be; out->expr means nothing. An H_EXPR or field of one tells its range from then on. */
int known_value(struct ctx *c, struct handle *h, struct pl_val *out);
/* Of the rows for which conjuncts before number i hold the share for which it holds, too (on a CPU, and where a value is far more
 * frequent than others, the two ends of a range are taken for independent); what it compares for equality is looked at closely first. */
int known_selectivity(struct ctx *c, struct handle *const *env, const struct fe_expr *const *v, int i, double *share);
/* Two keys as they are compared: codes of one dictionary, else texts; *ints: both are integers. */
void known_unify(struct pl_val *a, struct pl_val *b, bool *ints);
/* The result of a sum of `rows` values at most, at a row of its state; may_lack: of no values, too. */
struct handle *h_summed(struct ctx *c, const struct agg_item *a, double rows, struct handle *row, bool may_lack);

#endif
