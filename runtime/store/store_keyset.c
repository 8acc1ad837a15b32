/* Hash sets of rows. Keys of whole numbers that fit 63 bits together are packed into one word,
 * which makes a probe one cache miss; blocks of probes are prefetched. All other keys are found
 * by hash and compared with the row itself. */
#include <stdatomic.h>
#include <string.h>

#include "runtime/store/store_column.h"
#include "runtime/store/store_keys.h"

enum { AHEAD = 16 }; /* probes prefetched */

static const uint64_t no_key = UINT64_MAX; /* a value outside the packed ranges */

static bool has_null(const struct fe_table *t, int n, const int *columns, int64_t row)
{
    for (int i = 0; i < n; i++)
        if (!rt_col_valid(&t->cols[columns[i]], row))
            return true;
    return false;
}

/* ---- packed keys ---------------------------------------------------------------------------- */

static void plan_pack(struct rt_key_pack *p, const struct fe_table *t, int n, const int *columns)
{
    int bits = 0;
    *p = (struct rt_key_pack){0};
    if (n > RT_PACK_MAX)
        return;
    for (int i = 0; i < n; i++) {
        const struct fe_table_column *c = &t->cols[columns[i]];
        if (c->storage != FE_STORE_INT || c->width > 8 || !c->facts.has_range)
            return;
        p->min[i] = c->facts.min;
        p->range[i] = (uint64_t)(c->facts.max - c->facts.min);
        p->shift[i] = bits;
        bits += p->range[i] ? 64 - __builtin_clzll(p->range[i]) : 0;
        if (bits > 63)
            return;
    }
    p->n = n;
}

static bool can_pack(const struct rt_key_pack *p, const struct fe_table *t, const int *columns)
{
    for (int i = 0; i < p->n; i++)
        if (!rt_col_near(&t->cols[columns[i]], p->min[i]))
            return false;
    return p->n > 0;
}

static void pack_rows(const struct rt_key_pack *p, const struct fe_table *t, const int *columns, int64_t from, int n,
                      uint64_t *keys)
{
    uint64_t d[RT_FIND_MAX];
    memset(keys, 0, (size_t)n * sizeof *keys);
    for (int c = 0; c < p->n; c++) {
        rt_col_differences(&t->cols[columns[c]], p->min[c], from, n, d);
        for (int i = 0; i < n; i++)
            keys[i] = d[i] > p->range[c] ? no_key : keys[i] | d[i] << p->shift[c];
    }
}

static void found_duplicate(struct rt_keyset *k, int64_t a, int64_t b)
{
    __atomic_store_n(&k->dup[0], HD_MIN(a, b), __ATOMIC_RELAXED);
    __atomic_store_n(&k->dup[1], HD_MAX(a, b), __ATOMIC_RELAXED);
}

/* False: the key was there. The row is stored after the key, so a finder may have to wait. */
static bool insert_packed(struct rt_keyset *k, uint64_t key, int64_t row)
{
    _Atomic uint64_t *slots = k->slots.p;
    _Atomic uint32_t *rows = k->rows.p;
    for (uint64_t at = rt_hash64(key) & k->mask;; at = (at + 1) & k->mask) {
        uint64_t seen = 0;
        if (atomic_compare_exchange_strong(&slots[at], &seen, key + 1)) {
            atomic_store(&rows[at], (uint32_t)row + 1);
            return true;
        }
        if (seen != key + 1)
            continue;
        uint32_t other;
        while ((other = atomic_load(&rows[at])) == 0)
            ;
        found_duplicate(k, row, (int64_t)other - 1);
        return false;
    }
}

static int insert_packed_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct rt_keyset *k = ctx;
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, k->table->rows);
    uint64_t keys[RT_FIND_MAX];
    (void)worker;
    (void)err;
    for (; row < end; row += RT_FIND_MAX) {
        int n = (int)HD_MIN(end - row, RT_FIND_MAX);
        pack_rows(&k->pack, k->table, k->columns, row, n, keys);
        for (int i = 0; i < n; i++)
            if (!has_null(k->table, k->n, k->columns, row + i) && !insert_packed(k, keys[i], row + i))
                return 0;
    }
    return 0;
}

static void find_packed(const struct rt_keyset *k, const uint64_t *keys, int n, int64_t *out)
{
    const uint64_t *slots = k->slots.p;
    const uint32_t *rows = k->rows.p;
    for (int i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&slots[rt_hash64(keys[i + AHEAD]) & k->mask]);
        uint64_t at = rt_hash64(keys[i]) & k->mask;
        while (slots[at] && slots[at] != keys[i] + 1)
            at = (at + 1) & k->mask;
        if (keys[i] == no_key || !slots[at])
            out[i] = -1;
        else
            out[i] = k->only_exists ? 0 : (int64_t)rows[at] - 1;
    }
}

