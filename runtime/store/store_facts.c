/* The first pass over a column looks at neighbours, parallel over blocks: NULLs, min and max,
 * order, runs of equal values. If the column is sorted its runs are its distinct values, and
 * that is all. Otherwise its values are counted (store_count.h). */
#include "runtime/store/store_facts.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/zones.h"
#include "runtime/base/fault.h"
#include "runtime/store/store_column.h"
#include "runtime/store/store_count.h"

struct block_facts {
    int64_t nulls;
    int64_t runs;                         /* of neighbours that are equal */
    int64_t first_run, last_run, max_run; /* their lengths, if ascending */
    uint64_t min, max;                    /* ordinals */
    hd_i128 wide_min, wide_max;           /* 16-byte INT: stored numbers */
    bool ascending;
};

struct pass {
    const struct fe_table_column *col;
    int64_t rows;
    struct block_facts *blocks;
    uint64_t (*ordinals)[RT_BLOCK_ROWS]; /* per worker */
};

static int block_rows(const struct pass *p, int64_t block)
{
    return (int)HD_MIN(p->rows - (block << RT_BLOCK_SHIFT), RT_BLOCK_ROWS);
}

/* ---- one block ------------------------------------------------------------------------------ */

static void end_run(struct block_facts *b, int64_t run)
{
    if (b->first_run == 0)
        b->first_run = run;
    b->last_run = run;
    b->max_run = HD_MAX(b->max_run, run);
}

/* No branch in the loop: it is the one that sees every value of a database. Lengths of runs are
 * only wanted of sorted columns, and found in a second loop. What is smallest and largest goes to the
 * members `low` and `high`, of type S. */
#define LOOK(T, v, n, S, low, high, offset) \
    do { \
        T min_ = (v)[0], max_ = (v)[0]; \
        int changes_ = 0, falls_ = 0; \
        for (int i = 1; i < (n); i++) { \
            min_ = (v)[i] < min_ ? (v)[i] : min_; \
            max_ = (v)[i] > max_ ? (v)[i] : max_; \
            changes_ += (v)[i] != (v)[i - 1]; \
            falls_ += (v)[i] < (v)[i - 1]; \
        } \
        b->low = (S)min_ + (offset); \
        b->high = (S)max_ + (offset); \
        b->runs = changes_ + 1; \
        b->ascending = falls_ == 0; \
        int start_ = 0; \
        for (int i = 1; b->ascending && i < (n); i++) { \
            if ((v)[i] == (v)[i - 1]) \
                continue; \
            end_run(b, i - start_); \
            start_ = i; \
        } \
        end_run(b, (n) - start_); \
    } while (0)

static void look_at_ordinals(struct block_facts *b, const uint64_t *v, int n)
{
    LOOK(uint64_t, v, n, uint64_t, min, max, 0);
}

static void look_at_ints(struct block_facts *b, const struct fe_table_column *c, int64_t from, int n)
{
    const uint64_t bias = FE_ORDINAL_BIAS;
    const char *p = (const char *)c->at.data + from * c->width;
    if (c->width == 1)
        LOOK(int8_t, (const int8_t *)p, n, uint64_t, min, max, bias);
    else if (c->width == 2)
        LOOK(int16_t, (const int16_t *)(const void *)p, n, uint64_t, min, max, bias);
    else if (c->width == 4)
        LOOK(int32_t, (const int32_t *)(const void *)p, n, uint64_t, min, max, bias);
    else if (c->width == 8)
        LOOK(int64_t, (const int64_t *)(const void *)p, n, uint64_t, min, max, bias);
    else
        LOOK(hd_i128, (const hd_i128 *)(const void *)p, n, hd_i128, wide_min, wide_max, 0);
}

static void look_at_rows(struct block_facts *b, const struct fe_table_column *c, int64_t from, int n)
{
    int start = 0;
    b->ascending = true;
    b->runs = 1;
    for (int i = 1; i < n; i++) {
        int order = rt_col_cmp(c, from + i - 1, from + i);
        if (order == 0)
            continue;
        b->ascending &= order < 0;
        b->runs++;
        end_run(b, i - start);
        start = i;
    }
    end_run(b, n - start);
}

static void wide_range(struct block_facts *b, const struct fe_table_column *c, int64_t from, int n)
{
    bool any = false;
    for (int64_t r = from; r < from + n; r++) {
        if (!rt_col_valid(c, r))
            continue;
        hd_i128 v = ((const hd_i128 *)c->at.data)[r];
        b->wide_min = any ? HD_MIN(b->wide_min, v) : v;
        b->wide_max = any ? HD_MAX(b->wide_max, v) : v;
        any = true;
    }
}

