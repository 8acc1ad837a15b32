/* Rows of a pipeline's source that an action visits. */
#ifndef HEDDLE_RUNTIME_EXEC_SOURCE_H
#define HEDDLE_RUNTIME_EXEC_SOURCE_H

#include "runtime/spec.h"

/* The part of a source of n rows that belongs to the fragment and lies between the pipeline's ends, for which it searches
 * their columns in memory of the host. It begins at a multiple of RT_FRAGMENT_ROWS. */
struct rt_source_rows rt_source_span(const struct rt_spec *s, const struct rt_pipeline *p, struct rt_fragment f,
                                     uint64_t n);

/* The first row of the source between the ends, which a span may begin in front of. The source is a table. */
int64_t rt_source_first(const struct rt_spec *s, const struct rt_pipeline *p);

/* Of rows [begin, end) of a table that is the source the first ones that zones do not rule out, as far as they lie together;
 * begin == end: there are none. */
struct rt_source_rows rt_source_piece(const struct rt_pipeline *p, uint64_t begin, uint64_t end);
/* How many of them there are. */
uint64_t rt_source_visited(const struct rt_pipeline *p, uint64_t begin, uint64_t end);

/* The rows of a part of a table that the program reads at most (rt_arg.scans), all without scans. */
struct rt_source_rows rt_arg_rows(const struct rt_spec *s, const struct rt_arg *a);

#endif
