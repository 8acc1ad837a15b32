/* Where a pipeline ends because it becomes too deep or too wide. */
#ifndef HEDDLE_PLANNER_CUT_H
#define HEDDLE_PLANNER_CUT_H

#include "planner/ctx.h"

/* Called where a step that may open a level comes next, before anything is loaded for it: goes
 * on from stored rows if this pipeline has no room for that level. want: columns that anybody asks
 * for from here on (NULL: all). keys: those that the step looks at, which computes them (NULL: none). */
int cut_before_level(struct ctx *c, struct stream *s, const bool *want, const bool *keys, const char *path);
/* Called for every step that opens a level, as soon as that is there. */
void cut_open_level(struct ctx *c, const struct stream *s, const bool *want);
/* Whether the steps of `tail` have room behind those of `head`, where each of its levels carries up to `more` bytes
 * beside what it carries now. */
bool cut_fits(const struct open_pipeline *head, const struct open_pipeline *tail, int more);
/* Of a block's shared memory, for tuples of so many bytes, which are filled up to words. */
int cut_queue_bytes(int carried);

#endif
