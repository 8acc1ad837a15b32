/* Facts of registered tables: computed when a plan gains, once, by whichever thread comes first; said by explain and report;
 * of the table that the statement began with; and done without where they cannot be had. Rows are the same in any case. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "tests/store/store_fixture.h"

enum { SALES = 120000, ITEMS = 5003, KINDS = 7, THREADS = 6 };

static const char join_plan[] =
    "{\"heddle\":1,\"root\":{\"op\":\"sort\",\"keys\":[\"kind\"],\"input\":{\"op\":\"aggregate\",\"keys\":[\"kind\"],"
    "\"aggs\":[{\"fn\":\"sum\",\"arg\":\"price\",\"as\":\"total\"}],\"input\":{\"op\":\"join\",\"kind\":\"inner\","
    "\"on\":[[\"item\",\"id\"]],\"left\":{\"op\":\"scan\",\"table\":\"sale\",\"filter\":\"day > 3\"},"
    "\"right\":{\"op\":\"scan\",\"table\":\"item\"}}}}}";
static const char scan_plan[] = "{\"heddle\":1,\"root\":{\"op\":\"scan\",\"table\":\"sale\",\"filter\":\"day = 3\"}}";

/* ---- tables ---------------------------------------------------------------------------------- */

struct bed {
    struct fx_dir *dir;
    heddle_database *db;
};

static void add(heddle_database *db, const char *name, struct fx_batch *b, int facts)
{
    struct ArrowArrayStream s;
    heddle_error *e = NULL;
    fx_stream(&b, 1, &s);
    fx_ok(heddle_database_replace(db, name, &s, facts, &e), &e);
}

/* rows sales, of items in no order, at `price` and the number of the day, 0 to 9. */
static void add_sales(heddle_database *db, int rows, int price, int facts)
{
    int32_t *item = malloc(SALES * sizeof *item), *day = malloc(SALES * sizeof *day);
    int64_t *value = malloc(SALES * sizeof *value);
    for (int i = 0; i < rows; i++) {
        item[i] = (int32_t)((int64_t)i * 7919 % ITEMS);
        day[i] = i * 13 % 10;
        value[i] = price + day[i];
    }
    struct fx_batch *b = fx_batch_new(rows, 0);
    fx_add(b, "item", "i", item, sizeof *item, NULL);
    fx_add(b, "day", "i", day, sizeof *day, NULL);
    fx_add(b, "price", "l", value, sizeof *value, NULL);
    add(db, "sale", b, facts);
    free(item);
    free(day);
    free(value);
}

static void add_items(heddle_database *db, int facts)
{
    static const char *const kinds[KINDS] = {"a", "b", "c", "d", "e", "f", "g"};
    int32_t id[ITEMS];
    const char *kind[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        id[i] = i * 31 % ITEMS;
        kind[i] = kinds[id[i] % KINDS];
    }
    struct fx_batch *b = fx_batch_new(ITEMS, 0);
    fx_add(b, "id", "i", id, sizeof *id, NULL);
    fx_add_text(b, "kind", kind, false);
    add(db, "item", b, facts);
}

static void add_tables(heddle_database *db, int facts)
{
    add_sales(db, SALES, 100, facts);
    add_items(db, facts);
}

/* Of the join, by kind. */
static void expected(int price, int64_t total[KINDS])
{
    memset(total, 0, KINDS * sizeof *total);
    for (int i = 0; i < SALES; i++)
        if (i * 13 % 10 > 3)
            total[(int64_t)i * 7919 % ITEMS % KINDS] += price + i * 13 % 10;
}

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

/* ---- statements ------------------------------------------------------------------------------ */

static heddle_statement *prepare(heddle_database *db, const char *plan)
{
    heddle_statement *s;
    heddle_error *e = NULL;
    heddle_statement_options o;
    heddle_statement_options_init(&o);
    o.backend = "cpu";
    o.threads = 2;
    fx_ok(heddle_prepare(db, plan, &o, &s, &e), &e);
    return s;
}

