/* Keys that registered tables are declared with: checked, used by plans, and gone with the table that they refer to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "tests/store/store_fixture.h"

enum { SALES = 120000, ITEMS = 5003, KEPT = ITEMS - 3 };

static const char item_keys[] = "{\"primary_key\":[\"id\"]}";
static const char sale_keys[] =
    "{\"foreign_keys\":[{\"columns\":[\"item\"],\"table\":\"item\",\"references\":[\"id\"]}]}";
static const char join_plan[] =
    "{\"heddle\":1,\"root\":{\"op\":\"aggregate\",\"keys\":[],\"aggs\":[{\"fn\":\"count\",\"as\":\"n\"}],\"input\":{"
    "\"op\":\"join\",\"kind\":\"inner\",\"on\":[[\"id\",\"item\"]],\"left\":{\"op\":\"scan\",\"table\":\"item\","
    "\"filter\":\"kind = 3\"},\"right\":{\"op\":\"scan\",\"table\":\"sale\"}}}}";

struct bed {
    struct fx_dir *dir;
    heddle_database *db;
};

static int set_up(void **state)
{
    struct bed *b = calloc(1, sizeof *b);
    heddle_error *e = NULL;
    if (fx_setup((void **)&b->dir) != 0)
        return -1;
    fx_ok(heddle_database_open(b->dir->context, NULL, 0, &b->db, &e), &e);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bed *b = *state;
    heddle_database_free(b->db);
    fx_teardown((void **)&b->dir);
    free(b);
    return 0;
}

/* Numbers first + i * step % of, in one column or two. */
static void stream(int rows, const char *name, int step, int of, const char *other, struct ArrowArrayStream *s)
{
    int32_t *v = malloc((size_t)rows * sizeof *v), *w = malloc((size_t)rows * sizeof *w);
    for (int i = 0; i < rows; i++) {
        v[i] = (int32_t)((int64_t)i * step % of);
        w[i] = v[i] % 7;
    }
    struct fx_batch *b = fx_batch_new(rows, 0);
    fx_add(b, name, "i", v, sizeof *v, NULL);
    if (other)
        fx_add(b, other, "i", w, sizeof *w, NULL);
    fx_stream(&b, 1, s);
    free(v);
    free(w);
}

static int add_items(heddle_database *db, int rows, const char *keys, heddle_error **e)
{
    struct ArrowArrayStream s;
    stream(rows, "id", 31, ITEMS, "kind", &s);
    return heddle_database_register_with_keys(db, "item", &s, HEDDLE_FACTS_LAZY, keys, 1, e);
}

static int add_sales(heddle_database *db, const char *keys, heddle_error **e)
{
    struct ArrowArrayStream s;
    stream(SALES, "item", 7919, ITEMS, NULL, &s);
    return heddle_database_register_with_keys(db, "sale", &s, HEDDLE_FACTS_LAZY, keys, 1, e);
}

static heddle_statement *prepare(heddle_database *db)
{
    heddle_statement *s;
    heddle_error *e = NULL;
    heddle_statement_options o;
    heddle_statement_options_init(&o);
    o.backend = "cpu";
    o.threads = 2;
    fx_ok(heddle_prepare(db, join_plan, &o, &s, &e), &e);
    return s;
}

/* Sales of items of kind 3, of the first `items` that there are. */
static int64_t expected(int items)
{
    int64_t n = 0;
    bool *there = calloc(ITEMS, sizeof *there);
    for (int i = 0; i < items; i++)
        there[(int64_t)i * 31 % ITEMS] = true;
    for (int i = 0; i < SALES; i++) {
        const int64_t item = (int64_t)i * 7919 % ITEMS;
        n += there[item] && item % 7 == 3;
    }
    free(there);
    return n;
}

static void expect_rows(heddle_statement *s, int items)
{
    struct ArrowArrayStream stream;
    struct ArrowArray a;
    heddle_error *e = NULL;
    fx_ok(heddle_execute(s, &stream, &e), &e);
    assert_int_equal(stream.get_next(&stream, &a), 0);
    assert_int_equal(((const int64_t *)a.children[0]->buffers[1])[0], expected(items));
    a.release(&a);
    stream.release(&stream);
}

static bool plan_has(heddle_statement *s, const char *part)
{
    char *text;
    heddle_error *e = NULL;
    fx_ok(heddle_explain(s, "physical", &text, &e), &e);
    bool has = strstr(text, part) != NULL;
    heddle_free(text);
    return has;
}

static bool catalog_has(heddle_database *db, const char *part)
{
    char *text;
    heddle_error *e = NULL;
    fx_ok(heddle_database_catalog(db, &text, &e), &e);
    bool has = strstr(text, part) != NULL;
    heddle_free(text);
    return has;
}

/* ---- what they are good for ------------------------------------------------------------------ */

