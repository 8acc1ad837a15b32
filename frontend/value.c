#include "frontend/value.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/json.h"
#include "runtime/base/interval.h"
#include "runtime/base/utf8.h"

/* ---- text ----------------------------------------------------------------------------- */

static bool is_number_text(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(s[i] && strchr("0123456789+-.eE", s[i])))
            return false;
    return n > 0;
}

static bool special_double(const char *s, double *out)
{
    bool negative = *s == '-';
    s += negative || *s == '+';
    if (strcasecmp(s, "nan") == 0)
        *out = NAN;
    else if (strcasecmp(s, "inf") == 0 || strcasecmp(s, "infinity") == 0)
        *out = INFINITY;
    else
        return false;
    *out = negative ? -*out : *out;
    return true;
}

/* strtod and printf follow the thread's locale, whose decimal point may be a comma. */
static locale_t enter_c_locale(locale_t *c)
{
    *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!*c)
        HD_BUG("no C locale");
    return uselocale(*c);
}

static void leave_c_locale(locale_t c, locale_t before)
{
    uselocale(before);
    freelocale(c);
}

/* Rounded once, to the nearest number of the type. */
static bool parse_real(struct hd_type t, const char *s, size_t n, double *out)
{
    enum { LONGEST = 2048 };
    char buf[LONGEST], *end;
    if (n >= sizeof buf)
        return false;
    memcpy(buf, s, n);
    buf[n] = 0;
    if (special_double(buf, out))
        return true;
    if (!is_number_text(s, n))
        return false;
    locale_t c, before = enter_c_locale(&c);
    *out = t.kind == HD_FLOAT32 ? (double)strtof(buf, &end) : strtod(buf, &end);
    leave_c_locale(c, before);
    return *end == 0 && isfinite(*out);
}

const char *fe_real_text(struct hd_type t, double d, char buf[HD_TEXT_MAX])
{
    bool same = false;
    if (isnan(d))
        return strcpy(buf, "nan");
    if (isinf(d))
        return strcpy(buf, d < 0 ? "-inf" : "inf");
    locale_t c, before = enter_c_locale(&c);
    for (int digits = 1; digits <= 17 && !same; digits++) {
        snprintf(buf, HD_TEXT_MAX, "%.*g", digits, d);
        same = (t.kind == HD_FLOAT32 ? (double)strtof(buf, NULL) : strtod(buf, NULL)) == d;
    }
    leave_c_locale(c, before);
    return buf;
}

static bool parse_bool(const char *s, size_t n, hd_i128 *out)
{
    *out = n == 4 && memcmp(s, "true", 4) == 0;
    return *out || (n == 5 && memcmp(s, "false", 5) == 0);
}

static bool parse_int(const char *s, size_t n, struct hd_type t, hd_i128 *out)
{
    int64_t v;
    if (!hd_int_parse(s, n, &v))
        return false;
    *out = v;
    return fe_value_in_range(v, t);
}

static bool parse_bytes(struct hd_arena *a, const char *s, size_t n, struct fe_value *out)
{
    char *bytes = hd_alloc(a, n / 2 + 1);
    int64_t got = hd_hex_parse(s, n, bytes);
    out->s = bytes;
    out->n = got < 0 ? 0 : (size_t)got;
    return got >= 0;
}

bool fe_value_parse(struct hd_arena *a, struct hd_type t, const char *s, size_t n, struct fe_value *out)
{
    *out = (struct fe_value){.type = t};
    int32_t days;
    int64_t micros;
    bool ok;
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return parse_bool(s, n, &out->i);
    case HD_INT32:
    case HD_INT64: return parse_int(s, n, t, &out->i);
    case HD_DECIMAL: return hd_dec_parse(s, n, t.scale, &out->i) && fe_value_in_range(out->i, t);
    case HD_FLOAT32:
    case HD_FLOAT64: return parse_real(t, s, n, &out->f);
    case HD_DATE:
        ok = hd_date_parse(s, n, &days);
        out->i = ok ? days : 0;
        return ok && fe_value_in_range(out->i, t);
    case HD_TIME:
    case HD_TIMESTAMP:
        ok = (t.kind == HD_TIME ? hd_time_parse : hd_timestamp_parse)(s, n, &micros);
        out->i = ok ? micros : 0;
        return ok && fe_value_in_range(out->i, t);
    case HD_INTERVAL: return hd_interval_parse(s, n, &out->i);
    case HD_STRING:
        out->s = s;
        out->n = n;
        return true;
    case HD_BINARY: return parse_bytes(a, s, n, out);
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("parse of a value without type");
}

