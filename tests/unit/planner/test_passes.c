/* What passes over a GPU do with rows of a table that have to be put together by other columns: read them again in each pass, or
 * send them through the host once. */
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

/* Values of a column that ascends evenly. */
static int value(const struct fe_table *t, int column, int64_t row, int64_t *out, struct hd_err *err HD_UNUSED)
{
    const struct fe_facts *f = &t->cols[column].facts;
    *out = (int64_t)(f->min + (f->max - f->min) * row / t->rows);
    return 0;
}

/* Whether passes over `rows` rows of child send them to each other for a window by a column that nothing is sorted by. */
static bool sends(const char *columns, double rows, int passes, bool streams)
{
    struct hd_arena a;
    struct hd_err err;
    const struct cJSON *tree;
    struct cJSON *document;
    struct fe_plan *plan;
    bool found = false;
    struct fe_table *child = (struct fe_table *)(uintptr_t)px_table("child");
    const struct pl_distribute_options o = {.workers = passes, .memory = 1e9, .streams = streams, .value = value};
    int64_t before = child->rows;
    hd_arena_init(&a);
    hd_err_init(&err);
    child->rows = (int64_t)rows;
    const char *text = hd_asprintf(
        &a,
        "{\"heddle\": 1, \"root\": {\"op\": \"aggregate\", \"keys\": [], \"aggs\": [{\"fn\": \"sum\", \"arg\": \"n\", "
        "\"as\": "
        "\"s\"}], \"input\": {\"op\": \"window\", \"partition\": [\"oid\"], \"order\": [%s], \"functions\": [{\"fn\": "
        "\"row_number\", \"as\": \"n\"}], \"input\": {\"op\": \"scan\", \"table\": \"child\"}}}}",
        columns);
    assert_int_equal(fe_plan_read(&a, text, px_catalog(), &plan, &err), 0);
    assert_int_equal(fe_plan_tree(&a, text, strlen(text), &tree, &err), 0);
    assert_int_equal(pl_distribute(&a, plan, tree, px_catalog(), &o, &document, &err), 0);
    for (const struct cJSON *f = fe_first_json(fe_member(document, "fragments")); f; f = fe_next_json(f))
        found |= strcmp(fe_member_text(f, "exchange"), "shuffle") == 0;
    child->rows = before;
    hd_arena_release(&a);
    return found;
}

/* Each pass reads all, whatever the number of passes, and sends only its part: few passes read again, many send. Over a link reading
 * costs by bytes, from the GPU's memory next to nothing. */
static void few_passes_read_again_and_many_send(void **state)
{
    (void)state;
    const double rows = 5e8;
    const char *columns[] = {"\"qty\"", "\"qty\", \"cid\", \"pid\", \"wide\""};
    for (size_t c = 0; c < HD_COUNT(columns); c++) {
        assert_false(sends(columns[c], rows, 2, true));
        assert_true(sends(columns[c], rows, 64, true));
        assert_false(sends(columns[c], rows, 2, false));
        assert_false(sends(columns[c], rows, 64, false));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_passes_read_again_and_many_send),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
