/* ROWS: appending from many threads, limits, constants, scalar subqueries. */
#include "tests/exec/exec_fixture.h"

struct numbers {
    int state;
    size_t stride;
    _Atomic uint64_t visited;
};

/* Appends the row number. */
static int32_t append_number(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    struct numbers *c = fx_context(args);
    int64_t row[16] = {0};
    for (uint64_t i = begin; i < end; i++) {
        row[0] = (int64_t)i;
        if (fx_append(t, c->state, row, c->stride) != 0)
            return 1;
    }
    atomic_fetch_add(&c->visited, end - begin);
    return 0;
}

static void make(struct fx *f, struct numbers *c, int threads, int64_t n, int nfields)
{
    fx_init(f, threads, c);
    c->state = fx_state(f, RT_STATE_ROWS);
    c->visited = 0;
    for (int i = 0; i < nfields; i++)
        fx_field(f, c->state, RT_I64, false, RT_MERGE_ANY);
    c->stride = (size_t)f->states[c->state].stride;
    fx_action(f, RT_RUN, fx_table_pipeline(f, n, append_number));
    fx_action(f, RT_FINISH, c->state);
}

/* Every number below n once. */
static void check_all(const unsigned char *rows, size_t stride, uint64_t n, uint64_t wanted)
{
    unsigned char *seen = calloc(1, wanted + 1);
    assert_int_equal(n, wanted);
    for (uint64_t i = 0; i < n; i++) {
        int64_t v;
        memcpy(&v, rows + i * stride, 8);
        assert_true(v >= 0 && (uint64_t)v < wanted && !seen[v]);
        seen[v] = 1;
    }
    free(seen);
}

static void rows_are_contiguous(void **state)
{
    static const int64_t sizes[] = {0, 1, 31, 1000, 4096, 300000};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++)
        for (size_t i = 0; i < HD_COUNT(sizes); i++) {
            struct fx f;
            struct numbers c;
            uint64_t n;
            make(&f, &c, fx_threads[k], sizes[i], i % 2 ? 1 : 13);
            const unsigned char *rows = fx_rows(&f, c.state, &n);
            check_all(rows, c.stride, n, (uint64_t)sizes[i]);
            assert_int_equal(f.stats.state_rows[0], n);
            assert_int_equal(f.stats.pipelines[0].source_rows, sizes[i]);
            fx_release(&f);
        }
}

static void limit_takes_any_rows_and_stops_early(void **state)
{
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        struct fx f;
        struct numbers c;
        uint64_t n;
        make(&f, &c, fx_threads[k], 10000000, 1);
        f.states[c.state].limit = 10;
        f.states[c.state].offset = 3;
        fx_rows(&f, c.state, &n);
        assert_int_equal(n, 10);
        assert_true(c.visited < 5000000);
        fx_release(&f);
    }
}

static void limit_beyond_the_rows(void **state)
{
    static const struct {
        int64_t limit, offset, rows;
    } cases[] = {{200, 0, 100}, {200, 40, 60}, {10, 95, 5}, {10, 100, 0}, {10, 500, 0}, {0, 0, 0}, {-1, 30, 70}};
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        struct fx f;
        struct numbers c;
        uint64_t n;
        make(&f, &c, 3, 100, 2);
        f.states[c.state].limit = cases[i].limit;
        f.states[c.state].offset = cases[i].offset;
        fx_rows(&f, c.state, &n);
        assert_int_equal(n, cases[i].rows);
        fx_release(&f);
    }
}

/* With a step that marks rows somewhere, a pipeline must see all of its source. */
static void limit_never_stops_a_program_that_marks(void **state)
{
    struct fx f;
    struct numbers c;
    uint64_t n;
    (void)state;
    make(&f, &c, 2, 3000000, 1);
    f.states[c.state].limit = 10;
    f.states[c.state].track_matches = true;
    fx_rows(&f, c.state, &n);
    assert_int_equal(n, 10);
    assert_int_equal(c.visited, 3000000);
    fx_release(&f);
}

static void single_refuses_a_second_row(void **state)
{
    (void)state;
    for (int rows = 0; rows < 3; rows++) {
        struct fx f;
        struct numbers c;
        make(&f, &c, 2, rows, 1);
        f.states[c.state].single = true;
        assert_int_equal(fx_run(&f, c.state), rows > 1 ? -1 : 0);
        if (rows > 1) {
            assert_int_equal(f.err.class, HD_ERR_EXEC);
            assert_string_equal(f.err.path, "$.state");
        }
        fx_release(&f);
    }
}

static void constants_are_there_before_the_first_action(void **state)
{
    static const int64_t values[] = {100, 101, 102};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
        struct fx f;
        struct numbers c;
        uint64_t n;
        make(&f, &c, fx_threads[k], 100, 1);
        f.states[c.state].nvalues = 3;
        f.states[c.state].values = (const unsigned char *)values;
        const unsigned char *rows = fx_rows(&f, c.state, &n);
        check_all(rows, c.stride, n, 103);
        fx_release(&f);
    }
}

/* union all: two pipelines into one state. */
static void several_pipelines_fill_one_state(void **state)
{
    struct fx f;
    struct numbers c;
    uint64_t n;
    int64_t sum = 0, v;
    (void)state;
    fx_init(&f, 3, &c);
    c.state = fx_state(&f, RT_STATE_ROWS);
    c.stride = 8;
    fx_field(&f, c.state, RT_I64, false, RT_MERGE_ANY);
    for (int i = 0; i < 4; i++)
        fx_action(&f, RT_RUN, fx_table_pipeline(&f, 20001, append_number));
    fx_action(&f, RT_FINISH, c.state);
    const unsigned char *rows = fx_rows(&f, c.state, &n);
    assert_int_equal(n, 4 * 20001);
    for (uint64_t i = 0; i < n; i++) {
        memcpy(&v, rows + i * 8, 8);
        sum += v;
    }
    assert_int_equal(sum, 4LL * 20001 * 20000 / 2);
    fx_release(&f);
}

/* In the order of the source, however many threads append them, in pieces that are full within a morsel. */
static void ordered_pipelines_keep_the_order(void **state)
{
    struct fx f;
    struct numbers c;
    uint64_t n;
    (void)state;
    make(&f, &c, 3, 400000, 1);
    f.pipelines[0].ordered = true;
    f.pipelines[0].nwrites = 1;
    f.pipelines[0].writes = &c.state;
    const unsigned char *rows = fx_rows(&f, c.state, &n);
    assert_int_equal(n, 400000);
    for (uint64_t i = 0; i < n; i++)
        assert_memory_equal(rows + i * 8, &i, 8);
    fx_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_contiguous),
        cmocka_unit_test(limit_takes_any_rows_and_stops_early),
        cmocka_unit_test(limit_beyond_the_rows),
        cmocka_unit_test(limit_never_stops_a_program_that_marks),
        cmocka_unit_test(single_refuses_a_second_row),
        cmocka_unit_test(constants_are_there_before_the_first_action),
        cmocka_unit_test(several_pipelines_fill_one_state),
        cmocka_unit_test(ordered_pipelines_keep_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
