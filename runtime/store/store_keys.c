#include "runtime/store/store_keys.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/store/store_column.h"

/* Runs of equal first key columns up to this length are compared pair by pair. */
enum { SHORT_RUN = 64 };

static void append(char buf[256], const char *s)
{
    size_t n = strlen(buf);
    snprintf(buf + n, 256 - n, "%s", s);
}

const char *rt_key_names(const struct fe_table *t, int n, const int *columns, char buf[256])
{
    snprintf(buf, 256, "(");
    for (int i = 0; i < n; i++) {
        append(buf, i ? ", " : "");
        append(buf, t->cols[columns[i]].name);
    }
    append(buf, ")");
    return buf;
}

const char *rt_key_values(const struct fe_table *t, int n, const int *columns, int64_t row,
                          char buf[256])
{
    char text[64];
    snprintf(buf, 256, "%s", n > 1 ? "(" : "");
    for (int i = 0; i < n; i++) {
        append(buf, i ? ", " : "");
        append(buf, rt_col_text(&t->cols[columns[i]], row, text));
    }
    append(buf, n > 1 ? ")" : "");
    return buf;
}

static bool has_null(const struct fe_table *t, int n, const int *columns, int64_t row)
{
    for (int i = 0; i < n; i++)
        if (!rt_col_valid(&t->cols[columns[i]], row))
            return true;
    return false;
}

static int64_t nblocks(int64_t rows) { return (rows + RT_BLOCK_ROWS - 1) >> RT_BLOCK_SHIFT; }

/* ---- hash set of rows ---------------------------------------------------------------------- */

static uint64_t hash_row(const struct fe_table *t, int n, const int *columns, int64_t row)
{
    uint64_t h = 0;
    for (int i = 0; i < n; i++)
        h = rt_hash64(h * 31 + rt_col_hash(&t->cols[columns[i]], row));
    return h;
}

static bool rows_equal(const struct rt_keyset *k, int64_t i, const struct fe_table *t,
                       const int *columns, int64_t j)
{
    for (int c = 0; c < k->n; c++)
        if (!rt_col_equal(&k->table->cols[k->columns[c]], i, &t->cols[columns[c]], j))
            return false;
    return true;
}

static int insert_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct rt_keyset *k = ctx;
    _Atomic uint64_t *slots = k->slots.p;
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, k->table->rows);
    (void)worker;
    (void)err;
    for (; row < end; row++) {
        if (has_null(k->table, k->n, k->columns, row))
            continue;
        uint64_t h = hash_row(k->table, k->n, k->columns, row);
        uint64_t entry = (h & ~(uint64_t)UINT32_MAX) | (uint64_t)(row + 1), seen;
        for (uint64_t at = h & k->mask;; at = (at + 1) & k->mask) {
            seen = 0;
            if (atomic_compare_exchange_strong(&slots[at], &seen, entry))
                break;
            int64_t other = (int64_t)(uint32_t)seen - 1;
            if (seen >> 32 == entry >> 32 &&
                rows_equal(k, other, k->table, k->columns, row)) {
                __atomic_store_n(&k->dup[0], HD_MIN(row, other), __ATOMIC_RELAXED);
                __atomic_store_n(&k->dup[1], HD_MAX(row, other), __ATOMIC_RELAXED);
                return 0;
            }
        }
    }
    return 0;
}

int rt_keyset_build(struct rt_keyset *k, const struct fe_table *t, int n, const int *columns,
                    struct rt_pool *pool, const char *dir, struct hd_err *err)
{
    *k = (struct rt_keyset){.table = t, .n = n, .columns = columns, .dup = {-1, -1}};
    uint64_t size = hd_pow2_ceil((uint64_t)t->rows * 2 + 1);
    k->mask = size - 1;
    HD_TRY(rt_big_new(&k->slots, size * sizeof(uint64_t), dir, err));
    int rc = rt_pool_run(pool, nblocks(t->rows), insert_task, k, NULL, "", err);
    if (rc != 0)
        rt_keyset_release(k);
    return rc;
}

void rt_keyset_release(struct rt_keyset *k) { rt_big_release(&k->slots); }

int64_t rt_keyset_find(const struct rt_keyset *k, const struct fe_table *t, const int *columns,
                       int64_t row)
{
    const uint64_t *slots = k->slots.p;
    uint64_t h = hash_row(t, k->n, columns, row), e;
    for (uint64_t at = h & k->mask; (e = slots[at]) != 0; at = (at + 1) & k->mask) {
        int64_t other = (int64_t)(uint32_t)e - 1;
        if (e >> 32 == h >> 32 && rows_equal(k, other, t, columns, row))
            return other;
    }
    return -1;
}

