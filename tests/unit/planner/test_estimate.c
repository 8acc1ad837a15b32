/* Estimates against numbers that follow from the facts of planner_fixture.h by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "planner/estimate.h"
#include "planner/order_tests.h"
#include "tests/unit/planner/planner_fixture.h"

/* Both sides within a millionth: sums and products of few terms. */
static void assert_near(double got, double want)
{
    double scale = want < 0 ? -want : want > 1 ? want : 1;
    if (got < want - 1e-6 * scale || got > want + 1e-6 * scale)
        fail_msg("%.9g instead of %.9g", got, want);
}

static struct fe_plan *scan(const char *table, const char *filter)
{
    return px_read(&px_arena, hd_asprintf(&px_arena, "{'op': 'scan', 'table': '%s', 'filter': '%s'}", table, filter));
}

static double rows_of(struct fe_plan *p)
{
    return est_rows(px_ctx(&px_arena, p), p->root);
}

static double share_of(struct fe_plan *p)
{
    return est_share(px_ctx(&px_arena, p), p->root);
}

/* Rows of parent, 10,000, that a filter leaves. */
static double parents(const char *filter)
{
    return rows_of(scan("parent", filter));
}

static void comparisons_go_by_distinct_values_and_ranges(void **state)
{
    (void)state;
    assert_near(parents("grp = 3"), 1000);         /* 1 of 10 values */
    assert_near(parents("id = 3"), 1);             /* 1 of 10,000 */
    assert_near(parents("name = `gold`"), 2500);   /* 1 of 4 */
    assert_near(parents("note = `gold`"), 1);      /* no facts: 1 of 10,000 */
    assert_near(parents("grp <> 3"), 9000);        /* 0.9, whatever the values */
    assert_near(parents("id < 2500"), 2500);       /* (2500 - 0) / 10000 */
    assert_near(parents("id >= 2500"), 7500);      /* the rest */
    assert_near(parents("2500 > id"), 2500);       /* sides exchanged */
    assert_near(parents("amount < 25"), 2500);     /* 2500 of 0..9999 hundredths */
    assert_near(parents("id < 20000"), 10000);     /* beyond the range: all */
    assert_near(parents("id > 20000"), 1);         /* none, and never less than a row */
    assert_near(parents("note < `m`"), 4000);      /* a range without facts: 0.4 */
    assert_near(parents("name < `gold`"), 2500);   /* code 1 of 0..3: (1 - 0) / 4 */
    assert_near(parents("name >= `h`"), 2500);     /* lower bound is code 3, silver */
    assert_near(parents("day < date `1990-01-01` + interval `1` year"), 10000.0 * 365 / 3652);
    assert_near(parents("id + 1 < 5"), 3000); /* computed: 0.3 */
}

static void other_predicates_have_fixed_shares(void **state)
{
    (void)state;
    assert_near(parents("note like `a%`"), 1000);
    assert_near(parents("note is null"), 500);
    assert_near(parents("note is not null"), 9500);
    assert_near(parents("grp in (1, 2, 3)"), 3000);            /* 3 of 10 values */
    assert_near(parents("id + 1 in (1, 2)"), 800);             /* computed: 2 of 25 */
    assert_near(parents("note in (`a`, `b`)"), 2);             /* 2 of 10,000 */
    assert_near(parents("grp in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9)"), 10000); /* never above all */
    assert_near(parents("grp in (1, 2, 3, 10, -1, null)"), 3000);            /* 3 are in the range */
    assert_near(parents("grp in (10, 11)"), 1000);                           /* never less than one */
    assert_near(parents("name in (`gold`, `none`, `silver`)"), 5000);        /* 2 of 4 are in the dictionary */
    assert_near(parents("true or grp = 3"), 10000);
    assert_near(parents("false or grp = 3"), 1000);
}

