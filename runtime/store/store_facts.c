/* Two passes over a column, both parallel over blocks. The first looks at neighbours: NULLs,
 * min and max, runs of equal values, order. If the column is sorted its runs are its distinct
 * values, and that is all. Otherwise the second pass counts values: in an array where the range
 * is small for the number of rows, by sorting where the rows are few, else by an estimate
 * (HyperLogLog, 2^14 registers, error about 0.8 %). */
#include "runtime/store/store_facts.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/store/store_column.h"
#include "runtime/store/store_file.h"

enum {
    DENSE_RATIO = 8,        /* a range of up to this many times the rows is worth an array */
    COUNT_ALWAYS = 1 << 16, /* and one of up to this many values always */
    SORT_ROWS = 1 << 16,
    HLL_BITS = 14,
    HLL_SIZE = 1 << HLL_BITS
};

struct block_facts {
    int64_t nulls;
    int64_t runs, first_run, last_run, max_run; /* runs: of neighbours that are equal */
    uint64_t min, max;                          /* ordinals */
    hd_i128 wide_min, wide_max;                 /* 16-byte INT */
    bool ascending;
};

struct pass {
    const struct fe_table_column *col;
    int64_t rows;
    struct block_facts *blocks; /* first pass */
    uint64_t (*ordinals)[RT_BLOCK_ROWS]; /* per worker */
    /* second pass */
    uint64_t origin;         /* ordinal of the least value */
    _Atomic uint32_t *counts;
    uint8_t *registers;
    pthread_mutex_t mutex;   /* registers */
};

static int64_t nblocks(int64_t rows) { return (rows + RT_BLOCK_ROWS - 1) >> RT_BLOCK_SHIFT; }

static int block_rows(const struct pass *p, int64_t block)
{
    return (int)HD_MIN(p->rows - (block << RT_BLOCK_SHIFT), RT_BLOCK_ROWS);
}

/* ---- first pass --------------------------------------------------------------------------- */

static void end_run(struct block_facts *b, int64_t run)
{
    if (b->runs == 0)
        b->first_run = run;
    b->last_run = run;
    b->max_run = HD_MAX(b->max_run, run);
    b->runs++;
}

static void look_at_ordinals(struct block_facts *b, const uint64_t *v, int n)
{
    uint64_t min = v[0], max = v[0];
    for (int i = 1; i < n; i++) {
        min = HD_MIN(min, v[i]);
        max = HD_MAX(max, v[i]);
    }
    b->min = min;
    b->max = max;
    int start = 0;
    for (int i = 1; i < n; i++) {
        if (v[i] == v[i - 1])
            continue;
        b->ascending &= v[i] > v[i - 1];
        end_run(b, i - start);
        start = i;
    }
    end_run(b, n - start);
}

static void look_at_rows(struct block_facts *b, const struct fe_table_column *c, int64_t from,
                         int n)
{
    int start = 0;
    for (int i = 1; i < n; i++) {
        int order = rt_col_cmp(c, from + i - 1, from + i);
        if (order == 0)
            continue;
        b->ascending &= order < 0;
        end_run(b, i - start);
        start = i;
    }
    end_run(b, n - start);
}

static void wide_range(struct block_facts *b, const struct fe_table_column *c, int64_t from,
                       int n)
{
    bool any = false;
    for (int64_t r = from; r < from + n; r++) {
        if (!rt_col_valid(c, r))
            continue;
        hd_i128 v = rt_col_int(c, r);
        b->wide_min = any ? HD_MIN(b->wide_min, v) : v;
        b->wide_max = any ? HD_MAX(b->wide_max, v) : v;
        any = true;
    }
}

/* Moves the ordinals of valid rows together; their number. */
static int drop_nulls(const struct fe_table_column *c, int64_t from, int n, uint64_t *v)
{
    int k = 0;
    for (int i = 0; i < n; i++) {
        v[k] = v[i];
        k += rt_col_valid(c, from + i);
    }
    return k;
}

static int count_nulls(const struct fe_table_column *c, int64_t from, int n)
{
    int nulls = 0;
    for (int i = 0; i < n; i++)
        nulls += !rt_col_valid(c, from + i);
    return nulls;
}

static int first_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct pass *p = ctx;
    (void)err;
    const struct fe_table_column *c = p->col;
    struct block_facts *b = &p->blocks[block];
    int64_t from = block << RT_BLOCK_SHIFT;
    int n = block_rows(p, block);
    b->ascending = true;
    b->nulls = c->at.validity ? count_nulls(c, from, n) : 0;
    if (b->nulls == n)
        return 0;
    if (!rt_col_has_ordinals(c)) {
        look_at_rows(b, c, from, n);
        if (c->storage == FE_STORE_INT)
            wide_range(b, c, from, n);
        return 0;
    }
    uint64_t *v = p->ordinals[worker];
    rt_col_ordinals(c, from, n, v);
    look_at_ordinals(b, v, b->nulls ? drop_nulls(c, from, n, v) : n);
    return 0;
}

