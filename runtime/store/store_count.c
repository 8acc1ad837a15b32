/* Three ways to count values: in an array where their range is small for the number of rows, by
 * sorting where the rows are few, else by an estimate (HyperLogLog). A sample serves where the order of
 * magnitude is enough. */
#include "runtime/store/store_count.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/store/store_column.h"
#include "runtime/store/store_file.h"

enum {
    COUNT_ALWAYS = 1 << 16, /* a range of up to this many values is counted in any case */
    SORT_ROWS = 1 << 16,
    STRIP = 4096,  /* rows decoded at a time */
    HLL_BITS = 14, /* error about 0.8 % */
    HLL_SIZE = 1 << HLL_BITS
};

struct counter {
    const struct fe_table_column *col;
    int64_t rows;
    struct rt_pool *pool;
    hd_i128 origin; /* of 16-byte INT */
    uint64_t min; /* ordinal */
    uint64_t range;
    /* array */
    uint32_t *counts;
    int parts;
    pthread_mutex_t mutex; /* what follows */
    int64_t distinct;
    uint32_t max;
    uint8_t *registers;
};

int rt_drop_nulls(const struct fe_table_column *c, int64_t from, int n, uint64_t *v)
{
    int k = 0;
    for (int i = 0; i < n; i++) {
        v[k] = v[i];
        k += rt_col_valid(c, from + i);
    }
    return k;
}

static int strip(const struct counter *x, int64_t from, uint64_t *v)
{
    int n = (int)HD_MIN(x->rows - from, STRIP);
    if (rt_col_has_ordinals(x->col))
        rt_col_ordinals(x->col, from, n, v);
    else
        for (int i = 0; i < n; i++)
            v[i] = (uint64_t)(((const hd_i128 *)x->col->at.data)[from + i] - x->origin);
    return x->col->at.validity ? rt_drop_nulls(x->col, from, n, v) : n;
}

/* ---- array ---------------------------------------------------------------------------------- */

/* Where a part of the range begins. */
static uint64_t part_start(const struct counter *x, int64_t part)
{
    return x->range / (uint64_t)x->parts * (uint64_t)part;
}

/* Counts the values of one part of the range over all rows. Threads share values and not rows:
 * atomic increments of one array took several times as long, each waiting for its cache line,
 * and an array a thread would take too much memory. Values outside the part go to a waste
 * counter at its end, because a branch would be mispredicted every other time. */
static int count_task(void *ctx, int worker, int64_t part, struct hd_err *err)
{
    struct counter *x = ctx;
    uint64_t from = part_start(x, part);
    uint64_t n = (part + 1 == x->parts ? x->range : part_start(x, part + 1)) - from;
    uint32_t *counts = x->counts + from + (uint64_t)part; /* parts have their waste between */
    uint64_t v[STRIP];
    (void)worker;
    (void)err;
    for (int64_t row = 0; row < x->rows && !rt_pool_stopped(x->pool); row += STRIP) {
        int rows = strip(x, row, v);
        for (int i = 0; i < rows; i++) {
            uint64_t d = v[i] - x->min - from;
            counts[d < n ? d : n]++;
        }
    }
    int64_t distinct = 0;
    uint32_t max = 0;
    for (uint64_t k = 0; k < n; k++) {
        distinct += counts[k] != 0;
        max = HD_MAX(max, counts[k]);
    }
    pthread_mutex_lock(&x->mutex);
    x->distinct += distinct;
    x->max = HD_MAX(x->max, max);
    pthread_mutex_unlock(&x->mutex);
    return 0;
}

/* Few values fit the first-level cache: there threads share rows, each block with counters of
 * its own. Several of them take turns, so that equal neighbours do not wait for each other. */
enum { FEW_VALUES = 1024, LANES = 4 };

static int count_few_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct counter *x = ctx;
    uint32_t local[LANES][FEW_VALUES] = {{0}};
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, x->rows);
    uint64_t v[STRIP];
    (void)worker;
    (void)err;
    for (; row < end; row += STRIP) {
        int rows = strip(x, row, v);
        for (int i = 0; i < rows; i++)
            local[i % LANES][v[i] - x->min]++;
    }
    pthread_mutex_lock(&x->mutex);
    for (uint64_t k = 0; k < x->range; k++)
        for (int lane = 0; lane < LANES; lane++)
            x->counts[k] += local[lane][k];
    pthread_mutex_unlock(&x->mutex);
    return 0;
}

static int count_few(struct counter *x, struct rt_pool *pool, struct hd_err *err)
{
    uint32_t counts[FEW_VALUES] = {0};
    x->counts = counts;
    HD_TRY(rt_pool_run(pool, rt_nblocks(x->rows), count_few_task, x, NULL, "", err));
    for (uint64_t k = 0; k < x->range; k++) {
        x->distinct += counts[k] != 0;
        x->max = HD_MAX(x->max, counts[k]);
    }
    return 0;
}

static int count_many(struct counter *x, struct rt_pool *pool, const char *dir, struct hd_err *err)
{
    struct rt_big big;
    x->parts = (int)HD_MIN((uint64_t)rt_pool_threads(pool), x->range / FEW_VALUES);
    HD_TRY(rt_big_new(&big, (x->range + (uint64_t)x->parts) * sizeof *x->counts, dir, err));
    x->counts = big.p;
    int rc = rt_pool_run(pool, x->parts, count_task, x, NULL, "", err);
    rt_big_release(&big);
    return rc;
}