static void conditions_combine(void **state)
{
    (void)state;
    assert_near(parents("grp = 3 and name = `gold`"), 250); /* 0.1 * 0.25 */
    assert_near(parents("grp = 3 or name = `gold`"), 3250); /* 1 - 0.9 * 0.75 */
    assert_near(parents("not grp = 3"), 9000);
    /* Bounds of one column subtract: 0.75 + 0.5 - 1. */
    assert_near(parents("id >= 2500 and id < 5000"), 2500);
    /* With another condition between them. */
    assert_near(parents("id >= 2500 and grp = 3 and id < 5000"), 250);
    /* Bounds that leave nothing: 0.0005 in place of 0.25 + 0.25 - 1. */
    assert_near(parents("id >= 7500 and id < 2500"), 5);
    /* Bounds of different columns multiply: 0.75 * 0.25. */
    assert_near(parents("id >= 2500 and amount < 25"), 1875);
    /* So do those by other columns: 0.25 * 0.4. */
    assert_near(parents("id < 2500 and id > grp"), 1000);
}

/* The column that conjunct i of a filter reads first. */
static int tested(const struct fe_node *n, int i)
{
    const struct fe_expr *e = n->u.scan.filter->args[i];
    while (e->op != FE_COL)
        e = e->args[0];
    return e->col;
}

static void conjuncts_come_by_rank(void **state)
{
    (void)state;
    enum { ID, GRP, AMOUNT = 4 };
    struct fe_plan *p = scan("parent", "amount > id and grp = 3 and id < 5000 and amount < 90 and id >= 4000");
    order_tests(px_ctx(&px_arena, p), p->root);
    assert_int_equal(p->root->u.scan.filter->nargs, 5);
    /* grp: 0.9 of the rows for a column and a comparison. id: 0.9 for two comparisons. Then amount: 0.1 for a column that
     * the last one needs as well, which drops 0.6. */
    static const int order[] = {GRP, ID, ID, AMOUNT, AMOUNT};
    for (int i = 0; i < 5; i++)
        assert_int_equal(tested(p->root, i), order[i]);
    assert_true(p->root->u.scan.filter->args[3]->args[1]->op != FE_LIT);
    p = scan("parent", "amount > id and 10 / grp > 1 and id < 5"); /* it may raise */
    order_tests(px_ctx(&px_arena, p), p->root);
    assert_int_equal(tested(p->root, 0), AMOUNT);
}

static void operators_pass_rows_on(void **state)
{
    (void)state;
#define PARENT "{'op': 'scan', 'table': 'parent'}"
    static const struct {
        const char *root;
        double rows, share;
    } cases[] = {
        {PARENT, 10000, 1},
        {"{'op': 'filter', 'pred': 'id >= 7500', 'input': " PARENT "}", 2500, 0.25},
        {"{'op': 'filter', 'pred': 'id >= 7500', 'input': {'op': 'scan', 'table': 'parent', 'filter': 'grp = 3'}}", 250,
         0.025},
        /* What was computed: 1 - (1 - 0.1 * 0.25) * (1 - 0.25). */
        {"{'op': 'filter', 'pred': 'a or b', 'input': {'op': 'project', 'exprs': [{'expr': 'grp = 3 and name = "
         "`gold`', "
         "'as': 'a'}, {'expr': 'id >= 7500', 'as': 'b'}], 'input': " PARENT "}}",
         2687.5, 0.26875},
        {"{'op': 'filter', 'pred': 'not b', 'input': {'op': 'project', 'exprs': [{'expr': 'a', 'as': 'b'}], 'input': "
         "{'op': 'project', 'exprs': [{'expr': 'grp = 3', 'as': 'a'}], 'input': " PARENT "}}}",
         9000, 0.9},
        /* Of no table: 0.2. */
        {"{'op': 'filter', 'pred': 'id >= 7500', 'input': {'op': 'distinct', 'input': " PARENT "}}", 1000, 0.2},
        {"{'op': 'project', 'exprs': ['id'], 'input': " PARENT "}", 10000, 1},
        {"{'op': 'aggregate', 'keys': ['id'], 'aggs': [{'fn': 'count', 'as': 'n'}], 'input': " PARENT "}", 3000, 1},
        {"{'op': 'aggregate', 'aggs': [{'fn': 'count', 'as': 'n'}], 'input': " PARENT "}", 1, 1},
        {"{'op': 'distinct', 'input': " PARENT "}", 5000, 1},
        {"{'op': 'sort', 'keys': ['id'], 'limit': 7, 'input': " PARENT "}", 7, 1},
        {"{'op': 'limit', 'limit': 20000, 'input': " PARENT "}", 10000, 0.1},
        {"{'op': 'union_all', 'inputs': [" PARENT ", " PARENT "]}", 20000, 0.1},
        {"{'op': 'values', 'columns': [{'name': 'a', 'type': 'int32'}], 'rows': [[1], [2], [3]]}", 3, 0.1},
    };
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        assert_near(rows_of(px_read(&px_arena, cases[i].root)), cases[i].rows);
        assert_near(share_of(px_read(&px_arena, cases[i].root)), cases[i].share);
    }
}