/* What the statement says of facts; to be freed. */
static char *facts_of(heddle_statement *s)
{
    char *text;
    heddle_error *e = NULL;
    fx_ok(heddle_explain(s, "facts", &text, &e), &e);
    return text;
}

static void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void expect_facts(heddle_database *db, const char *plan, const char *part)
{
    heddle_statement *s = prepare(db, plan);
    char *text = facts_of(s);
    expect_text(text, part);
    heddle_free(text);
    heddle_statement_free(s);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part))
        n++;
    return n;
}

/* Executes the join, whose sums are int64 or decimals of a word that is one. */
static void expect_rows(heddle_statement *s, int price)
{
    struct ArrowArrayStream stream;
    struct ArrowArray a;
    heddle_error *e = NULL;
    int64_t want[KINDS];
    expected(price, want);
    fx_ok(heddle_execute(s, &stream, &e), &e);
    assert_int_equal(stream.get_next(&stream, &a), 0);
    assert_int_equal(a.length, KINDS);
    const int64_t *total = a.children[1]->buffers[1]; /* decimal(38, 0): two words */
    for (int i = 0; i < KINDS; i++)
        assert_true(total[2 * i] == want[i] && total[2 * i + 1] == 0);
    a.release(&a);
    stream.release(&stream);
}

static void expect_report(heddle_statement *s, const char *part)
{
    char *text;
    heddle_error *e = NULL;
    fx_ok(heddle_statement_report(s, &text, &e), &e);
    expect_text(text, part);
    heddle_free(text);
}

/* ---- what is computed, and when -------------------------------------------------------------- */

static void plans_that_gain_compute_once(void **state)
{
    struct bed *b = *state;
    char *catalog;
    heddle_error *e = NULL;
    add_tables(b->db, HEDDLE_FACTS_LAZY);
    heddle_statement *s = prepare(b->db, join_plan), *other = prepare(b->db, join_plan);
    char *first = facts_of(s), *second = facts_of(other);
    expect_text(first, "sale.item (join key): computed, estimated, "); /* more rows than values */
    expect_text(first, "sale.day (compared): computed, estimated, ");
    expect_text(first, "sale.price (aggregated): computed, estimated, ");
    expect_text(first, "item.id (join key): computed, counted, ");
    expect_text(first, "item.kind (group key, sort key): computed, estimated, ");
    assert_int_equal(count(second, ": known\n"), 5);
    expect_rows(s, 100);
    expect_rows(other, 100);
    expect_report(
        s, "{\"table\":\"sale\",\"column\":\"item\",\"exact\":false,\"uses\":[\"join key\"],\"how\":\"computed\"");
    fx_ok(heddle_database_catalog(b->db, &catalog, &e), &e);
    expect_text(catalog, "\"distinct\": 5003, \"distinct_exact\": true, \"unique\": true");
    heddle_free(catalog);
    heddle_free(first);
    heddle_free(second);
    heddle_statement_free(s);
    heddle_statement_free(other);
}

static void others_do_not(void **state)
{
    struct bed *b = *state;
    add_tables(b->db, HEDDLE_FACTS_LAZY);
    expect_facts(b->db, scan_plan, "none: rows are read once, and neither joined, grouped nor sorted\n");
    add_tables(b->db, HEDDLE_FACTS_NOW);
    expect_facts(b->db, join_plan, "none: the tables have theirs from when they were made\n");
    add_tables(b->db, HEDDLE_FACTS_NEVER);
    expect_facts(b->db, join_plan, "sale.item (join key): not computed: registered without facts\n");
    add_tables(b->db, HEDDLE_FACTS_LAZY);
    add_sales(b->db, 100, 100, HEDDLE_FACTS_LAZY);
    expect_facts(b->db, join_plan, "none: the tables have few rows\n");
}

