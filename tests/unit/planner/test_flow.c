/* What is known of rows before pipelines exist, and what follows from it: tables of joins, states of groupings, keys
 * that others determine. The facts are those of planner_fixture.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "planner/flow.h"
#include "planner/physical_table.h"
#include "tests/unit/planner/planner_fixture.h"

static const struct pl_node *find(const struct pl_node *n, enum pl_node_op op)
{
    const struct pl_node *found = n->op == op ? n : NULL;
    for (int i = 0; i < n->ninputs && !found; i++)
        found = find(n->inputs[i], op);
    return found;
}

/* The first node of kind op of a plan whose choices are made; there are no pipelines yet. */
static const struct pl_node *chosen(const char *root, enum pl_node_op op)
{
    struct hd_err err;
    struct ctx *c = px_ctx(&px_arena, px_read(&px_arena, root));
    hd_err_init(&err);
    c->err = &err;
    if (pl_physical(c, c->plan->root, &c->physical) != 0 || pl_flow(c) != 0)
        fail_msg("%s: %s", root, err.message);
    assert_int_equal(c->pipelines.n, 0);
    assert_int_equal(c->states.n, 0);
    assert_int_equal(c->exprs.n, 0);
    const struct pl_node *n = find(c->physical, op);
    if (!n)
        fail_msg("%s: no such node", root);
    return n;
}

/* ---- tables of joins ------------------------------------------------------------------------------------ */

/* Joins child (probe side) with `right` on one key. */
static const struct pl_table *table_of(const char *kind, const char *l, const char *right, const char *r)
{
    const char *root = hd_asprintf(&px_arena,
                                   "{'op': 'join', 'kind': '%s', 'strategy': 'auto', 'on': [['%s', '%s']], 'left': "
                                   "{'op': 'scan', 'table': 'child'}, 'right': %s}",
                                   kind, l, r, right);
    return chosen(root, PL_NODE_JOIN)->u.join.table;
}

#define TINY   "{'op': 'scan', 'table': 'tiny', 'columns': ['k', 'v']}"
#define PARENT "{'op': 'scan', 'table': 'parent'}"

static void the_range_of_a_key_chooses_the_table(void **state)
{
    (void)state;
    const struct pl_table *t = table_of("left", "qty", TINY, "k");
    assert_int_equal(t->kind, RT_STATE_DIRECT);
    assert_true(t->unique);
    assert_int_equal(t->pack.range, 100);
    assert_true(t->max_per_key == 1);
    t = table_of("left", "qty", TINY, "v"); /* ten rows a key */
    assert_int_equal(t->kind, RT_STATE_CSR);
    assert_false(t->unique);
    assert_int_equal(t->pack.range, 10);
    assert_true(t->max_per_key == 10);
    assert_true(t->fanout == 10);
    t = table_of("semi", "qty", TINY, "v");
    assert_int_equal(t->kind, RT_STATE_BITMAP);
    assert_true(t->existence);
    assert_int_equal(table_of("left", "wide", "{'op': 'scan', 'table': 'many'}", "c0")->kind, RT_STATE_HASH);
    assert_int_equal(table_of("left", "tag", PARENT, "name")->kind, RT_STATE_HASH); /* of two dictionaries */
}

/* 50 values of qty in 100 of tiny.k: all rows find one; 10 values of tiny.v: a fifth does. */
static void matches_are_estimated_from_distinct_values(void **state)
{
    (void)state;
    assert_true(table_of("left", "qty", TINY, "k")->rate == 1);
    assert_true(table_of("left", "qty", TINY, "v")->rate == 0.2);
}

/* A key that is a column of both sides is taken from the probe side; outer joins need the build side's. */
static void equal_columns_are_kept_once(void **state)
{
    (void)state;
    const char *root = "{'op': 'join', 'kind': '%s', 'build': 'right', 'strategy': 'hash', 'on': [['qty', 'k']], "
                       "'left': {'op': 'scan', 'table': 'child'}, 'right': " TINY "}";
    const struct pl_table *t = chosen(hd_asprintf(&px_arena, root, "inner"), PL_NODE_JOIN)->u.join.table;
    assert_int_equal(t->same[0], 0);
    assert_int_equal(t->same[1], -1);
    t = chosen(hd_asprintf(&px_arena, root, "left"), PL_NODE_JOIN)->u.join.table;
    assert_int_equal(t->same[0], -1);
}

