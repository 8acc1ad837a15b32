/* Sets of row ranges: which rows of a table have been appended. Adjacent ranges are merged. */
#ifndef HEDDLE_RUNTIME_STORE_RANGES_H
#define HEDDLE_RUNTIME_STORE_RANGES_H

#include "runtime/base/err.h"

struct rt_range {
    int64_t from, to; /* [from, to) */
};
struct rt_ranges {
    struct rt_range *v; /* ascending, disjoint, not touching */
    size_t n, cap;
};
void rt_ranges_release(struct rt_ranges *r);
/* Adds a non-empty range. 0; -1 and *clash if a part of it is there already; -2 out of memory. */
int rt_ranges_add(struct rt_ranges *r, int64_t from, int64_t to, struct rt_range *clash);
/* Takes out a range that was added. Never needs memory that add did not provide. */
void rt_ranges_remove(struct rt_ranges *r, int64_t from, int64_t to);

#endif
