/* Order: every type and direction, ties beyond the normalised key, top-k, all sizes. */
#include "tests/exec/exec_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/exec/keys.h"

/* One sorted state, filled with rows that are functions of their number, which is their last field and no key. */
struct filling {
    const struct rt_state *s;
    uint64_t distinct; /* values per field; 1: all equal */
    int null_percent;
};

static const char texts[] = "abcabcaabbccaabcabcacbabcabcabcbbacbcabcbabcbabababaaaaaaaaaaaaaaaaaa"
                            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";

static void make_value(enum rt_phys phys, uint64_t r, unsigned char *out)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1.5, -1.5};
    int64_t i = (int64_t)r - 1000;
    double d = r % 7 == 0 ? specials[r / 7 % HD_COUNT(specials)] : (double)i / 8;
    float single = (float)d;
    hd_i128 wide = (hd_i128)i * ((hd_i128)1 << (r % 3 * 40));
    struct rt_row_str s = {texts + r % 40, r % 60};
    switch (phys) {
    case RT_BOOL: *out = r & 1; return;
    case RT_I32: memcpy(out, &i, 4); return;
    case RT_I64: memcpy(out, &i, 8); return;
    case RT_I128: memcpy(out, &wide, 16); return;
    case RT_F64: memcpy(out, &d, 8); return;
    case RT_F32: memcpy(out, &single, 4); return;
    case RT_STR: memcpy(out, &s, 16); return;
    }
}

static void make_row(const struct filling *c, uint64_t i, unsigned char *row)
{
    unsigned char v[16];
    memset(row, 0, (size_t)c->s->stride);
    for (int k = 0; k < c->s->nsort; k++) {
        uint64_t r = fx_random(i * 31 + (uint64_t)k);
        if (c->s->fields[k].valid_offset >= 0 && (int)(r >> 32 & 127) < c->null_percent)
            continue;
        make_value(c->s->fields[k].phys, r % c->distinct, v);
        fx_put(c->s, row, k, v);
    }
    fx_put(c->s, row, c->s->nsort, &i);
}

static int32_t fill(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct filling *c = fx_context(args);
    unsigned char row[256];
    for (uint64_t i = begin; i < end; i++) {
        make_row(c, i, row);
        if (fx_append(t, 0, row, (size_t)c->s->stride) != 0)
            return 1;
    }
    return 0;
}

/* The rule, written plainly. */
static int compare(const struct rt_state *s, const unsigned char *a, const unsigned char *b)
{
    for (int i = 0; i < s->nsort; i++) {
        int f = s->sort[i].field;
        bool va = fx_valid(s, a, f), vb = fx_valid(s, b, f);
        if (va != vb)
            return (va < vb) == s->sort[i].nulls_first ? -1 : 1;
        if (!va)
            continue;
        int c = rt_value_compare(s->fields[f].phys, a + s->fields[f].offset, b + s->fields[f].offset);
        if (c)
            return s->sort[i].desc ? -c : c;
    }
    return 0;
}

static const struct rt_state *sorting;

static int compare_for_qsort(const void *a, const void *b)
{
    return compare(sorting, *(unsigned char *const *)a, *(unsigned char *const *)b);
}

/* Each row is one of those that were appended, to the byte, and none is there twice. */
static void check_rows(const struct filling *c, int64_t n, const unsigned char *rows, int64_t got)
{
    size_t stride = (size_t)c->s->stride;
    unsigned char row[256];
    bool *found = calloc((size_t)n + 1, sizeof *found);
    for (int64_t i = 0; i < got; i++, rows += stride) {
        int64_t id = fx_i64(c->s, rows, c->s->nsort);
        assert_true(id >= 0 && id < n && !found[id]);
        found[id] = true;
        make_row(c, (uint64_t)id, row);
        assert_memory_equal(row, rows, stride);
    }
    free(found);
}

