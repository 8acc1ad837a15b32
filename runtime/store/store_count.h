/* How many distinct values a column has, and how often the most frequent one occurs. */
#ifndef HEDDLE_RUNTIME_STORE_COUNT_H
#define HEDDLE_RUNTIME_STORE_COUNT_H

#include "runtime/store/store_pool.h"

enum { RT_DENSE_RATIO = 8 }; /* a range of up to this many times the rows is worth an array */

struct rt_counts {
    int64_t distinct;
    bool exact;
    int64_t max_mult; /* -1: only estimated */
};
/* Numbers of 64 bits, ordered as a column's values are, lie between min and max: those of rt_col_ordinals, or, of an INT
 * of 16 bytes, stored - origin. !there: the column has none. */
struct rt_ordinals {
    bool there;
    hd_i128 origin;
    uint64_t min, max;
};
/* The column has at least one value that is not NULL. dir as in rt_big_new. */
int rt_count_values(const struct fe_table_column *col, int64_t rows, int64_t nulls, const struct rt_ordinals *ordinals,
                    struct rt_pool *pool, const char *dir, struct rt_counts *out, struct hd_err *err);

/* Estimates from a sample of RT_SAMPLE_ROWS rows; exact where these are all. At least one is not NULL. */
enum { RT_SAMPLE_ROWS = 1024 };
int rt_sample_values(const struct fe_table_column *col, int64_t rows, int64_t nulls, struct rt_counts *out,
                     struct hd_err *err);

/* Moves the ordinals of valid rows together; their number. */
int rt_drop_nulls(const struct fe_table_column *c, int64_t from, int n, uint64_t *v);

#endif
