/* Numbers, calendar and text forms that the helpers share with device code (templates), against
 * the C library and the text functions of runtime/base. */
#include "tests/exec/exec_fixture.h"

#include <math.h>
#include <stdio.h>

#include "templates/forms.cuh"

/* ---- wide integers --------------------------------------------------------------------- */

/* q = round(p / d), checked by multiplying back: |2 (p - q d)| <= d, ties away from zero. */
static void wide_quotients_multiply_back(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        hd_u128 a = (hd_u128)fx_random(i) << 60 | fx_random(i + 1);
        hd_u128 b = ((hd_u128)fx_random(i + 2) << 62 | fx_random(i + 3)) >> fx_random(i + 5) % 100;
        hd_u128 d = ((hd_u128)fx_random(i + 4) << 63 | 1) >> fx_random(i + 6) % 60 | 1, q;
        hdd_u256 p = hdd_wide_mul(a, b);
        if (!hdd_wide_div_round(p, d, &q)) {
            assert_true(p.hi >= d || p.hi == d - 1);
            continue;
        }
        hdd_u256 back = hdd_wide_mul(q, d);
        bool below = back.hi < p.hi || (back.hi == p.hi && back.lo <= p.lo);
        hd_u128 rest = below ? p.lo - back.lo : back.lo - p.lo;
        assert_true(below ? rest < d - rest : rest <= d - rest);
    }
}

/* ---- float64 --------------------------------------------------------------------------- */

/* Numbers of all sizes, the least of their exponents and the smallest ones among them. */
static f64 draw_f64(uint64_t i)
{
    uint64_t bits = fx_random(i);
    if (i % 5 == 0)
        bits &= ~UINT64_C(0xfffffffffffff);
    if (i % 7 == 0)
        bits &= ~UINT64_C(0x7fe0000000000000);
    if (i % 3 == 0)
        bits = (bits & ~UINT64_C(0x7ff0000000000000)) | (1023 - 10 + i % 64) << 52;
    return hdd_f64_from_bits((i64)bits);
}

static bool same(f64 a, f64 b)
{
    return hdd_f64_bits(a) == hdd_f64_bits(b);
}

static void read_must_be(const char *text, f64 wanted)
{
    f64 v = -1;
    if (!hdd_read_f64((const u8 *)text, (i32)strlen(text), &v) || !same(v, wanted))
        fail_msg("%s: %.17g found, %.17g expected", text, v, wanted);
}

/* As strtod does; but what rounds to infinity is no value. */
static void read_must_round(const char *text)
{
    f64 v = strtod(text, NULL);
    if (isfinite(v))
        read_must_be(text, v);
    else if (hdd_read_f64((const u8 *)text, (i32)strlen(text), &v))
        fail_msg("%s: %.17g found, no value expected", text, v);
}

static void shortest_digits(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 60000; i++) {
        f64 v = draw_f64(i);
        char text[HDD_FORM_MAX], plain[64];
        if (!isfinite(v) || v == 0)
            continue;
        text[hdd_put_f64((u8 *)text, v)] = 0;
        int digits = 0;
        do
            snprintf(plain, sizeof plain, "%.*g", ++digits, v);
        while (!same(strtod(plain, NULL), v));
        assert_string_equal(text, plain);
    }
}

static void reading_rounds_once(void **state)
{
    char text[1600]; /* 309 digits before the point and 1090 after it, and one more */
    (void)state;
    for (uint64_t i = 0; i < 60000; i++) { /* any digits */
        int n = 1 + (int)(fx_random(i) % (i % 10 ? 20 : 800)), k = 0;
        for (int j = 0; j < n; j++) {
            if (j == (int)(fx_random(i + 7) % 25))
                text[k++] = '.';
            text[k++] = (char)('0' + fx_random(i * 31 + (uint64_t)j) % 10);
        }
        int e = (int)(fx_random(i + 1) % 700) - 350;
        snprintf(text + k, 16, i % 2 ? "e%d" : "", i % 4 == 1 ? e : e / 12);
        read_must_round(text);
    }
    for (uint64_t i = 0; i < 3000; i++) { /* half of the way to the next number, and beside it */
        f64 v = fabs(draw_f64(i)), next = nextafter(v, INFINITY);
        if (!isfinite(next))
            continue;
        int n = snprintf(text, sizeof text, "%.*Lf", 1090, ((long double)v + next) / 2);
        read_must_round(text);
        text[n] = '1';
        text[n + 1] = 0;
        read_must_round(text);
    }
}

