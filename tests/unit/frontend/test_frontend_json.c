/* The JSON adapter: strict text, typed getters, paths. */
#include <stdlib.h>
#include <string.h>

#include "frontend/json.h"
#include "frontend_support.h"

struct reader {
    struct fixture *f;
    struct fe_json_reader r;
    struct fe_json root;
};

static int try_open(struct fixture *f, struct reader *x, const char *text)
{
    hd_err_release(&f->err);
    *x = (struct reader){f, {.arena = &f->arena, .err = &f->err, .class = HD_ERR_USER}, {0}};
    return fe_json_open(&x->r, text, &x->root);
}

static void open_text(struct fixture *f, struct reader *x, const char *text)
{
    if (try_open(f, x, text) != 0)
        fail_msg("%s: %s", text, f->err.message);
}

static void text_is_checked_strictly(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "line 1, column 1: expected a value, found the end of the text"},
        {"{\"a\":1,}", "line 1, column 8: expected a string, found '}'"},
        {"[1 2]", "line 1, column 4: expected ',' or ']', found '2'"},
        {"[01]", "line 1, column 3: a number may not start with 0"},
        {"[1.]", "line 1, column 4: expected a digit, found ']'"},
        {"[.5]", "line 1, column 2: expected a value, found '.'"},
        {"[1e+]", "line 1, column 5: expected a digit, found ']'"},
        {"[+1]", "line 1, column 2: expected a value, found '+'"},
        {"[-]", "line 1, column 3: expected a digit, found ']'"},
        {"[nul]", "line 1, column 2: expected a value, found 'n'"},
        {"[True]", "line 1, column 2: expected a value, found 'T'"},
        {"{\n \"a\" 1}", "line 2, column 6: expected ':', found '1'"},
        {"{a:1}", "line 1, column 2: expected a string, found 'a'"},
        {"\"a\tb\"", "line 1, column 3: expected a character or the end of the string, found byte 0x09"},
        {"\"a", "line 1, column 3: expected a character or the end of the string, found the end "
                "of the text"},
        {"\"\\x\"", "line 1, column 3: expected one of \" \\ / b f n r t u after \\, found 'x'"},
        {"\"\\u00g0\"", "line 1, column 6: expected a hexadecimal digit, found 'g'"},
        {"\"a\\u0000b\"", "line 1, column 3: a string may not contain the character NUL"},
        {"\"\\ud800\"", "line 1, column 2: an unpaired surrogate"},
        {"\"\\udc00\"", "line 1, column 2: an unpaired surrogate"},
        {"\"\\ud800\\u0041\"", "line 1, column 2: an unpaired surrogate"},
        {"\"\xff\"", "line 1, column 2: the text is not UTF-8"},
        {"\"\xc0\x80\"", "line 1, column 2: the text is not UTF-8"},
        {"\"\xed\xa0\x80\"", "line 1, column 2: the text is not UTF-8"},
        {"\"\xe2\x82\"", "line 1, column 2: the text is not UTF-8"},
        {"1 2", "line 1, column 3: expected the end of the text, found '2'"},
        {"\xef\xbb\xbf{}", "line 1, column 1: expected a value, found byte 0xef"},
        {"// no\n{}", "line 1, column 1: expected a value, found '/'"},
    };
    struct reader x;
    for (size_t i = 0; i < HD_COUNT(bad); i++) {
        char want[256];
        snprintf(want, sizeof want, "not valid JSON: %s", bad[i].message);
        assert_int_equal(try_open(*state, &x, bad[i].text), -1);
        fe_json_close(&x.r);
        assert_error((struct fixture *)*state, USER, "$", want);
    }
}