/* The result must have the keys that sorting all rows and cutting would give, each with its row. */
static void check(const struct filling *c, int64_t n, const unsigned char *rows, uint64_t got)
{
    const struct rt_state *s = c->s;
    size_t stride = (size_t)s->stride;
    unsigned char *all = malloc((size_t)n * stride + 1), **p = malloc((size_t)n * sizeof *p + 1);
    for (int64_t i = 0; i < n; i++) {
        p[i] = all + (size_t)i * stride;
        make_row(c, (uint64_t)i, p[i]);
    }
    sorting = s;
    qsort(p, (size_t)n, sizeof *p, compare_for_qsort);
    int64_t offset = HD_MIN(s->offset, n), count = n - offset;
    count = s->limit >= 0 ? HD_MIN(count, s->limit) : count;
    assert_int_equal(got, count);
    for (int64_t i = 0; i < count; i++)
        if (compare(s, p[offset + i], rows + (size_t)i * stride) != 0)
            fail_msg("row %lld of %lld is not in its place", (long long)i, (long long)count);
    check_rows(c, n, rows, count);
    free(p);
    free(all);
}

static void run_case(int threads, const enum rt_phys *phys, int nfields, bool nullable, unsigned flags, int64_t n,
                     uint64_t distinct, int64_t limit, int64_t offset)
{
    struct fx f;
    struct filling c = {.distinct = distinct, .null_percent = 20};
    struct rt_sort_key keys[8];
    uint64_t got;
    fx_init(&f, threads, &c);
    int s = fx_state(&f, RT_STATE_ROWS);
    for (int i = 0; i < nfields; i++) {
        fx_field(&f, s, phys[i], nullable, RT_MERGE_ANY);
        keys[i] = (struct rt_sort_key){i, flags >> i & 1, flags >> (i + 4) & 1};
    }
    fx_field(&f, s, RT_I64, false, RT_MERGE_ANY);
    f.states[s].nsort = nfields;
    f.states[s].sort = keys;
    f.states[s].limit = limit;
    f.states[s].offset = offset;
    c.s = &f.states[s];
    fx_action(&f, RT_RUN, fx_table_pipeline(&f, n, fill));
    fx_action(&f, RT_FINISH, s);
    const unsigned char *rows = fx_rows(&f, s, &got);
    check(&c, n, rows, got);
    fx_release(&f);
}

static void every_type_and_direction(void **state)
{
    static const enum rt_phys all[] = {RT_BOOL, RT_I32, RT_I64, RT_I128, RT_F64, RT_STR};
    (void)state;
    for (size_t i = 0; i < HD_COUNT(all); i++)
        for (unsigned flags = 0; flags < 2; flags++)
            for (unsigned first = 0; first < 2; first++)
                run_case(2, &all[i], 1, true, flags | first << 4, 3000, 1 << 20, -1, 0);
}

static void several_keys(void **state)
{
    static const enum rt_phys keys[][4] = {
        {RT_I32, RT_I32, RT_I32, RT_I32},   {RT_I32, RT_I64, RT_I32, RT_F64}, {RT_BOOL, RT_STR, RT_I32, RT_I64},
        {RT_I128, RT_I32, RT_STR, RT_BOOL}, {RT_F64, RT_F64, RT_F64, RT_STR}, {RT_STR, RT_STR, RT_I64, RT_I32},
        {RT_I64, RT_I128, RT_BOOL, RT_F64},
    };
    (void)state;
    for (size_t i = 0; i < HD_COUNT(keys); i++)
        for (unsigned flags = 0; flags < 256; flags += 37)
            for (int nullable = 0; nullable < 2; nullable++)
                run_case(3, keys[i], 4, nullable, flags, 2000, 5, -1, 0);
}

