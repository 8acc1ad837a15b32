/* Bytes that rows need at least: the formulas of docs/performance.md against sectors that are counted one by one. */
#include <math.h>
#include <stdlib.h>

#include "runtime/exec/bandwidth.h"
#include "runtime/exec/traffic.h"
#include "tests/exec/exec_fixture.h"

static const struct rt_memory_model gpu = {.sector = 32,
                                           .near_cache = 1 << 11,
                                           .cache = 1 << 20,
                                           .bandwidth = 1e12,
                                           .gathers = {8e9, 2e9, 1e9},
                                           .atomics = {0, 1e9, 1e8}};

/* One pipeline with one access; counters 0 and 1. */
static struct rt_traffic of(struct rt_access a, uint64_t n0, uint64_t n1, uint64_t state_rows)
{
    uint64_t counters[2] = {n0, n1};
    struct rt_pipeline p = {.naccesses = 1, .accesses = &a, .ncounters = 2};
    struct rt_spec spec = {.npipelines = 1, .pipelines = &p};
    struct rt_pipeline_stats st = {.counters = counters};
    struct rt_exec_stats stats = {.pipelines = &st, .state_rows = &state_rows};
    struct rt_traffic t;
    rt_traffic_of(&spec, 0, &stats, &gpu, &t);
    return t;
}

static struct rt_access access_of(enum rt_access_kind kind, double items, double stride)
{
    return (struct rt_access){.kind = kind, .runs = -1, .items = items, .state = -1, .stride = stride, .bytes = stride};
}

/* Bytes of the sectors that `runs` runs of `length` items touch which begin anywhere; each item once: `once`. */
static double simulate(uint64_t items, uint64_t stride, uint64_t runs, uint64_t length, bool once)
{
    unsigned char *sector = calloc(items * stride / 32 + 1, 1), *item = calloc(items, 1);
    double bytes = 0;
    uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < runs;) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint64_t at = x % (items - length + 1);
        if (once && item[at])
            continue;
        i++;
        for (uint64_t k = at; k < at + length; k++) {
            item[k] = 1;
            for (uint64_t b = k * stride / 32; b <= (k * stride + stride - 1) / 32; b++)
                sector[b] = 1;
        }
    }
    for (uint64_t i = 0; i < items * stride / 32 + 1; i++)
        bytes += sector[i] * 32;
    free(sector);
    free(item);
    return bytes;
}

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 0.03 * expected + 64)
        fail_msg("%g found, %g expected", found, expected);
}

static void test_scans(void **state HD_UNUSED)
{
    const uint64_t n = 100000;
    struct rt_access a = access_of(RT_ACCESS_SCAN, (double)n, 4);
    assert_near(of(a, n, 0, 0).scan, 4.0 * (double)n);
    for (uint64_t rows = 100; rows <= n; rows *= 10)
        assert_near(of(a, rows, 0, 0).scan, simulate(n, 4, rows, 1, true));
    assert_true(of(a, n / 2, 0, 0).random == of(a, n / 2, 0, 0).bytes);
    assert_true(of(a, n, 0, 0).lookups == 0);
}

static void test_lookups(void **state HD_UNUSED)
{
    const uint64_t n = 100000;
    for (uint64_t stride = 4; stride <= 64; stride *= 2)
        for (uint64_t rows = 1000; rows <= 10 * n; rows *= 10) {
            struct rt_traffic t = of(access_of(RT_ACCESS_LOOKUP, (double)n, (double)stride), rows, 0, 0);
            assert_near(t.lookup, simulate(n, stride, rows, 1, false));
            assert_true(t.lookups == (double)rows && t.bytes == t.lookup && t.random >= t.bytes);
        }
}

/* Rows of a key are neighbours. */
static void test_runs(void **state HD_UNUSED)
{
    const uint64_t n = 400000;
    struct rt_access a = access_of(RT_ACCESS_LOOKUP, (double)n, 4);
    a.counter = 1;
    a.runs = 0;
    for (uint64_t length = 1; length <= 64; length *= 4) {
        double found = of(a, 1000, 1000 * length, 0).lookup;
        assert_near(found, simulate(n, 4, 1000, length, false));
    }
}

