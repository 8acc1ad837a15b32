/* Which pipelines begin in a first tier on a GPU: facts of skew decide, not estimates of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/planner/planner_fixture.h"

static const struct pl_options gpu = {.threads = 1, .on_gpu = true};

static const struct pl_pipeline *with_children(struct hd_arena *a, int64_t n)
{
    int64_t before = px_set_children(n);
    const struct pl_pipeline *p = px_nested(a, PX_CHILDREN, &gpu);
    px_set_children(before);
    return p;
}

static void lanes_go_through_few_children(void **state HD_UNUSED)
{
    const struct pl_pipeline *p = with_children(&px_arena, 7);
    assert_non_null(p->gpu.first);
    assert_int_equal(p->gpu.first->spec->shape, RT_SHAPE_BY_LANE);
    assert_false(rt_balance_shares(p->gpu.first->spec->balance));
    assert_true(p->gpu.first->gpu.quick);
    assert_false(p->gpu.quick);
    assert_int_equal(p->gpu.first->sink.state, p->sink.state);
    assert_ptr_equal(p->gpu.first->steps, p->steps);
}

/* A tile of 10,000 rows goes to some 200 warps, which have a part of each row's children. */
static void heavy_rows_are_shared(void **state HD_UNUSED)
{
    const struct pl_pipeline *p = with_children(&px_arena, 100000);
    assert_int_equal(p->spec->shape, RT_SHAPE_AWS);
    assert_int_equal(p->gpu.first->spec->shape, RT_SHAPE_BY_LANE);
    const struct pl_pipeline *first = with_children(&px_arena, 2000000)->gpu.first;
    assert_int_equal(first->spec->shape, RT_SHAPE_AWS);
    assert_true(rt_balance_shares(first->spec->balance));
    assert_true(first->gpu.quick);
}

static void some_have_none(void **state HD_UNUSED)
{
    struct pl_options o = gpu;
    o.tier = PL_TIER_OPTIMISED;
    assert_null(px_nested(&px_arena, PX_CHILDREN, &o)->gpu.first);
    o = gpu;
    o.profile = true;
    assert_null(px_nested(&px_arena, PX_CHILDREN, &o)->gpu.first);
    o = gpu;
    o.balance = RT_BALANCE_AWS;
    assert_null(px_nested(&px_arena, PX_CHILDREN, &o)->gpu.first);
    o = gpu;
    o.frame_weight = 1;
    assert_null(px_nested(&px_arena, PX_CHILDREN, &o)->gpu.first);
    o = gpu;
    o.on_gpu = false;
    assert_null(px_nested(&px_arena, PX_CHILDREN, &o)->gpu.first);
}

static void the_first_tier_can_be_all_there_is(void **state HD_UNUSED)
{
    struct pl_options o = gpu;
    o.tier = PL_TIER_FIRST;
    const struct pl_pipeline *p = px_nested(&px_arena, PX_CHILDREN, &o);
    assert_null(p->gpu.first);
    assert_int_equal(p->spec->shape, RT_SHAPE_BY_LANE);
    assert_true(p->gpu.quick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lanes_go_through_few_children, px_set_up, px_tear_down),
        cmocka_unit_test_setup_teardown(heavy_rows_are_shared, px_set_up, px_tear_down),
        cmocka_unit_test_setup_teardown(some_have_none, px_set_up, px_tear_down),
        cmocka_unit_test_setup_teardown(the_first_tier_can_be_all_there_is, px_set_up, px_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
