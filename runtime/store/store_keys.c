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

const char *rt_key_values(const struct fe_table *t, int n, const int *columns, int64_t row, char buf[256])
{
    char text[RT_COL_TEXT_MAX];
    snprintf(buf, 256, "%s", n > 1 ? "(" : "");
    for (int i = 0; i < n; i++) {
        append(buf, i ? ", " : "");
        append(buf, rt_col_text(&t->cols[columns[i]], row, text));
    }
    append(buf, n > 1 ? ")" : "");
    return buf;
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

/* Do rows ascend strictly in the order of the columns? Then no two are equal. */
struct ascent {
    const struct fe_table *t;
    int n;
    const int *columns;
    atomic_bool broken;
};

enum { STRIP = 1024 };

static int ascent_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct ascent *a = ctx;
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, a->t->rows);
    uint64_t v[STRIP];
    int8_t order[STRIP]; /* of each row to the one before */
    (void)worker;
    (void)err;
    for (row = HD_MAX(row, 1); row < end; row += STRIP - 1) {
        int n = (int)HD_MIN(end - row + 1, STRIP), rises = 0;
        if (atomic_load_explicit(&a->broken, memory_order_relaxed))
            return 0;
        memset(order, 0, sizeof order);
        for (int c = 0; c < a->n; c++) {
            rt_col_ordinals(&a->t->cols[a->columns[c]], row - 1, n, v);
            for (int i = 1; i < n; i++)
                order[i] = (int8_t)(order[i] ? order[i] : (v[i] > v[i - 1]) - (v[i] < v[i - 1]));
        }
        for (int i = 1; i < n; i++)
            rises += order[i] > 0;
        if (rises != n - 1)
            atomic_store(&a->broken, true);
    }
    return 0;
}

int rt_keys_ascend(const struct fe_table *t, int n, const int *columns, struct rt_pool *pool, bool *out,
                   struct hd_err *err)
{
    struct ascent a = {.t = t, .n = n, .columns = columns};
    *out = false;
    for (int i = 0; i < n; i++)
        if (!rt_col_has_ordinals(&t->cols[columns[i]]) || t->cols[columns[i]].facts.nulls)
            return 0;
    if (!t->cols[columns[0]].facts.sorted)
        return 0;
    HD_TRY(rt_pool_run(pool, rt_nblocks(t->rows), ascent_task, &a, NULL, "", err));
    *out = !atomic_load(&a.broken);
    return 0;
}

int rt_keys_find_duplicate(const struct fe_table *t, int n, const int *columns, struct rt_pool *pool, const char *dir,
                           int64_t dup[2], struct hd_err *err)
{
    dup[0] = dup[1] = -1;
    for (int i = 0; i < n; i++)
        if (t->cols[columns[i]].facts.unique && t->cols[columns[i]].facts.nulls == 0)
            return 0;
    bool ascend;
    HD_TRY(rt_keys_ascend(t, n, columns, pool, &ascend, err));
    if (ascend)
        return 0;
    if (n > 1 && t->cols[columns[0]].facts.clustered) {
        struct runs r = {.t = t, .n = n, .columns = columns, .dup = {-1, -1}};
        HD_TRY(rt_pool_run(pool, rt_nblocks(t->rows), runs_task, &r, NULL, "", err));
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
    _Atomic(uint64_t) *words;
};

static int fill_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct fill *f = ctx;
    const struct fe_table_column *c = &f->t->cols[f->x->column];
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, f->t->rows);
    (void)worker;
    (void)err;
    while (row < end) { /* dense, so every value is near the smallest one */
        uint64_t d[RT_FIND_MAX];
        int n = (int)HD_MIN(end - row, RT_FIND_MAX);
        rt_col_differences(c, f->x->min, row, n, d);
        for (int i = 0; i < n; i++)
            if (rt_col_valid(c, row + i))
                f->rows[d[i]] = (uint32_t)(row + i) + 1;
        row += n;
    }
    return 0;
}

/* The last value of a block and the first one of the next may share a word. A word without a value has the rank of the
 * next one that has. */
static int rank_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct fill *f = ctx;
    const struct fe_table_column *c = &f->t->cols[f->x->column];
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, f->t->rows);
    uint64_t d[RT_FIND_MAX], before = 0, bits = 0;
    (void)worker;
    (void)err;
    if (row)
        rt_col_differences(c, f->x->min, row - 1, 1, &before);
    uint64_t at = row ? before / FE_RANK_VALUES : 0;
    while (row < end) {
        int n = (int)HD_MIN(end - row, RT_FIND_MAX);
        rt_col_differences(c, f->x->min, row, n, d);
        for (int i = 0; i < n; i++) {
            uint64_t word = d[i] / FE_RANK_VALUES;
            if (word != at)
                atomic_fetch_or_explicit(&f->words[at], bits, memory_order_relaxed);
            for (; at < word; bits = 0)
                atomic_fetch_or_explicit(&f->words[++at], (uint64_t)(row + i) << 32, memory_order_relaxed);
            bits |= (uint64_t)1 << d[i] % FE_RANK_VALUES;
        }
        row += n;
    }
    atomic_fetch_or_explicit(&f->words[at], bits, memory_order_relaxed);
    return 0;
}

int rt_key_index_build(const struct fe_table *t, int column, struct rt_pool *pool, const char *dir,
                       struct fe_key_index *out, struct rt_big *big, struct hd_err *err)
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
    out->kind = c->facts.sorted ? FE_INDEX_BITMAP : FE_INDEX_ARRAY;
    HD_TRY(rt_big_new(big, fe_key_index_bytes(out), dir, err));
    struct fill f = {t, out, big->p, big->p};
    if (rt_pool_run(pool, rt_nblocks(t->rows), c->facts.sorted ? rank_task : fill_task, &f, NULL, "", err) != 0) {
        rt_big_release(big);
        return -1;
    }
    fe_key_index_place(out, big->p);
    return 0;
}

bool rt_key_index_equal(const struct fe_key_index *a, const struct fe_key_index *b)
{
    if (a->min != b->min || a->range != b->range)
        return false;
    if (a->kind == b->kind)
        return a->kind == FE_INDEX_POSITIONAL ||
               memcmp(fe_key_index_data(a), fe_key_index_data(b), fe_key_index_bytes(a)) == 0;
    for (uint64_t i = 0; i < a->range; i++)
        if (fe_key_index_row(a, i) != fe_key_index_row(b, i))
            return false;
    return true;
}

void rt_key_index_find(const struct fe_key_index *x, const struct fe_table_column *c, int64_t from, int n, int64_t *out)
{
    if (!rt_col_near(c, x->min)) {
        for (int i = 0; i < n; i++) {
            hd_u128 d = (hd_u128)rt_col_int(c, from + i) - (hd_u128)x->min;
            out[i] = d < x->range ? (int64_t)d : -1;
        }
    } else {
        uint64_t d[RT_FIND_MAX];
        rt_col_differences(c, x->min, from, n, d);
        for (int i = 0; i < n; i++)
            out[i] = d[i] < x->range ? (int64_t)d[i] : -1;
    }
    for (int i = 0; x->kind != FE_INDEX_POSITIONAL && i < n; i++)
        out[i] = out[i] < 0 ? -1 : fe_key_index_row(x, (uint64_t)out[i]);
}