const char *fe_value_form(struct hd_type t, char buf[HD_TEXT_MAX * 2])
{
    char type[HD_TEXT_MAX];
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return "true or false";
    case HD_INT32: return "an int32 (-2147483648 to 2147483647)";
    case HD_INT64: return "an int64 (64-bit integer)";
    case HD_DECIMAL: snprintf(buf, HD_TEXT_MAX * 2, "a %s as text", hd_type_text(t, type)); return buf;
    case HD_FLOAT32: return "a float32";
    case HD_FLOAT64: return "a float64";
    case HD_DATE: return "a date \"YYYY-MM-DD\"";
    case HD_TIME: return "a time \"HH:MM:SS\"";
    case HD_TIMESTAMP: return "a timestamp \"YYYY-MM-DD HH:MM:SS\"";
    case HD_INTERVAL: return "an interval such as \"1 year 2 months 3 days 04:05:06\"";
    case HD_STRING: return "a string";
    case HD_BINARY: return "binary in hexadecimal digits, as \"\\x00ff\"";
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("form of a value without type");
}

/* Digits of s that count before the point or behind it; false if s is no plain number. */
static bool count_digits(const char *s, int *whole, int *fraction)
{
    s += *s == '-' || *s == '+';
    s += strspn(s, "0");
    *whole = (int)strspn(s, "0123456789");
    s += *whole;
    *fraction = *s == '.' ? (int)strspn(s + 1, "0123456789") : 0;
    const char *end = s + (*s == '.' ? *fraction + 1 : 0);
    while (*fraction > 0 && s[*fraction] == '0')
        --*fraction;
    return !*end;
}

const char *fe_value_misfit(struct hd_type t, const char *s, char buf[FE_MISFIT_MAX])
{
    int whole, fraction, max = t.precision - t.scale;
    buf[0] = 0;
    if (t.kind != HD_DECIMAL || !count_digits(s, &whole, &fraction))
        return buf;
    if (whole > max)
        snprintf(buf, FE_MISFIT_MAX, " (%d digits before the point, at most %d fit)", whole, max);
    else if (fraction > t.scale)
        snprintf(buf, FE_MISFIT_MAX, " (%d digits after the point, at most %d fit)", fraction, t.scale);
    return buf;
}

/* Of a finite float64; false if that would be infinite. */
static bool to_single(double f, double *out)
{
    *out = (double)(float)f;
    return isfinite(*out) || !isfinite(f);
}

static int read_number(const struct fe_json *v, struct hd_type t, struct fe_value *out)
{
    char form[HD_TEXT_MAX * 2];
    if (hd_type_is_float(t)) {
        HD_TRY(fe_json_double(v, &out->f));
        bool ok = t.kind == HD_FLOAT64 || to_single(out->f, &out->f);
        return ok ? 0 : fe_json_fail(v, "expected a number within the range of float32");
    }
    if (!hd_type_is_int(t))
        return fe_json_expected(v, fe_value_form(t, form));
    HD_TRY(fe_json_i128(v, &out->i));
    return fe_value_in_range(out->i, t) ? 0 : fe_json_expected(v, fe_value_form(t, form));
}

int fe_value_read(const struct fe_json *v, struct hd_type t, struct fe_value *out)
{
    char form[HD_TEXT_MAX * 2], misfit[FE_MISFIT_MAX];
    *out = (struct fe_value){.type = t};
    bool truth;
    const char *s;
    switch (fe_json_kind(v)) {
    case FE_JSON_NULL: out->is_null = true; return 0;
    case FE_JSON_BOOL:
        if (t.kind != HD_BOOL)
            return fe_json_expected(v, fe_value_form(t, form));
        HD_TRY(fe_json_bool(v, &truth));
        out->i = truth;
        return 0;
    case FE_JSON_NUMBER: return read_number(v, t, out);
    case FE_JSON_STRING:
        HD_TRY(fe_json_string(v, &s));
        if (fe_value_parse(v->r->arena, t, s, strlen(s), out))
            return 0;
        return fe_json_fail(v, "expected %s, found \"%.60s\"%s", fe_value_form(t, form), s,
                            fe_value_misfit(t, s, misfit));
    case FE_JSON_ARRAY:
    case FE_JSON_OBJECT: break;
    }
    return fe_json_expected(v, fe_value_form(t, form));
}

const char fe_type_list[] =
    "a type (bool, int32, int64, decimal(p,s), float32, float64, date, timestamp, time, string, binary, interval)";

/* hd_type_parse takes blanks and signs among the digits; one spelling is enough. */
bool fe_type_parse(const char *s, struct hd_type *out)
{
    char text[HD_TEXT_MAX];
    return hd_type_parse(s, out) && strcmp(hd_type_text(*out, text), s) == 0;
}

int fe_type_read(const struct fe_json *v, struct hd_type *out)
{
    const char *text;
    HD_TRY(fe_json_string(v, &text));
    return fe_type_parse(text, out) ? 0 : fe_json_expected(v, fe_type_list);
}