static struct fe_plan *join_on(const char *kind, const char *filter)
{
    return px_read(&px_arena,
                   hd_asprintf(&px_arena,
                               "{'op': 'join', 'kind': '%s', 'on': [['oid', 'id']], 'left': {'op': 'scan', "
                               "'table': 'child'}, 'right': {'op': 'scan', 'table': 'parent', 'filter': '%s'}}",
                               kind, filter));
}

/* The bigger side, 100,000 children, thinned by the share of keys that filters left of the other. */
static void joins_thin_the_bigger_side(void **state)
{
    (void)state;
    assert_near(rows_of(join_on("inner", "grp = 3")), 10000);
    assert_near(share_of(join_on("inner", "grp = 3")), 0.1);
    assert_near(rows_of(join_on("semi", "grp = 3")), 10000);
    assert_near(rows_of(join_on("semi", "id >= 0")), 90000); /* never more than nine in ten */
    assert_near(rows_of(join_on("anti", "grp = 3")), 90000);
    assert_near(share_of(join_on("anti", "grp = 3")), 0.9);
    assert_near(rows_of(join_on("anti", "id >= 0")), 10000); /* and never fewer than one */
    assert_near(share_of(join_on("left", "grp = 3")), 1);
    struct fe_plan *cross =
        px_read(&px_arena, "{'op': 'join', 'kind': 'inner', 'left': {'op': 'scan', 'table': 'tiny'}, "
                           "'right': {'op': 'scan', 'table': 'parent'}}");
    assert_near(rows_of(cross), 1000000); /* 100 * 10,000 */
}

static struct est_key key_of(struct fe_plan *p, int col)
{
    return est_key(px_ctx(&px_arena, p), p->root, &(struct fe_expr){.op = FE_COL, .col = col});
}

static void assert_key(struct fe_plan *p, int col, double distinct, double heavy)
{
    struct est_key k = key_of(p, col);
    assert_near(k.distinct, distinct);
    assert_near(k.heavy, heavy);
}

#define GROUPS(keys) \
    "{'op': 'aggregate', 'keys': [" keys "], 'aggs': [{'fn': 'count', 'as': 'n'}], 'input': " PARENT "}"

static void keys_lead_to_the_facts_of_their_column(void **state)
{
    (void)state;
    assert_key(scan("child", "qty > 0"), 2, 10000, 0.05); /* 5,000 of 100,000 rows; a filter thins all alike */
    assert_key(scan("child", "qty > 0"), 3, 50, 0); /* how often is not known */
    assert_key(scan("parent", "grp > 0"), 3, -1, 0); /* note: no facts */
    /* Equal columns of a join: the heavier one, and the fewer values. */
    assert_key(join_on("inner", "grp > 0"), 2, 10000, 0.05);
    assert_key(join_on("inner", "grp > 0"), 6, 10000, 0.05); /* parent.id, unique where it comes from */
    assert_key(join_on("left", "grp > 0"), 6, 10000, 0.0001);
    /* A lone group key is unique: one of 10 rows. One of two is as heavy as it was: 2,000 of 10,000. */
    assert_key(px_read(&px_arena, GROUPS("'grp'")), 0, 10, 0.1);
    assert_key(px_read(&px_arena, GROUPS("'grp', 'id'")), 0, 10, 0.2);
    /* What is computed is not known. */
    assert_key(
        px_read(&px_arena, "{'op': 'project', 'exprs': [{'expr': 'grp + 1', 'as': 'x'}, 'grp'], 'input': " PARENT "}"),
        0, -1, 0);
    assert_key(
        px_read(&px_arena, "{'op': 'project', 'exprs': [{'expr': 'grp + 1', 'as': 'x'}, 'grp'], 'input': " PARENT "}"),
        1, 10, 0.2);
}