/* ---- uniqueness ---------------------------------------------------------------------------- */

struct runs {
    const struct fe_table *t;
    int n;
    const int *columns;
    atomic_bool too_long;
    int64_t dup[2];
};

static bool same(const struct runs *r, int column, int64_t a, int64_t b)
{
    const struct fe_table_column *c = &r->t->cols[r->columns[column]];
    return rt_col_equal(c, a, c, b);
}

static void compare_pairs(struct runs *r, int64_t from, int64_t to)
{
    for (int64_t a = from; a < to; a++)
        for (int64_t b = a + 1; b < to; b++) {
            int c = 1;
            while (c < r->n && same(r, c, a, b))
                c++;
            if (c < r->n)
                continue;
            __atomic_store_n(&r->dup[0], a, __ATOMIC_RELAXED);
            __atomic_store_n(&r->dup[1], b, __ATOMIC_RELAXED);
            return;
        }
}

/* Looks at the runs that start in the block. */
static int runs_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct runs *r = ctx;
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, r->t->rows);
    (void)worker;
    (void)err;
    while (row > 0 && row < end && same(r, 0, row - 1, row))
        row++;
    while (row < end && !atomic_load_explicit(&r->too_long, memory_order_relaxed)) {
        int64_t to = row + 1;
        while (to < r->t->rows && to - row <= SHORT_RUN && same(r, 0, row, to))
            to++;
        if (to - row > SHORT_RUN)
            atomic_store(&r->too_long, true);
        else
            compare_pairs(r, row, to);
        row = to;
    }
    return 0;
}

int rt_keys_find_duplicate(const struct fe_table *t, int n, const int *columns,
                           struct rt_pool *pool, const char *dir, int64_t dup[2],
                           struct hd_err *err)
{
    dup[0] = dup[1] = -1;
    for (int i = 0; i < n; i++)
        if (t->cols[columns[i]].facts.unique && t->cols[columns[i]].facts.nulls == 0)
            return 0;
    if (n > 1 && t->cols[columns[0]].facts.clustered) {
        struct runs r = {.t = t, .n = n, .columns = columns, .dup = {-1, -1}};
        HD_TRY(rt_pool_run(pool, nblocks(t->rows), runs_task, &r, NULL, "", err));
        memcpy(dup, r.dup, sizeof r.dup);
        if (dup[0] >= 0 || !atomic_load(&r.too_long))
            return 0;
    }
    struct rt_keyset k;
    HD_TRY(rt_keyset_build(&k, t, n, columns, pool, dir, err));
    memcpy(dup, k.dup, sizeof k.dup);
    rt_keyset_release(&k);
    return 0;
}

/* ---- key index ----------------------------------------------------------------------------- */

struct fill {
    const struct fe_table *t;
    const struct fe_key_index *x;
    uint32_t *rows;
};

static int fill_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct fill *f = ctx;
    const struct fe_table_column *c = &f->t->cols[f->x->column];
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, f->t->rows);
    (void)worker;
    (void)err;
    for (; row < end; row++)
        if (rt_col_valid(c, row))
            f->rows[(uint64_t)(rt_col_int(c, row) - f->x->min)] = (uint32_t)row + 1;
    return 0;
}

int rt_key_index_build(const struct fe_table *t, int column, struct rt_pool *pool,
                       const char *dir, struct fe_key_index *out, struct rt_big *big,
                       struct hd_err *err)
{
    const struct fe_table_column *c = &t->cols[column];
    *out = (struct fe_key_index){.kind = FE_INDEX_NONE, .column = column};
    *big = (struct rt_big){0};
    if (c->storage != FE_STORE_INT || !c->facts.dense)
        return 0;
    out->min = c->facts.min;
    out->range = (uint64_t)(c->facts.max - c->facts.min) + 1;
    if (c->facts.sorted && out->range == (uint64_t)t->rows) {
        out->kind = FE_INDEX_POSITIONAL;
        return 0;
    }
    HD_TRY(rt_big_new(big, out->range * sizeof(uint32_t), dir, err));
    struct fill f = {t, out, big->p};
    if (rt_pool_run(pool, nblocks(t->rows), fill_task, &f, NULL, "", err) != 0) {
        rt_big_release(big);
        return -1;
    }
    out->kind = FE_INDEX_ARRAY;
    out->rows = big->p;
    return 0;
}

int64_t rt_key_index_find(const struct fe_key_index *x, hd_i128 value)
{
    hd_u128 at = (hd_u128)value - (hd_u128)x->min;
    if (at >= x->range)
        return -1;
    return x->kind == FE_INDEX_POSITIONAL ? (int64_t)at : (int64_t)x->rows[(uint64_t)at] - 1;
}