static void readable_and_not(void **state)
{
    static const char *const bad[] = {"",
                                      ".",
                                      "-",
                                      "+",
                                      "e5",
                                      "1e",
                                      "1e+",
                                      " 1",
                                      "1 ",
                                      "1.2.3",
                                      "0x10",
                                      "1e5.",
                                      "nan(1)",
                                      "in",
                                      "inff",
                                      "infinit",
                                      "--1",
                                      "1-",
                                      "1e1e1",
                                      "1,5",
                                      "1e400",
                                      "-1e99999999999999999999",
                                      "1.7976931348623159e308"};
    f64 v;
    (void)state;
    for (size_t i = 0; i < HD_COUNT(bad); i++)
        assert_false(hdd_read_f64((const u8 *)bad[i], (i32)strlen(bad[i]), &v));
    read_must_be("-0", -0.0);
    read_must_be("1e-400", 0);
    read_must_be("0e999999999999", 0);
    read_must_be("2.4703282292062328e-324", 5e-324);
    read_must_be("2.4703282292062327e-324", 0);
    read_must_be("1.7976931348623158e308", 1.7976931348623157e308);
    read_must_be("-1e-400", -0.0);
    read_must_be("+iNfiNity", INFINITY);
    assert_true(hdd_read_f64((const u8 *)"-NaN", 4, &v) && isnan(v));
}

static hd_i128 draw_i128(uint64_t i)
{
    hd_u128 v = (hd_u128)fx_random(i) << 64 | fx_random(i + 1);
    v >>= fx_random(i + 2) % 128;
    return i % 2 ? (hd_i128)(v >> 1) : -(hd_i128)(v >> 1);
}

static void integers_to_f64(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 40000; i++) {
        hd_i128 v = draw_i128(i);
        int scale = (int)(i % 39);
        char digits[HD_TEXT_MAX], text[HD_TEXT_MAX + 8];
        snprintf(text, sizeof text, "%se-%d", hd_dec_text(v, 0, digits), scale);
        assert_true(hdd_wide_to_f64(v, scale) == strtod(text, NULL));
    }
    assert_true(hdd_wide_to_f64((hd_i128)((hd_u128)1 << 127), 0) == -0x1p127);
}

/* The exact decimal form of the double, cut and rounded by hand. */
static void f64_to_integers(void **state)
{
    static char text[1500];
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        f64 v = i % 11 ? draw_f64(i) : (f64)(int64_t)(i % 2000) / 8;
        int scale = (int)(i % 39), k = 0;
        hd_i128 found = 0;
        if (!isfinite(v))
            continue;
        bool ok = hdd_f64_to_wide(v, scale, 38, 128, &found);
        snprintf(text, sizeof text, "%.1100f", fabs(v));
        hd_u128 wanted = 0;
        bool fits = true;
        char *point = strchr(text, '.');
        memmove(point, point + 1, strlen(point));
        for (k = 0; k < (point - text) + scale; k++) {
            fits = fits && wanted < (hd_u128)hd_pow10(37);
            wanted = wanted * 10 + (hd_u128)(text[k] - '0');
        }
        wanted += text[k] >= '5';
        fits = fits && wanted < (hd_u128)hd_pow10(38);
        assert_int_equal(ok, fits);
        assert_true(!ok || found == (v < 0 ? -(hd_i128)wanted : (hd_i128)wanted));
    }
    hd_i128 r;
    assert_true(hdd_f64_to_wide(-2147483648.0, 0, 0, 32, &r) && r == INT32_MIN);
    assert_false(hdd_f64_to_wide(2147483648.0, 0, 0, 32, &r));
    assert_false(hdd_f64_to_wide(NAN, 0, 0, 64, &r) || hdd_f64_to_wide(-INFINITY, 0, 0, 64, &r));
}

/* ---- the other forms -------------------------------------------------------------------- */

static void texts_equal_base(void **state)
{
    char mine[HDD_FORM_MAX], base[HD_TEXT_MAX];
    (void)state;
    for (uint64_t i = 0; i < 40000; i++) {
        int scale = (int)(i % 39);
        hd_i128 v = draw_i128(i) % hd_pow10(38);
        i64 micros = (i64)(fx_random(i) % (3652059ULL * 86400000000ULL)) - 719162LL * 86400000000LL;
        micros -= i % 2 ? micros % 1000000 : 0;
        mine[hdd_put_decimal((u8 *)mine, v, scale)] = 0;
        assert_string_equal(mine, hd_dec_text(v, scale, base));
        mine[hdd_put_timestamp((u8 *)mine, micros)] = 0;
        assert_string_equal(mine, hd_timestamp_text(micros, base));
        mine[hdd_put_date((u8 *)mine, (i32)hdd_floor_day(micros))] = 0;
        assert_string_equal(mine, hd_date_text((int32_t)hdd_floor_day(micros), base));
    }
}

