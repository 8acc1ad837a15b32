/* Facts of one stored column, computed from what is stored. The same code serves sealing,
 * registering and checking. */
#ifndef HEDDLE_RUNTIME_STORE_FACTS_H
#define HEDDLE_RUNTIME_STORE_FACTS_H

#include "runtime/store/store_pool.h"

enum rt_facts_level {
    /* INT, DICT: NULLs, range and order, by one pass; where that finds it sorted, all. Else distinct values are estimated from
     * a sample, the rest is unknown; NULLs are those of `col`. */
    RT_FACTS_ESTIMATED,
    RT_FACTS_UNIQUE, /* values are counted where they may all be different, as far as their range tells; else as above */
    RT_FACTS_ALL
};
/* The column must be mapped. dir: where large working arrays go, or NULL for memory. Exact are
 * all facts but `distinct` where marked; `unique` and `max_mult` are false and -1 where they
 * are not known: an unsorted column whose values are many and spread too wide to be counted. zones: of all rows, of a column
 * that has them (frontend/zones.h), at level ESTIMATED of INT and DICT alone; or NULL. */
int rt_facts_compute(const struct fe_table_column *col, int64_t rows, enum rt_facts_level level, struct rt_pool *pool,
                     const char *dir, struct fe_facts *out, struct fe_zone *zones, struct hd_err *err);
/* To be called when a column has been found to hold no duplicates. */
void rt_facts_set_unique(struct fe_facts *f, int64_t rows);

#endif
