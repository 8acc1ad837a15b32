/* The int64 words that a sorted state is searched by: of a row, and the bounds that a probe row gives. */
#ifndef HEDDLE_PLANNER_SEARCH_WORD_H
#define HEDDLE_PLANNER_SEARCH_WORD_H

#include "planner/bounds.h"
#include "planner/ctx.h"

/* The word of the sum that the interval is about, over env in pipeline p. */
int sw_word(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_interval *x,
            struct pl_val *out);
/* The words between which rows lie: those of the type where the interval has no such end. NULL where a bound is. */
int sw_bounds(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_interval *x,
              struct pl_val *low, struct pl_val *high);
/* The word of one end of an exact interval: open or closed, it is that of the bound. */
int sw_end(struct ctx *c, struct open_pipeline *p, struct handle *const *env, const struct pl_interval *x, bool low,
           struct pl_val *out);
/* The word of a key in its final width. */
struct pl_val sw_key(struct ctx *c, struct pl_val v);
/* One word for n keys; NULL where a key is that needs a value (null_equal NULL: all do). */
struct pl_val sw_hash(struct ctx *c, const struct pl_val *v, int n, const bool *null_equal);

#endif
