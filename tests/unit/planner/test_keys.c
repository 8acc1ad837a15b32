/* Packing of integer keys into one index, and what is known of handles: ranges, distinct values, functional
 * dependencies. The facts are those of planner_fixture.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "planner/build.h"
#include "planner/handle.h"
#include "planner/key_pack.h"
#include "planner/lower_value.h"
#include "planner/typed.h"
#include "tests/unit/planner/planner_fixture.h"

static struct hd_arena arena;
static struct ctx *c;
static struct open_pipeline *p; /* a scan of child */

static int set_up(void **state)
{
    (void)state;
    hd_arena_init(&arena);
    c = px_ctx(&arena, px_read(&arena, "{'op': 'scan', 'table': 'child'}"));
    p = pb_pipeline(c, RT_SOURCE_TABLE, "");
    p->spec.table = px_table("child");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hd_arena_release(&arena);
    return 0;
}

/* ---- packing ---------------------------------------------------------------------------------------- */

static struct pl_val value(enum rt_phys phys, bool nullable, hd_i128 lo, hd_i128 hi)
{
    struct pl_val v = {.phys = phys, .nullable = nullable, .range = {true, lo, hi}};
    v.expr = pb_slot_expr(c, p, pb_slot(c, p, "k", phys, nullable));
    return v;
}

/* What an expression gives for values of slots; NULL is `nothing`. Slot 0 is the row. */
static const int64_t nothing = INT64_MIN;

static int64_t eval(int expr, const int64_t *slots)
{
    const struct pl_expr *e = &c->exprs.v[expr];
    if (e->op == FE_COL)
        return slots[e->slot];
    if (e->op == FE_LIT)
        return (int64_t)c->args.v[e->arg].i;
    int64_t a = eval(e->args[0], slots), b = e->nargs > 1 ? eval(e->args[1], slots) : 0;
    if (e->op == FE_COALESCE)
        return a == nothing ? b : a;
    if (e->op == FE_CASE)
        return a == 1 ? b : nothing;
    if (a == nothing || b == nothing)
        return nothing;
    switch ((int)e->op) {
    case FE_WIDEN: return a;
    case FE_ADD: return a + b;
    case FE_SUB: return a - b;
    case FE_MUL: return a * b;
    case FE_GE: return a >= b;
    case FE_LE: return a <= b;
    case FE_AND: return a && b;
    }
    fail_msg("operator %s in an index", fe_op_name(e->op));
    return 0;
}

/* 5..7 are 3 indexes, -1..0 are 2: 6 in all, the last key counts fastest. */
static void keys_become_one_index(void **state)
{
    (void)state;
    struct pl_val kv[] = {value(RT_I32, false, 5, 7), value(RT_I64, false, -1, 0)};
    struct pack k;
    assert_true(pack_keys(c, kv, 2, false, &k));
    assert_int_equal(k.range, 6);
    assert_int_equal(k.span[0], 3);
    assert_int_equal(k.span[1], 2);
    assert_true(k.lo[0] == 5 && k.lo[1] == -1);
    int index = pack_index(c, &k, kv), expected = 0;
    for (int64_t a = 5; a <= 7; a++)
        for (int64_t b = -1; b <= 0; b++)
            assert_int_equal(eval(index, (int64_t[]){0, a, b}), expected++);
    assert_false(c->exprs.v[index].nullable);
}

/* Groups have an index for NULL, the last of a key's; joins have none, as NULL matches nothing. */
static void null_has_an_index_where_asked(void **state)
{
    (void)state;
    struct pl_val kv[] = {value(RT_I32, true, 0, 9), value(RT_I32, false, 1, 2)};
    struct pack k;
    assert_true(pack_keys(c, kv, 2, true, &k));
    assert_int_equal(k.range, 22); /* (10 + 1) * 2 */
    int index = pack_index(c, &k, kv);
    assert_int_equal(eval(index, (int64_t[]){0, nothing, 1}), 20);
    assert_int_equal(eval(index, (int64_t[]){0, 9, 2}), 19);
    assert_false(c->exprs.v[index].nullable);
    assert_true(pack_keys(c, kv, 2, false, &k));
    assert_int_equal(k.range, 20);
    index = pack_index(c, &k, kv);
    assert_true(eval(index, (int64_t[]){0, nothing, 1}) == nothing);
    assert_true(c->exprs.v[index].nullable);
}

