/* Plans that are right: printed plans as goldens, numbering, parameters and binding. */
#include <stdlib.h>
#include <string.h>

#include "frontend_support.h"

static void plans_print_as_told(void **state)
{
    struct fixture *f = *state;
    const char **names = list_source_files(&f->arena, "tests/unit/frontend/plans", ".json");
    for (int i = 0; names[i]; i++) {
        char path[256];
        snprintf(path, sizeof path, "tests/unit/frontend/plans/%s", names[i]);
        char *json = read_source_file(path);
        char *text = print_plan(must_read(f, json));
        snprintf(path, sizeof path, "tests/unit/frontend/plans/%.*s.plan", (int)(strlen(names[i]) - 5), names[i]);
        check_golden(path, text);
        free(text);
        free(json);
    }
}

static void check_numbers(const struct fe_node *n, int *next)
{
    assert_int_equal(n->id, (*next)++);
    assert_non_null(n->path);
    for (int i = 0; i < n->ninputs; i++)
        check_numbers(n->inputs[i], next);
}

static void nodes_are_numbered_in_preorder(void **state)
{
    struct fixture *f = *state;
    const char **names = list_source_files(&f->arena, "tests/unit/frontend/plans", ".json");
    for (int i = 0; names[i]; i++) {
        char path[256];
        int next = 0;
        snprintf(path, sizeof path, "tests/unit/frontend/plans/%s", names[i]);
        char *json = read_source_file(path);
        const struct fe_plan *p = must_read(f, json);
        check_numbers(p->root, &next);
        for (int k = 0; k < p->nshared; k++)
            check_numbers(p->shared[k], &next);
        assert_int_equal(next, p->nnodes);
        free(json);
    }
}

