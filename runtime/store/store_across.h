/* Keys of tables of segments, where a value may be in any of them. */
#ifndef HEDDLE_RUNTIME_STORE_ACROSS_H
#define HEDDLE_RUNTIME_STORE_ACROSS_H

#include "runtime/store/store_keys.h"

/* No two segments of the table share a value of these columns; `what` they are, for the error. Within each of them that is
 * known. */
int rt_across_unique(const struct fe_table *t, int n, const int *columns, const char *what, struct rt_pool *pool,
                     const char *dir, struct hd_err *err);
/* Each row of child that has no NULL in the key has its parent in one of the segments. */
int rt_across_check(const struct fe_table *child, const struct fe_foreign_key *fk, struct rt_pool *pool,
                    const char *dir, struct hd_err *err);

#endif
