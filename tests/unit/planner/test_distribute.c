/* Tables that no key of a cut's scheme leads to: who goes through them, and what that depends on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "frontend/json_make.h"
#include "frontend/plan_any.h"
#include "planner/distribute.h"
#include "tests/unit/planner/planner_fixture.h"

/* Bytes of a text, of which the fixture has none. */
enum { TEXT_BYTES = 33 };

/* Values of a column that ascends evenly. */
static int value(const struct fe_table *t, int column, int64_t row, int64_t *out, struct hd_err *err HD_UNUSED)
{
    const struct fe_facts *f = &t->cols[column].facts;
    *out = (int64_t)(f->min + (f->max - f->min) * row / t->rows);
    return 0;
}

static struct fe_table *resize(const char *name, double rows)
{
    struct fe_table *t = (struct fe_table *)(uintptr_t)px_table(name);
    t->rows = (int64_t)rows;
    for (int i = 0; i < t->ncols; i++)
        if (t->cols[i].storage == FE_STORE_TEXT)
            t->cols[i].at.text_size = (uint64_t)rows * TEXT_BYTES;
    return t;
}

struct tables {
    double parent, child; /* rows */
};

/* The fragments of the plan, ' for ". In px_arena. */
static const struct cJSON *cut(const char *root, struct tables rows, const struct pl_distribute_options *o)
{
    struct hd_err err;
    const struct cJSON *tree;
    struct cJSON *document;
    struct fe_plan *plan;
    struct fe_table *parent = (struct fe_table *)(uintptr_t)px_table("parent");
    struct fe_table *child = (struct fe_table *)(uintptr_t)px_table("child");
    struct tables before = {(double)parent->rows, (double)child->rows};
    char *text = hd_asprintf(&px_arena, "{'heddle': 1, 'root': %s}", root);
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p == '`' ? '\'' : *p;
    hd_err_init(&err);
    resize("parent", rows.parent);
    resize("child", rows.child);
    assert_int_equal(fe_plan_read(&px_arena, text, px_catalog(), &plan, &err), 0);
    assert_int_equal(fe_plan_tree(&px_arena, text, strlen(text), &tree, &err), 0);
    assert_int_equal(pl_distribute(&px_arena, plan, tree, px_catalog(), o, &document, &err), 0);
    resize("parent", before.parent);
    resize("child", before.child);
    return fe_member(document, "fragments");
}

/* The fragment that reads parent alone; NULL: there is none. */
static const struct cJSON *own_fragment(const struct cJSON *fragments)
{
    const struct cJSON *f = fe_first_json(fragments);
    return strcmp(fe_member_text(f, "exchange"), "broadcast") == 0 ? f : NULL;
}

static struct pl_distribute_options gpus(double link)
{
    return (struct pl_distribute_options){.workers = 2, .gpus = true, .link = link, .value = value};
}

static const char *of_parents(const char *kind, const char *filter)
{
    return hd_asprintf(&px_arena,
                       "{'op':'aggregate','keys':[],'aggs':[{'fn':'sum','arg':'qty','as':'s'}],'input':{'op':'join',"
                       "'kind':'%s','on':[['oid','id']],'left':{'op':'scan','table':'child'},'right':{'op':'scan',"
                       "'table':'parent','filter':'%s'}}}",
                       kind, filter);
}

static bool is_divided(const char *filter, double rows, double link)
{
    const struct pl_distribute_options o = gpus(link);
    return own_fragment(cut(of_parents("semi", filter), (struct tables){rows, 1e9}, &o)) != NULL;
}

/* As many rows on each side: the first worker's begin at the type's least value, the last one's end at the largest. */
static void a_part_has_ranges_of_its_own_key(void **state)
{
    (void)state;
    const struct pl_distribute_options o = gpus(300e9);
    const struct cJSON *list = cut(of_parents("semi", "note like `%x%`"), (struct tables){1e8, 1e9}, &o);
    const struct cJSON *f = own_fragment(list), *bind;
    assert_non_null(f);
    assert_string_equal(fe_member_text(f, "workers"), "every");
    bind = fe_first_json(fe_member(f, "bind"));
    assert_string_equal(fe_member_text(bind, "worker_from_int64"), "-9223372036854775808");
    assert_string_equal(fe_member_text(bind, "worker_to_int64"), "4998");
    bind = fe_next_json(bind);
    assert_string_equal(fe_member_text(bind, "worker_from_int64"), "4999");
    assert_string_equal(fe_member_text(bind, "worker_to_int64"), "9223372036854775807");
    bind = fe_first_json(fe_member(fe_next_json(f), "bind")); /* the others' of the plan's key */
    assert_string_equal(fe_member_text(bind, "worker_to_int64"), "199998");
}

