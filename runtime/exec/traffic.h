/* How many bytes of memory a pipeline's rows need at least, from what was counted and from what the planner says that
 * rows touch (struct rt_access of runtime/spec.h). The formulas stand in docs/performance.md, "What a profile computes".
 */
#ifndef HEDDLE_RUNTIME_EXEC_TRAFFIC_H
#define HEDDLE_RUNTIME_EXEC_TRAFFIC_H

#include "runtime/exec/stats.h"

/* Accesses of single items a second, wherever they are: to what the first cache of each processor holds, to what the last cache
 * does, to what it does not; 0 unknown. */
struct rt_access_rates {
    double near, cached, beyond;
};

/* Of what a program runs on. */
struct rt_memory_model {
    double sector; /* bytes that come from memory together */
    double near_cache; /* bytes of a processor's first cache; 0 unknown */
    double cache; /* bytes of the last cache; 0 unknown */
    double bandwidth; /* bytes a second; 0 unknown */
    struct rt_access_rates gathers, atomics;
};

/* Bytes in sectors, each of which comes once. */
struct rt_traffic {
    double scan, lookup, text, write;
    double bytes; /* the sum of these */
    double random; /* the sum if lookups and updates come in random order: what does not fit the cache comes again */
    double lookups; /* rows looked up or updated, wherever they are */
    double atomics;
    double gathering, adding; /* ms for lookups and for atomics, each of another item; 0 unknown */
};

/* Of pipeline i. counted: of an execution that counted rows. */
void rt_traffic_of(const struct rt_spec *spec, int i, const struct rt_exec_stats *counted,
                   const struct rt_memory_model *m, struct rt_traffic *out);
/* Milliseconds that so many bytes take; 0 unknown. */
double rt_traffic_ms(const struct rt_memory_model *m, double bytes);
/* The longest of what random bytes, gathering and adding take. */
double rt_traffic_random_ms(const struct rt_memory_model *m, const struct rt_traffic *t);
/* Which of them that is: "bytes" (random ones are no more than those that come once), "random bytes", "lookups", "atomics". */
const char *rt_traffic_bound(const struct rt_memory_model *m, const struct rt_traffic *t);

#endif
