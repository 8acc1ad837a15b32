/* Every bad plan of tests/errors: NAME.json is refused with the class, path and message that
 * NAME.expect says. Lines of an expect file: "class", "path", "message", and "schema" (accepts
 * or rejects: what docs/plan.schema.json does with it; read by test_frontend_schema.py). */
#include <stdlib.h>
#include <string.h>

#include "frontend_support.h"

static char *stem_path(char *buf, size_t cap, const char *name, const char *suffix)
{
    snprintf(buf, cap, "tests/errors/%.*s%s", (int)(strlen(name) - strlen(".json")), name, suffix);
    return buf;
}

static void keep_line(struct hd_strbuf *b, const char *expect, const char *key)
{
    const char *line = strstr(expect, key);
    if (line)
        hd_strbuf_add(b, line, strcspn(line, "\n") + 1);
}

static void check_one(struct fixture *f, const char *name)
{
    char path[256], expect_path[256];
    char *json = read_source_file(stem_path(path, sizeof path, name, ".json"));
    stem_path(expect_path, sizeof expect_path, name, ".expect");
    char *expect = read_source_file(expect_path);
    struct hd_strbuf b;
    must_refuse(f, json);
    hd_strbuf_init(&b);
    hd_strbuf_addf(&b, "class: %s\npath: %s\nmessage: %s\n", hd_err_class_name(f->err.class), f->err.path,
                   f->err.message);
    keep_line(&b, expect, "schema: ");
    check_golden(expect_path, b.s);
    hd_strbuf_release(&b);
    free(expect);
    free(json);
}

static void bad_plans_are_refused(void **state)
{
    struct fixture *f = *state;
    const char **names = list_source_files(&f->arena, "tests/errors", ".json");
    int n = 0;
    for (; names[n]; n++)
        check_one(f, names[n]);
    print_message("%d bad plans\n", n);
    assert_true(n >= 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bad_plans_are_refused)};
    return cmocka_run_group_tests_name("frontend_errors", tests, fixture_setup, fixture_teardown);
}