static void shared_subplans_point_backwards(void **state)
{
    /* a needs b, b needs c; the text has them in another order, and d is used by nobody. */
    const struct fe_plan *p =
        must_read(*state, "{\"heddle\":1,\"shared\":{"
                          "\"a\":{\"op\":\"ref\",\"name\":\"b\"},\"b\":{\"op\":\"ref\",\"name\":\"c\"},"
                          "\"c\":{\"op\":\"scan\",\"table\":\"region\"},\"d\":{\"op\":\"ref\",\"name\":\"a\"}},"
                          "\"root\":{\"op\":\"ref\",\"name\":\"a\",\"alias\":\"x\"}}");
    static const char *const order[] = {"c", "b", "a", "d"};
    assert_int_equal(p->nshared, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(p->shared_names[i], order[i]);
    assert_int_equal(p->shared[1]->u.ref.shared, 0);
    assert_int_equal(p->shared[2]->u.ref.shared, 1);
    assert_int_equal(p->root->u.ref.shared, 2);
    assert_string_equal(p->root->cols[0].name, "x.r_regionkey");
}

static void sort_breaks_ties_by_the_other_columns(void **state)
{
    const struct fe_plan *p =
        must_read(*state, "{\"heddle\":1,\"root\":{\"op\":\"sort\",\"keys\":[{\"expr\":\"r_name\","
                          "\"desc\":true,\"nulls\":\"first\"},{\"expr\":\"r_regionkey + 1\"}],"
                          "\"input\":{\"op\":\"scan\",\"table\":\"region\"}}}");
    const struct fe_node *n = p->root;
    assert_int_equal(n->u.sort.nstated, 2);
    assert_int_equal(n->u.sort.nkeys, 4);
    assert_true(n->u.sort.keys[0].desc && n->u.sort.keys[0].nulls_first);
    assert_int_equal(n->u.sort.keys[2].expr->col, 0);
    assert_int_equal(n->u.sort.keys[3].expr->col, 2);
    assert_false(n->u.sort.keys[2].desc || n->u.sort.keys[2].nulls_first);
    assert_int_equal(fe_limit(n), -1);
    assert_int_equal(fe_offset(n), 0);
}

static void union_casts_its_inputs(void **state)
{
    const struct fe_plan *p = must_read(*state, "{\"heddle\":1,\"root\":{\"op\":\"union_all\",\"inputs\":["
                                                "{\"op\":\"scan\",\"table\":\"solid\",\"columns\":[\"ni\",\"nd\"]},"
                                                "{\"op\":\"scan\",\"table\":\"every\",\"columns\":[\"k\",\"w\"]},"
                                                "{\"op\":\"values\",\"columns\":[{\"name\":\"a\",\"type\":\"int64\"},"
                                                "{\"name\":\"b\",\"type\":\"decimal(38,10)\"}],\"rows\":[]}]}}");
    const struct fe_node *n = p->root;
    assert_string_equal(n->cols[0].name, "ni");
    assert_true(hd_type_eq(n->cols[0].type, hd_type_of(HD_INT64)) && n->cols[0].nullable);
    assert_true(hd_type_eq(n->cols[1].type, hd_decimal(38, 10)) && n->cols[1].nullable);
    assert_int_equal(n->inputs[0]->op, FE_PROJECT_OP);
    assert_int_equal(n->inputs[1]->op, FE_SCAN_OP);
    assert_int_equal(n->inputs[2]->op, FE_VALUES_OP);
    assert_int_equal(p->nnodes, 5);
}

/* ---- parameters ----------------------------------------------------------------------- */

static const char params_plan[] = "{\"heddle\":1,\"params\":{"
                                  "\"a\":{\"type\":\"int32\"},\"b\":{\"type\":\"decimal(12,2)\",\"default\":\"1.5\"},"
                                  "\"c\":{\"type\":\"list(string)\",\"default\":[\"x\",\"y\"]},"
                                  "\"d\":{\"type\":\"date\",\"default\":null,\"nullable\":true}},"
                                  "\"root\":{\"op\":\"filter\",\"pred\":\"i > :a or i < :a + 1 or d = :b or s in :c or "
                                  "day = :d\",\"input\":{\"op\":\"scan\",\"table\":\"every\"}}}";

static void binding_reaches_every_use(void **state)
{
    struct fixture *f = *state;
    struct fe_plan *p = must_read(f, params_plan);
    const struct fe_expr *or = p->root->u.filter.pred;
    const struct fe_expr *use1 = or->args[0]->args[1], *use2 = or->args[1]->args[1]->args[0]->args[0];
    assert_int_equal(or->args[2]->args[1]->args[0]->value.i, 150);
    assert_true(or->args[4]->args[1]->value.is_null && or->args[4]->args[1]->nullable);
    assert_int_equal(fe_plan_check_bound(p, &f->err), -1);
    assert_error(f, USER, "$.params.a", "parameter :a has no default and was not given a value");
    hd_err_release(&f->err);
    assert_int_equal(fe_plan_bind(p, "a", "41", &f->err), 0);
    assert_int_equal(fe_plan_check_bound(p, &f->err), 0);
    assert_int_equal(use1->value.i, 41);
    assert_int_equal(use2->op, FE_PARAM);
    assert_int_equal(use2->value.i, 41);
    assert_int_equal(fe_plan_bind(p, "d", "1994-01-01", &f->err), 0);
    assert_int_equal(fe_plan_bind(p, "d", NULL, &f->err), 0);
    assert_true(or->args[4]->args[1]->value.is_null);
    char *text = print_plan(p);
    assert_non_null(strstr(text, "param :a int32 = 41\n"));
    assert_non_null(strstr(text, "param :c list(string) = ('x', 'y')\n"));
    assert_non_null(strstr(text, "param :d date? = cast(null as date)\n"));
    free(text);
}

static void lists_are_bound_from_json(void **state)
{
    struct fixture *f = *state;
    struct fe_plan *p = must_read(f, params_plan);
    assert_int_equal(p->params[2].nlist, 2);
    assert_string_equal(p->params[2].list[1].s, "y");
    assert_int_equal(fe_plan_bind(p, "c", "[\"a\",\"b\",\"c\"]", &f->err), 0);
    assert_int_equal(p->params[2].nlist, 3);
    assert_string_equal(p->params[2].list[2].s, "c");
    assert_int_equal(fe_plan_bind(p, "c", "[]", &f->err), 0);
    assert_int_equal(p->params[2].nlist, 0);
    assert_int_equal(fe_plan_bind_json(p, "{\"c\":[\"q\"],\"a\":7,\"b\":\"2.25\"}", &f->err), 0);
    assert_int_equal(p->params[2].nlist, 1);
    assert_int_equal(p->params[0].value.i, 7);
    assert_int_equal(p->params[1].value.i, 225);
}

/* A value that is refused leaves the one before. */
static void constants_are_bound(void **state)
{
    static const struct {
        const char *name, *value, *what; /* NULL: it fits */
    } cases[] = {
        {"n", "0", NULL},
        {"n", "-1", "an integer >= 0, a limit or offset"},
        {"k", "1", NULL},
        {"k", "0", "an integer from 1 to 2147483647, the n of a window's function"},
        {"k", "2147483648", "an integer from 1 to 2147483647, the n of a window's function"},
        {"d", "38", NULL},
        {"d", "39", "an integer from -18 to 38, the digits of round"},
        {"d", "-19", "an integer from -18 to 38, the digits of round"},
        {"g", "20000", NULL},
        {"g", "20001", "an integer from 0 to 20000, the group of regexp_extract"},
        {"g", "-1", "an integer from 0 to 20000, the group of regexp_extract"},
        {"f", "100%%", NULL},
        {"f", "%f%", "a format of strptime, with one of YmdHMSfybBpIejaAuw% behind each %"},
        {"f", "%U", "a format of strptime, with one of YmdHMSfybBpIejaAuw% behind each %"},
        {"f", NULL, NULL},
    };
    static const char plan[] =
        "{\"heddle\":1,\"params\":{\"n\":{\"type\":\"int32\"},\"k\":{\"type\":\"int64\"},\"d\":{\"type\":\"int32\"},"
        "\"g\":{\"type\":\"int64\"},"
        "\"f\":{\"type\":\"string\",\"nullable\":true}},\"root\":{\"op\":\"limit\",\"limit\":\":n\",\"input\":{\"op\":"
        "\"window\",\"order\":[\"r_name\"],\"functions\":[{\"fn\":\"ntile\",\"n\":{\"param\":\"k\"},\"as\":\"t\"}],"
        "\"input\":{\"op\":\"project\",\"keep\":true,\"exprs\":[{\"expr\":\"round(1.25, :d)\",\"as\":\"r\"},"
        "{\"expr\":\"regexp_extract(r_name, '(A)', :g)\",\"as\":\"q\"},"
        "{\"expr\":\"strptime(r_name, :f)\",\"as\":\"p\"}],\"input\":{\"op\":\"scan\",\"table\":\"region\"}}}}}";
    struct fixture *f = *state;
    struct fe_plan *p = must_read(f, plan);
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        char path[32], message[160];
        hd_err_release(&f->err);
        int rc = fe_plan_bind(p, cases[i].name, cases[i].value, &f->err);
        assert_int_equal(rc, cases[i].what ? -1 : 0);
        if (!cases[i].what)
            continue;
        snprintf(path, sizeof path, "$.params.%s", cases[i].name);
        snprintf(message, sizeof message, "parameter :%s: expected %s", cases[i].name, cases[i].what);
        assert_error(f, USER, path, message);
    }
    assert_int_equal(fe_limit(p->root), 0);
    hd_err_release(&f->err);
    assert_int_equal(fe_plan_bind(p, "n", "7", &f->err), 0);
    assert_int_equal(fe_limit(p->root), 7);
}