static void good_text_is_read(void **state)
{
    static const char *const good[] = {"null",
                                       " \r\n\t[ ] ",
                                       "{}",
                                       "-0",
                                       "-1.5e-3",
                                       "[1E5,0.0]",
                                       "\"\\u00e4 \\ud83d\\ude00 \\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                                       "\"\xc3\xa4\xf0\x9f\x98\x80\"",
                                       "{\"a\":{\"b\":[true,false,null]}}"};
    struct reader x;
    for (size_t i = 0; i < HD_COUNT(good); i++) {
        open_text(*state, &x, good[i]);
        fe_json_close(&x.r);
    }
}

static void depth_is_limited(void **state)
{
    enum { N = 100000 };
    struct reader x;
    char *deep = malloc(N + 1);
    memset(deep, '[', N);
    deep[N] = 0;
    assert_int_equal(try_open(*state, &x, deep), -1);
    fe_json_close(&x.r);
    assert_error((struct fixture *)*state, USER, "$",
                 "not valid JSON: line 1, column 257: nested deeper than 256 levels");
    deep[FE_JSON_MAX_DEPTH] = 0;
    memset(deep + FE_JSON_MAX_DEPTH, ']', FE_JSON_MAX_DEPTH);
    deep[2 * FE_JSON_MAX_DEPTH] = 0;
    open_text(*state, &x, deep);
    fe_json_close(&x.r);
    free(deep);
}

static void keys_are_checked(void **state)
{
    struct fixture *f = *state;
    struct reader x;
    open_text(f, &x, "{\"a\":1,\"A\":2}");
    assert_int_equal(fe_json_object(&x.root, "a", "b", NULL), -1);
    assert_error(f, USER, "$",
                 "unknown key \"A\" (case matters: did you mean \"a\"?); "
                 "expected one of: a, b");
    fe_json_close(&x.r);
    open_text(f, &x, "{\"a\":1,\"b\":2,\"a\":3}");
    assert_int_equal(fe_json_object(&x.root, "a", "b", NULL), -1);
    assert_error(f, USER, "$", "duplicate key \"a\"");
    hd_err_release(&f->err);
    assert_int_equal(fe_json_map(&x.root), -1);
    assert_error(f, USER, "$", "duplicate key \"a\"");
    fe_json_close(&x.r);
    open_text(f, &x, "{\"\":1}");
    assert_int_equal(fe_json_map(&x.root), -1);
    assert_error(f, USER, "$", "expected a name, found an empty key");
    fe_json_close(&x.r);
}

static void paths_name_the_place(void **state)
{
    struct fixture *f = *state;
    struct reader x;
    struct fe_json a, b, c;
    open_text(f, &x, "{\"a\":[0,{\"x y\":7,\"_k1\":8}]}");
    assert_int_equal(fe_json_need(&x.root, "a", &a), 0);
    assert_true(fe_json_first(&a, &b));
    assert_true(fe_json_next(&b));
    assert_int_equal(fe_json_need(&b, "x y", &c), 0);
    assert_string_equal(fe_json_path(&c), "$.a[1][\"x y\"]");
    assert_int_equal(fe_json_need(&b, "_k1", &c), 0);
    assert_string_equal(fe_json_path(&c), "$.a[1]._k1");
    assert_int_equal(fe_json_need(&b, "zz", &c), -1);
    assert_error(f, USER, "$.a[1]", "missing key \"zz\"");
    assert_false(fe_json_next(&b));
    x.r.prefix = "db/catalog.json";
    assert_string_equal(fe_json_path(&a), "db/catalog.json:$.a");
    fe_json_close(&x.r);
}

