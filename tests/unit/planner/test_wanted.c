/* Which facts a plan wants of tables that have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "planner/wanted.h"
#include "tests/unit/planner/planner_fixture.h"

/* The table without facts; device: as one that lies there. */
struct bare {
    int n;
    const struct fe_table *from[8];
    struct fe_table *to[8];
    bool device;
};

static void use_bare(void *ctx, struct fe_node *scan)
{
    struct bare *b = ctx;
    int i = 0;
    while (i < b->n && b->from[i] != scan->u.scan.table)
        i++;
    if (i == b->n) {
        struct fe_table *t = hd_dup(&px_arena, scan->u.scan.table, sizeof *t);
        t->cols = hd_dup(&px_arena, t->cols, (size_t)t->ncols * sizeof *t->cols);
        t->device = b->device;
        for (int c = 0; c < t->ncols; c++)
            t->cols[c].facts = (struct fe_facts){.distinct = -1, .max_mult = -1};
        b->from[b->n] = scan->u.scan.table;
        b->to[b->n++] = t;
    }
    scan->u.scan.table = b->to[i];
}

static struct pl_wanted wanted_of(const char *root, bool always, bool device)
{
    struct bare b = {.device = device};
    struct pl_wanted w;
    struct fe_plan *p = px_read(&px_arena, root);
    fe_plan_scans(p, use_bare, &b);
    pl_facts_wanted(&px_arena, p, always, &w);
    return w;
}

static struct pl_wanted wanted(const char *root)
{
    return wanted_of(root, false, false);
}

static const struct pl_wanted_fact *find(const struct pl_wanted *w, const char *column)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->v[i].table->cols[w->v[i].column].name, column) == 0)
            return &w->v[i];
    return NULL;
}

static void expect(const struct pl_wanted *w, const char *column, unsigned uses, bool counts, bool pays)
{
    const struct pl_wanted_fact *f = find(w, column);
    if (!f)
        fail_msg("%s is not wanted", column);
    assert_int_equal(f->uses, uses);
    assert_int_equal(f->counts, counts);
    assert_int_equal(f->pays, pays);
}

#define USE(u) (1u << PL_USE_##u)

static const char joined[] =
    "{'op': 'aggregate', 'keys': ['grp'], 'aggs': [{'fn': 'sum', 'arg': 'twice', 'as': 's'}, {'fn': 'count', 'arg': "
    "'tag', "
    "'as': 'c'}], 'input': {'op': 'project', 'exprs': ['grp', {'expr': 'qty * 2', 'as': 'twice'}, 'tag'], 'input': "
    "{'op': 'join', 'kind': 'inner', 'on': [['pid', 'id']], 'left': {'op': 'scan', 'table': 'child', "
    "'filter': 'cid > 5'}, 'right': {'op': 'scan', 'table': 'parent', 'filter': 'amount = 5'}}}}";

static void uses_go_down_to_tables(void **state)
{
    struct pl_wanted w = wanted(joined);
    (void)state;
    assert_null(w.why);
    expect(&w, "pid", USE(JOIN), true, true);
    expect(&w, "id", USE(JOIN), true, true);
    expect(&w, "grp", USE(GROUP), false, true);
    expect(&w, "qty", USE(SUM), false, true); /* inside an expression of a projection */
    expect(&w, "cid", USE(RANGE), false, true);
    expect(&w, "amount", USE(EQUAL), false, true);
    assert_null(find(&w, "tag")); /* counted: no value of it matters */
    assert_null(find(&w, "name"));
}

static void computed_keys_gain_by_ranges(void **state)
{
    struct pl_wanted w =
        wanted("{'op': 'aggregate', 'keys': [{'expr': 'qty / 10', 'as': 'y'}], 'aggs': [{'fn': 'count', 'as': "
               "'n'}], 'input': {'op': 'scan', 'table': 'child', 'filter': 'cid > 5'}}");
    (void)state;
    expect(&w, "qty", USE(PART), false, true);
    expect(&w, "cid", USE(RANGE), false, false); /* nothing depends on rows that are left */
}

/* A join by a range alone is a join. */
static void conditions_of_joins_gain_by_ranges(void **state)
{
    struct pl_wanted w =
        wanted("{'op': 'join', 'kind': 'inner', 'on': [], 'residual': 'qty > k and qty < k + 2', 'left': {'op': "
               "'scan', 'table': 'child'}, 'right': {'op': 'scan', 'table': 'tiny'}}");
    (void)state;
    expect(&w, "qty", USE(PART) | USE(RANGE), false, true);
    expect(&w, "k", USE(PART) | USE(RANGE), false, true);
}