/* Joins block b, which follows `sum`'s blocks, to them. The rows at the seam decide whether
 * the runs on its sides are one. */
static void join_runs(const struct fe_table_column *c, struct block_facts *sum,
                      const struct block_facts *b, int64_t seam)
{
    int order = seam ? rt_col_cmp(c, seam - 1, seam) : -1;
    sum->ascending &= b->ascending && order <= 0;
    if (order != 0) {
        sum->max_run = HD_MAX(sum->max_run, b->max_run);
        sum->runs += b->runs;
        sum->last_run = b->last_run;
        return;
    }
    int64_t joined = sum->last_run + b->first_run;
    sum->max_run = HD_MAX(HD_MAX(sum->max_run, b->max_run), joined);
    sum->runs += b->runs - 1;
    sum->last_run = b->runs == 1 ? joined : b->last_run;
}

/* NULLs and range of all blocks; runs too if there are no NULLs. */
static struct block_facts join_blocks(const struct pass *p)
{
    struct block_facts sum = {.ascending = true};
    bool any = false;
    for (int64_t k = 0; k < nblocks(p->rows); k++) {
        const struct block_facts *b = &p->blocks[k];
        sum.nulls += b->nulls;
        if (b->nulls == block_rows(p, k))
            continue;
        sum.min = any ? HD_MIN(sum.min, b->min) : b->min;
        sum.max = any ? HD_MAX(sum.max, b->max) : b->max;
        sum.wide_min = any ? HD_MIN(sum.wide_min, b->wide_min) : b->wide_min;
        sum.wide_max = any ? HD_MAX(sum.wide_max, b->wide_max) : b->wide_max;
        any = true;
    }
    for (int64_t k = 0; sum.nulls == 0 && k < nblocks(p->rows); k++)
        join_runs(p->col, &sum, &p->blocks[k], k << RT_BLOCK_SHIFT);
    return sum;
}

/* ---- second pass -------------------------------------------------------------------------- */

static int count_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct pass *p = ctx;
    (void)err;
    int64_t from = block << RT_BLOCK_SHIFT;
    int n = block_rows(p, block);
    uint64_t *v = p->ordinals[worker];
    rt_col_ordinals(p->col, from, n, v);
    if (p->col->at.validity)
        n = drop_nulls(p->col, from, n, v);
    for (int i = 0; i < n; i++)
        atomic_fetch_add_explicit(&p->counts[v[i] - p->origin], 1, memory_order_relaxed);
    return 0;
}

static void set_multiplicity(struct fe_facts *f, int64_t distinct, int64_t max_mult)
{
    f->distinct = distinct;
    f->distinct_exact = true;
    f->max_mult = max_mult;
    f->unique = max_mult <= 1;
}

static int count_values(struct pass *p, struct rt_pool *pool, uint64_t range, const char *dir,
                        struct fe_facts *f, struct hd_err *err)
{
    struct rt_big big;
    HD_TRY(rt_big_new(&big, range * sizeof *p->counts, dir, err));
    p->counts = big.p;
    int rc = rt_pool_run(pool, nblocks(p->rows), count_task, p, NULL, "", err);
    int64_t distinct = 0;
    uint32_t most = 0;
    const uint32_t *counts = big.p;
    for (uint64_t k = 0; k < range; k++) {
        distinct += counts[k] != 0;
        most = HD_MAX(most, counts[k]);
    }
    rt_big_release(&big);
    set_multiplicity(f, distinct, most);
    return rc;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_values(struct pass *p, struct fe_facts *f)
{
    uint64_t *v = p->ordinals[0];
    int n = (int)p->rows;
    rt_col_ordinals(p->col, 0, n, v);
    if (p->col->at.validity)
        n = drop_nulls(p->col, 0, n, v);
    qsort(v, (size_t)n, sizeof *v, compare_u64);
    struct block_facts b = {.ascending = true};
    look_at_ordinals(&b, v, n);
    set_multiplicity(f, b.runs, b.max_run);
}

static int estimate_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct pass *p = ctx;
    (void)worker;
    (void)err;
    uint8_t local[HLL_SIZE] = {0};
    int64_t from = block << RT_BLOCK_SHIFT, to = from + block_rows(p, block);
    for (int64_t r = from; r < to; r++) {
        if (!rt_col_valid(p->col, r))
            continue;
        uint64_t h = rt_col_hash(p->col, r);
        uint8_t rank = (uint8_t)(__builtin_ctzll(h >> HLL_BITS | (uint64_t)1 << 63) + 1);
        uint8_t *reg = &local[h & (HLL_SIZE - 1)];
        *reg = HD_MAX(*reg, rank);
    }
    pthread_mutex_lock(&p->mutex);
    for (int i = 0; i < HLL_SIZE; i++)
        p->registers[i] = HD_MAX(p->registers[i], local[i]);
    pthread_mutex_unlock(&p->mutex);
    return 0;
}