static void counts_of_groups_are_few(void **state)
{
    (void)state;
    /* d different counts are of d (d - 1) / 2 rows of 10,000 at least, and of unique keys all are 1. */
    assert_key(px_read(&px_arena, GROUPS("'grp'")), 1, 142.421356, 0);
    assert_key(px_read(&px_arena, GROUPS("'grp', 'id'")), 2, 142.421356, 0);
    assert_key(px_read(&px_arena, GROUPS("'id'")), 1, 1, 0);
    struct fe_plan *p = px_read(
        &px_arena,
        "{'op': 'project', 'exprs': [{'expr': 'coalesce(n, 0)', 'as': 'x'}, {'expr': 'coalesce(n, grp)', 'as': 'y'}]"
        ", 'input': " GROUPS("'grp'") "}");
    assert_key(p, 0, 143.421356, 0);
    assert_key(p, 1, -1, 0);
}

/* 100,000 children of which one value of oid has 5 %, against themselves: 0.05 * 0.05 * 100,000 pairs a row. */
static void skew_multiplies(void **state)
{
    (void)state;
    struct fe_plan *p = scan("child", "qty > 0");
    struct fe_expr oid = {.op = FE_COL, .col = 2}, *keys[] = {&oid};
    assert_near(est_skew(px_ctx(&px_arena, p), p->root, p->root, 1, keys, keys, 100000), 250);
    assert_near(est_skew(px_ctx(&px_arena, p), p->root, p->root, 0, keys, keys, 100000), 0);
    assert_near(est_skew(px_ctx(&px_arena, p), NULL, NULL, 1, keys, keys, 100000), 0);
}

static const struct fe_expr *filter_of(const char *table, const char *filter)
{
    return scan(table, filter)->root->u.scan.filter;
}

static void what_may_raise_is_known_by_types(void **state)
{
    (void)state;
    static const struct {
        const char *filter;
        bool may;
    } cases[] = {
        {"id = 1", false},
        {"id / 2 = 1", true},
        {"id + 1 = 2", true}, /* int64 */
        {"amount + 1 > 2", false}, /* decimal(21,2) */
        {"cast(amount as decimal(20,4)) > 1", false}, /* it widens */
        {"cast(amount as decimal(10,2)) > 1", true}, /* it does not */
        {"cast(note as int64) > 1", true},
        {"cast(id as string) = `1`", false},
        {"substring(note, 1, 2) = `a`", false},
        {"substring(note, 1, grp) = `a`", true}, /* a length below zero */
        {"day + interval `1` day > date `1995-01-01`", true}, /* it may leave the calendar */
        {"day > date `1995-01-01` + interval `1` year", false},
    };
    for (size_t i = 0; i < HD_COUNT(cases); i++)
        if (lx_may_fail(filter_of("parent", cases[i].filter)) != cases[i].may)
            fail_msg("%s %s raise", cases[i].filter, cases[i].may ? "may" : "cannot");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_go_by_distinct_values_and_ranges),
        cmocka_unit_test(other_predicates_have_fixed_shares),
        cmocka_unit_test(conditions_combine),
        cmocka_unit_test(conjuncts_come_by_rank),
        cmocka_unit_test(operators_pass_rows_on),
        cmocka_unit_test(joins_thin_the_bigger_side),
        cmocka_unit_test(keys_lead_to_the_facts_of_their_column),
        cmocka_unit_test(counts_of_groups_are_few),
        cmocka_unit_test(skew_multiplies),
        cmocka_unit_test(what_may_raise_is_known_by_types),
    };
    return cmocka_run_group_tests(tests, px_set_up, px_tear_down);
}
