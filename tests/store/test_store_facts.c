/* Facts against a slow and simple computation over the same rows. */
#include "tests/store/store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/claim.h"
#include "runtime/store/store_facts.h"
#include "runtime/store/store_seal.h"

/* ---- the simple computation ---------------------------------------------------------------- */

struct truth {
    int64_t nulls, distinct, max_mult;
    int64_t min, max;
    bool any, sorted, clustered;
};

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static struct truth find_truth(const int64_t *v, const uint8_t *valid, int64_t n)
{
    struct truth t = {.sorted = true, .clustered = true};
    int64_t *s = malloc((size_t)(n + 1) * sizeof *s), k = 0, run = 0, runs = 0;
    for (int64_t i = 0; i < n; i++) {
        if (valid && !valid[i]) {
            t.nulls++;
            continue;
        }
        s[k++] = v[i];
    }
    for (int64_t i = 0; i < n && !t.nulls; i++) {
        runs += i == 0 || v[i] != v[i - 1];
        t.sorted &= i == 0 || v[i] >= v[i - 1];
    }
    qsort(s, (size_t)k, sizeof *s, compare);
    for (int64_t i = 0; i < k; i++) {
        run = i && s[i] == s[i - 1] ? run + 1 : 1;
        t.distinct += run == 1;
        t.max_mult = HD_MAX(t.max_mult, run);
    }
    t.any = k > 0;
    t.min = k ? s[0] : 0;
    t.max = k ? s[k - 1] : 0;
    t.sorted &= t.nulls == 0;
    t.clustered = t.nulls == 0 && runs == t.distinct;
    free(s);
    return t;
}

static void expect_facts(const struct fe_facts *f, const struct truth *t, int64_t n)
{
    assert_true(f->known);
    assert_int_equal(f->nulls, t->nulls);
    assert_int_equal(f->has_range, t->any);
    if (t->any)
        assert_true(f->min == t->min && f->max == t->max);
    assert_int_equal(f->sorted, t->sorted);
    assert_true(!f->unique || t->max_mult <= 1);
    assert_true(!f->clustered || t->clustered);
    if (f->distinct_exact) {
        assert_int_equal(f->distinct, t->distinct);
        assert_int_equal(f->unique, t->max_mult <= 1);
        assert_int_equal(f->clustered, t->clustered);
        assert_int_equal(f->max_mult, t->max_mult);
        assert_int_equal(f->dense, t->any && t->max_mult <= 1 && t->max - t->min < 8 * n);
    } else {
        assert_int_equal(f->max_mult, -1);
        assert_true(f->distinct > t->distinct * 95 / 100 && f->distinct < t->distinct * 105 / 100);
    }
}

static void check(struct fx_dir *d, const int64_t *v, const uint8_t *valid, int64_t n, bool exact)
{
    heddle_writer *w = fx_writer(d, "{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"x\","
                                    "\"type\":\"int64\",\"nullable\":true}]}]}");
    struct fx_batch *b = fx_batch_new(n, 0);
    struct truth truth = find_truth(v, valid, n);
    struct fx_db db;
    fx_add(b, "x", "l", v, 8, valid);
    fx_append(w, "t", 0, b);
    fx_commit(w);
    fx_open(&db, d->db);
    const struct fe_facts *f = &fx_column(fx_table(&db, "t"), "x")->facts;
    expect_facts(f, &truth, n);
    assert_true(f->distinct_exact || !exact);
    fx_close(&db);
    hd_dir_remove(d->db);
}

/* ---- columns of every kind ------------------------------------------------------------------ */

enum { ROWS = 150000 }; /* three blocks, the last not full */

static void sorted_columns_are_exact(void **state)
{
    int64_t *v = malloc(ROWS * sizeof *v);
    uint64_t seed = 7;
    for (int64_t i = 0, x = -1000000000000; i < ROWS; i++)
        v[i] = x += (int64_t)(fx_random(&seed) % 3 ? 0 : fx_random(&seed) % 100000000);
    check(*state, v, NULL, ROWS, true);
    for (int64_t i = 0; i < ROWS; i++)
        v[i] = i / 70000; /* runs over the seams of blocks */
    check(*state, v, NULL, ROWS, true);
    for (int64_t i = 0; i < ROWS; i++)
        v[i] = 5;
    check(*state, v, NULL, ROWS, true);
    for (int64_t i = 0; i < ROWS; i++)
        v[i] = i * 1000000007;
    check(*state, v, NULL, ROWS, true);
    free(v);
}