static int count_nulls(const struct fe_table_column *c, int64_t from, int n)
{
    int nulls = 0;
    for (int i = 0; i < n; i++)
        nulls += !rt_col_valid(c, from + i);
    return nulls;
}

static int block_task(void *ctx, int worker, int64_t block, struct hd_err *err)
{
    struct pass *p = ctx;
    (void)err;
    const struct fe_table_column *c = p->col;
    struct block_facts *b = &p->blocks[block];
    int64_t from = block << RT_BLOCK_SHIFT;
    int n = block_rows(p, block);
    b->nulls = c->at.validity ? count_nulls(c, from, n) : 0;
    if (b->nulls == n)
        return 0;
    if (c->storage == FE_STORE_INT && b->nulls == 0 && !c->bits) {
        look_at_ints(b, c, from, n);
    } else if (!rt_col_has_ordinals(c)) {
        if (b->nulls == 0)
            look_at_rows(b, c, from, n); /* order and runs are not asked for where there are NULLs */
        if (c->storage == FE_STORE_INT)
            wide_range(b, c, from, n);
    } else {
        uint64_t *v = p->ordinals[worker];
        rt_col_ordinals(c, from, n, v);
        look_at_ordinals(b, v, b->nulls ? rt_drop_nulls(c, from, n, v) : n);
    }
    return 0;
}

/* ---- all blocks ----------------------------------------------------------------------------- */

/* Joins block b, which follows `sum`'s blocks, to them. The rows at the seam decide whether
 * the runs on its sides are one. */
static void join_runs(const struct fe_table_column *c, struct block_facts *sum, const struct block_facts *b,
                      int64_t seam)
{
    int order = seam ? rt_col_cmp(c, seam - 1, seam) : -1;
    sum->ascending &= b->ascending && order <= 0;
    sum->max_run = HD_MAX(sum->max_run, b->max_run);
    if (order != 0) {
        sum->runs += b->runs;
        sum->last_run = b->last_run;
        return;
    }
    int64_t joined = sum->last_run + b->first_run;
    sum->max_run = HD_MAX(sum->max_run, joined);
    sum->runs += b->runs - 1;
    sum->last_run = b->runs == 1 ? joined : b->last_run;
}

