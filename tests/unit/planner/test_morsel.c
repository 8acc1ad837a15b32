/* How a CPU's threads share pipelines with levels: by what facts say lies below a row of the source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "planner/morsel.h"
#include "tests/unit/planner/planner_fixture.h"

#define CHILDREN \
    "{'op':'aggregate','keys':[],'aggs':[{'fn':'sum','arg':'qty + id','as':'s'}],'input':{'op':'join','kind':'inner'," \
    "'on':[['id','pid']],'strategy':'index','build':'right','left':{'op':'scan','table':'parent'}," \
    "'right':{'op':'scan','table':'child','filter':'qty > 3'}}}"

static const struct pl_options cpu = {.threads = 2};

struct shared {
    struct rt_pipeline spec;
    int piece; /* of the step that opens the level */
};

/* The pipeline with a level, had the parent so many rows and each of these so many children at most. */
static struct shared share(struct hd_arena *a, int64_t parents, int64_t children)
{
    const struct fe_table *child = px_table("child");
    int64_t before = child->fks[0].max_children;
    child->fks[0].max_children = children;
    struct pl_program *g = px_plan(a, CHILDREN, &cpu);
    int i = 0;
    while (i < g->npipelines - 1 && g->pipelines[i].nlevels == 1)
        i++;
    assert_int_equal(g->pipelines[i].nlevels, 2);
    struct pl_pipeline q = g->pipelines[i];
    struct fe_table few = *q.spec->table;
    struct shared s = {.spec = *q.spec};
    few.rows = parents;
    s.spec.table = &few;
    q.spec = &s.spec;
    pl_choose_morsels(&q);
    child->fks[0].max_children = before;
    s.piece = q.steps[q.levels[1].first_step - 1].piece_children;
    return s;
}

static void morsels_are_by_the_rows_below(void **state)
{
    assert_int_equal((int)share(*state, 10000, 7).spec.below, 7);
    assert_int_equal((int)share(*state, 10000, 90000).spec.below, 90000);
    assert_int_equal((int)share(*state, 10000, -1).spec.below, 1); /* nobody knows */
}

static void ranges_below_few_parents_are_cut(void **state)
{
    struct shared few = share(*state, 25, 5000), many = share(*state, 10000, 5000), short_ones = share(*state, 25, 400);
    assert_int_equal(few.piece, 4096);
    assert_int_equal(few.spec.piece_children[1], 4096);
    assert_int_equal(many.piece, 0);
    assert_int_equal(many.spec.piece_children[1], 0);
    assert_int_equal(short_ones.piece, 0);
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
        cmocka_unit_test_setup_teardown(morsels_are_by_the_rows_below, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_below_few_parents_are_cut, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