/* What a filter takes, of all rows, must be more than a fragment and what it sends. */
static void filters_that_take_long_are_divided(void **state)
{
    (void)state;
    assert_true(is_divided("note like `%x%`", 1e8, 300e9));
    assert_false(is_divided("note like `%x%`", 1e6, 300e9));
    assert_false(is_divided("amount > 3", 1e8, 300e9));
    assert_false(is_divided("name like `%x%`", 1e8, 300e9)); /* of four names */
    assert_false(is_divided("amount > 9998 and note like `%x%`", 1e8, 300e9)); /* of few rows */
    assert_false(is_divided("note like `xyz%`", 3e7, 300e9)); /* begins are compared soon */
    assert_true(is_divided("note like `%xyz%`", 3e7, 300e9));
}

/* Rows that are sent cost more over PCIe, which is expected where nobody knows the link. */
static void links_decide(void **state)
{
    (void)state;
    assert_true(is_divided("note like `%x%`", 2e7, 300e9));
    assert_false(is_divided("note like `%x%`", 2e7, 40e9));
    assert_false(is_divided("note like `%x%`", 2e7, 0));
}

/* Few rows of the other side look parents up, and test those alone. */
static void rows_that_an_index_finds_are_not_gone_through(void **state)
{
    (void)state;
    const struct pl_distribute_options o = gpus(300e9);
    const char *root = of_parents("inner", "note like `%x%`");
    assert_non_null(own_fragment(cut(root, (struct tables){1e8, 1e9}, &o)));
    assert_null(own_fragment(cut(root, (struct tables){1e8, 1e5}, &o)));
}

static void machines_divide_from_fewer_rows(void **state)
{
    (void)state;
    const struct pl_distribute_options o = {.workers = 2, .value = value}, one = {.workers = 1, .value = value};
    const char *root = of_parents("semi", "note like `%x%`");
    assert_non_null(own_fragment(cut(root, (struct tables){1e6, 1e9}, &o)));
    assert_null(own_fragment(cut(root, (struct tables){1e5, 1e9}, &o)));
    assert_null(own_fragment(cut(root, (struct tables){1e6, 1e9}, &one)));
}

/* Children that few parents lead to are found by an index, so parents spread the plan, and nothing is sent but sums. */
static void who_leads_to_rows_spreads_them(void **state)
{
    (void)state;
    const struct pl_distribute_options o = gpus(0);
    const char *root = "{'op':'aggregate','keys':[],'aggs':[{'fn':'sum','arg':'qty','as':'s'}],'input':{'op':'join',"
                       "'kind':'inner','on':[['id','oid']],'left':{'op':'scan','table':'parent','filter':'%s'},'right':"
                       "{'op':'scan','table':'child'}}}";
    const char *few = hd_asprintf(&px_arena, root, "amount < 0.10"), *all = hd_asprintf(&px_arena, root, "amount > 0");
    const struct tables rows = {1e8, 1e9};
    const struct cJSON *f = fe_first_json(cut(few, rows, &o)), *g = fe_first_json(cut(all, rows, &o));
    assert_string_equal(fe_member_text(fe_first_json(fe_member(f, "bind")), "worker_to_int64"), "4998");
    assert_string_equal(fe_member_text(fe_first_json(fe_member(g, "bind")), "worker_to_int64"), "199998");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_part_has_ranges_of_its_own_key, px_set_up, px_tear_down),
        cmocka_unit_test_setup_teardown(filters_that_take_long_are_divided, px_set_up, px_tear_down),
        cmocka_unit_test_setup_teardown(links_decide, px_set_up, px_tear_down),
        cmocka_unit_test_setup_teardown(rows_that_an_index_finds_are_not_gone_through, px_set_up, px_tear_down),
        cmocka_unit_test_setup_teardown(machines_divide_from_fewer_rows, px_set_up, px_tear_down),
        cmocka_unit_test_setup_teardown(who_leads_to_rows_spreads_them, px_set_up, px_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