static void every_size_and_thread_count(void **state)
{
    static const enum rt_phys keys[] = {RT_I32, RT_I64};
    static const int64_t sizes[] = {0, 1, 2, 20, 21, 22, 100, 1000, 32767, 32768, 100001};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (size_t i = 0; i < HD_COUNT(sizes); i++)
            run_case(fx_threads[k], keys, 2, false, 1, sizes[i], 1 << 20, -1, 0);
}

static void duplicates(void **state)
{
    static const enum rt_phys keys[] = {RT_I32, RT_STR};
    (void)state;
    for (uint64_t distinct = 1; distinct < 1000; distinct = distinct * 5 + 1)
        run_case(2, keys, 2, true, 2, 60000, distinct, -1, 0);
}

static void limits_without_top_k(void **state)
{
    static const enum rt_phys keys[] = {RT_I64, RT_STR};
    (void)state;
    run_case(2, keys, 2, true, 3, 100000, 1 << 20, 70000, 0);
    run_case(2, keys, 2, true, 3, 100000, 1 << 20, 70000, 50000);
    run_case(1, keys, 2, true, 3, 100000, 1 << 20, -1, 90000);
}

static void top_k(void **state)
{
    static const enum rt_phys keys[] = {RT_I32, RT_STR, RT_I64};
    static const int64_t limits[] = {0, 1, 2, 10, 100, 1000, 3000, 5000, 65536};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (size_t i = 0; i < HD_COUNT(limits); i++) {
            run_case(fx_threads[k], keys, 3, true, 1, 40000, 1 << 20, limits[i], 0);
            run_case(fx_threads[k], keys, 3, true, 1, 100, 50, limits[i], 7);
        }
    run_case(2, keys, 3, true, 2, 150000, 3, 500, 100);
    run_case(2, keys, 3, true, 2, 150000, 1, 500, 100);
}

/* Rows that arrive in order, or in reverse, which makes every row a new best one. */
static int32_t fill_falling(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    (void)args;
    for (uint64_t i = begin; i < end; i++) {
        int64_t v = 1000000 - (int64_t)i;
        if (fx_append(t, 0, &v, 8) != 0)
            return 1;
    }
    return 0;
}

static void top_k_of_falling_rows(void **state)
{
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        struct fx f;
        struct rt_sort_key key = {0, false, false};
        uint64_t n;
        fx_init(&f, fx_threads[k], NULL);
        int s = fx_state(&f, RT_STATE_ROWS);
        fx_field(&f, s, RT_I64, false, RT_MERGE_ANY);
        f.states[s].nsort = 1;
        f.states[s].sort = &key;
        f.states[s].limit = 50;
        fx_action(&f, RT_RUN, fx_table_pipeline(&f, 300000, fill_falling));
        fx_action(&f, RT_FINISH, s);
        const unsigned char *rows = fx_rows(&f, s, &n);
        assert_int_equal(n, 50);
        for (uint64_t i = 0; i < n; i++)
            assert_int_equal(fx_i64(&f.states[s], rows + i * 8, 0), 700001 + (int64_t)i);
        fx_release(&f);
    }
}

/* Rows that come by their first key: a long run in the middle, short ones around it. */
enum { BEFORE = 5000, LONG = 200000, PER_RUN = 7 };

static int64_t run_of(uint64_t i)
{
    uint64_t behind = BEFORE + LONG;
    return (int64_t)(i < BEFORE ? i / PER_RUN : i < behind ? BEFORE : BEFORE + 1 + (i - behind) / PER_RUN);
}

static int32_t fill_runs(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    (void)args;
    for (uint64_t i = begin; i < end; i++) {
        int64_t row[3] = {run_of(i), (int64_t)(fx_random(i) % 1000), (int64_t)i};
        if (fx_append(t, 0, row, sizeof row) != 0)
            return 1;
    }
    return 0;
}

