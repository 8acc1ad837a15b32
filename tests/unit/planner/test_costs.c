/* Costs order the ways of a decision: what must be cheaper is, and thresholds lie where they are said to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "frontend/expr.h"
#include "planner/cost.h"

static void an_index_wins_for_few_probes(void **state)
{
    (void)state;
    for (int gpu = 0; gpu < 2; gpu++) {
        const struct pl_rates *r = pl_rates(gpu);
        assert_true(pl_cost_key_index(r, 1e6, 1e3) < pl_cost_build(r, 1e6, 1e6, 1e3));
        assert_true(pl_cost_key_index(r, 1e6, 1e6) > pl_cost_build(r, 1e5, 1e5, 1e6));
        assert_true(pl_cost_key_index(r, 1e3, 10) < pl_cost_key_index(r, 1e6, 10)); /* small tables stay in the cache */
        assert_true(pl_cost_foreign_key(r, 4, false, 3, 10) < pl_cost_foreign_key(r, 4, true, 3, 10));
        assert_true(pl_cost_foreign_key(r, 4, true, 3, 10) < pl_cost_foreign_key(r, 4, true, 5, 10));
    }
}

static void sides_are_exchanged_for_a_tenth(void **state)
{
    (void)state;
    assert_true(pl_cost_exchange(100, 89));
    assert_false(pl_cost_exchange(100, 91));
}

static void extremes_are_reduced_where_few_keys_are_asked_for(void **state)
{
    (void)state;
    assert_true(pl_cost_extremes_reduced(1e6, 1e6, 1e2, 1e5) < pl_cost_extremes(1e6, 1e6, 1e2));
    assert_true(pl_cost_extremes_reduced(1e6, 1e6, 1e6, 1e5) > pl_cost_extremes(1e6, 1e6, 1e6));
}

static void scans_are_shared_where_strings_cost_more_than_rows(void **state)
{
    (void)state;
    assert_true(pl_worth_sharing(2e5, 1e5, 1e4, 2));
    assert_false(pl_worth_sharing(2e5, 1e5, 1e5, 2)); /* all rows are kept */
    assert_false(pl_worth_sharing(1.1e5, 1e5, 1e4, 2)); /* the second use looks at few rows */
    assert_false(pl_worth_sharing(2e3, 1e3, 1e1, 2)); /* a pipeline more costs that */
}

static void sparse_ranges_are_hashed(void **state)
{
    (void)state;
    assert_true(pl_worth_bitmap(1 << 26, 1));
    assert_false(pl_worth_bitmap((1 << 26) + 1, 1));
    assert_true(pl_worth_bitmap(64e7, 1e7));
    assert_true(pl_worth_direct(64e6, 1, 1));
    assert_false(pl_worth_direct(64e6 + 1, 1, 1));
    assert_true(pl_worth_direct(32e6, 8, 1e6));
    assert_false(pl_worth_direct(33e6, 8, 1e6));
    assert_true(pl_worth_csr(1 << 20, 1));
    assert_false(pl_worth_csr((1 << 20) + 1, 1));
    assert_true(pl_worth_csr(8e6, 1e6));
    assert_true(pl_direct_fits(1e9));
    assert_false(pl_direct_fits(1e9 + 1));
}

static void bitmaps_are_copied_for_long_scans(void **state)
{
    (void)state;
    assert_true(pl_worth_block_bits(6e8, 6e8, 25e3, false));
    assert_true(pl_worth_block_bits(6e8, 2e8, 2.5e6, false));
    assert_false(pl_worth_block_bits(6e8, 8e7, 2.5e6, false)); /* too few are spared */
    assert_false(pl_worth_block_bits(2e6, 2e6, 2.5e6, false)); /* copying costs more */
    assert_false(pl_worth_block_bits(6e5, 6e5, 1e3, false));
    assert_true(pl_worth_block_bits(6e5, 6e5, 1e3, true));
    assert_false(pl_worth_block_bits(0, 0, 1e3, true));
}

static void groups_are_dense_as_long_as_rows_cost_more(void **state)
{
    (void)state;
    assert_true(pl_agg_private_fits(256e3, 1 << 20, 1));
    assert_false(pl_agg_private_fits(1e6, 1 << 20, 1));
    assert_true(pl_agg_private_fits(1e6, 1 << 20, 1e4));
    assert_true(pl_agg_shared_fits(1e6, 1e4));
    assert_false(pl_agg_shared_fits(1e6, 1e3));
    assert_true(pl_agg_copies_fit(1e6, 2, 1e5));
    assert_false(pl_agg_copies_fit(1e6, 64, 1e5));
    assert_false(pl_agg_copies_fit(65e6, 1, 1e9));
}

static void few_children_stay_with_a_warp(void **state)
{
    (void)state;
    assert_true(pl_worth_splitting(-1));
    assert_false(pl_worth_splitting(4096));
    assert_true(pl_worth_splitting(4097));
}

/* A pipeline of ordinary weight is optimised meanwhile if it takes tens of milliseconds, a loop over pairs soon. */
static void long_work_is_worth_the_compiler(void **state)
{
    (void)state;
    assert_false(pl_worth_optimising(pl_cost_step(1e6, false) + pl_cost_sink(1e6, false), false, 100));
    assert_true(pl_worth_optimising(pl_cost_step(1e7, true), false, 100));
    assert_true(pl_worth_optimising(1e6, true, 100));
    assert_false(pl_worth_optimising(1e6, false, 100));
    assert_true(pl_cost_sink(1e6, true) > pl_cost_sink(1e6, false));
    assert_true(pl_cost_step(1e6, true) > pl_cost_step(1e6, false));
}

static void text_is_searched_last(void **state)
{
    (void)state;
    struct fe_expr column = {.op = FE_COL}, *args[] = {&column, &column};
    struct fe_expr less = {.op = FE_LT, .nargs = 2, .args = args}, like = {.op = FE_LIKE, .nargs = 2, .args = args};
    struct fe_expr in = {.op = FE_IN, .nargs = 2, .args = args}, *below[] = {&like}, *two[] = {&less, &less};
    struct fe_expr or = {.op = FE_OR, .nargs = 2, .args = two}, not = {.op = FE_NOT, .nargs = 1, .args = below};
    assert_int_equal(pl_cost_class(&less), 0);
    assert_int_equal(pl_cost_class(&or), 1);
    assert_int_equal(pl_cost_class(&in), 2);
    assert_int_equal(pl_cost_class(&like), PL_COST_CLASSES - 1);
    assert_int_equal(pl_cost_class(&not), PL_COST_CLASSES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_index_wins_for_few_probes),
                                       cmocka_unit_test(sides_are_exchanged_for_a_tenth),
                                       cmocka_unit_test(extremes_are_reduced_where_few_keys_are_asked_for),
                                       cmocka_unit_test(scans_are_shared_where_strings_cost_more_than_rows),
                                       cmocka_unit_test(sparse_ranges_are_hashed),
                                       cmocka_unit_test(bitmaps_are_copied_for_long_scans),
                                       cmocka_unit_test(groups_are_dense_as_long_as_rows_cost_more),
                                       cmocka_unit_test(few_children_stay_with_a_warp),
                                       cmocka_unit_test(long_work_is_worth_the_compiler),
                                       cmocka_unit_test(text_is_searched_last)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