static void texts_are_estimated(void **state)
{
    struct pl_wanted w = wanted("{'op': 'distinct', 'input': {'op': 'scan', 'table': 'parent', 'columns': ['note']}}");
    (void)state;
    expect(&w, "note", USE(GROUP), false, true);
}

static void wide_sums_do_not_pay(void **state)
{
    struct pl_wanted w =
        wanted("{'op': 'aggregate', 'keys': ['oid'], 'aggs': [{'fn': 'sum', 'arg': 'wide', 'as': 's'}], "
               "'input': {'op': 'scan', 'table': 'child'}}");
    (void)state;
    expect(&w, "oid", USE(GROUP), false, true);
    expect(&w, "wide", USE(SUM), false, false);
}

static void one_pass_gains_nothing(void **state)
{
    static const char sum[] =
        "{'op': 'aggregate', 'keys': [], 'aggs': [{'fn': 'sum', 'arg': 'qty', 'as': 's'}], 'input': "
        "{'op': 'scan', 'table': 'child', 'filter': 'cid > 5'}}";
    struct pl_wanted w = wanted(sum);
    (void)state;
    assert_int_equal(w.n, 0);
    assert_string_equal(w.why, "rows are read once, and neither joined, grouped nor sorted");
    w = wanted_of(sum, true, false);
    assert_null(w.why);
    expect(&w, "qty", USE(SUM), false, true);
}

static void few_rows_gain_nothing(void **state)
{
    static const char group[] =
        "{'op': 'aggregate', 'keys': ['v'], 'aggs': [{'fn': 'sum', 'arg': 'k', 'as': 's'}], 'input': "
        "{'op': 'scan', 'table': 'tiny'}}";
    struct pl_wanted w = wanted(group);
    (void)state;
    assert_string_equal(w.why, "the tables have few rows");
    assert_int_equal(w.n, 0);
}

/* A table is small, but its facts decide how a large one is joined with it. */
static void small_tables_beside_large_ones_pay(void **state)
{
    struct pl_wanted w = wanted("{'op': 'join', 'kind': 'semi', 'on': [['qty', 'k']], 'left': {'op': 'scan', 'table': "
                                "'child'}, 'right': {'op': 'scan', 'table': 'tiny', 'filter': 'f > 0.5'}}");
    (void)state;
    expect(&w, "k", USE(JOIN), true, true);
    expect(&w, "qty", USE(JOIN), true, true);
    assert_null(find(&w, "f")); /* floats have no range */
}

static void tables_with_facts_want_none(void **state)
{
    struct pl_wanted w;
    (void)state;
    pl_facts_wanted(&px_arena, px_read(&px_arena, joined), false, &w);
    assert_int_equal(w.n, 0);
    assert_null(w.why);
}

/* Columns of a device are copied to the host for that, 10 bytes in a nanosecond; strings are not. No plan gains that much by itself. */
static void columns_of_devices_cost_a_copy(void **state)
{
    static const char texts[] = "{'op': 'distinct', 'input': {'op': 'scan', 'table': 'parent', 'columns': ['note']}}";
    (void)state;
    struct pl_wanted near = wanted_of(joined, true, false), far = wanted_of(joined, true, true),
                     lazy = wanted_of(joined, false, true);
    assert_true(near.n > 0 && near.n == far.n);
    for (int i = 0; i < near.n; i++) {
        const struct fe_table *t = far.v[i].table;
        const double copy = 0.1 * (double)t->rows * t->cols[far.v[i].column].width;
        assert_true(copy > 0 && fabs(far.v[i].cost - near.v[i].cost - copy) < 1e-6);
    }
    for (int i = 0; i < lazy.n; i++)
        assert_false(lazy.v[i].pays);
    assert_int_equal(wanted_of(texts, true, false).n, 1);
    assert_int_equal(wanted_of(texts, true, true).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_go_down_to_tables),
        cmocka_unit_test(computed_keys_gain_by_ranges),
        cmocka_unit_test(conditions_of_joins_gain_by_ranges),
        cmocka_unit_test(texts_are_estimated),
        cmocka_unit_test(wide_sums_do_not_pay),
        cmocka_unit_test(one_pass_gains_nothing),
        cmocka_unit_test(few_rows_gain_nothing),
        cmocka_unit_test(small_tables_beside_large_ones_pay),
        cmocka_unit_test(tables_with_facts_want_none),
        cmocka_unit_test(columns_of_devices_cost_a_copy),
    };
    return cmocka_run_group_tests(tests, px_set_up, px_tear_down);
}