/* ---- any keys ------------------------------------------------------------------------------- */

static uint64_t hash_row(const struct fe_table *t, int n, const int *columns, int64_t row)
{
    uint64_t h = 0;
    for (int i = 0; i < n; i++)
        h = rt_hash64(h * 31 + rt_col_hash(&t->cols[columns[i]], row));
    return h;
}

static bool rows_equal(const struct rt_keyset *k, int64_t i, const struct fe_table *t, const int *columns, int64_t j)
{
    for (int c = 0; c < k->n; c++)
        if (!rt_col_equal(&k->table->cols[k->columns[c]], i, &t->cols[columns[c]], j))
            return false;
    return true;
}

static bool insert_row(struct rt_keyset *k, int64_t row)
{
    _Atomic uint64_t *slots = k->slots.p;
    uint64_t h = hash_row(k->table, k->n, k->columns, row);
    uint64_t entry = (h & ~(uint64_t)UINT32_MAX) | (uint64_t)(row + 1), seen;
    for (uint64_t at = h & k->mask;; at = (at + 1) & k->mask) {
        seen = 0;
        if (atomic_compare_exchange_strong(&slots[at], &seen, entry))
            return true;
        int64_t other = (int64_t)(uint32_t)seen - 1;
        if (seen >> 32 == entry >> 32 && rows_equal(k, other, k->table, k->columns, row)) {
            found_duplicate(k, row, other);
            return false;
        }
    }
}

static int insert_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct rt_keyset *k = ctx;
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, k->table->rows);
    (void)worker;
    (void)err;
    for (; row < end; row++)
        if (!has_null(k->table, k->n, k->columns, row) && !insert_row(k, row))
            return 0;
    return 0;
}

static int64_t find_row(const struct rt_keyset *k, const struct fe_table *t, const int *columns, int64_t row)
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

/* A packed key of a row whose values may be too far off for 64-bit arithmetic. */
static uint64_t pack_far_row(const struct rt_key_pack *p, const struct fe_table *t, const int *columns, int64_t row)
{
    uint64_t key = 0;
    for (int c = 0; c < p->n; c++) {
        hd_u128 d = (hd_u128)rt_col_int(&t->cols[columns[c]], row) - (hd_u128)p->min[c];
        if (d > p->range[c])
            return no_key;
        key |= (uint64_t)d << p->shift[c];
    }
    return key;
}

/* ---- both ----------------------------------------------------------------------------------- */

int rt_keyset_build(struct rt_keyset *k, const struct fe_table *t, int n, const int *columns, struct rt_pool *pool,
                    const char *dir, struct hd_err *err)
{
    *k = (struct rt_keyset){.table = t, .n = n, .columns = columns, .dup = {-1, -1}};
    uint64_t size = hd_pow2_ceil((uint64_t)t->rows * 2 + 1);
    int64_t blocks = rt_nblocks(t->rows);
    k->mask = size - 1;
    plan_pack(&k->pack, t, n, columns);
    int rc = rt_big_new(&k->slots, size * sizeof(uint64_t), dir, err);
    if (rc == 0 && k->pack.n)
        rc = rt_big_new(&k->rows, size * sizeof(uint32_t), dir, err);
    if (rc == 0)
        rc = rt_pool_run(pool, blocks, k->pack.n ? insert_packed_task : insert_task, k, NULL, "", err);
    if (rc != 0)
        rt_keyset_release(k);
    return rc;
}

void rt_keyset_release(struct rt_keyset *k)
{
    rt_big_release(&k->slots);
    rt_big_release(&k->rows);
}

void rt_keyset_find(const struct rt_keyset *k, const struct fe_table *t, const int *columns, int64_t from, int n,
                    int64_t *out)
{
    uint64_t keys[RT_FIND_MAX];
    HD_ASSERT(n <= RT_FIND_MAX);
    if (!k->pack.n) {
        for (int i = 0; i < n; i++)
            out[i] = has_null(t, k->n, columns, from + i) ? -1 : find_row(k, t, columns, from + i);
        return;
    }
    if (can_pack(&k->pack, t, columns))
        pack_rows(&k->pack, t, columns, from, n, keys);
    else
        for (int i = 0; i < n; i++)
            keys[i] = pack_far_row(&k->pack, t, columns, from + i);
    find_packed(k, keys, n, out);
}