/* NULLs and range; order and runs too if there are no NULLs. */
static struct block_facts join_blocks(const struct pass *p)
{
    struct block_facts sum = {.ascending = true};
    bool any = false;
    for (int64_t k = 0; k < rt_nblocks(p->rows); k++) {
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
    for (int64_t k = 0; sum.nulls == 0 && k < rt_nblocks(p->rows); k++)
        join_runs(p->col, &sum, &p->blocks[k], k << RT_BLOCK_SHIFT);
    return sum;
}

static void fill_zones(const struct pass *p, struct fe_zone *out)
{
    bool wide = !rt_col_has_ordinals(p->col);
    for (int64_t k = 0; out && k < rt_nblocks(p->rows); k++) {
        const struct block_facts *b = &p->blocks[k];
        struct fe_zone none = {.min = 1, .max = 0, .nulls = (uint64_t)b->nulls};
        out[k] = none;
        if (b->nulls == block_rows(p, k))
            continue;
        out[k].min = wide ? fe_stored_ordinal(b->wide_min) : b->min;
        out[k].max = wide ? fe_stored_ordinal(b->wide_max) : b->max;
    }
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void set_counts(struct fe_facts *f, struct rt_counts c)
{
    f->distinct = c.distinct;
    f->distinct_exact = c.exact;
    f->max_mult = c.max_mult;
    f->unique = c.exact && c.max_mult <= 1;
}

static void set_dense(struct fe_facts *f, int64_t rows)
{
    hd_u128 limit = (hd_u128)rows * RT_DENSE_RATIO;
    f->dense = f->unique && f->has_range && (hd_u128)f->max - (hd_u128)f->min < limit;
}

void rt_facts_set_unique(struct fe_facts *f, int64_t rows)
{
    set_counts(f, (struct rt_counts){rows - f->nulls, true, rows > f->nulls});
    f->clustered = f->nulls == 0;
    set_dense(f, rows);
}

static void set_range(struct fe_facts *f, const struct fe_table_column *c, const struct block_facts *sum)
{
    f->has_range = c->storage == FE_STORE_DICT || c->storage == FE_STORE_INT;
    if (!f->has_range)
        return;
    f->min = rt_col_has_ordinals(c) ? rt_ordinal_value(c, sum->min) : c->base + c->factor * sum->wide_min;
    f->max = rt_col_has_ordinals(c) ? rt_ordinal_value(c, sum->max) : c->base + c->factor * sum->wide_max;
}

/* Numbers of 16 bytes that lie within 2^64 are counted by their distance from the smallest. */
static struct rt_ordinals ordinals_of(const struct fe_table_column *c, const struct block_facts *sum)
{
    if (rt_col_has_ordinals(c))
        return (struct rt_ordinals){.there = true, .min = sum->min, .max = sum->max};
    hd_u128 range = (hd_u128)sum->wide_max - (hd_u128)sum->wide_min;
    if (c->storage != FE_STORE_INT || c->type.kind == HD_INTERVAL || range > UINT64_MAX)
        return (struct rt_ordinals){.there = false};
    return (struct rt_ordinals){.there = true, .origin = sum->wide_min, .max = (uint64_t)range};
}

static bool may_be_unique(const struct fe_facts *f, int64_t rows)
{
    return !f->has_range || (hd_u128)f->max - (hd_u128)f->min >= (hd_u128)(rows - f->nulls - 1);
}

static int compute(struct pass *p, enum rt_facts_level level, struct rt_pool *pool, const char *dir, struct fe_facts *f,
                   struct fe_zone *zones, struct hd_err *err)
{
    HD_TRY(rt_pool_run(pool, rt_nblocks(p->rows), block_task, p, NULL, "", err));
    fill_zones(p, zones);
    struct block_facts sum = join_blocks(p);
    struct rt_counts counts = {0, true, 0};
    f->nulls = sum.nulls;
    if (f->nulls == p->rows) { /* no value at all, so nothing against any property */
        set_counts(f, counts);
        f->sorted = f->clustered = p->rows == 0;
        return 0;
    }
    set_range(f, p->col, &sum);
    f->sorted = f->nulls == 0 && sum.ascending;
    if (f->sorted) {
        counts = (struct rt_counts){sum.runs, true, sum.max_run};
    } else if (level == RT_FACTS_ALL || (level == RT_FACTS_UNIQUE && may_be_unique(f, p->rows))) {
        struct rt_ordinals o = ordinals_of(p->col, &sum);
        HD_TRY(rt_count_values(p->col, p->rows, f->nulls, &o, pool, dir, &counts, err));
    } else {
        HD_TRY(rt_sample_values(p->col, p->rows, f->nulls, &counts, err));
        if (f->has_range && (hd_u128)f->max - (hd_u128)f->min < (hd_u128)counts.distinct)
            counts.distinct = (int64_t)(f->max - f->min) + 1;
    }
    set_counts(f, counts);
    f->clustered = f->nulls == 0 && f->distinct_exact && sum.runs == f->distinct;
    set_dense(f, p->rows);
    return 0;
}

/* Of values that have no range a pass would tell little. */
static int estimate(const struct fe_table_column *col, int64_t rows, struct fe_facts *f, struct hd_err *err)
{
    struct rt_counts counts = {0, true, 0};
    f->nulls = col->facts.nulls;
    if (f->nulls < rows)
        HD_TRY(rt_sample_values(col, rows, f->nulls, &counts, err));
    set_counts(f, counts);
    return 0;
}

int rt_facts_compute(const struct fe_table_column *col, int64_t rows, enum rt_facts_level level, struct rt_pool *pool,
                     const char *dir, struct fe_facts *out, struct fe_zone *zones, struct hd_err *err)
{
    struct pass p = {.col = col, .rows = rows};
    bool has_range = col->storage == FE_STORE_INT || col->storage == FE_STORE_DICT;
    *out = (struct fe_facts){.known = true, .distinct = -1, .max_mult = -1};
    if (level == RT_FACTS_ESTIMATED && !has_range)
        return estimate(col, rows, out, err);
    p.blocks = hd_try_calloc((size_t)rt_nblocks(rows), sizeof *p.blocks);
    p.ordinals = hd_try_malloc((size_t)rt_pool_threads(pool) * sizeof *p.ordinals);
    int rc = p.blocks && p.ordinals ? compute(&p, level, pool, dir, out, zones, err)
                                    : HD_FAIL(err, RESOURCE, NULL, "out of memory");
    free(p.blocks);
    free(p.ordinals);
    return rc;
}
