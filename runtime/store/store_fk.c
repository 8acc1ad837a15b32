/* Foreign keys: every child row is mapped to its parent row, which checks the key; then parents
 * count their children, and children are dealt out to their parents. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/store/store_column.h"
#include "runtime/store/store_keys.h"

static const uint32_t no_parent = UINT32_MAX; /* a NULL among the child's columns */

struct fk_job {
    const struct fe_table *child;
    const struct fe_foreign_key *fk;
    const struct fe_key_index *index; /* of the parent column, or NULL: */
    struct rt_keyset set;
    uint32_t *parents;        /* per child row; NULL: only check */
    _Atomic uint32_t *counts; /* children of parent p at [p + 1]; a table in one piece has less than 2^31 */
    bool nullable;
    atomic_bool unordered;
    uint32_t *offsets;
    uint32_t *child_rows;
    uint32_t *bounds; /* first parent of each dealing task, and the end */
};

static const struct fe_key_index *find_index(const struct fe_table *t, int column)
{
    for (int k = 0; k < t->nkeyidx; k++)
        if (t->keyidx[k].column == column && t->keyidx[k].kind != FE_INDEX_NONE)
            return &t->keyidx[k];
    return NULL;
}

static bool comparable(struct hd_type a, struct hd_type b)
{
    if (a.kind == HD_DECIMAL || b.kind == HD_DECIMAL)
        return a.kind == b.kind && a.scale == b.scale;
    return a.kind == b.kind || (hd_type_is_int(a) && hd_type_is_int(b));
}

int rt_fk_check_types(const struct fe_table *child, const struct fe_foreign_key *fk, struct hd_err *err)
{
    for (int i = 0; i < fk->n_columns; i++) {
        const struct fe_table_column *a = &child->cols[fk->columns[i]];
        const struct fe_table_column *b = &fk->parent->cols[fk->parent_columns[i]];
        char x[HD_TEXT_MAX], y[HD_TEXT_MAX];
        if (!comparable(a->type, b->type))
            return HD_FAIL(err, USER, child->name, "foreign key: column \"%s\" is %s, but \"%s\" of \"%s\" is %s",
                           a->name, hd_type_text(a->type, x), b->name, fk->parent->name, hd_type_text(b->type, y));
    }
    return 0;
}

static bool is_null(const struct fk_job *j, int64_t row)
{
    for (int i = 0; i < j->fk->n_columns; i++)
        if (!rt_col_valid(&j->child->cols[j->fk->columns[i]], row))
            return true;
    return false;
}

static void find_parents(const struct fk_job *j, int64_t from, int n, int64_t *out)
{
    if (j->index)
        rt_key_index_find(j->index, &j->child->cols[j->fk->columns[0]], from, n, out);
    else
        rt_keyset_find(&j->set, j->child, j->fk->columns, from, n, out);
}

int rt_fk_violation(const struct fe_table *child, const struct fe_foreign_key *fk, int64_t row, struct hd_err *err)
{
    char names[256], others[256], values[256];
    return HD_FAIL(err, DATA, child->name, "foreign key %s: %s in row %lld is not in %s%s",
                   rt_key_names(child, fk->n_columns, fk->columns, names),
                   rt_key_values(child, fk->n_columns, fk->columns, row, values),
                   (long long)(child->first_row + row) + 1, fk->parent->name,
                   rt_key_names(fk->parent, fk->n_columns, fk->parent_columns, others));
}

/* Children of one parent often stand together: they are counted once. */
static void count_child(struct fk_job *j, int64_t parent, int64_t *run_parent, uint32_t *run)
{
    if (parent == *run_parent) {
        ++*run;
        return;
    }
    if (*run_parent >= 0)
        atomic_fetch_add_explicit(&j->counts[*run_parent + 1], *run, memory_order_relaxed);
    *run_parent = parent;
    *run = 1;
}

/* What one task knows of the rows behind it. */
struct fk_run {
    int64_t parent; /* of the run of children at the end, -1 none */
    uint32_t length;
    int64_t last;
    bool ordered;
};

static int map_rows(struct fk_job *j, int64_t from, int n, struct fk_run *run, struct hd_err *err)
{
    int64_t parents[RT_FIND_MAX];
    find_parents(j, from, n, parents);
    for (int i = 0; i < n; i++) {
        bool null = j->nullable && is_null(j, from + i);
        if (!null && parents[i] < 0)
            return rt_fk_violation(j->child, j->fk, from + i, err);
        if (!j->parents)
            continue;
        int64_t parent = null ? no_parent : parents[i];
        j->parents[from + i] = (uint32_t)parent;
        run->ordered &= !null && parent >= run->last;
        run->last = parent;
        if (!null)
            count_child(j, parent, &run->parent, &run->length);
    }
    return 0;
}

static int map_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct fk_job *j = ctx;
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, j->child->rows);
    struct fk_run run = {.parent = -1, .last = -1, .ordered = true};
    (void)worker;
    for (; row < end; row += RT_FIND_MAX)
        HD_TRY(map_rows(j, row, (int)HD_MIN(end - row, RT_FIND_MAX), &run, err));
    if (run.parent >= 0)
        atomic_fetch_add_explicit(&j->counts[run.parent + 1], run.length, memory_order_relaxed);
    if (!run.ordered)
        atomic_store_explicit(&j->unordered, true, memory_order_relaxed);
    return 0;
}

static bool seams_ordered(const struct fk_job *j)
{
    for (int64_t b = 1; b < rt_nblocks(j->child->rows); b++)
        if (j->parents[(b << RT_BLOCK_SHIFT) - 1] > j->parents[b << RT_BLOCK_SHIFT])
            return false;
    return true;
}