static void runs_of_sorted_rows(void **state)
{
    static const int64_t sizes[] = {0, 1, 3, 4096, 4100, BEFORE + LONG, BEFORE + LONG + 20000};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads) * HD_COUNT(sizes); k++) {
        struct fx f;
        struct rt_sort_key keys[3] = {{0, false, false}, {1, true, false}, {2, false, false}};
        uint64_t n, want = (uint64_t)sizes[k % HD_COUNT(sizes)];
        fx_init(&f, fx_threads[k / HD_COUNT(sizes)], NULL);
        int s = fx_state(&f, RT_STATE_ROWS);
        for (int i = 0; i < 3; i++)
            fx_field(&f, s, RT_I64, false, RT_MERGE_ANY);
        f.states[s].nsort = 3;
        f.states[s].sort = keys;
        f.states[s].sorted = 1;
        int p = fx_table_pipeline(&f, (int64_t)want, fill_runs);
        f.pipelines[p].ordered = true;
        fx_action(&f, RT_RUN, p);
        fx_action(&f, RT_FINISH, s);
        const unsigned char *rows = fx_rows(&f, s, &n);
        assert_int_equal(n, want);
        for (uint64_t i = 0, sum = 0; i < n; i++) {
            const unsigned char *row = rows + i * 24;
            uint64_t id = (uint64_t)fx_i64(&f.states[s], row, 2);
            assert_int_equal(fx_i64(&f.states[s], row, 0), run_of(i));
            assert_int_equal(run_of(id), run_of(i));
            assert_int_equal(fx_i64(&f.states[s], row, 1), fx_random(id) % 1000);
            if (i > 0) /* none is there twice: they ascend */
                assert_true(compare(&f.states[s], row - 24, row) < 0);
            sum += id;
            if (i + 1 == n)
                assert_int_equal(sum, n * (n - 1) / 2);
        }
        fx_release(&f);
    }
}

/* Rows that are their keys alone, beside what is filled once they are sorted: they are made from words, whose bits depend
 * on what the values are. */
struct keys_alone {
    int64_t base[2], span[2];
    bool desc[2];
};

static void key_values(const struct keys_alone *k, uint64_t i, int32_t *a, int64_t *b)
{
    *a = (int32_t)(k->base[0] + (int64_t)(fx_random(i) % (uint64_t)k->span[0]));
    *b = k->base[1] + (int64_t)(fx_random(i * 7 + 1) % (uint64_t)k->span[1]);
}

enum { KEYS_STRIDE = 32 }; /* a place of 8 bytes for each field */

static int32_t fill_keys(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct keys_alone *k = fx_context(args);
    for (uint64_t i = begin; i < end; i++) {
        unsigned char row[KEYS_STRIDE] = {0};
        int32_t a;
        int64_t b;
        key_values(k, i, &a, &b);
        memcpy(row, &b, sizeof b);
        memcpy(row + 8, &a, sizeof a);
        if (fx_append(t, 0, row, sizeof row) != 0)
            return 1;
    }
    return 0;
}

struct both {
    int64_t a, b;
    const struct keys_alone *k;
};

static int compare_both(const void *p, const void *q)
{
    const struct both *x = p, *y = q;
    int c = (x->a > y->a) - (x->a < y->a), d = (x->b > y->b) - (x->b < y->b);
    return c ? (x->k->desc[0] ? -c : c) : x->k->desc[1] ? -d : d;
}