static void asked_for_all_are_computed(void **state)
{
    struct bed *b = *state;
    heddle_error *e = NULL;
    add_tables(b->db, HEDDLE_FACTS_LAZY);
    fx_ok(heddle_database_compute_facts(b->db, "sale", &e), &e);
    expect_facts(b->db, join_plan, "sale.item (join key): known\n");
    expect_facts(b->db, join_plan, "item.id (join key): known\n");
    fx_expect(heddle_database_compute_facts(b->db, "none", &e), &e, HEDDLE_ERROR_USER, "none", "no such table");
}

/* With facts the plan relies on a key's uniqueness and range. */
static void plans_are_better(void **state)
{
    struct bed *b = *state;
    char *text;
    heddle_error *e = NULL;
    add_tables(b->db, HEDDLE_FACTS_NEVER);
    heddle_statement *s = prepare(b->db, join_plan);
    fx_ok(heddle_explain(s, "physical", &text, &e), &e);
    expect_text(text, "table: hash");
    expect_rows(s, 100);
    heddle_free(text);
    heddle_statement_free(s);
    add_tables(b->db, HEDDLE_FACTS_LAZY);
    s = prepare(b->db, join_plan);
    fx_ok(heddle_explain(s, "physical", &text, &e), &e);
    expect_text(text, "table: direct");
    expect_text(text, "facts:\nsale.item (join key): computed");
    heddle_free(text);
    heddle_statement_free(s);
}

/* ---- tables that go ---------------------------------------------------------------------------- */

/* The statement goes on with the table that it was prepared over, and its facts are of that one. */
static void a_replaced_table_stays_with_its_statements(void **state)
{
    struct bed *b = *state;
    heddle_error *e = NULL;
    add_tables(b->db, HEDDLE_FACTS_LAZY);
    heddle_statement *old = prepare(b->db, join_plan), *planned = prepare(b->db, join_plan);
    heddle_free(facts_of(planned));
    add_sales(b->db, SALES, 500, HEDDLE_FACTS_LAZY);
    heddle_statement *new = prepare(b->db, join_plan);
    char *text = facts_of(new);
    expect_text(text, "sale.item (join key): computed");
    expect_text(text, "item.id (join key): known");
    heddle_free(text);
    fx_ok(heddle_database_drop(b->db, "item", &e), &e);
    expect_rows(new, 500);
    expect_rows(old, 100);
    expect_rows(planned, 100);
    heddle_statement_free(old);
    heddle_statement_free(planned);
    heddle_statement_free(new);
}

/* ---- several threads --------------------------------------------------------------------------- */

struct one {
    pthread_t thread;
    heddle_statement *s;
    char *facts;
};

static void *plan_and_run(void *arg)
{
    struct one *x = arg;
    x->facts = facts_of(x->s);
    expect_rows(x->s, 100);
    return NULL;
}

static void threads_compute_once(void **state)
{
    struct bed *b = *state;
    struct one one[THREADS];
    for (int round = 0; round < 3; round++) {
        int computed = 0;
        add_tables(b->db, HEDDLE_FACTS_LAZY);
        for (int i = 0; i < THREADS; i++)
            one[i].s = prepare(b->db, join_plan);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&one[i].thread, NULL, plan_and_run, &one[i]);
        for (int i = 0; i < THREADS; i++) { /* readers of what is known by now, and replacers */
            char *catalog;
            heddle_error *e = NULL;
            fx_ok(heddle_database_catalog(b->db, &catalog, &e), &e);
            heddle_free(catalog);
            if (i == THREADS / 2)
                add_sales(b->db, SALES, 500, HEDDLE_FACTS_LAZY);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(one[i].thread, NULL);
            computed += count(one[i].facts, ": computed, ");
            assert_int_equal(count(one[i].facts, ": computed, ") + count(one[i].facts, ": known\n"), 5);
            heddle_free(one[i].facts);
            heddle_statement_free(one[i].s);
        }
        assert_int_equal(computed, 5);
    }
}

/* ---- cancels and memory ------------------------------------------------------------------------ */

static void *cancel(void *s)
{
    heddle_statement_cancel(s);
    return NULL;
}

