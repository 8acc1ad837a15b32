/* Aggregates of every kind against sums that are kept beside them. */
#include "tests/exec/exec_fixture.h"

#include <math.h>

#include "runtime/exec/keys.h"

/* Fields: [key,] count, sum (nullable), min, max, sum of i128, sum of f64. */
enum { COUNT, SUM, MIN, MAX, WIDE, REAL, NVALUES };

struct agg {
    const struct rt_state *s;
    int keys; /* fields before COUNT */
    uint64_t groups;
    int hot_percent;
    int w_rows;
    bool shared;
};

static uint64_t group_of(const struct agg *c, uint64_t i)
{
    uint64_t r = fx_random(i);
    return (int)(r >> 40 & 127) < c->hot_percent ? 0 : r % c->groups;
}

/* A third of the values are NULL, and so are all of every seventh group. */
static bool value_of(const struct agg *c, uint64_t i, int64_t *v)
{
    *v = (int64_t)(fx_random(i * 3 + 1) % 2001) - 1000;
    return i % 3 != 0 && group_of(c, i) % 7 != 5;
}

static void add_fields(struct fx *f, int s)
{
    fx_field(f, s, RT_I64, false, RT_MERGE_SUM);
    fx_field(f, s, RT_I64, true, RT_MERGE_SUM);
    fx_field(f, s, RT_I32, true, RT_MERGE_MIN);
    fx_field(f, s, RT_I64, true, RT_MERGE_MAX);
    fx_field(f, s, RT_I128, true, RT_MERGE_SUM);
    fx_field(f, s, RT_F64, true, RT_MERGE_SUM);
}

static void update(const struct agg *c, unsigned char *row, uint64_t i)
{
    const struct rt_state *s = c->s;
    const struct rt_field *f = s->fields + c->keys;
    int64_t v, n, sum = 0, max;
    int32_t min;
    hd_i128 wide = 0;
    double real = 0;
    memcpy(&n, row + f[COUNT].offset, 8);
    n++;
    memcpy(row + f[COUNT].offset, &n, 8);
    if (!value_of(c, i, &v))
        return;
    bool first = !row[f[SUM].valid_offset];
    if (!first) {
        memcpy(&sum, row + f[SUM].offset, 8);
        memcpy(&min, row + f[MIN].offset, 4);
        memcpy(&max, row + f[MAX].offset, 8);
        memcpy(&wide, row + f[WIDE].offset, 16);
        memcpy(&real, row + f[REAL].offset, 8);
    }
    sum += v;
    min = first ? (int32_t)v : HD_MIN(min, (int32_t)v);
    max = first ? v : HD_MAX(max, v);
    wide += (hd_i128)v * ((hd_i128)1 << 70);
    real += (double)v;
    fx_put(s, row, c->keys + SUM, &sum);
    fx_put(s, row, c->keys + MIN, &min);
    fx_put(s, row, c->keys + MAX, &max);
    fx_put(s, row, c->keys + WIDE, &wide);
    fx_put(s, row, c->keys + REAL, &real);
}

/* Row `got` must be what updating an empty row with all numbers of the group gives. */
static void check_group(const struct agg *c, const unsigned char *wanted, const unsigned char *got)
{
    const struct rt_state *s = c->s;
    for (int k = c->keys; k < s->nfields; k++) {
        const struct rt_field *f = &s->fields[k];
        assert_int_equal(fx_valid(s, wanted, k), fx_valid(s, got, k));
        if (fx_valid(s, wanted, k))
            assert_int_equal(rt_value_compare(f->phys, wanted + f->offset, got + f->offset), 0);
    }
}

static unsigned char *reference(const struct agg *c, int64_t n, unsigned char **used)
{
    unsigned char *rows = calloc(c->groups, (size_t)c->s->stride);
    *used = calloc(1, c->groups);
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        uint64_t g = group_of(c, i);
        update(c, rows + g * (size_t)c->s->stride, i);
        (*used)[g] = 1;
    }
    return rows;
}

/* ---- AGG_SCALAR ------------------------------------------------------------------------ */

static int32_t fill_scalar(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct agg *c = fx_context(args);
    struct hdd_dense_local *l = ((void **)t->local)[0];
    for (uint64_t i = begin; i < end; i++)
        update(c, l->rows, i);
    return 0;
}