/* An index must stay below 2^31. */
static void wide_ranges_are_refused(void **state)
{
    (void)state;
    struct pack k;
    struct pl_val max = value(RT_I64, false, 1, ((int64_t)1 << 31) - 1); /* 2^31 - 1 values */
    assert_true(pack_keys(c, &max, 1, false, &k));
    assert_int_equal(k.range, INT32_MAX);
    struct pl_val more = value(RT_I64, false, 0, ((int64_t)1 << 31) - 1);
    assert_false(pack_keys(c, &more, 1, false, &k));
    max.nullable = true; /* and one for NULL */
    assert_false(pack_keys(c, &max, 1, true, &k));
    struct pl_val two[] = {value(RT_I32, false, 0, 65535), value(RT_I32, false, 0, 32767)}; /* 2^16 * 2^15 */
    assert_false(pack_keys(c, two, 2, false, &k));
    two[1].range.hi = 32766;
    assert_true(pack_keys(c, two, 2, false, &k));
    struct pl_val far = value(RT_I64, false, ((hd_i128)1 << 62) + 1, ((hd_i128)1 << 62) + 2);
    assert_false(pack_keys(c, &far, 1, false, &k));
    struct pl_val unknown = value(RT_I64, false, 0, 1);
    unknown.range.known = false;
    assert_false(pack_keys(c, &unknown, 1, false, &k));
    struct pl_val wide = value(RT_I128, false, 0, 1);
    assert_false(pack_keys(c, &wide, 1, false, &k));
    assert_false(pack_keys(c, NULL, 0, false, &k));
}

/* A probe's value beyond a range must not fall on the index of other keys. */
static void probes_beyond_a_range_have_no_index(void **state)
{
    (void)state;
    struct pl_val build[] = {value(RT_I32, false, 5, 7), value(RT_I32, false, 0, 3)};
    struct pl_val probe[] = {value(RT_I32, false, 0, 100), value(RT_I32, false, 1, 2)};
    struct pack k;
    assert_true(pack_keys(c, build, 2, false, &k));
    int index = pack_probe(c, &k, probe);
    assert_int_equal(eval(index, (int64_t[]){0, 0, 0, 6, 2}), 1 * 4 + 2);
    assert_true(eval(index, (int64_t[]){0, 0, 0, 8, 2}) == nothing);
    assert_true(eval(index, (int64_t[]){0, 0, 0, 4, 2}) == nothing);
    /* The second key lies within: it is not looked at, and neither is a lone one. */
    assert_int_equal(c->exprs.v[index].op, FE_CASE);
    struct pl_val inside[] = {value(RT_I32, false, 5, 6), value(RT_I32, false, 1, 2)};
    assert_int_equal(c->exprs.v[pack_probe(c, &k, inside)].op, FE_ADD);
    assert_true(pack_keys(c, build, 1, false, &k));
    assert_int_equal(c->exprs.v[pack_probe(c, &k, probe)].op, FE_SUB);
}

/* ---- handles ------------------------------------------------------------------------------------------ */

static struct handle *column(struct handle *row, const char *name)
{
    return h_column(c, row->table, fe_table_find_column(row->table, name), row);
}

static struct handle *scanned(const char *table)
{
    return h_row(c, 0, px_table(table), -1, false);
}

static void assert_range(const struct handle *h, hd_i128 lo, hd_i128 hi)
{
    struct pl_range r = h_range(c, h);
    assert_true(r.known && r.lo == lo && r.hi == hi);
}

static void ranges_are_those_of_facts_or_types(void **state)
{
    (void)state;
    struct handle *child = scanned("child");
    assert_range(column(child, "qty"), 1, 50);
    assert_range(column(child, "tag"), 0, 2); /* codes */
    hd_i128 max = hd_pow10(38) - 1;
    assert_range(column(child, "wide"), -max, max); /* no facts: of decimal(38,2) */
    assert_false(h_range(c, column(scanned("parent"), "note")).known);
    assert_false(h_range(c, column(scanned("tiny"), "f")).known);
    assert_range(column(scanned("parent"), "day"), 7305, 10956);
    struct handle *env[] = {column(child, "qty")};
    assert_range(h_expr(c, lx_col(c, 0, env[0], ""), env), 1, 50);
}

static void distinct_values_are_bounded_by_rows_and_ranges(void **state)
{
    (void)state;
    struct handle *child = scanned("child");
    assert_true(h_distinct(c, column(child, "qty"), 1e6) == 50);
    assert_true(h_distinct(c, column(child, "qty"), 20) == 20);
    assert_true(h_distinct(c, column(child, "qty"), 0) == 1);
    assert_true(h_distinct(c, column(child, "wide"), 1000) == 1000);
    assert_true(h_distinct(c, column(child, "tag"), 1e6) == 3);
    struct handle *flag = h_phys(c, (struct pl_val){.type = hd_type_of(HD_BOOL)});
    assert_true(h_distinct(c, flag, 1e6) == 2);
}