static void check_keys(const struct keys_alone *k, int threads, uint64_t n)
{
    struct fx f;
    struct keys_alone context = *k;
    struct rt_sort_key keys[2] = {{1, k->desc[0], false}, {0, k->desc[1], false}};
    struct both *want = malloc(n * sizeof *want + 1);
    uint64_t got;
    fx_init(&f, threads, &context);
    int s = fx_state(&f, RT_STATE_ROWS);
    fx_field(&f, s, RT_I64, false, RT_MERGE_ANY);
    fx_field(&f, s, RT_I32, false, RT_MERGE_ANY);
    int begin = fx_field(&f, s, RT_I32, false, RT_MERGE_ANY), count = fx_field(&f, s, RT_I32, false, RT_MERGE_ANY);
    f.states[s].fields[begin].border = RT_BORDER_BEGIN;
    f.states[s].fields[count].border = RT_BORDER_COUNT;
    f.states[s].fields[begin].border_keys = f.states[s].fields[count].border_keys = 1;
    f.states[s].nsort = 2;
    f.states[s].sort = keys;
    f.states[s].limit = -1;
    fx_action(&f, RT_RUN, fx_table_pipeline(&f, (int64_t)n, fill_keys));
    fx_action(&f, RT_FINISH, s);
    const unsigned char *rows = fx_rows(&f, s, &got);
    assert_int_equal(got, n);
    for (uint64_t i = 0; i < n; i++) {
        int32_t a;
        key_values(k, i, &a, &want[i].b);
        want[i].a = a;
        want[i].k = k;
    }
    qsort(want, n, sizeof *want, compare_both);
    for (uint64_t i = 0, first = 0, groups = 0; i < n; i++) {
        const unsigned char *row = rows + i * KEYS_STRIDE;
        int32_t v[3];
        for (int field = 0; field < 3; field++)
            memcpy(&v[field], row + f.states[s].fields[field + 1].offset, sizeof *v);
        first = i && want[i].a == want[i - 1].a ? first : i;
        groups += first == i;
        assert_int_equal(fx_i64(&f.states[s], row, 0), want[i].b);
        assert_int_equal(v[0], want[i].a);
        assert_int_equal(v[1], first);
        assert_int_equal(v[2], groups);
    }
    free(want);
    fx_release(&f);
}

static void keys_alone(void **state)
{
    static const struct keys_alone cases[] = {
        {{1, 90000}, {200000, 10000000}, {false, false}},
        {{-5, -3}, {3, 5}, {true, false}}, /* few values: large buckets, negative ones */
        {{INT32_MIN, INT64_MIN}, {INT64_C(1) << 32, INT64_MAX}, {false, true}}, /* more than 64 bits */
        {{INT32_MIN, -1}, {INT64_C(1) << 32, INT64_C(1) << 31}, {true, true}}, /* about 64 */
        {{7, 7}, {1, 1}, {false, false}}, /* none */
        {{0, 0}, {1, 300000}, {false, true}}, /* the first key has one value */
    };
    static const uint64_t sizes[] = {0, 1, 5000, 70000, 300000};
    (void)state;
    for (size_t c = 0; c < HD_COUNT(cases); c++)
        for (size_t i = 0; i < HD_COUNT(sizes); i++)
            check_keys(&cases[c], fx_threads[(c + i) % HD_COUNT(fx_threads)], sizes[i]);
}

/* Keys of more bits than words have beside a row's number: rows alike in what they have, few, some, or all. */
static void more_bits_than_words(void **state)
{
    static const enum rt_phys ints[] = {RT_I64, RT_I64}, texts_[] = {RT_STR, RT_I64}, reals[] = {RT_F64, RT_I32};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (uint64_t distinct = 3; distinct < UINT64_C(1) << 50; distinct = distinct * 300 + 1) {
            run_case(fx_threads[k], ints, 2, false, 2, 70000, distinct, -1, 0);
            run_case(fx_threads[k], texts_, 2, true, 1, 20000, distinct, -1, 0);
            run_case(fx_threads[k], reals, 2, true, 16, 20000, distinct, 15000, 100);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_sorted_rows),
        cmocka_unit_test(keys_alone),
        cmocka_unit_test(more_bits_than_words),
        cmocka_unit_test(every_type_and_direction),
        cmocka_unit_test(several_keys),
        cmocka_unit_test(every_size_and_thread_count),
        cmocka_unit_test(duplicates),
        cmocka_unit_test(limits_without_top_k),
        cmocka_unit_test(top_k),
        cmocka_unit_test(top_k_of_falling_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