static void bad_values_are_refused(void **state)
{
    static const struct {
        const char *name, *value, *path, *message;
    } cases[] = {
        {"zz", "1", "$.params", "the plan has no parameter \"zz\""},
        {"a", "x", "$.params.a", "parameter :a: expected an int32 (-2147483648 to 2147483647), found \"x\""},
        {"a", "2147483648", "$.params.a",
         "parameter :a: expected an int32 (-2147483648 to 2147483647), found \"2147483648\""},
        {"b", "1.234", "$.params.b",
         "parameter :b: expected a decimal(12,2) as text, found \"1.234\" (3 digits "
         "after the point, at most 2 fit)"},
        {"b", "12345678901", "$.params.b",
         "parameter :b: expected a decimal(12,2) as text, found \"12345678901\" (11 digits "
         "before the point, at most 10 fit)"},
        {"b", "1e3", "$.params.b", "parameter :b: expected a decimal(12,2) as text, found \"1e3\""},
        {"a", "[1,2]", "$.params.a",
         "parameter :a: expected an int32 (-2147483648 to 2147483647), found \"[1,2]\" (a "
         "list; the parameter is one value)"},
        {"d", "1994-13-01", "$.params.d", "parameter :d: expected a date \"YYYY-MM-DD\", found \"1994-13-01\""},
        {"a", NULL, "$.params.a", "parameter :a is null but not declared \"nullable\""},
        {"c", NULL, "$.params.c", "parameter :c is null but not declared \"nullable\""},
        {"c", "\"x\"", "$.params.c", "parameter :c: expected a JSON list of string in brackets, found \"\"x\"\""},
        {"c", "[\"a\",null]", "parameter :c:$[1]", "a list parameter holds no null"},
        {"c", "[1]", "parameter :c:$[0]", "expected a string, found the number 1"},
        {"c", "[", "parameter :c:$", "not valid JSON: line 1, column 2: expected a value, found the end of the text"},
    };
    struct fixture *f = *state;
    struct fe_plan *p = must_read(f, params_plan);
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        hd_err_release(&f->err);
        assert_int_equal(fe_plan_bind(p, cases[i].name, cases[i].value, &f->err), -1);
        assert_error(f, USER, cases[i].path, cases[i].message);
    }
    hd_err_release(&f->err);
    assert_int_equal(fe_plan_bind_json(p, "{\"b\":1.5}", &f->err), -1);
    assert_error(f, USER, "parameters:$.b", "expected a decimal(12,2) as text, found the number 1.5");
    hd_err_release(&f->err);
    assert_int_equal(fe_plan_bind_json(p, "{\"a\":1,\"a\":2}", &f->err), -1);
    assert_error(f, USER, "parameters:$", "duplicate key \"a\"");
    hd_err_release(&f->err);
    assert_int_equal(fe_plan_bind_json(p, "{\"e\":1}", &f->err), -1);
    assert_error(f, USER, "parameters:$.e", "the plan has no parameter \"e\"");
    hd_err_release(&f->err);
    assert_int_equal(fe_plan_bind_json(p, "{\"a\":[1]}", &f->err), -1);
    assert_error(f, USER, "parameters:$.a",
                 "parameter :a is one int32, found a list; parameters of several values are of "
                 "type list(int32)");
    hd_err_release(&f->err);
    assert_int_equal(fe_plan_bind_json(p, "{\"c\":\"x\"}", &f->err), -1);
    assert_error(f, USER, "parameters:$.c", "expected a list for the parameter of type list(string), found \"x\"");
}

