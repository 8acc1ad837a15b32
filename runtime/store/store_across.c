#include "runtime/store/store_across.h"

#include <stdatomic.h>
#include <string.h>

#include "runtime/store/store_column.h"

/* Rows of a table, looked up in a segment, block by block. */
struct across {
    const struct fe_table *table;
    int n;
    const int *columns;
    bool nullable;
    const struct rt_keyset *set;
    uint8_t *found; /* wanted: a bit for each row, those of a block in bytes of their own */
    _Atomic int64_t
        first; /* where none may be found: the first row that was; else the first that was not. INT64_MAX: none */
    bool wanted; /* rows shall be found */
};

static bool is_null(const struct across *a, int64_t row)
{
    for (int i = 0; i < a->n && a->nullable; i++)
        if (!rt_col_valid(&a->table->cols[a->columns[i]], row))
            return true;
    return false;
}

static void note(struct across *a, int64_t row)
{
    int64_t first = atomic_load(&a->first);
    while (row < first && !atomic_compare_exchange_weak(&a->first, &first, row))
        ;
}

static int look_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct across *a = ctx;
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, a->table->rows), where[RT_FIND_MAX];
    (void)worker;
    (void)err;
    for (; row < end; row += RT_FIND_MAX) {
        int n = (int)HD_MIN(end - row, RT_FIND_MAX);
        rt_keyset_find(a->set, a->table, a->columns, row, n, where);
        for (int i = 0; i < n; i++) {
            if (where[i] < 0 || is_null(a, row + i))
                continue;
            if (a->wanted)
                a->found[(row + i) >> 3] |= (uint8_t)(1 << ((row + i) & 7));
            else
                note(a, row + i);
        }
    }
    return 0;
}

static struct across across(const struct fe_table *t, int n, const int *columns)
{
    struct across a = {.table = t, .n = n, .columns = columns};
    atomic_init(&a.first, INT64_MAX);
    for (int i = 0; i < n; i++)
        a.nullable |= t->cols[columns[i]].at.validity != NULL;
    return a;
}

/* Looks the rows up in a segment. */
static int look(struct across *a, const struct fe_table *segment, int n, const int *columns, struct rt_pool *pool,
                const char *dir, struct hd_err *err)
{
    struct rt_keyset set;
    HD_TRY(rt_keyset_build(&set, segment, n, columns, pool, dir, err));
    a->set = &set;
    int rc = rt_pool_run(pool, rt_nblocks(a->table->rows), look_task, a, NULL, "", err);
    rt_keyset_release(&set);
    return rc;
}

static int refuse(const struct fe_table *x, int n, const int *columns, const char *what, int64_t row,
                  struct hd_err *err)
{
    char names[256], values[256];
    return HD_FAIL(err, DATA, x->name, "%s %s: row %lld has %s, and so has a row before it", what,
                   rt_key_names(x, n, columns, names), (long long)(x->first_row + row) + 1,
                   rt_key_values(x, n, columns, row, values));
}

/* Values of the column that a table is cut by are in one segment each. */
static bool is_apart(const struct fe_table *t, int n, const int *columns)
{
    bool apart = n == 0;
    for (int i = 0; i < n; i++)
        apart |= columns[i] == t->cut;
    return apart;
}

int rt_across_unique(const struct fe_table *t, int n, const int *columns, const char *what, struct rt_pool *pool,
                     const char *dir, struct hd_err *err)
{
    for (int i = 0; i + 1 < t->nsegments && !is_apart(t, n, columns); i++)
        for (int k = i + 1; k < t->nsegments; k++) {
            struct across a = across(t->segments[k], n, columns);
            HD_TRY(look(&a, t->segments[i], n, columns, pool, dir, err));
            if (atomic_load(&a.first) != INT64_MAX)
                return refuse(a.table, n, columns, what, atomic_load(&a.first), err);
        }
    return 0;
}

static int check_found(struct across *a, const struct fe_foreign_key *fk, struct hd_err *err)
{
    for (int64_t row = 0; row < a->table->rows; row++)
        if (!(a->found[row >> 3] >> (row & 7) & 1) && !is_null(a, row))
            return rt_fk_violation(a->table, fk, row, err);
    return 0;
}

int rt_across_check(const struct fe_table *child, const struct fe_foreign_key *fk, struct rt_pool *pool,
                    const char *dir, struct hd_err *err)
{
    struct across a = across(child, fk->n_columns, fk->columns);
    struct rt_big found;
    int rc = 0;
    HD_TRY(rt_fk_check_types(child, fk, err));
    HD_TRY(rt_big_new(&found, (uint64_t)child->rows / 8 + 1, dir, err));
    a.found = found.p;
    a.wanted = true;
    for (int i = 0; i < fk->parent->nsegments && rc == 0; i++)
        rc = look(&a, fk->parent->segments[i], fk->n_columns, fk->parent_columns, pool, dir, err);
    if (rc == 0)
        rc = check_found(&a, fk, err);
    rt_big_release(&found);
    return rc;
}