static void test_random_order(void **state HD_UNUSED)
{
    struct rt_access small = access_of(RT_ACCESS_LOOKUP, 1000, 4), large = access_of(RT_ACCESS_LOOKUP, 1 << 20, 4);
    assert_true(of(small, 1000000, 0, 0).random == of(small, 1000000, 0, 0).bytes); /* it stays in the cache */
    assert_near(of(large, 10000000, 0, 0).random, 10000000 * 32.0 * 0.75);          /* a quarter does */
}

/* Items are rows of a state; writes are what they are. */
static void test_states_and_writes(void **state HD_UNUSED)
{
    struct rt_access a = access_of(RT_ACCESS_UPDATE, 1.5, 8);
    a.state = 0;
    assert_near(of(a, 1000000, 0, 1000).write, 1500 * 8);
    assert_near(of(access_of(RT_ACCESS_APPEND, 0, 24), 1000, 0, 0).write, 24000);
    assert_true(of(a, 0, 0, 1000).bytes == 0);
}

static void test_floor(void **state HD_UNUSED)
{
    struct rt_memory_model unknown = {.sector = 64};
    assert_true(fabs(rt_traffic_ms(&gpu, 1e9) - 1) < 1e-9);
    assert_true(rt_traffic_ms(&unknown, 1e9) == 0);
}

/* 10^6 accesses to what lies in the nearest cache, in the last one, and of those to four times as much a quarter does. */
static void test_one_by_one(void **state HD_UNUSED)
{
    struct rt_access small = access_of(RT_ACCESS_LOOKUP, 1000, 4), large = access_of(RT_ACCESS_LOOKUP, 1 << 20, 4);
    struct rt_access near = access_of(RT_ACCESS_LOOKUP, 512, 4);
    assert_true(fabs(of(near, 1000000, 0, 0).gathering - 0.125) < 1e-9);
    assert_true(fabs(of(small, 1000000, 0, 0).gathering - 0.5) < 1e-9);
    assert_true(fabs(of(large, 1000000, 0, 0).gathering - (0.25 * 0.5 + 0.75)) < 1e-9);
    small.kind = large.kind = RT_ACCESS_UPDATE;
    assert_true(of(small, 1000000, 0, 0).gathering == 0 && of(small, 1000000, 0, 0).adding == 0);
    small.atomics = large.atomics = 2;
    assert_true(of(small, 1000000, 0, 0).atomics == 2e6 && fabs(of(small, 1000000, 0, 0).adding - 2) < 1e-9);
    assert_true(fabs(of(large, 1000000, 0, 0).adding - 2 * (0.25 + 7.5)) < 1e-9);
    struct rt_traffic t = {.random = 3e9, .bytes = 3e9, .gathering = 2, .adding = 1};
    assert_true(fabs(rt_traffic_random_ms(&gpu, &t) - 3) < 1e-9);
    assert_string_equal(rt_traffic_bound(&gpu, &t), "bytes");
    t.bytes = 2e9;
    assert_string_equal(rt_traffic_bound(&gpu, &t), "random bytes");
    t.gathering = 5;
    assert_string_equal(rt_traffic_bound(&gpu, &t), "lookups");
    t.adding = 7;
    assert_true(fabs(rt_traffic_random_ms(&gpu, &t) - 7) < 1e-9);
    assert_string_equal(rt_traffic_bound(&gpu, &t), "atomics");
}

static void test_bandwidth(void **state HD_UNUSED)
{
    struct rt_thread_pool *pool = rt_thread_pool_new();
    double b = rt_stream_bandwidth(pool, 2);
    assert_true(b > 1e8 && b < 1e13); /* slower than any disk, faster than any memory: it measured nothing */
    rt_thread_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scans),        cmocka_unit_test(test_lookups),           cmocka_unit_test(test_runs),
        cmocka_unit_test(test_random_order), cmocka_unit_test(test_states_and_writes), cmocka_unit_test(test_floor),
        cmocka_unit_test(test_one_by_one),   cmocka_unit_test(test_bandwidth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