static void groups_are_unique_by_their_keys(void **state)
{
    (void)state;
    const struct pl_table *t = table_of("left", "qty",
                                        "{'op': 'aggregate', 'keys': ['grp'], 'aggs': [{'fn': 'max', 'arg': 'id', "
                                        "'as': 'm'}], 'input': " PARENT "}",
                                        "grp");
    assert_true(t->unique);
    assert_int_equal(t->kind, RT_STATE_DIRECT);
    assert_int_equal(t->pack.range, 10); /* NULL matches nothing */
    /* A minimum lies in the range of what it is of, a count in that of the rows. */
    t = table_of(
        "left", "oid",
        "{'op': 'aggregate', 'keys': ['grp'], 'aggs': [{'fn': 'max', 'arg': 'id', 'as': 'm'}], 'input': " PARENT "}",
        "m");
    assert_false(t->unique);
    assert_int_equal(t->pack.range, 10000);
    t = table_of("left", "oid",
                 "{'op': 'aggregate', 'keys': ['grp'], 'aggs': [{'fn': 'count', 'as': 'n'}], 'input': " PARENT "}",
                 "n");
    assert_int_equal(t->pack.range, 10001);
}

static void sums_have_the_range_of_their_rows(void **state)
{
    (void)state;
    const struct pl_table *t =
        table_of("left", "oid",
                 "{'op': 'aggregate', 'keys': ['grp'], 'aggs': [{'fn': 'sum', 'arg': 'v', 'as': 's'}], 'input': {'op': "
                 "'project', "
                 "'exprs': ['v', {'expr': 'k % 7', 'as': 'grp'}], 'input': {'op': 'scan', 'table': 'tiny'}}}",
                 "s");
    assert_int_equal(t->pack.range, 2 * 900 + 1); /* 100 rows of up to 9 */
}

/* ---- groupings ------------------------------------------------------------------------------------------ */

static const struct pl_grouping *grouping_of(const char *table, const char *keys, const char *aggs)
{
    return chosen(hd_asprintf(&px_arena,
                              "{'op': 'aggregate', 'keys': [%s], 'aggs': [%s], 'input': {'op': 'scan', 'table': '%s'}}",
                              keys, aggs, table),
                  PL_NODE_AGGREGATE)
        ->u.agg.groupings[0];
}

#define COUNT "{'fn': 'count', 'as': 'n'}"

static void computed_keys_have_ranges(void **state)
{
    (void)state;
    const struct pl_grouping *g = grouping_of("parent", "{'expr': 'extract(year from day)', 'as': 'y'}", COUNT);
    assert_int_equal(g->kind, RT_STATE_AGG_DENSE);
    assert_int_equal(g->pack.range, 10);
    assert_true(g->pack.lo[0] == 1990);
    assert_true(g->groups == 10);
    g = grouping_of("parent", "{'expr': 'grp * 2 + 1', 'as': 'y'}", COUNT);
    assert_int_equal(g->pack.range, 20); /* 1..19, and NULL */
    assert_true(g->pack.null_slot[0]);
    assert_int_equal(grouping_of("parent", "{'expr': 'substring(note, 1, 2)', 'as': 'y'}", COUNT)->kind,
                     RT_STATE_AGG_HASH);
    assert_int_equal(grouping_of("parent", "", COUNT)->kind, RT_STATE_AGG_SCALAR);
}

static void determined_keys_leave_and_say_how_they_come_back(void **state)
{
    (void)state;
    const struct pl_grouping *g = grouping_of("parent", "'note', 'id', 'grp'", COUNT);
    assert_int_equal(g->nkept, 1);
    assert_true(g->removed[0].removed && g->removed[0].by_lookup);
    assert_int_equal(g->removed[0].key, 1);
    assert_int_equal(g->removed[0].index, 0);
    assert_int_equal(g->removed[0].column, 3);
    assert_false(g->removed[1].removed);
    assert_true(g->removed[2].by_lookup);
    assert_int_equal(g->removed[2].row_of, 0); /* one row for both */
    assert_int_equal(g->pack.range, 10000);
    g = grouping_of("tiny", "'k', 'v'", COUNT); /* unique, but tiny has no index: v is carried along */
    assert_int_equal(g->nkept, 1);
    assert_true(g->removed[1].removed && !g->removed[1].by_lookup);
    assert_int_equal(grouping_of("parent", "'note', 'grp'", COUNT)->nkept, 2);
}

