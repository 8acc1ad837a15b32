/* Constants: text forms, casts and their exactness. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/value.h"
#include "frontend_support.h"

static struct hd_type type(const char *text)
{
    struct hd_type t;
    assert_true(hd_type_parse(text, &t));
    return t;
}

/* "NULL", "refused" or the text of the value cast to `to`. */
static const char *cast_text(struct fixture *f, const char *from, const char *text, const char *to)
{
    struct fe_value v, out;
    struct hd_strbuf b;
    if (!fe_value_parse(NULL, type(from), text, strlen(text), &v))
        return "no value";
    if (!fe_value_cast(&f->arena, &v, type(to), &out))
        return "refused";
    assert_true(hd_type_eq(out.type, type(to)));
    hd_strbuf_init(&b);
    fe_value_text(&b, &out);
    const char *s = hd_strdup(&f->arena, b.s);
    hd_strbuf_release(&b);
    return s;
}

static void texts_are_parsed(void **state)
{
    static const struct {
        const char *type, *text;
        bool ok;
    } cases[] = {
        {"bool", "true", true},
        {"bool", "FALSE", false},
        {"bool", "yes", false},
        {"bool", "1", false},
        {"int32", "2147483647", true},
        {"int32", "2147483648", false},
        {"int32", "-2147483648", true},
        {"int32", "+5", true},
        {"int32", "5.0", false},
        {"int32", "", false},
        {"int32", " 5", false},
        {"int64", "-9223372036854775808", true},
        {"int64", "9223372036854775808", false},
        {"decimal(3,1)", "99.9", true},
        {"decimal(3,1)", "99.90", true},
        {"decimal(3,1)", "99.95", false},
        {"decimal(3,1)", "100", false},
        {"decimal(3,1)", "-99.9", true},
        {"decimal(3,1)", ".5", true},
        {"decimal(3,1)", "5.", true},
        {"decimal(3,1)", ".", false},
        {"decimal(3,1)", "1e1", false},
        {"float64", "1e308", true},
        {"float64", "1e309", false},
        {"float64", "0x10", false},
        {"float64", "nan", true},
        {"float64", "-Infinity", true},
        {"float64", "nanx", false},
        {"float64", "-nan", true},
        {"float64", "+inf", true},
        {"float64", "--inf", false},
        {"float64", "1e400", false},
        {"float64", "1e-400", true},
        {"float64", "1 ", false},
        {"float64", "", false},
        {"date", "2024-02-29", true},
        {"date", "2023-02-29", false},
        {"date", "2024-2-9", false},
        {"date", "0001-01-01", true},
        {"date", "0000-12-31", false},
        {"timestamp", "2024-02-29 23:59:59.999999", true},
        {"timestamp", "2024-02-29T00:00:00", true},
        {"timestamp", "2024-02-29", true},
        {"timestamp", "2024-02-29 24:00:00", false},
        {"string", "", true},
    };
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        struct fe_value v;
        if (fe_value_parse(NULL, type(cases[i].type), cases[i].text, strlen(cases[i].text), &v) != cases[i].ok)
            fail_msg("%s '%s'", cases[i].type, cases[i].text);
    }
}