static void scalar_gives_one_row(void **state)
{
    static const int64_t sizes[] = {0, 1, 3, 5000, 200000};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (size_t i = 0; i < HD_COUNT(sizes); i++) {
            struct fx f;
            struct agg c = {.groups = 1};
            unsigned char *used;
            uint64_t n;
            fx_init(&f, fx_threads[k], &c);
            int s = fx_state(&f, RT_STATE_AGG_SCALAR);
            add_fields(&f, s);
            c.s = &f.states[s];
            fx_action(&f, RT_RUN, fx_table_pipeline(&f, sizes[i], fill_scalar));
            fx_action(&f, RT_FINISH, s);
            const unsigned char *rows = fx_rows(&f, s, &n);
            unsigned char *wanted = reference(&c, sizes[i], &used);
            assert_int_equal(n, 1);
            check_group(&c, wanted, rows);
            free(wanted);
            free(used);
            fx_release(&f);
        }
}

/* ---- AGG_DENSE ------------------------------------------------------------------------- */

static int32_t fill_dense(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct agg *c = fx_context(args);
    struct hdd_dense_local *l = ((void **)t->local)[0];
    unsigned char *rows = c->shared ? (unsigned char *)(uintptr_t)args[c->w_rows] : l->rows;
    for (uint64_t i = begin; i < end; i++) {
        unsigned char *row = rows + group_of(c, i) * (size_t)c->s->stride;
        if (c->shared) { /* only counts: one atomic add */
            row[0] = 1;
            __atomic_fetch_add((int64_t *)(void *)(row + c->s->fields[c->keys].offset), 1, __ATOMIC_RELAXED);
            continue;
        }
        int64_t g = (int64_t)group_of(c, i);
        row[0] = 1;
        fx_put(c->s, row, 0, &g);
        update(c, row, i);
    }
    return 0;
}

static void run_dense(int threads, uint64_t groups, int64_t n, bool shared)
{
    struct fx f;
    struct agg c = {.groups = groups, .keys = 1, .shared = shared};
    unsigned char *used;
    uint64_t got;
    fx_init(&f, threads, &c);
    int s = fx_state(&f, RT_STATE_AGG_DENSE);
    fx_field(&f, s, RT_I64, false, RT_MERGE_KEY);
    add_fields(&f, s);
    f.states[s].range = groups;
    f.states[s].shared = shared;
    c.s = &f.states[s];
    c.w_rows = fx_state_arg(&f, RT_ARG_STATE_ROWS, s);
    fx_action(&f, RT_RUN, fx_table_pipeline(&f, n, fill_dense));
    fx_action(&f, RT_FINISH, s);
    const unsigned char *rows = fx_rows(&f, s, &got);
    unsigned char *wanted = reference(&c, n, &used);
    assert_int_equal(got, groups);
    for (uint64_t g = 0; g < groups; g++) {
        const unsigned char *row = rows + g * (size_t)c.s->stride;
        assert_int_equal(row[0], used[g]);
        if (shared)
            assert_int_equal(fx_i64(c.s, row, 1), fx_i64(c.s, wanted + g * (size_t)c.s->stride, 1));
        else if (used[g])
            check_group(&c, wanted + g * (size_t)c.s->stride, row);
        if (used[g] && !shared)
            assert_int_equal(fx_i64(c.s, row, 0), g);
    }
    free(wanted);
    free(used);
    fx_release(&f);
}

static void dense_private_and_shared(void **state)
{
    static const uint64_t groups[] = {1, 4, 1000, 50000};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (size_t i = 0; i < HD_COUNT(groups); i++) {
            run_dense(fx_threads[k], groups[i], 60000, false);
#if !defined(__SANITIZE_THREAD__) /* the existence byte is stored by all, with one value */
            run_dense(fx_threads[k], groups[i], 60000, true);
#endif
        }
}

/* ---- AGG_HASH -------------------------------------------------------------------------- */

static const char texts[] = "aabbaabababbabbabaabbbaabababababbbabaababaabababbabababababaa";

static void make_key(const struct agg *c, uint64_t g, unsigned char *row)
{
    int64_t number = (int64_t)g * 977;
    struct rt_row_str s = {texts + g % 17, g / 17 % 40};
    memset(row, 0, (size_t)c->s->stride);
    fx_put(c->s, row, 0, &number);
    if (c->keys > 1 && g % 5 != 3) /* else NULL */
        fx_put(c->s, row, 1, &s);
}

static int32_t fill_hash(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct agg *c = fx_context(args);
    unsigned char key[256];
    for (uint64_t i = begin; i < end; i++) {
        make_key(c, group_of(c, i), key);
        unsigned char *row = fx_group(t, c->s, 0, key);
        if (!row)
            return 1;
        update(c, row, i);
    }
    return 0;
}

