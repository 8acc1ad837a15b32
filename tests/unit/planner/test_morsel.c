/* How a CPU's threads share pipelines with levels: by what facts say lies below a row of the source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "planner/morsel.h"
#include "tests/unit/planner/planner_fixture.h"

static const struct pl_options cpu = {.threads = 2};

struct shared {
    struct rt_pipeline spec;
    int piece; /* of the step that opens the level */
};

/* The pipeline with a level, had the parent so many rows and each of these so many children at most. */
static struct shared share(struct hd_arena *a, int64_t parents, int64_t children)
{
    int64_t before = px_set_children(children);
    struct pl_pipeline q = *px_nested(a, PX_CHILDREN, &cpu);
    struct fe_table few = *q.spec->table;
    struct shared s = {.spec = *q.spec};
    few.rows = parents;
    s.spec.table = &few;
    q.spec = &s.spec;
    pl_choose_morsels(&q);
    px_set_children(before);
    s.piece = q.steps[q.levels[1].first_step - 1].piece_children;
    return s;
}

static void morsels_are_by_the_rows_below(void **state HD_UNUSED)
{
    assert_int_equal((int)share(&px_arena, 10000, 7).spec.below, 7);
    assert_int_equal((int)share(&px_arena, 10000, 90000).spec.below, 90000);
    assert_int_equal((int)share(&px_arena, 10000, -1).spec.below, 1); /* nobody knows */
}

static void ranges_below_few_parents_are_cut(void **state HD_UNUSED)
{
    struct shared few = share(&px_arena, 25, 5000), many = share(&px_arena, 10000, 5000),
                  short_ones = share(&px_arena, 25, 400);
    assert_int_equal(few.piece, 4096);
    assert_int_equal(few.spec.piece_children[1], 4096);
    assert_int_equal(many.piece, 0);
    assert_int_equal(many.spec.piece_children[1], 0);
    assert_int_equal(short_ones.piece, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(morsels_are_by_the_rows_below, px_set_up, px_tear_down),
        cmocka_unit_test_setup_teardown(ranges_below_few_parents_are_cut, px_set_up, px_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