static void casts_follow_the_rules(void **state)
{
    static const struct {
        const char *from, *text, *to, *want;
    } cases[] = {
        {"int64", "5", "int32", "5"},
        {"int64", "2147483648", "int32", "refused"},
        {"int64", "12", "decimal(4,2)", "12.00"},
        {"int64", "100", "decimal(4,2)", "refused"},
        {"int64", "-7", "float64", "-7"},
        {"decimal(5,3)", "1.005", "decimal(4,2)", "1.01"},
        {"decimal(5,3)", "-1.005", "decimal(4,2)", "-1.01"},
        {"decimal(5,3)", "1.004", "decimal(4,2)", "1.00"},
        {"decimal(4,2)", "99.95", "decimal(3,1)", "refused"},
        {"decimal(4,2)", "0.50", "int64", "1"},
        {"decimal(4,2)", "-0.50", "int64", "-1"},
        {"decimal(4,2)", "0.49", "int32", "0"},
        {"decimal(38,0)", "99999999999999999999999999999999999999", "decimal(38,1)", "refused"},
        {"decimal(3,2)", "0.10", "float64", "0.1"},
        {"float64", "2.5", "int64", "3"},
        {"float64", "-2.5", "int64", "-3"},
        {"float64", "0.125", "decimal(4,2)", "0.13"},
        {"float64", "0.5", "decimal(1,0)", "1"},
        {"float64", "0.49999999999999994", "int64", "0"},
        {"float64", "1.005", "decimal(4,2)", "1.00"},
        {"float64", "2.675", "decimal(4,2)", "2.67"},
        {"float64", "5e-324", "decimal(38,38)", "0.00000000000000000000000000000000000000"},
        {"float64", "-0.999", "decimal(2,2)", "refused"},
        {"float64", "1e22", "decimal(38,15)", "10000000000000000000000.000000000000000"},
        {"float64", "1e24", "decimal(38,15)", "refused"},
        {"decimal(38,0)", "9007199254740993", "float64", "9007199254740992"},
        {"decimal(38,38)", "0.30000000000000000000000000000000000001", "float64", "0.3"},
        {"float64", "nan", "int64", "refused"},
        {"float64", "inf", "decimal(38,0)", "refused"},
        {"float64", "1e30", "int64", "refused"},
        {"float64", "9223372036854775808", "int64", "refused"},
        {"string", "12", "int64", "12"},
        {"string", "12.5", "decimal(4,2)", "12.50"},
        {"string", "x", "int64", "refused"},
        {"string", "1994-01-01", "date", "1994-01-01"},
        {"date", "1994-01-01", "string", "1994-01-01"},
        {"bool", "true", "string", "true"},
        {"date", "1994-01-01", "timestamp", "1994-01-01 00:00:00"},
        {"timestamp", "1969-12-31 23:00:00", "date", "1969-12-31"},
        {"timestamp", "1994-01-01 23:00:00.5", "date", "1994-01-01"},
        {"timestamp", "1994-01-01 23:00:00.5", "string", "1994-01-01 23:00:00.500000"},
        {"bool", "true", "int64", "refused"},
        {"date", "1994-01-01", "int64", "refused"},
    };
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        const char *got = cast_text(*state, cases[i].from, cases[i].text, cases[i].to);
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("cast('%s' of %s as %s): %s, expected %s", cases[i].text, cases[i].from, cases[i].to, got,
                     cases[i].want);
    }
}

static void exact_casts_lose_nothing(void **state)
{
    static const struct {
        const char *from, *text, *to;
        bool exact;
    } cases[] = {
        {"decimal(4,2)", "24.00", "int32", true},
        {"decimal(4,2)", "24.01", "int32", false},
        {"decimal(5,3)", "1.250", "decimal(12,2)", true},
        {"decimal(5,3)", "1.255", "decimal(12,2)", false},
        {"int64", "3000000000", "int32", false},
        {"int64", "9007199254740993", "float64", false},
        {"timestamp", "1994-01-01 00:00:00", "date", true},
        {"timestamp", "1994-01-01 00:00:01", "date", false},
        {"string", "1", "int32", false},
        {"bool", "true", "int32", false},
    };
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        struct fe_value v, out;
        assert_true(fe_value_parse(NULL, type(cases[i].from), cases[i].text, strlen(cases[i].text), &v));
        if (fe_value_cast_exact(&v, type(cases[i].to), &out) != cases[i].exact)
            fail_msg("%s as %s", cases[i].text, cases[i].to);
    }
}

static void nulls_stay_null(void **state)
{
    struct fe_value v = {.type = type("string"), .is_null = true}, out;
    assert_true(fe_value_cast(&((struct fixture *)*state)->arena, &v, type("date"), &out));
    assert_true(out.is_null && out.type.kind == HD_DATE);
    struct fe_value w = {.type = type("date"), .is_null = true, .i = 5};
    assert_true(fe_value_eq(&out, &w));
}

static void doubles_print_shortest(void **state)
{
    static const struct {
        double d;
        const char *text;
    } cases[] = {{0.1, "0.1"}, {1e22, "1e+22"},    {1.0 / 3, "0.3333333333333333"}, {-0.0, "-0"}, {5e-324, "5e-324"},
                 {NAN, "nan"}, {-INFINITY, "-inf"}};
    char buf[HD_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++)
        assert_string_equal(fe_real_text(hd_type_of(HD_FLOAT64), cases[i].d, buf), cases[i].text);
}

static void locales_change_nothing(void **state)
{
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    const char *set = NULL;
    for (size_t i = 0; !set && i < HD_COUNT(commas); i++)
        set = setlocale(LC_NUMERIC, commas[i]);
    if (!set)
        skip();
    const char *a = cast_text(*state, "float64", "1.25", "decimal(4,2)");
    const char *b = cast_text(*state, "decimal(4,2)", "1.25", "float64");
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(a, "1.25");
    assert_string_equal(b, "1.25");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_parsed),         cmocka_unit_test(casts_follow_the_rules),
        cmocka_unit_test(exact_casts_lose_nothing), cmocka_unit_test(nulls_stay_null),
        cmocka_unit_test(doubles_print_shortest),   cmocka_unit_test(locales_change_nothing),
    };
    return cmocka_run_group_tests_name("frontend_value", tests, fixture_setup, fixture_teardown);
}
