/* How base tables are spread over workers: by the values of a key, of which each worker has a range, or by a hash of a
 * column. Tables whose foreign keys lead to the key are spread with it, so that rows that such a key joins are together. */
#ifndef HEDDLE_PLANNER_DISTRIBUTE_SCHEME_H
#define HEDDLE_PLANNER_DISTRIBUTE_SCHEME_H

#include "frontend/plan.h"

struct cJSON;

struct pl_scheme {
    const struct fe_table *table; /* that has the key */
    int column;
    bool hashed;
    bool in_order; /* ranges of the result's first sort key */
    bool descending; /* the first worker has the last range */
    int64_t *cuts; /* ranges: [workers - 1], ascending; the first value of each range but the first */
};

/* Reads the value in a row of a stored column of ints, dates or decimals, the latter in units of their last digit; with an error of the store where that fails. */
typedef int (*pl_value_fn)(const struct fe_table *t, int column, int64_t row, int64_t *out, struct hd_err *err);

/* Ways to spread the tables (distinct, n of them), at least one where there is a table; the number of them. There is room
 * for one more. */
int pl_schemes(struct hd_arena *a, const struct fe_table *const *tables, int n, int workers, struct pl_scheme **out);
/* A table could be spread by ranges of the column, whatever refers to it. */
bool pl_scheme_may_range(const struct fe_table *t, int column, int workers);
/* Fills s->cuts, so that workers have about as many rows of the largest table that is sorted by the key. */
int pl_scheme_cut(struct hd_arena *a, struct pl_scheme *s, const struct fe_table *const *tables, int n, int workers,
                  pl_value_fn value, struct hd_err *err);
/* A scheme for t alone, whose parts lie together: by the column with the most values that it is sorted by. False: there is none. */
bool pl_scheme_own(const struct fe_table *t, int workers, struct pl_scheme *out);
/* The column by which rows of t are spread; -1: they are not, every worker has all. */
int pl_scheme_column(const struct pl_scheme *s, const struct fe_table *t);
/* Rows of t of one worker lie together, so that it reads no others. */
bool pl_scheme_is_sorted(const struct fe_table *t, int column);

/* The number of the worker that has the rows with these values of columns, by their hash; n >= 1. */
struct cJSON *pl_hashed_worker(struct hd_arena *a, const char *const *columns, int n, int workers);
/* The condition that keeps a worker's rows of a column, in the parameters of pl_scheme_params, whose names begin with
 * `prefix`. */
struct cJSON *pl_scheme_condition(struct hd_arena *a, const struct pl_scheme *s, const struct fe_table *t, int column,
                                  int workers, const char *prefix);
/* s NULL: the number of the worker alone. Adds those that stand in a plan's tree to an object of parameters, and their values for each worker to a list. */
void pl_scheme_params(struct hd_arena *a, const struct pl_scheme *s, const struct cJSON *root, int workers,
                      const char *prefix, struct cJSON *params, struct cJSON *bind);

#endif