static void plans_go_by_their_indexes(void **state)
{
    struct bed *b = *state;
    heddle_error *e = NULL;
    fx_ok(add_items(b->db, ITEMS, NULL, &e), &e);
    fx_ok(add_sales(b->db, NULL, &e), &e);
    heddle_statement *s = prepare(b->db);
    assert_false(plan_has(s, "way: foreign key index") || catalog_has(b->db, "\"foreign_keys\""));
    expect_rows(s, ITEMS);
    heddle_statement_free(s);
    fx_ok(add_items(b->db, ITEMS, item_keys, &e), &e);
    fx_ok(add_sales(b->db, sale_keys, &e), &e);
    s = prepare(b->db);
    assert_true(plan_has(s, "way: foreign key index") && catalog_has(b->db, "\"foreign_keys\""));
    expect_rows(s, ITEMS);
    heddle_statement_free(s);
}

/* Its index still leads to the sales, but not every sale has its item now. */
static void a_key_goes_with_its_parent(void **state)
{
    struct bed *b = *state;
    heddle_error *e = NULL;
    fx_ok(add_items(b->db, ITEMS, item_keys, &e), &e);
    fx_ok(add_sales(b->db, sale_keys, &e), &e);
    heddle_statement *before = prepare(b->db);
    fx_ok(add_items(b->db, KEPT / 2, item_keys, &e), &e);
    assert_false(catalog_has(b->db, "\"foreign_keys\""));
    heddle_statement *after = prepare(b->db);
    expect_rows(before, ITEMS);
    expect_rows(after, KEPT / 2);
    fx_ok(heddle_database_drop(b->db, "item", &e), &e);
    expect_rows(before, ITEMS);
    expect_rows(after, KEPT / 2);
    heddle_statement_free(before);
    heddle_statement_free(after);
}

/* ---- what is refused --------------------------------------------------------------------------- */

static void expect_refused(heddle_database *db, const char *keys, int class, const char *path, const char *message)
{
    heddle_error *e = NULL;
    fx_expect(add_sales(db, keys, &e), &e, class, path, message);
}

static void keys_are_checked(void **state)
{
    static const char *const self = "{\"primary_key\":[\"item\"]}";
    struct bed *b = *state;
    heddle_error *e = NULL;
    fx_ok(add_items(b->db, KEPT, item_keys, &e), &e);
    fx_ok(add_sales(b->db, NULL, &e), &e);
    expect_refused(b->db, sale_keys, HEDDLE_ERROR_DATA, "sale", "foreign key (item): ");
    expect_refused(b->db, self, HEDDLE_ERROR_DATA, "sale", "primary key (item): rows ");
    expect_refused(b->db, "{", HEDDLE_ERROR_USER, "$", "");
    expect_refused(b->db, "{\"primary_key\":[\"x\"]}", HEDDLE_ERROR_USER, "$.primary_key[0]", "no column \"x\"");
    expect_refused(b->db, "{\"foreign_keys\":[{\"columns\":[\"item\"],\"table\":\"t\",\"references\":[\"id\"]}]}",
                   HEDDLE_ERROR_USER, "$.foreign_keys[0].table", "table \"t\" not found");
    expect_refused(b->db, "{\"foreign_keys\":[{\"columns\":[\"item\"],\"table\":\"item\",\"references\":[\"kind\"]}]}",
                   HEDDLE_ERROR_USER, "sale", "(kind) of table \"item\" is not declared as its primary key");
    heddle_statement *s = prepare(b->db); /* over the table that stayed */
    expect_rows(s, KEPT);
    heddle_statement_free(s);
}

/* Each allocation fails once: an error, and the tables that there were stay. */
static void memory_that_is_refused_is_an_error(void **state)
{
    struct bed *b = *state;
    heddle_error *e = NULL;
    fx_ok(add_items(b->db, ITEMS, item_keys, &e), &e);
    bool reached = true;
    for (int n = 1; reached; n++) {
        char spec[32];
        snprintf(spec, sizeof spec, "alloc:%d", n);
        struct ArrowArrayStream s;
        stream(SALES, "item", 7919, ITEMS, NULL, &s);
        hd_fault_arm(spec);
        int rc = heddle_database_register_with_keys(b->db, "sale", &s, HEDDLE_FACTS_LAZY, sale_keys, 0, &e);
        reached = hd_fault_calls(HD_FAULT_ALLOC) >= (uint64_t)n;
        hd_fault_arm(NULL);
        if (rc == 0)
            break;
        assert_int_equal(heddle_error_get_class(e), HEDDLE_ERROR_RESOURCE);
        heddle_error_free(e);
        e = NULL;
    }
    assert_true(catalog_has(b->db, "\"foreign_keys\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plans_go_by_their_indexes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_key_goes_with_its_parent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_is_refused_is_an_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