/* Whenever it comes: the table has no facts then, or has them, and the next statement computes what is missing. */
static void a_cancelled_statement_leaves_the_table(void **state)
{
    struct bed *b = *state;
    heddle_error *e = NULL;
    char *text;
    add_tables(b->db, HEDDLE_FACTS_LAZY);
    heddle_statement *s = prepare(b->db, join_plan);
    heddle_statement_cancel(s);
    fx_expect(heddle_explain(s, "facts", &text, &e), &e, HEDDLE_ERROR_CANCELLED, "", "cancelled");
    text = facts_of(s);
    expect_text(text, "sale.item (join key): computed");
    heddle_free(text);
    expect_rows(s, 100);
    heddle_statement_free(s);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        add_tables(b->db, HEDDLE_FACTS_LAZY);
        s = prepare(b->db, join_plan);
        heddle_statement *other = prepare(b->db, join_plan);
        pthread_create(&thread, NULL, cancel, s);
        if (heddle_explain(s, "facts", &text, &e) == 0)
            heddle_free(text);
        else
            fx_expect(-1, &e, HEDDLE_ERROR_CANCELLED, "", "cancelled");
        pthread_join(thread, NULL);
        expect_rows(other, 100);
        heddle_statement_free(s);
        heddle_statement_free(other);
    }
}

/* The nth allocation fails: an error, or facts that the plan does without. */
static void refused_memory_leaves_the_table(void **state)
{
    struct bed *b = *state;
    heddle_error *e = NULL;
    heddle_statement *kept = NULL; /* one that does without facts; no code is compiled before the last fault */
    bool reached = true;
    int failed = 0, without = 0;
    for (int n = 1; reached; n += n < 30 ? 1 : n / 4) {
        char spec[32], *text = NULL;
        add_tables(b->db, HEDDLE_FACTS_LAZY);
        heddle_statement *s = prepare(b->db, join_plan);
        snprintf(spec, sizeof spec, "alloc:%d", n);
        hd_fault_arm(spec);
        int rc = heddle_explain(s, "facts,physical", &text, &e);
        reached = hd_fault_calls(HD_FAULT_ALLOC) >= (uint64_t)n;
        hd_fault_arm(NULL);
        bool did = text && strstr(text, "not computed: there is no memory for it");
        if (rc) {
            fx_expect(-1, &e, HEDDLE_ERROR_RESOURCE, "", "memory");
            failed++;
        }
        heddle_free(text);
        without += did;
        if (did && !kept)
            kept = s;
        else
            heddle_statement_free(s);
    }
    assert_true(failed > 2 && without > 2);
    expect_rows(kept, 100);
    heddle_statement_free(kept);
}

static void a_memory_limit_holds(void **state)
{
    struct bed *b = *state;
    heddle_context *context;
    heddle_database *db;
    heddle_error *e = NULL;
    heddle_options o;
    heddle_options_init(&o);
    o.memory_limit = 1 << 17; /* ids would be counted in 4 * 8 bytes each */
    o.cache_dir = "";
    o.temp_dir = "";
    (void)b;
    fx_ok(heddle_context_new(&o, &context, &e), &e);
    fx_ok(heddle_database_open(context, NULL, 0, &db, &e), &e);
    add_tables(db, HEDDLE_FACTS_LAZY);
    expect_facts(db, join_plan, "item.id (join key): computed, estimated, ");
    fx_expect(heddle_database_compute_facts(db, "item", &e), &e, HEDDLE_ERROR_RESOURCE, "item", "no memory");
    heddle_database_free(db);
    heddle_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_memory_leaves_the_table), /* first: no compilation may go on meanwhile */
        cmocka_unit_test(plans_that_gain_compute_once),
        cmocka_unit_test(others_do_not),
        cmocka_unit_test(asked_for_all_are_computed),
        cmocka_unit_test(plans_are_better),
        cmocka_unit_test(a_replaced_table_stays_with_its_statements),
        cmocka_unit_test(threads_compute_once),
        cmocka_unit_test(a_cancelled_statement_leaves_the_table),
        cmocka_unit_test(a_memory_limit_holds),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
