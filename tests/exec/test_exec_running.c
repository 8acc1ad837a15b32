/* Running fields: sums, minima and maxima of all rows up to each, with NULLs, on every number of threads. */
#include "tests/exec/exec_fixture.h"

#include "runtime/exec/keys.h"

enum { KEY, SUM_64, SUM_128, SUM_NULLS, MIN_32, MAX_NULLS, MAX_F64, FIELDS };

static const struct {
    enum rt_phys phys;
    bool nullable;
    enum rt_merge merge;
} forms[FIELDS] = {
    [KEY] = {RT_I64, false, RT_MERGE_KEY},      [SUM_64] = {RT_I64, false, RT_MERGE_SUM},
    [SUM_128] = {RT_I128, false, RT_MERGE_SUM}, [SUM_NULLS] = {RT_I64, true, RT_MERGE_SUM},
    [MIN_32] = {RT_I32, false, RT_MERGE_MIN},   [MAX_NULLS] = {RT_I64, true, RT_MERGE_MAX},
    [MAX_F64] = {RT_F64, false, RT_MERGE_MAX},
};

/* Row i: its key falls, so sorting turns the rows round. */
static void make_row(const struct rt_state *s, int64_t n, int64_t i, unsigned char *row)
{
    int64_t key = n - i, v = (int64_t)(fx_random((uint64_t)i) % 2001) - 1000;
    int32_t small = (int32_t)v * 1000;
    hd_i128 wide = v * ((hd_i128)1 << 60);
    double d = (double)v / 8;
    memset(row, 0, (size_t)s->stride);
    fx_put(s, row, KEY, &key);
    fx_put(s, row, SUM_64, &v);
    fx_put(s, row, SUM_128, &wide);
    fx_put(s, row, MIN_32, &small);
    fx_put(s, row, MAX_F64, &d);
    if (i % 3 != 1 && i < n - n / 4) { /* the first rows in order have no value */
        fx_put(s, row, SUM_NULLS, &v);
        fx_put(s, row, MAX_NULLS, &v);
    }
}

struct filling {
    const struct rt_state *s;
    int64_t n;
};

static int32_t fill(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct filling *c = fx_context(args);
    unsigned char row[256];
    for (uint64_t i = begin; i < end; i++) {
        make_row(c->s, c->n, (int64_t)i, row);
        if (fx_append(t, 0, row, (size_t)c->s->stride) != 0)
            return 1;
    }
    return 0;
}

/* `all` is what the rows so far amount to. */
static void run_on(const struct rt_state *s, int f, unsigned char *all, const unsigned char *row)
{
    unsigned char v[16];
    hd_i128 a = 0, b = 0;
    size_t size = (size_t)rt_phys_size(forms[f].phys);
    bool has = fx_valid(s, all, f);
    if (!fx_valid(s, row, f))
        return;
    memcpy(v, row + s->fields[f].offset, size);
    if (has && forms[f].merge == RT_MERGE_SUM) {
        a = forms[f].phys == RT_I64 ? fx_i64(s, all, f) : 0;
        b = forms[f].phys == RT_I64 ? fx_i64(s, row, f) : 0;
        if (forms[f].phys == RT_I128) {
            memcpy(&a, all + s->fields[f].offset, 16);
            memcpy(&b, v, 16);
        }
        a += b;
        memcpy(v, &a, size);
    } else if (has) {
        int c = rt_value_compare(forms[f].phys, v, all + s->fields[f].offset);
        if (forms[f].merge == RT_MERGE_MIN ? c >= 0 : c <= 0)
            return;
    }
    fx_put(s, all, f, v);
}

static void check(const struct rt_state *s, int64_t n, const unsigned char *rows)
{
    unsigned char all[256], row[256];
    for (int64_t i = 0; i < n; i++, rows += s->stride) {
        make_row(s, n, n - 1 - i, row);
        for (int f = KEY + 1; f < FIELDS && i > 0; f++)
            run_on(s, f, all, row);
        if (i == 0)
            memcpy(all, row, sizeof all);
        assert_int_equal(fx_i64(s, rows, KEY), i + 1);
        for (int f = KEY + 1; f < FIELDS; f++) {
            assert_int_equal(fx_valid(s, rows, f), fx_valid(s, all, f));
            if (fx_valid(s, all, f))
                assert_memory_equal(rows + s->fields[f].offset, all + s->fields[f].offset,
                                    (size_t)rt_phys_size(forms[f].phys));
        }
    }
}

static void run_case(int threads, int64_t n)
{
    struct fx f;
    struct filling c = {.n = n};
    struct rt_sort_key key = {KEY, false, false};
    uint64_t got;
    fx_init(&f, threads, &c);
    int s = fx_state(&f, RT_STATE_ROWS);
    for (int i = 0; i < FIELDS; i++)
        fx_field(&f, s, forms[i].phys, forms[i].nullable, forms[i].merge);
    f.states[s].nsort = 1;
    f.states[s].sort = &key;
    c.s = &f.states[s];
    fx_action(&f, RT_RUN, fx_table_pipeline(&f, n, fill));
    fx_action(&f, RT_FINISH, s);
    const unsigned char *rows = fx_rows(&f, s, &got);
    assert_int_equal(got, n);
    check(&f.states[s], n, rows);
    fx_release(&f);
}

static void every_size_and_thread_count(void **state)
{
    static const int64_t sizes[] = {0, 1, 2, 100, 16384, 16385, 32768, 200001};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (size_t i = 0; i < HD_COUNT(sizes); i++)
            run_case(fx_threads[k], sizes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_size_and_thread_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