/* ---- limits --------------------------------------------------------------------------- */

static void deep_plans_are_refused(void **state)
{
    struct fixture *f = *state;
    struct hd_strbuf b;
    /* 300 subplans, each a reference to the next: shallow as JSON, deep as a plan. */
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, "{\"heddle\":1,\"root\":{\"op\":\"ref\",\"name\":\"s0\"},\"shared\":{");
    for (int i = 0; i < 300; i++)
        hd_strbuf_addf(&b, "\"s%d\":{\"op\":\"ref\",\"name\":\"s%d\"},", i, i + 1);
    hd_strbuf_adds(&b, "\"s300\":{\"op\":\"scan\",\"table\":\"region\"}}}");
    must_refuse(f, b.s);
    assert_string_equal(f->err.message, "operators are nested deeper than 256 levels");
    hd_strbuf_release(&b);
}

static void doubling_columns_are_refused(void **state)
{
    struct fixture *f = *state;
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, "{\"heddle\":1,\"root\":{\"op\":\"ref\",\"name\":\"s40\"},\"shared\":{"
                       "\"s0\":{\"op\":\"scan\",\"table\":\"region\"}");
    for (int i = 1; i <= 40; i++)
        hd_strbuf_addf(&b,
                       ",\"s%d\":{\"op\":\"join\",\"kind\":\"inner\",\"left\":{\"op\":\"ref\","
                       "\"name\":\"s%d\",\"alias\":\"l\"},\"right\":{\"op\":\"ref\","
                       "\"name\":\"s%d\",\"alias\":\"r\"}}",
                       i, i - 1, i - 1);
    hd_strbuf_adds(&b, "}}");
    must_refuse(f, b.s);
    assert_string_equal(f->err.message, "expected at most 4096 output columns, found 6144");
    hd_strbuf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_print_as_told),
        cmocka_unit_test(nodes_are_numbered_in_preorder),
        cmocka_unit_test(shared_subplans_point_backwards),
        cmocka_unit_test(sort_breaks_ties_by_the_other_columns),
        cmocka_unit_test(union_casts_its_inputs),
        cmocka_unit_test(binding_reaches_every_use),
        cmocka_unit_test(lists_are_bound_from_json),
        cmocka_unit_test(bad_values_are_refused),
        cmocka_unit_test(constants_are_bound),
        cmocka_unit_test(deep_plans_are_refused),
        cmocka_unit_test(doubling_columns_are_refused),
    };
    return cmocka_run_group_tests_name("frontend_plan", tests, fixture_setup, fixture_teardown);
}