static void dictionaries_are_found_behind_handles(void **state)
{
    (void)state;
    const struct fe_table *t;
    int col;
    struct handle *child = scanned("child"), *env[] = {column(child, "tag")};
    assert_true(h_dict(c, env[0], &t, &col) && t == child->table && col == 4);
    assert_true(h_dict(c, h_expr(c, lx_col(c, 0, env[0], ""), env), &t, &col) && col == 4);
    assert_false(h_dict(c, column(child, "qty"), &t, &col));
    assert_false(h_dict(c, column(scanned("parent"), "note"), &t, &col));
}

static bool determined(struct handle *h, struct handle *key)
{
    return h_determined(c, h, &key, 1);
}

static void unique_columns_determine_their_row(void **state)
{
    (void)state;
    struct handle *parent = scanned("parent"), *again = scanned("parent");
    assert_true(determined(column(parent, "name"), column(parent, "id")));
    assert_true(determined(parent, column(parent, "id")));
    assert_true(determined(column(parent, "grp"), column(parent, "grp"))); /* itself, by another handle */
    assert_false(determined(column(parent, "id"), column(parent, "name")));
    assert_false(determined(column(again, "name"), column(parent, "id"))); /* another scan of it */
    assert_true(determined(column(parent, "name"), parent));
}

static void lookups_follow_from_their_keys(void **state)
{
    (void)state;
    struct handle *child = scanned("child");
    struct handle *parent = h_lookup(c, px_table("parent"), 0, column(child, "oid"));
    struct handle *by_two[] = {column(child, "oid"), column(child, "qty")};
    assert_true(determined(column(parent, "name"), column(child, "oid")));
    assert_true(determined(column(parent, "name"), column(child, "cid"))); /* its row, so its oid */
    assert_false(determined(column(parent, "name"), column(child, "qty")));
    assert_true(h_determined(c, column(parent, "name"), by_two, 2));
    assert_false(h_determined(c, column(parent, "name"), by_two, 0));
    /* parent.id is child.oid where rows were joined on it. */
    struct handle *joined = h_row(c, 3, px_table("parent"), -1, false);
    joined->eq_column = 0;
    joined->eq = column(child, "oid");
    assert_true(determined(column(joined, "amount"), joined->eq));
    /* A side that may be missing has NULL for several of its keys. */
    struct handle *missing = h_row(c, 3, px_table("parent"), -1, true);
    assert_false(determined(column(missing, "name"), column(missing, "id")));
}

static struct handle *sum_of(struct handle *x, struct handle *y)
{
    struct handle **env = HD_NEWN(&arena, struct handle *, 2);
    env[0] = x;
    env[1] = y;
    return h_expr(c,
                  pl_expr_node(&arena, FE_ADD, x->type, x->nullable || y->nullable, "", 2, lx_col(c, 0, x, ""),
                               lx_col(c, 1, y, "")),
                  env);
}

static void expressions_follow_from_what_they_read(void **state)
{
    (void)state;
    struct handle *parent = scanned("parent"), *child = scanned("child"), *tiny = scanned("tiny");
    struct handle *both = sum_of(column(parent, "id"), column(parent, "grp"));
    struct handle *two = sum_of(column(parent, "grp"), column(child, "qty"));
    struct handle *keys[] = {column(parent, "id"), column(child, "qty")};
    assert_true(determined(both, column(parent, "id")));
    assert_false(determined(both, column(parent, "grp"))); /* id is read, too */
    assert_true(determined(sum_of(both, column(parent, "grp")), column(parent, "id")));
    assert_false(determined(two, column(parent, "id")));
    assert_true(h_determined(c, two, keys, 2));
    /* Of 0 and -0, which are one key, sums differ; a row has one of them. */
    struct handle *floats = sum_of(column(tiny, "f"), column(tiny, "f"));
    assert_false(determined(floats, column(tiny, "f")));
    assert_true(determined(floats, column(tiny, "k")));
}

static void projections_do_not_hide_a_column(void **state)
{
    (void)state;
    struct handle *env[] = {column(scanned("child"), "qty")}, *again[1];
    struct handle *h = h_new(c, H_EXPR, env[0]->type, false);
    h->expr = lx_col(c, 0, env[0], "");
    h->env = env;
    again[0] = h;
    struct handle *twice = h_new(c, H_EXPR, env[0]->type, false);
    twice->expr = lx_col(c, 0, h, "");
    twice->env = again;
    assert_ptr_equal(h_plain(twice), env[0]);
    assert_ptr_equal(h_plain(env[0]), env[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_become_one_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(null_has_an_index_where_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wide_ranges_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(probes_beyond_a_range_have_no_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_are_those_of_facts_or_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(distinct_values_are_bounded_by_rows_and_ranges, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dictionaries_are_found_behind_handles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unique_columns_determine_their_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lookups_follow_from_their_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(expressions_follow_from_what_they_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(projections_do_not_hide_a_column, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