/* Each task owns a range of parents with about as many children, and reads all of the map:
 * children come out ascending, and writes stay within a part of the array. offsets[p] is the
 * place of p's next child meanwhile. */
static int deal_task(void *ctx, int worker, int64_t task, struct hd_err *err)
{
    struct fk_job *j = ctx;
    uint32_t from = j->bounds[task], to = j->bounds[task + 1];
    (void)worker;
    (void)err;
    for (int64_t row = 0; row < j->child->rows; row++) {
        uint32_t p = j->parents[row];
        if (p >= from && p < to)
            j->child_rows[j->offsets[p]++] = (uint32_t)row;
    }
    return 0;
}

/* The first parent whose children start at or after a place. */
static uint32_t parent_at(const struct fk_job *j, uint64_t place)
{
    int64_t lo = 0, hi = j->fk->parent->rows;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (j->offsets[mid] < place)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (uint32_t)lo;
}

static int deal(struct fk_job *j, struct rt_pool *pool, struct hd_err *err)
{
    int64_t parents = j->fk->parent->rows;
    int tasks = rt_pool_threads(pool);
    j->bounds = hd_try_calloc((size_t)tasks + 1, sizeof *j->bounds);
    if (!j->bounds)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    for (int k = 1; k < tasks; k++)
        j->bounds[k] = parent_at(j, (uint64_t)j->offsets[parents] / (uint64_t)tasks * (uint64_t)k);
    j->bounds[tasks] = (uint32_t)parents;
    int rc = rt_pool_run(pool, tasks, deal_task, j, NULL, "", err);
    free(j->bounds);
    memmove(j->offsets + 1, j->offsets, (size_t)parents * sizeof *j->offsets);
    j->offsets[0] = 0;
    return rc;
}

static void note_long(struct rt_fk_index *out, int64_t parent, int64_t children)
{
    if (out->nlong < FE_LONG_PARENTS)
        out->longs[out->nlong] = (struct fe_long_parent){parent, children};
    out->nlong++;
}

static void sum_counts(struct fk_job *j, struct rt_fk_index *out)
{
    for (int64_t p = 0; p < j->fk->parent->rows; p++) {
        if (j->offsets[p + 1] > FE_LONG_CHILDREN)
            note_long(out, p, (int64_t)j->offsets[p + 1]);
        out->max_children = HD_MAX(out->max_children, (int64_t)j->offsets[p + 1]);
        out->parents_hit += j->offsets[p + 1] != 0;
        j->offsets[p + 1] += j->offsets[p];
    }
}

static int build(struct fk_job *j, struct rt_pool *pool, const char *dir, struct rt_fk_index *out, struct hd_err *err)
{
    struct rt_big map = {0};
    int64_t rows = j->child->rows, parents = j->fk->parent->rows;
    if (j->fk->n_columns == 1) {
        HD_TRY(rt_big_new(&out->offsets, ((uint64_t)parents + 1) * sizeof *j->offsets, dir, err));
        HD_TRY(rt_big_new(&map, (uint64_t)rows * 4, dir, err));
        j->offsets = out->offsets.p;
        j->counts = out->offsets.p;
        j->parents = map.p;
    }
    int rc = rt_pool_run(pool, rt_nblocks(rows), map_task, j, NULL, "", err);
    if (rc == 0 && j->parents) {
        sum_counts(j, out);
        if (atomic_load(&j->unordered) || !seams_ordered(j)) {
            rc = rt_big_new(&out->child_rows, (uint64_t)j->offsets[parents] * 4, dir, err);
            j->child_rows = out->child_rows.p;
            if (rc == 0)
                rc = deal(j, pool, err);
        }
    }
    rt_big_release(&map);
    return rc;
}

int rt_fk_build(const struct fe_table *child, const struct fe_foreign_key *fk, struct rt_pool *pool, const char *dir,
                struct rt_fk_index *out, struct hd_err *err)
{
    struct fk_job j = {.child = child, .fk = fk};
    *out = (struct rt_fk_index){0};
    HD_TRY(rt_fk_check_types(child, fk, err));
    for (int i = 0; i < fk->n_columns; i++)
        j.nullable |= child->cols[fk->columns[i]].at.validity != NULL;
    if (fk->n_columns == 1 && child->cols[fk->columns[0]].storage == FE_STORE_INT)
        j.index = find_index(fk->parent, fk->parent_columns[0]);
    if (!j.index)
        HD_TRY(rt_keyset_build(&j.set, fk->parent, fk->n_columns, fk->parent_columns, pool, dir, err));
    j.set.only_exists = fk->n_columns > 1;
    int rc = -1;
    char names[256];
    if (!j.index && j.set.dup[0] >= 0)
        HD_FAIL(err, DATA, child->name, "foreign key to %s%s, which is not unique: rows %lld and %lld",
                fk->parent->name, rt_key_names(fk->parent, fk->n_columns, fk->parent_columns, names),
                (long long)(fk->parent->first_row + j.set.dup[0]) + 1,
                (long long)(fk->parent->first_row + j.set.dup[1]) + 1);
    else
        rc = build(&j, pool, dir, out, err);
    rt_keyset_release(&j.set);
    if (rc != 0)
        rt_fk_index_release(out);
    return rc;
}

void rt_fk_index_release(struct rt_fk_index *x)
{
    rt_big_release(&x->offsets);
    rt_big_release(&x->child_rows);
}