static void runs_are_of_a_clustered_key_alone(void **state)
{
    (void)state;
    assert_true(grouping_of("child", "'pid'", COUNT)->clustered);
    assert_false(grouping_of("child", "'oid'", COUNT)->clustered);
    assert_false(grouping_of("child", "'pid', 'qty'", COUNT)->clustered);
    assert_true(grouping_of("parent", "'id', 'grp'", COUNT)->clustered); /* grp follows from id */
}

/* 200,000 groups are too many for copies. */
static void groups_are_shared_if_atomics_can_add(void **state)
{
    (void)state;
    const struct pl_grouping *g = grouping_of("child", "'cid'", "{'fn': 'sum', 'arg': 'qty', 'as': 's'}");
    assert_int_equal(g->kind, RT_STATE_AGG_DENSE);
    assert_true(g->shared);
    assert_int_equal(grouping_of("child", "'cid'", "{'fn': 'sum', 'arg': 'wide', 'as': 's'}")->kind, RT_STATE_AGG_HASH);
    assert_int_equal(grouping_of("child", "'cid'", "{'fn': 'min', 'arg': 'qty', 'as': 's'}")->kind, RT_STATE_AGG_HASH);
    g = grouping_of("child", "'qty'", "{'fn': 'sum', 'arg': 'wide', 'as': 's'}");
    assert_int_equal(g->kind, RT_STATE_AGG_DENSE);
    assert_false(g->shared);
}

static void a_distinct_argument_takes_two_groupings(void **state)
{
    (void)state;
    const struct pl_node *n = chosen("{'op': 'aggregate', 'keys': ['tag'], 'aggs': [{'fn': 'count', 'arg': 'qty', "
                                     "'distinct': true, 'as': 'n'}], 'input': {'op': 'scan', 'table': 'child'}}",
                                     PL_NODE_AGGREGATE);
    assert_int_equal(n->u.agg.groupings[0]->pack.range, 4 * 50); /* 3 tags and NULL, 50 values */
    assert_int_equal(n->u.agg.groupings[1]->pack.range, 4);
    assert_true(n->u.agg.groupings[0]->groups == 150);
}

/* What was kept for several readers is looked at once, and its keys stay what they were. */
static void facts_pass_through_kept_rows(void **state)
{
    (void)state;
    const struct pl_node *n = chosen(
        "{'op': 'aggregate', 'keys': ['qty', 'y'], 'aggs': [{'fn': 'sum', 'arg': 'cid', 'distinct': true, 'as': 'a'}, "
        "{'fn': 'sum', 'arg': 'oid', 'distinct': true, 'as': 'b'}], 'input': {'op': 'project', 'exprs': ['qty', "
        "'cid', 'oid', {'expr': 'qty - 1', 'as': 'y'}], 'input': {'op': 'scan', 'table': 'child'}}}",
        PL_NODE_MERGE);
    assert_int_equal(n->ninputs, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(n->inputs[i]->u.agg.groupings[1]->pack.range, 50 * 50);
    assert_true(n->u.merge.joins[1].table->unique);
    assert_int_equal(n->u.merge.joins[1].table->pack.range, 50 * 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_range_of_a_key_chooses_the_table),
        cmocka_unit_test(matches_are_estimated_from_distinct_values),
        cmocka_unit_test(equal_columns_are_kept_once),
        cmocka_unit_test(groups_are_unique_by_their_keys),
        cmocka_unit_test(sums_have_the_range_of_their_rows),
        cmocka_unit_test(computed_keys_have_ranges),
        cmocka_unit_test(determined_keys_leave_and_say_how_they_come_back),
        cmocka_unit_test(runs_are_of_a_clustered_key_alone),
        cmocka_unit_test(groups_are_shared_if_atomics_can_add),
        cmocka_unit_test(a_distinct_argument_takes_two_groupings),
        cmocka_unit_test(facts_pass_through_kept_rows),
    };
    return cmocka_run_group_tests(tests, px_set_up, px_tear_down);
}