void fe_value_hex(struct hd_strbuf *b, const struct fe_value *v)
{
    for (size_t i = 0; i < v->n; i++)
        hd_strbuf_addf(b, "%02x", (unsigned char)v->s[i]);
}

void fe_value_text(struct hd_strbuf *b, const struct fe_value *v)
{
    char buf[HD_INTERVAL_TEXT_MAX];
    if (v->is_null)
        return;
    switch ((enum hd_type_kind)v->type.kind) {
    case HD_BOOL: hd_strbuf_adds(b, v->i ? "true" : "false"); return;
    case HD_INT32:
    case HD_INT64: hd_strbuf_adds(b, hd_dec_text(v->i, 0, buf)); return;
    case HD_DECIMAL: hd_strbuf_adds(b, hd_dec_text(v->i, v->type.scale, buf)); return;
    case HD_FLOAT32:
    case HD_FLOAT64: hd_strbuf_adds(b, fe_real_text(v->type, v->f, buf)); return;
    case HD_DATE: hd_strbuf_adds(b, hd_date_text((int32_t)v->i, buf)); return;
    case HD_TIME: hd_strbuf_adds(b, hd_time_text((int64_t)v->i, buf)); return;
    case HD_TIMESTAMP: hd_strbuf_adds(b, hd_timestamp_text((int64_t)v->i, buf)); return;
    case HD_INTERVAL: hd_strbuf_adds(b, hd_interval_text(v->i, buf)); return;
    case HD_STRING: hd_strbuf_add(b, v->s, v->n); return;
    case HD_BINARY:
        hd_strbuf_adds(b, "\\x");
        fe_value_hex(b, v);
        return;
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("text of a value without type");
}

/* ---- casts ---------------------------------------------------------------------------- */

bool fe_value_in_range(hd_i128 v, struct hd_type t)
{
    hd_i128 lo, hi;
    if (!hd_type_domain(t, &lo, &hi))
        HD_BUG("range of a type that is not an integer");
    return v >= lo && v <= hi;
}

bool fe_type_castable(struct hd_type from, struct hd_type to)
{
    if (from.kind == HD_BINARY || to.kind == HD_BINARY)
        return hd_type_is_text(from) && hd_type_is_text(to);
    if (from.kind == to.kind || from.kind == HD_STRING || to.kind == HD_STRING)
        return true;
    if (hd_type_is_num(from) && hd_type_is_num(to))
        return true;
    return to.kind == HD_TIMESTAMP     ? from.kind == HD_DATE || from.kind == HD_TIME
           : from.kind == HD_TIMESTAMP ? to.kind == HD_DATE || to.kind == HD_TIME
                                       : false;
}

/* Of exact numbers: unless all digits of one fit the other. */
static bool digits_may_fail(struct hd_type from, struct hd_type to)
{
    int up = (to.kind == HD_DECIMAL ? to.scale : 0) - (from.kind == HD_DECIMAL ? from.scale : 0);
    int digits = from.kind == HD_DECIMAL ? from.precision : from.kind == HD_INT32 ? 10 : 19;
    return up < 0 || to.kind != HD_DECIMAL || to.precision < digits + up;
}

bool fe_type_cast_may_fail(struct hd_type from, struct hd_type to)
{
    if (hd_type_eq(from, to))
        return false;
    if (hd_type_is_text(from) || hd_type_is_text(to))
        return to.kind != HD_BINARY && (from.kind == HD_BINARY || to.kind != HD_STRING);
    if (!hd_type_is_num(from))
        return false;
    if (hd_type_is_float(to))
        return from.kind == HD_FLOAT64 && to.kind == HD_FLOAT32;
    if (from.kind == HD_INT32 && to.kind == HD_INT64)
        return false;
    return hd_type_is_float(from) || digits_may_fail(from, to);
}

/* v * 10^(to - from), rounded half away from zero when digits are lost. */
static bool rescale(hd_i128 v, int from, int to, hd_i128 *out)
{
    hd_i128 f = hd_pow10(to > from ? to - from : from - to);
    if (to >= from) {
        hd_i128 limit = (hd_pow10(HD_DEC_MAX) - 1) / f;
        if (v > limit || v < -limit)
            return false;
        *out = v * f;
        return true;
    }
    hd_i128 q = v / f, rest = v % f;
    if (rest < 0)
        rest = -rest;
    *out = q + (rest >= f - rest ? (v < 0 ? -1 : 1) : 0);
    return true;
}

/* f * 10^scale rounded once, half away from zero. The C library prints the exact decimal
 * expansion of a double, so rounding is a look at the first digit that is cut off. */
static bool from_double(double f, struct hd_type to, hd_i128 *out)
{
    enum { ALL_DIGITS = 1074 };
    char text[ALL_DIGITS + 64];
    hd_i128 v = 0;
    if (!(fabs(f) < 1e39)) /* also NaN */
        return false;
    locale_t c, before = enter_c_locale(&c);
    int whole = snprintf(text, sizeof text, "%.*f", ALL_DIGITS, fabs(f)) - ALL_DIGITS - 1;
    leave_c_locale(c, before);
    for (int i = 0; i < whole + 1 + to.scale; i++) {
        if (i == whole)
            continue;
        if (v >= hd_pow10(HD_DEC_MAX - 1))
            return false;
        v = v * 10 + (text[i] - '0');
    }
    v += text[whole + 1 + to.scale] >= '5';
    *out = signbit(f) ? -v : v;
    return fe_value_in_range(*out, to);
}

/* The nearest float of type t, rounded once. */
static double to_real(const struct fe_value *v, struct hd_type t)
{
    char text[HD_TEXT_MAX];
    double f = 0;
    hd_dec_text(v->i, v->type.scale, text);
    if (!parse_real(t, text, strlen(text), &f))
        HD_BUG("a decimal that is no number: %s", text);
    return f;
}

static bool cast_number(const struct fe_value *v, struct hd_type to, struct fe_value *out)
{
    if (hd_type_is_float(v->type)) {
        out->f = v->f;
        if (to.kind == HD_FLOAT32)
            return to_single(v->f, &out->f);
        return to.kind == HD_FLOAT64 || from_double(v->f, to, &out->i);
    }
    if (hd_type_is_float(to)) {
        out->f = to_real(v, to);
        return true;
    }
    return rescale(v->i, v->type.scale, to.scale, &out->i) && fe_value_in_range(out->i, to);
}

static bool cast_to_text(struct hd_arena *a, const struct fe_value *v, struct fe_value *out)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    fe_value_text(&b, v);
    out->s = hd_strndup(a, b.s, b.n);
    out->n = b.n;
    hd_strbuf_release(&b);
    return true;
}