static void clustered_columns_are_found(void **state)
{
    int64_t *v = malloc(ROWS * sizeof *v);
    for (int64_t i = 0; i < ROWS; i++)
        v[i] = (ROWS - i) / 3;
    check(*state, v, NULL, ROWS, true);
    for (int64_t i = 0; i < ROWS; i++)
        v[i] = i / 65536 * 7 % 5;
    check(*state, v, NULL, ROWS, true);
    for (int64_t i = 0; i < ROWS; i++)
        v[i] = i < ROWS - 1 ? i / 1000 : 0; /* a value comes back at the end */
    check(*state, v, NULL, ROWS, true);
    free(v);
}

static void random_columns(void **state)
{
    static const uint64_t ranges[] = {2, 100, 1000, 5000, 1000000, 1100000, UINT64_C(1) << 40};
    int64_t *v = malloc(ROWS * sizeof *v);
    uint8_t *valid = malloc(ROWS);
    uint64_t seed = 11;
    for (size_t k = 0; k < HD_COUNT(ranges); k++)
        for (int nulls = 0; nulls < 2; nulls++) {
            for (int i = 0; i < ROWS; i++) {
                v[i] = (int64_t)(fx_random(&seed) % ranges[k]) - 500;
                valid[i] = fx_random(&seed) % 5 != 0;
            }
            check(*state, v, nulls ? valid : NULL, ROWS, ranges[k] <= 1100000);
            check(*state, v, nulls ? valid : NULL, 1000, true);
        }
    free(v);
    free(valid);
}

static void permutations_are_unique_and_dense(void **state)
{
    int64_t *v = malloc(ROWS * sizeof *v);
    for (int64_t i = 0; i < ROWS; i++)
        v[i] = i * 7919 % ROWS * 7;
    check(*state, v, NULL, ROWS, true);
    v[77777] = v[3];
    check(*state, v, NULL, ROWS, true);
    free(v);
}

static void tiny_tables(void **state)
{
    const int64_t v[] = {5, 5, INT64_MIN, INT64_MAX, 0};
    const uint8_t one[] = {0, 1, 0, 0, 0};
    for (int64_t n = 1; n <= 5; n++)
        check(*state, v, NULL, n, true);
    for (int64_t n = 2; n <= 5; n++)
        check(*state, v, one, n, true);
}

/* ---- other storages ------------------------------------------------------------------------- */

static void texts_have_facts(void **state)
{
    struct fx_dir *d = *state;
    const char **v = malloc(ROWS * sizeof *v), **names = malloc(ROWS * sizeof *names);
    char *space = malloc(ROWS * 16);
    for (int i = 0; i < ROWS; i++) {
        snprintf(space + i * 16, 16, "name %08u", (unsigned)i % 100000000);
        names[i] = space + i * 16;
        v[i] = space + i % 7 * 16;
    }
    heddle_writer *w = fx_writer(d, "{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"few\","
                                    "\"type\":\"string\"},{\"name\":\"names\",\"type\":"
                                    "\"string\"},{\"name\":\"mixed\",\"type\":\"string\"}]}]}");
    struct fx_batch *b = fx_batch_new(ROWS, 0);
    fx_add_text(b, "few", v, false);
    fx_add_text(b, "names", names, false);
    for (int i = 0; i < ROWS; i++)
        v[i] = space + (int64_t)i * 7919 % ROWS * 16;
    fx_add_text(b, "mixed", v, false);
    fx_append(w, "t", 0, b);
    fx_commit(w);
    struct fx_db db;
    fx_open(&db, d->db);
    const struct fe_facts *few = &fx_column(fx_table(&db, "t"), "few")->facts;
    assert_true(few->has_range && few->min == 0 && few->max == 6 && few->distinct_exact);
    assert_int_equal(few->max_mult, (ROWS + 6) / 7);
    const struct fe_facts *f = &fx_column(fx_table(&db, "t"), "names")->facts;
    assert_true(f->sorted && f->unique && f->distinct_exact && f->distinct == ROWS);
    assert_true(!f->has_range && !f->dense && f->max_mult == 1);
    f = &fx_column(fx_table(&db, "t"), "mixed")->facts;
    assert_true(!f->sorted && !f->unique && !f->distinct_exact);
    assert_true(f->distinct > ROWS * 0.97 && f->distinct <= ROWS);
    fx_close(&db);
    free(v);
    free(names);
    free(space);
}