static void check_groups(const struct agg *c, int64_t n, const unsigned char *rows, uint64_t got)
{
    size_t stride = (size_t)c->s->stride, groups = 0;
    unsigned char *used, key[256], *wanted = reference(c, n, &used);
    for (uint64_t i = 0; i < got; i++) {
        const unsigned char *row = rows + i * stride;
        uint64_t g = (uint64_t)fx_i64(c->s, row, 0) / 977;
        assert_true(g < c->groups && used[g] == 1);
        used[g] = 2;
        make_key(c, g, key);
        assert_true(fx_same_keys(c->s, row, key));
        assert_int_equal(rt_row_hash(row), fx_hash(c->s, key));
        check_group(c, wanted + g * stride, row);
    }
    for (uint64_t g = 0; g < c->groups; g++)
        groups += used[g] != 0;
    assert_int_equal(got, groups);
    free(wanted);
    free(used);
}

static void run_hash(int threads, uint64_t groups, int64_t n, int hot, int keys, double est)
{
    struct fx f;
    struct agg c = {.groups = groups, .keys = keys, .hot_percent = hot};
    uint64_t got;
    fx_init(&f, threads, &c);
    int s = fx_state(&f, RT_STATE_AGG_HASH);
    fx_field(&f, s, RT_I64, false, RT_MERGE_KEY);
    if (keys > 1)
        fx_field(&f, s, RT_STR, true, RT_MERGE_KEY);
    add_fields(&f, s);
    f.states[s].nkeys = keys;
    f.states[s].est_rows = est;
    c.s = &f.states[s];
    fx_action(&f, RT_RUN, fx_table_pipeline(&f, n, fill_hash));
    fx_action(&f, RT_FINISH, s);
    const unsigned char *rows = fx_rows(&f, s, &got);
    check_groups(&c, n, rows, got);
    fx_release(&f);
}

static void hash_few_groups(void **state)
{
    static const int64_t sizes[] = {0, 1, 2, 300, 40000};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (size_t i = 0; i < HD_COUNT(sizes); i++)
            for (int keys = 1; keys < 3; keys++)
                run_hash(fx_threads[k], 100, sizes[i], 0, keys, -1);
}

/* More groups than a worker's table holds: flushed runs, merged by parts. */
static void hash_many_groups(void **state)
{
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        run_hash(fx_threads[k], 100000, 200000, 0, 1 + (int)k % 2, -1);
        run_hash(fx_threads[k], 100000, 200000, 0, 1, 100000);
        run_hash(fx_threads[k], 60000, 200000, 60, 1, -1);
    }
}

static void hash_without_keys_is_one_group(void **state)
{
    (void)state;
    run_hash(3, 1, 100000, 100, 1, 1);
}

/* ---- Sums beyond their type ------------------------------------------------------------- */

/* Two workers, each with most of what a decimal holds. */
static int32_t fill_huge(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct rt_state *s = fx_context(args);
    struct hdd_dense_local *l = ((void **)t->local)[0];
    hd_i128 wide = hd_pow10(37) * 8;
    (void)begin;
    (void)end;
    /* Keep this worker busy until another has come too. */
    static _Atomic int arrived;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) % 2)
        ;
    fx_put(s, l->rows, 0, &wide);
    return 0;
}

/* What a sum may be is asked where its value is: merging adds whatever there is. */
static void merging_never_raises(void **state)
{
    struct fx f;
    uint64_t n;
    hd_i128 sum;
    (void)state;
    fx_init(&f, 2, &f.states[0]);
    int s = fx_state(&f, RT_STATE_AGG_SCALAR);
    fx_field(&f, s, RT_I128, true, RT_MERGE_SUM);
    fx_action(&f, RT_RUN, fx_table_pipeline(&f, 2048, fill_huge));
    fx_action(&f, RT_FINISH, s);
    const unsigned char *rows = fx_rows(&f, s, &n);
    memcpy(&sum, rows + f.states[s].fields[0].offset, sizeof sum);
    assert_true(sum == hd_pow10(37) * 16);
    fx_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_gives_one_row),
        cmocka_unit_test(dense_private_and_shared),
        cmocka_unit_test(hash_few_groups),
        cmocka_unit_test(hash_many_groups),
        cmocka_unit_test(hash_without_keys_is_one_group),
        cmocka_unit_test(merging_never_raises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