static hd_i128 floor_div(hd_i128 a, hd_i128 b)
{
    return a / b - (a % b < 0);
}

bool fe_value_cast(struct hd_arena *a, const struct fe_value *v, struct hd_type to, struct fe_value *out)
{
    const hd_i128 day = 86400000000LL;
    *out = (struct fe_value){.type = to, .is_null = v->is_null};
    if (v->is_null)
        return true;
    if (hd_type_eq(v->type, to)) {
        *out = *v;
        return true;
    }
    if (!fe_type_castable(v->type, to))
        return false;
    if (hd_type_is_text(v->type) && hd_type_is_text(to)) { /* the same bytes */
        out->s = v->s;
        out->n = v->n;
        return to.kind == HD_BINARY || hd_utf8_check(v->s, v->n) == v->n;
    }
    if (to.kind == HD_STRING)
        return cast_to_text(a, v, out);
    if (v->type.kind == HD_STRING)
        return fe_value_parse(a, to, v->s, v->n, out);
    if (v->type.kind == HD_DATE)
        out->i = v->i * day;
    else if (v->type.kind == HD_TIME)
        out->i = v->i;
    else if (v->type.kind == HD_TIMESTAMP)
        out->i = to.kind == HD_DATE ? floor_div(v->i, day) : v->i - floor_div(v->i, day) * day;
    else
        return cast_number(v, to, out);
    return fe_value_in_range(out->i, to);
}

bool fe_value_cast_exact(const struct fe_value *v, struct hd_type to, struct fe_value *out)
{
    struct fe_value back;
    if (hd_type_is_text(v->type) || hd_type_is_text(to))
        return false;
    if (!fe_value_cast(NULL, v, to, out) || !fe_value_cast(NULL, out, v->type, &back))
        return false;
    return fe_value_eq(v, &back);
}

static bool double_eq(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

struct fe_value fe_value_key(const struct fe_value *v)
{
    if (v->type.kind != HD_INTERVAL)
        return *v;
    return (struct fe_value){.type = hd_decimal(HD_INTERVAL_LENGTH_DIGITS, 0),
                             .is_null = v->is_null,
                             .i = v->is_null ? 0 : hd_interval_length(v->i)};
}

bool fe_value_eq(const struct fe_value *a, const struct fe_value *b)
{
    if (!hd_type_eq(a->type, b->type) || a->is_null != b->is_null)
        return false;
    if (a->is_null)
        return true;
    if (hd_type_is_text(a->type))
        return a->n == b->n && memcmp(a->s, b->s, a->n) == 0;
    return hd_type_is_float(a->type) ? double_eq(a->f, b->f) : a->i == b->i;
}