static void floats_and_wide_decimals_have_facts(void **state)
{
    struct fx_dir *d = *state;
    const double f[] = {-1.5, -0.0, 0.0, 2.5, 1e300};
    const hd_i128 big = hd_pow10(37);
    const hd_i128 w38[] = {-big, -big, 0, 1, big};
    heddle_writer *w = fx_writer(d, "{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"f\","
                                    "\"type\":\"float64\"},{\"name\":\"w\",\"type\":"
                                    "\"decimal(38,2)\"}]}]}");
    struct fx_batch *b = fx_batch_new(5, 0);
    fx_add(b, "f", "g", f, 8, NULL);
    fx_add(b, "w", "d:38,2", w38, 16, NULL);
    fx_append(w, "t", 0, b);
    fx_commit(w);
    struct fx_db db;
    fx_open(&db, d->db);
    const struct fe_facts *x = &fx_column(fx_table(&db, "t"), "f")->facts;
    assert_true(x->sorted && !x->unique && x->distinct == 4 && x->max_mult == 2);
    assert_false(x->has_range);
    x = &fx_column(fx_table(&db, "t"), "w")->facts;
    assert_true(x->sorted && x->has_range && x->min == -big && x->max == big);
    assert_true(x->distinct == 4 && x->max_mult == 2);
    fx_close(&db);
}

/* ---- choice of the stored form --------------------------------------------------------------- */

static void expect_form(hd_i128 min, hd_i128 max, uint64_t step, int width, hd_i128 base, hd_i128 factor)
{
    int w;
    hd_i128 b, f;
    rt_choose_int_form(min, max, step, &w, &b, &f);
    assert_int_equal(w, width);
    assert_true(b == base && f == factor);
    if (w < 16) {
        hd_i128 lo = (min - b) / f, hi = (max - b) / f, limit = (hd_i128)1 << (8 * w - 1);
        assert_true(lo >= -limit && hi < limit);
        assert_true(b + f * lo == min && b + f * hi == max);
    }
}

static void forms_are_narrow_and_plain(void **state)
{
    (void)state;
    expect_form(0, 127, 1, 1, 0, 1);
    expect_form(-128, 127, 1, 1, 0, 1);
    expect_form(0, 128, 1, 1, -128 + 256, 1);
    expect_form(0, 255, 1, 1, 128, 1);
    expect_form(0, 256, 1, 2, 0, 1);
    expect_form(1000, 1100, 1, 1, 1000, 1);
    expect_form(100, 5000, 100, 1, 0, 100);
    expect_form(150, 5050, 100, 1, 50, 100);
    expect_form(-50, 50, 100, 1, 0, 1);
    expect_form(0, 300000000, 1000000, 2, 0, 1000000);
    expect_form(INT64_MIN, INT64_MAX, 1, 8, 0, 1);
    expect_form(0, UINT64_MAX, 1, 8, (hd_i128)1 << 63, 1);
    expect_form(0, (hd_i128)1 << 64, 1, 16, 0, 1);
    expect_form(hd_pow10(37), hd_pow10(37) + 70000, 7, 2, hd_pow10(37), 7);
    expect_form(5, 5, 0, 1, 0, 1);
    expect_form(500, 500, 0, 1, 500, 1);
    expect_form(0, 0, 0, 1, 0, 1);
}

/* ---- columns in memory, by level ------------------------------------------------------------- */

static struct fe_facts facts_of(const struct fe_table_column *c, int64_t rows, enum rt_facts_level level)
{
    struct rt_pool *pool;
    struct fe_facts f;
    struct hd_err e;
    hd_err_init(&e);
    assert_int_equal(rt_pool_new(3, &pool, &e), 0);
    assert_int_equal(rt_facts_compute(c, rows, level, pool, NULL, &f, NULL, &e), 0);
    rt_pool_free(pool);
    return f;
}

static struct fe_table_column column_of(const void *data, int width, struct hd_type type)
{
    return (struct fe_table_column){
        .storage = FE_STORE_INT, .width = width, .factor = 1, .type = type, .at.data = data};
}

static void estimates_are_near_and_ranges_exact(void **state)
{
    int64_t *v = malloc(ROWS * sizeof *v);
    uint8_t *valid = calloc(1, ROWS / 8 + 1);
    struct fe_table_column c = column_of(v, 8, hd_type_of(HD_INT64));
    (void)state;
    for (int64_t i = 0; i < ROWS; i++) {
        v[i] = i * 7919 % 40 - 7;
        if (i % 3)
            valid[i >> 3] |= (uint8_t)(1 << (i & 7));
    }
    for (int nulls = 0; nulls < 2; nulls++) {
        c.at.validity = nulls ? valid : NULL;
        struct fe_facts f = facts_of(&c, ROWS, RT_FACTS_ESTIMATED), all = facts_of(&c, ROWS, RT_FACTS_ALL);
        assert_true(f.known && f.has_range && f.min == all.min && f.max == all.max && f.nulls == all.nulls);
        assert_true(!f.distinct_exact && !f.unique && f.max_mult == -1 && f.distinct == all.distinct);
        assert_true(all.distinct_exact && all.distinct == 40);
    }
    free(v);
    free(valid);
}

