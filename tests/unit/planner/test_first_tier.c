/* Which pipelines begin in a first tier on a GPU: facts of skew decide, not estimates of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/planner/planner_fixture.h"

#define CHILDREN \
    "{'op':'aggregate','keys':[],'aggs':[{'fn':'sum','arg':'qty + id','as':'s'}],'input':{'op':'join','kind':'inner'," \
    "'on':[['id','pid']],'strategy':'index','build':'right','left':{'op':'scan','table':'parent'}," \
    "'right':{'op':'scan','table':'child','filter':'qty > 3'}}}"

static const struct pl_options gpu = {.threads = 1, .on_gpu = true};

/* The pipeline of the plan that opens a level. */
static const struct pl_pipeline *nested(struct hd_arena *a, const char *root, const struct pl_options *o)
{
    struct pl_program *g = px_plan(a, root, o);
    for (int i = 0; i < g->npipelines; i++)
        if (g->pipelines[i].nlevels > 1)
            return &g->pipelines[i];
    fail_msg("no pipeline of the plan has levels");
    return NULL;
}

static int64_t set_children(int64_t n)
{
    const struct fe_table *child = px_table("child");
    int64_t before = child->fks[0].max_children;
    child->fks[0].max_children = n;
    return before;
}

static const struct pl_pipeline *with_children(struct hd_arena *a, int64_t n)
{
    int64_t before = set_children(n);
    const struct pl_pipeline *p = nested(a, CHILDREN, &gpu);
    set_children(before);
    return p;
}

static void lanes_go_through_few_children(void **state)
{
    const struct pl_pipeline *p = with_children(*state, 7);
    assert_non_null(p->gpu.first);
    assert_int_equal(p->gpu.first->spec->shape, RT_SHAPE_BY_LANE);
    assert_false(rt_balance_shares(p->gpu.first->spec->balance));
    assert_true(p->gpu.first->gpu.quick);
    assert_false(p->gpu.quick);
    assert_int_equal(p->gpu.first->sink.state, p->sink.state);
    assert_ptr_equal(p->gpu.first->steps, p->steps);
}

/* A tile of 10,000 rows goes to some 200 warps, which have a part of each row's children. */
static void heavy_rows_wait_for_the_kernel_that_shares_work(void **state)
{
    const struct pl_pipeline *p = with_children(*state, 100000);
    assert_int_equal(p->spec->shape, RT_SHAPE_AWS);
    assert_non_null(p->gpu.first);
    assert_null(with_children(*state, 2000000)->gpu.first);
}

static void some_have_none(void **state)
{
    struct pl_options o = gpu;
    o.tier = PL_TIER_OPTIMISED;
    assert_null(nested(*state, CHILDREN, &o)->gpu.first);
    o = gpu;
    o.profile = true;
    assert_null(nested(*state, CHILDREN, &o)->gpu.first);
    o = gpu;
    o.balance = RT_BALANCE_AWS;
    assert_null(nested(*state, CHILDREN, &o)->gpu.first);
    o = gpu;
    o.frame_weight = 1;
    assert_null(nested(*state, CHILDREN, &o)->gpu.first);
    o = gpu;
    o.on_gpu = false;
    assert_null(nested(*state, CHILDREN, &o)->gpu.first);
}

static void the_first_tier_can_be_all_there_is(void **state)
{
    struct pl_options o = gpu;
    o.tier = PL_TIER_FIRST;
    const struct pl_pipeline *p = nested(*state, CHILDREN, &o);
    assert_null(p->gpu.first);
    assert_int_equal(p->spec->shape, RT_SHAPE_BY_LANE);
    assert_true(p->gpu.quick);
}

static int set_up(void **state)
{
    static struct hd_arena a;
    hd_arena_init(&a);
    *state = &a;
    return 0;
}

static int tear_down(void **state)
{
    hd_arena_release(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lanes_go_through_few_children, set_up, tear_down),
        cmocka_unit_test_setup_teardown(heavy_rows_wait_for_the_kernel_that_shares_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(some_have_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_tier_can_be_all_there_is, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