/* No query makes such values, but a damaged file may hold any. */
static void values_beyond_the_calendar_have_a_form(void **state)
{
    static const i64 micros[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX};
    static const i32 days[] = {INT32_MIN, INT32_MAX, HD_DATE_MIN - 1, HD_DATE_MAX + 1};
    char mine[HDD_FORM_MAX], base[HD_TEXT_MAX];
    i64 day;
    (void)state;
    for (size_t i = 0; i < HD_COUNT(micros); i++) {
        mine[hdd_put_timestamp((u8 *)mine, micros[i])] = 0;
        assert_string_equal(mine, hd_timestamp_text(micros[i], base));
        assert_true(hdd_plus_days(hdd_floor_day(micros[i]), -hdd_floor_day(micros[i]), &day));
        assert_int_equal(hdd_floor_day(hdd_move_day(micros[i], day)), 0);
    }
    for (size_t i = 0; i < HD_COUNT(days); i++) {
        mine[hdd_put_date((u8 *)mine, days[i])] = 0;
        assert_string_equal(mine, hd_date_text(days[i], base));
    }
    assert_int_equal(HD_DATE_MIN, HDD_FIRST_DAY);
    assert_int_equal(HD_DATE_MAX, HDD_LAST_DAY);
}

/* A text with a character put in, taken out or changed. */
static i32 spoil(uint64_t i, char *text)
{
    static const char letters[] = "0123456789-+.: T9";
    size_t n = strlen(text), at = fx_random(i) % (n + 1);
    char c = letters[fx_random(i + 1) % (sizeof letters - 1)];
    if (i % 4 == 0)
        return (i32)n;
    if (i % 4 == 1 && at < n)
        text[at] = c;
    else if (i % 4 == 2 && at < n)
        memmove(text + at, text + at + 1, n - at);
    else {
        memmove(text + at + 1, text + at, n - at + 1);
        text[at] = c;
    }
    return (i32)strlen(text);
}

static void reading_equals_base(void **state)
{
    char text[HD_TEXT_MAX + 2];
    (void)state;
    for (uint64_t i = 0; i < 60000; i++) {
        const u8 *s = (const u8 *)text;
        int scale = (int)(i % 20), digits = scale + 1 + (int)(fx_random(i) % 18);
        hd_i128 a = 0, b = 0, limit = hd_pow10(digits);
        hd_dec_text(draw_i128(i) % hd_pow10(1 + (int)(i % 38)), (int)(i % 7), text);
        i32 n = spoil(i / 3, text);
        bool want = hd_dec_parse(text, (size_t)n, scale, &a) && a < limit && a > -limit;
        if (hdd_read_scaled(s, n, scale, digits, &b) != want)
            fail_msg("'%.*s' as decimal(%d,%d)", n, text, digits, scale);
        assert_true(!want || a == b);
        int64_t wide = 0, micros = 0;
        i64 mine = 0;
        want = hd_int_parse(text, (size_t)n, &wide);
        assert_int_equal(hdd_read_int(s, n, INT64_MIN, INT64_MAX, &mine), want);
        assert_true(!want || mine == wide);
        hd_timestamp_text((int64_t)(fx_random(i) % (3652059ULL * 86400000000ULL)) - 719162LL * 86400000000LL, text);
        text[i % 9 ? 26 - i % 8 : 10] = 0;
        n = spoil(i / 3, text);
        want = hd_timestamp_parse(text, (size_t)n, &micros);
        assert_int_equal(hdd_read_timestamp(s, n, &mine), want);
        assert_true(!want || mine == micros);
    }
}

static void calendar_equals_base(void **state)
{
    (void)state;
    for (int32_t day = -800000; day < 3000000; day += 37) {
        i64 months = (i64)(fx_random((uint64_t)(day + 800000)) % 30000) - 15000, r = 0;
        int y, m, d;
        hd_date_to_civil(day, &y, &m, &d);
        hdd_civil c = hdd_civil_of(day);
        assert_true(c.year == y && c.month == m && c.day == d && hdd_day_of(c) == day);
        if (hdd_plus_months(day, months, &r))
            assert_int_equal(r, hd_date_add_months(day, months));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_quotients_multiply_back),
        cmocka_unit_test(shortest_digits),
        cmocka_unit_test(reading_rounds_once),
        cmocka_unit_test(readable_and_not),
        cmocka_unit_test(integers_to_f64),
        cmocka_unit_test(f64_to_integers),
        cmocka_unit_test(texts_equal_base),
        cmocka_unit_test(values_beyond_the_calendar_have_a_form),
        cmocka_unit_test(reading_equals_base),
        cmocka_unit_test(calendar_equals_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