/* What cannot be unique is not counted; what is unique is found to be. */
static void values_that_may_be_unique_are_counted(void **state)
{
    enum { N = 100003 }; /* prime */
    int32_t *v = malloc(N * sizeof *v);
    struct fe_table_column c = column_of(v, 4, hd_type_of(HD_INT32));
    (void)state;
    for (int64_t i = 0; i < N; i++)
        v[i] = (int32_t)(i * 31 % N);
    struct fe_facts f = facts_of(&c, N, RT_FACTS_UNIQUE);
    assert_true(f.unique && f.dense && f.distinct == N && f.distinct_exact && f.max_mult == 1);
    assert_false(facts_of(&c, N, RT_FACTS_ESTIMATED).unique);
    v[5] = v[6];
    assert_false(facts_of(&c, N, RT_FACTS_UNIQUE).unique);
    assert_true(facts_of(&c, N, RT_FACTS_UNIQUE).distinct_exact);
    for (int64_t i = 0; i < N; i++)
        v[i] %= N - 1;
    f = facts_of(&c, N, RT_FACTS_UNIQUE);
    assert_true(!f.unique && !f.distinct_exact && f.min == 0 && f.max == N - 2);
    free(v);
}

/* 16 bytes: counted where they lie within 2^64, and nothing is lost of those that do not. */
static void wide_numbers_are_counted(void **state)
{
    enum { N = 70001 };
    hd_i128 *v = malloc(N * sizeof *v), far = (hd_i128)1 << 100;
    struct fe_table_column c = column_of(v, 16, (struct hd_type){.kind = HD_DECIMAL, .precision = 38});
    (void)state;
    for (int64_t i = 0; i < N; i++)
        v[i] = i * 7919 % 1000 - far;
    struct fe_facts f = facts_of(&c, N, RT_FACTS_ALL);
    assert_true(f.has_range && f.min == -far && f.max == 999 - far);
    assert_true(f.distinct_exact && f.distinct == 1000 && f.max_mult == 71 && !f.unique && !f.sorted);
    assert_true(facts_of(&c, N, RT_FACTS_ESTIMATED).max == 999 - far);
    for (int64_t i = 0; i < N; i++)
        v[i] = i - far;
    f = facts_of(&c, N, RT_FACTS_ESTIMATED);
    assert_true(f.sorted && f.unique && f.distinct == N && f.distinct_exact);
    v[0] = far;
    f = facts_of(&c, N, RT_FACTS_ALL);
    assert_true(f.max == far && f.min == 1 - far && !f.sorted && !f.distinct_exact);
    free(v);
}

static void computing_can_be_stopped(void **state)
{
    int64_t *v = calloc(ROWS, sizeof *v);
    struct fe_table_column c = column_of(v, 8, hd_type_of(HD_INT64));
    struct rt_pool *pool;
    struct fe_facts f;
    struct hd_err e;
    struct hd_stop stop = {0};
    (void)state;
    hd_err_init(&e);
    assert_int_equal(rt_pool_new(2, &pool, &e), 0);
    rt_pool_stop_by(pool, &stop);
    assert_int_equal(rt_facts_compute(&c, ROWS, RT_FACTS_ALL, pool, NULL, &f, NULL, &e), 0);
    hd_stop_ask(&stop);
    assert_int_equal(rt_facts_compute(&c, ROWS, RT_FACTS_ALL, pool, NULL, &f, NULL, &e), -1);
    assert_int_equal(e.class, HD_ERR_CANCELLED);
    hd_err_release(&e);
    rt_pool_free(pool);
    free(v);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fx_setup, fx_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sorted_columns_are_exact),
        TEST(clustered_columns_are_found),
        TEST(random_columns),
        TEST(permutations_are_unique_and_dense),
        TEST(tiny_tables),
        TEST(texts_have_facts),
        TEST(floats_and_wide_decimals_have_facts),
        cmocka_unit_test(forms_are_narrow_and_plain),
        cmocka_unit_test(estimates_are_near_and_ranges_exact),
        cmocka_unit_test(values_that_may_be_unique_are_counted),
        cmocka_unit_test(wide_numbers_are_counted),
        cmocka_unit_test(computing_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