static int count_in_array(struct counter *x, struct rt_pool *pool, const char *dir, struct rt_counts *out,
                          struct hd_err *err)
{
    int rc = x->range <= FEW_VALUES ? count_few(x, pool, err) : count_many(x, pool, dir, err);
    *out = (struct rt_counts){x->distinct, true, x->max};
    return rc;
}

/* ---- sorting -------------------------------------------------------------------------------- */

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int count_sorted(const struct counter *x, struct rt_counts *out, struct hd_err *err)
{
    uint64_t *v = hd_try_malloc((size_t)x->rows * sizeof *v);
    if (!v)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    int n = 0;
    for (int64_t row = 0; row < x->rows; row += STRIP)
        n += strip(x, row, v + n);
    qsort(v, (size_t)n, sizeof *v, compare_u64);
    *out = (struct rt_counts){0, true, 0};
    int run = 0;
    for (int i = 0; i < n; i++) {
        run = i && v[i] == v[i - 1] ? run + 1 : 1;
        out->distinct += run == 1;
        out->max_mult = HD_MAX(out->max_mult, run);
    }
    free(v);
    return 0;
}

/* ---- estimate ------------------------------------------------------------------------------- */

static int estimate_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct counter *x = ctx;
    (void)worker;
    (void)err;
    uint8_t local[HLL_SIZE] = {0};
    int64_t row = block << RT_BLOCK_SHIFT, end = HD_MIN(row + RT_BLOCK_ROWS, x->rows);
    for (; row < end; row++) {
        if (!rt_col_valid(x->col, row))
            continue;
        uint64_t h = rt_col_hash(x->col, row);
        uint8_t rank = (uint8_t)(__builtin_ctzll(h >> HLL_BITS | (uint64_t)1 << 63) + 1);
        uint8_t *r = &local[h & (HLL_SIZE - 1)];
        *r = HD_MAX(*r, rank);
    }
    pthread_mutex_lock(&x->mutex);
    for (int i = 0; i < HLL_SIZE; i++)
        x->registers[i] = HD_MAX(x->registers[i], local[i]);
    pthread_mutex_unlock(&x->mutex);
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

static int estimate(struct counter *x, int64_t nulls, struct rt_pool *pool, struct rt_counts *out, struct hd_err *err)
{
    uint8_t registers[HLL_SIZE] = {0};
    x->registers = registers;
    int rc = rt_pool_run(pool, rt_nblocks(x->rows), estimate_task, x, NULL, "", err);
    *out = (struct rt_counts){read_registers(registers, x->rows - nulls), false, -1};
    return rc;
}

/* ---- sample --------------------------------------------------------------------------------- */

/* Hashes of values, one row of each of as many ranges of rows: neighbours are often alike. */
static int take_sample(const struct fe_table_column *c, int64_t rows, uint64_t v[RT_SAMPLE_ROWS])
{
    int n = 0, all = (int)HD_MIN(rows, RT_SAMPLE_ROWS);
    for (int i = 0; i < all; i++) {
        int64_t from = (int64_t)((hd_i128)rows * i / all), to = (int64_t)((hd_i128)rows * (i + 1) / all);
        int64_t row = from + (int64_t)(rt_hash64((uint64_t)i + 1) % (uint64_t)(to - from));
        v[n] = rt_col_valid(c, row) ? rt_col_hash(c, row) : 0;
        n += rt_col_valid(c, row);
    }
    return n;
}

/* Of r rows d have values that others have, too, f values occur once: of N rows sqrt(N / r) f + d (Charikar, Chaudhuri,
 * Motwani and Narasayya, Towards estimation error guarantees for distinct values, 2000: GEE). */
int rt_sample_values(const struct fe_table_column *col, int64_t rows, int64_t nulls, struct rt_counts *out,
                     struct hd_err *err)
{
    uint64_t *v = hd_try_malloc(RT_SAMPLE_ROWS * sizeof *v);
    if (!v)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    int n = take_sample(col, rows, v);
    int64_t once = 0, often = 0;
    qsort(v, (size_t)n, sizeof *v, compare_u64);
    for (int i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && v[k] == v[i]; k++)
            continue;
        once += k == i + 1;
        often += k > i + 1;
    }
    free(v);
    int64_t values = rows - nulls;
    double estimate = sqrt((double)values / HD_MAX(n, 1)) * (double)once + (double)often;
    *out = (struct rt_counts){HD_MAX(HD_MIN((int64_t)(estimate + 0.5), values), 1), false, -1};
    return 0;
}

/* ---- choice --------------------------------------------------------------------------------- */

int rt_count_values(const struct fe_table_column *col, int64_t rows, int64_t nulls, const struct rt_ordinals *ordinals,
                    struct rt_pool *pool, const char *dir, struct rt_counts *out, struct hd_err *err)
{
    struct counter x = {.col = col,
                        .rows = rows,
                        .pool = pool,
                        .origin = ordinals->origin,
                        .min = ordinals->min,
                        .range = ordinals->max - ordinals->min + 1};
    uint64_t worth = HD_MAX((uint64_t)rows * RT_DENSE_RATIO, COUNT_ALWAYS);
    int rc;
    pthread_mutex_init(&x.mutex, NULL);
    if (ordinals->there && !hd_type_is_float(col->type) && ordinals->max - ordinals->min < worth)
        rc = count_in_array(&x, pool, dir, out, err);
    else if (ordinals->there && rows <= SORT_ROWS)
        rc = count_sorted(&x, out, err);
    else
        rc = estimate(&x, nulls, pool, out, err);
    pthread_mutex_destroy(&x.mutex);
    return rc;
}