static int64_t read_registers(const uint8_t *registers, int64_t limit)
{
    double sum = 0, m = HLL_SIZE;
    int zeros = 0;
    for (int i = 0; i < HLL_SIZE; i++) {
        sum += ldexp(1, -registers[i]);
        zeros += registers[i] == 0;
    }
    double estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (estimate <= 2.5 * m && zeros)
        estimate = m * log(m / zeros); /* few values: count empty registers */
    int64_t n = (int64_t)(estimate + 0.5);
    return HD_MAX(HD_MIN(n, limit), 1);
}

static int estimate_values(struct pass *p, struct rt_pool *pool, struct fe_facts *f,
                           struct hd_err *err)
{
    uint8_t registers[HLL_SIZE] = {0};
    p->registers = registers;
    pthread_mutex_init(&p->mutex, NULL);
    int rc = rt_pool_run(pool, nblocks(p->rows), estimate_task, p, NULL, "", err);
    pthread_mutex_destroy(&p->mutex);
    f->distinct = read_registers(registers, p->rows - f->nulls);
    return rc;
}

/* ---- both --------------------------------------------------------------------------------- */

static void set_dense(struct fe_facts *f, int64_t rows)
{
    hd_u128 limit = (hd_u128)rows * DENSE_RATIO;
    f->dense = f->unique && f->has_range && (hd_u128)f->max - (hd_u128)f->min < limit;
}

void rt_facts_set_unique(struct fe_facts *f, int64_t rows)
{
    set_multiplicity(f, rows - f->nulls, rows > f->nulls);
    if (f->nulls == 0)
        f->clustered = true;
    set_dense(f, rows);
}

static void take_order(struct fe_facts *f, const struct block_facts *sum)
{
    if (f->nulls)
        return;
    f->sorted = sum->ascending;
    if (f->sorted)
        set_multiplicity(f, sum->runs, sum->max_run);
}

static int second_pass(struct pass *p, struct rt_pool *pool, const char *dir,
                       const struct block_facts *sum, struct fe_facts *f, struct hd_err *err)
{
    uint64_t span = sum->max - sum->min;
    uint64_t worth = HD_MAX((uint64_t)p->rows * DENSE_RATIO, COUNT_ALWAYS);
    p->origin = sum->min;
    if (!rt_col_has_ordinals(p->col))
        return estimate_values(p, pool, f, err);
    if (p->col->storage != FE_STORE_F64 && span < worth)
        return count_values(p, pool, span + 1, dir, f, err);
    if (p->rows <= SORT_ROWS) {
        sort_values(p, f);
        return 0;
    }
    return estimate_values(p, pool, f, err);
}

static int compute(struct pass *p, struct rt_pool *pool, const char *dir, struct fe_facts *f,
                   struct hd_err *err)
{
    HD_TRY(rt_pool_run(pool, nblocks(p->rows), first_task, p, NULL, "", err));
    struct block_facts sum = join_blocks(p);
    const struct fe_table_column *c = p->col;
    f->nulls = sum.nulls;
    if (f->nulls == p->rows) { /* no value at all, so nothing against any property */
        set_multiplicity(f, 0, 0);
        f->sorted = f->clustered = p->rows == 0;
        return 0;
    }
    if (c->storage == FE_STORE_DICT || (c->storage == FE_STORE_INT && c->width <= 8)) {
        f->has_range = true;
        f->min = rt_ordinal_value(c, sum.min);
        f->max = rt_ordinal_value(c, sum.max);
    } else if (c->storage == FE_STORE_INT) {
        f->has_range = true;
        f->min = sum.wide_min;
        f->max = sum.wide_max;
    }
    take_order(f, &sum);
    if (!f->sorted)
        HD_TRY(second_pass(p, pool, dir, &sum, f, err));
    f->clustered = f->nulls == 0 && f->distinct_exact && sum.runs == f->distinct;
    set_dense(f, p->rows);
    return 0;
}

int rt_facts_compute(const struct fe_table_column *col, int64_t rows, struct rt_pool *pool,
                     const char *dir, struct fe_facts *out, struct hd_err *err)
{
    struct pass p = {.col = col, .rows = rows};
    *out = (struct fe_facts){.known = true, .distinct = -1, .max_mult = -1};
    p.blocks = hd_try_calloc((size_t)nblocks(rows), sizeof *p.blocks);
    p.ordinals = hd_try_malloc((size_t)rt_pool_threads(pool) * sizeof *p.ordinals);
    int rc = p.blocks && p.ordinals ? compute(&p, pool, dir, out, err)
                                    : HD_FAIL(err, RESOURCE, NULL, "out of memory");
    free(p.blocks);
    free(p.ordinals);
    return rc;
}