static void integers_are_exact(void **state)
{
    static const struct {
        const char *text, *message; /* NULL: accepted as `value` */
        int64_t value;
    } cases[] = {
        {"12", NULL, 12},
        {"-3e2", NULL, -300},
        {"9007199254740991", NULL, 9007199254740991},
        {"\"9223372036854775807\"", NULL, INT64_MAX},
        {"\"-9223372036854775808\"", NULL, INT64_MIN},
        {"9007199254740992", "an integer of 2^53 or more must be written as a string", 0},
        {"1e300", "an integer of 2^53 or more must be written as a string", 0},
        {"1.5", "expected an integer, found the number 1.5", 0},
        {"\"1.0\"", "expected an integer, found \"1.0\"", 0},
        {"\"9223372036854775808\"",
         "expected an integer from -9223372036854775808 to 9223372036854775807, found "
         "\"9223372036854775808\"",
         0},
        {"\"\"", "expected an integer, found \"\"", 0},
        {"true", "expected an integer, found true", 0},
    };
    struct fixture *f = *state;
    struct reader x;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        int64_t v = 0;
        open_text(f, &x, cases[i].text);
        int rc = fe_json_int(&x.root, INT64_MIN, INT64_MAX, &v);
        fe_json_close(&x.r);
        assert_int_equal(rc, cases[i].message ? -1 : 0);
        if (cases[i].message)
            assert_error(f, USER, "$", cases[i].message);
        else
            assert_true(v == cases[i].value);
    }
}

static void getters_say_what_they_found(void **state)
{
    struct fixture *f = *state;
    struct reader x;
    struct fe_json e;
    const char *s;
    bool b;
    double d;
    int64_t i;
    open_text(f, &x, "[\"a\",true,1.5,null,{},[],1e999,\"\"]");
    static const char *const found[] = {"\"a\"", "true", "the number 1.5", "null", "an object", "a list"};
    int k = 0;
    for (bool more = fe_json_first(&x.root, &e); more && k < 6; more = fe_json_next(&e), k++) {
        char want[64];
        hd_err_release(&f->err);
        snprintf(want, sizeof want, "expected %s, found %s", k == 0 ? "a number" : "a string", found[k]);
        assert_int_equal(k == 0 ? fe_json_double(&e, &d) : fe_json_string(&e, &s), -1);
        assert_string_equal(f->err.message, want);
    }
    hd_err_release(&f->err);
    assert_int_equal(fe_json_bool(&e, &b), -1);
    assert_string_equal(f->err.message, "expected true or false, found the number inf");
    hd_err_release(&f->err);
    assert_int_equal(fe_json_double(&e, &d), -1);
    assert_error(f, USER, "$[6]", "expected a number within the range of float64");
    assert_true(fe_json_next(&e));
    hd_err_release(&f->err);
    assert_int_equal(fe_json_name(&e, &s), -1);
    assert_error(f, USER, "$[7]", "expected a name, found an empty string");
    hd_err_release(&f->err);
    assert_int_equal(fe_json_int(&e, 0, 1, &i), -1);
    fe_json_close(&x.r);
}

static void messages_stay_utf8(void **state)
{
    struct fixture *f = *state;
    struct reader x;
    struct hd_strbuf b;
    int64_t i;
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, "\"x"); /* puts the cut at 60 bytes into the middle of a character */
    hd_strbuf_addn(&b, 'y', 58);
    hd_strbuf_adds(&b, "\xc3\xa4\"");
    open_text(f, &x, b.s);
    assert_int_equal(fe_json_int(&x.root, 0, 1, &i), -1);
    assert_non_null(strstr(f->err.message, "yyy?\""));
    fe_json_close(&x.r);
    hd_strbuf_release(&b);
    hd_err_release(&f->err);
    HD_FAIL(&f->err, USER, "a\nb\x1b", "%s", "a\xc3\xa4\xf0\x9f\x98z\xff\t\x1b[31m\x7f\xc2\x9b\xc2\xa0.");
    assert_string_equal(f->err.path, "a\\nb\\x1b");
    assert_string_equal(f->err.message, "a\xc3\xa4???z?\\t\\x1b[31m\\x7f\\u009b\xc2\xa0.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_checked_strictly),
        cmocka_unit_test(good_text_is_read),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(keys_are_checked),
        cmocka_unit_test(paths_name_the_place),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(getters_say_what_they_found),
        cmocka_unit_test(messages_stay_utf8),
    };
    return cmocka_run_group_tests_name("frontend_json", tests, fixture_setup, fixture_teardown);
}
