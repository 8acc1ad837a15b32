#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/substrait_binary.h"
#include "frontend/substrait_read.h"
#include "runtime/base/interval.h"
#include "runtime/base/type.h"

struct literal {
    struct sub *t;
    const struct fe_json *v; /* the value */
    const char *type;
    struct cJSON *value;
    struct hd_interval interval;
};

static int keep(struct literal *l, const char *text)
{
    l->value = fe_make_string(l->t->arena, text);
    return 0;
}

static int boolean(struct literal *l)
{
    bool b;
    HD_TRY(fe_json_bool(l->v, &b));
    l->value = fe_make_bool(l->t->arena, b);
    return 0;
}

static int int32(struct literal *l)
{
    int64_t n;
    HD_TRY(fe_json_int(l->v, INT32_MIN, INT32_MAX, &n));
    l->value = fe_make_number(l->t->arena, (double)n);
    return 0;
}

static int int64(struct literal *l)
{
    int64_t n;
    HD_TRY(fe_json_int(l->v, INT64_MIN, INT64_MAX, &n));
    return keep(l, hd_asprintf(l->t->arena, "%lld", (long long)n));
}

static int text(struct literal *l)
{
    const char *s;
    HD_TRY(fe_json_string(l->v, &s));
    return keep(l, s);
}

/* The fewest digits that are this float32: as a float64 it has others. */
static const char *float_text(struct hd_arena *a, double d)
{
    char *text = NULL;
    for (int digits = 6; digits <= 9; digits++) {
        text = hd_asprintf(a, "%.*g", digits, d);
        if ((float)strtod(text, NULL) == (float)d)
            break;
    }
    return text;
}

static int real(struct literal *l)
{
    const char *s = fe_json_kind(l->v) == FE_JSON_STRING ? l->v->item->valuestring : "";
    bool minus = *s == '-';
    double d;
    if (strcmp(s, "NaN") == 0)
        return keep(l, "nan");
    if (strcmp(s + minus, "Infinity") == 0)
        return keep(l, minus ? "-inf" : "inf");
    HD_TRY(fe_json_double(l->v, &d));
    if (strcmp(l->type, "float32") == 0)
        return keep(l, float_text(l->t->arena, d));
    l->value = fe_make_number(l->t->arena, d);
    return 0;
}

static int var_char(struct literal *l)
{
    return keep(l, sub_text(l->v, "value"));
}

/* 16 bytes of base64, the lowest first. */
static bool read_bytes16(struct literal *l, const char *s, hd_i128 *out)
{
    uint8_t *b = hd_alloc(l->t->arena, strlen(s) + 1);
    size_t n;
    hd_u128 v = 0;
    if (!sub_read_base64(s, b, &n) || n != 16)
        return false;
    for (int i = 0; i < 16; i++)
        v |= (hd_u128)b[i] << 8 * i;
    *out = (hd_i128)v;
    return true;
}

/* As Heddle has them: two digits for each. */
static int bytes(struct literal *l)
{
    const char *s;
    size_t n;
    HD_TRY(fe_json_string(l->v, &s));
    uint8_t *b = hd_alloc(l->t->arena, strlen(s) + 1);
    if (!sub_read_base64(s, b, &n))
        return fe_json_fail(l->v, "expected bytes in base64");
    char *text = hd_alloc(l->t->arena, 2 * n + 3), *p = text + 2;
    memcpy(text, "\\x", 3);
    for (size_t i = 0; i < n; i++)
        p += snprintf(p, 3, "%02x", b[i]);
    return keep(l, text);
}

/* DataFusion reads 1e3 as one digit of thousands. */
static int decimal(struct literal *l)
{
    int64_t p = HD_DEC_MAX, s = 0;
    hd_i128 v;
    char text[HD_TEXT_MAX];
    HD_TRY(fe_json_opt_int(l->v, "precision", 1, HD_DEC_MAX, &p));
    HD_TRY(fe_json_opt_int(l->v, "scale", -HD_DEC_MAX, HD_DEC_MAX, &s));
    hd_i128 end = hd_pow10(HD_DEC_MAX);
    if (!read_bytes16(l, sub_text(l->v, "value"), &v) || v >= end || v <= -end)
        return fe_json_fail(l->v, "expected a decimal's 16 bytes in base64, of at most %d digits", HD_DEC_MAX);
    for (; s < 0; s++, p += p < HD_DEC_MAX) {
        if (v >= end / 10 || v <= -end / 10)
            return fe_json_fail(l->v, "expected a decimal of at most %d digits", HD_DEC_MAX);
        v *= 10;
    }
    l->type = hd_asprintf(l->t->arena, "decimal(%d,%d)", (int)HD_MAX(p, s), (int)s);
    return keep(l, hd_dec_text(v, (int)s, text));
}

static int date(struct literal *l)
{
    int64_t days;
    char text[HD_TEXT_MAX];
    HD_TRY(fe_json_int(l->v, HD_DATE_MIN, HD_DATE_MAX, &days));
    return keep(l, hd_date_text((int32_t)days, text));
}

static int micros_text(struct literal *l, int64_t micros, bool of_day)
{
    char text[HD_TEXT_MAX];
    if (of_day ? micros < 0 || micros > HD_TIME_MAX : micros < HD_TIMESTAMP_MIN || micros > HD_TIMESTAMP_MAX)
        return fe_json_fail(l->v, of_day ? "expected a time of a day" : "expected a time in the years 0001 to 9999");
    return keep(l, of_day ? hd_time_text(micros, text) : hd_timestamp_text(micros, text));
}

static int plain_micros(struct literal *l, bool of_day)
{
    int64_t micros;
    HD_TRY(fe_json_int(l->v, INT64_MIN, INT64_MAX, &micros));
    return micros_text(l, micros, of_day);
}

static int time(struct literal *l)
{
    return plain_micros(l, true);
}

static int timestamp(struct literal *l)
{
    return plain_micros(l, false);
}

/* A value in units of 10^-precision seconds as microseconds. */
static int scaled_micros(struct literal *l, const struct fe_json *v, const char *key, int64_t precision, int64_t *out)
{
    int64_t n;
    HD_TRY(sub_int(v, key, &n));
    if (precision < 0 || precision > 12)
        return fe_json_fail(v, "expected a precision of 0 to 12");
    hd_i128 unit = hd_pow10((int)(precision < 6 ? 6 - precision : precision - 6)), wide = n;
    if (precision > 6 && wide % unit != 0)
        return sub_refuse(l->t, v, "times have microseconds at most");
    wide = precision > 6 ? wide / unit : wide * unit;
    if (wide > INT64_MAX || wide < INT64_MIN)
        return fe_json_fail(v, "expected a time in the years 0001 to 9999");
    *out = (int64_t)wide;
    return 0;
}

static int precise_micros(struct literal *l, bool of_day)
{
    int64_t precision, micros;
    HD_TRY(sub_int(l->v, "precision", &precision));
    HD_TRY(scaled_micros(l, l->v, "value", precision, &micros));
    return micros_text(l, micros, of_day);
}

static int time_of(struct literal *l)
{
    return precise_micros(l, true);
}

static int timestamp_of(struct literal *l)
{
    return precise_micros(l, false);
}

/* DataFusion's type of NULL alone is one of its own: then the place gives the type. */
static int null(struct literal *l)
{
    struct fe_json m;
    l->value = fe_make_null(l->t->arena);
    if (fe_json_get(l->v, "userDefined", &m))
        return 0;
    return sub_type(l->t, l->v, &l->type);
}

/* ---- intervals ---- */

static int keep_interval(struct literal *l)
{
    char text[HD_INTERVAL_TEXT_MAX];
    hd_i128 v;
    if (!hd_interval_pack(l->interval, &v))
        return fe_json_fail(l->v, "expected a shorter interval");
    return keep(l, hd_interval_text(v, text));
}

static int add_months(struct literal *l, const struct fe_json *v)
{
    int64_t years = 0, months = 0;
    HD_TRY(fe_json_opt_int(v, "years", INT32_MIN, INT32_MAX, &years));
    HD_TRY(fe_json_opt_int(v, "months", INT32_MIN, INT32_MAX, &months));
    l->interval.months = years * 12 + months;
    return 0;
}

static int add_days(struct literal *l, const struct fe_json *v)
{
    int64_t days = 0, seconds = 0, micros = 0, precision = 0, rest = 0;
    HD_TRY(fe_json_opt_int(v, "days", INT32_MIN, INT32_MAX, &days));
    HD_TRY(fe_json_opt_int(v, "seconds", INT32_MIN, INT32_MAX, &seconds));
    HD_TRY(fe_json_opt_int(v, "microseconds", INT32_MIN, INT32_MAX, &micros));
    HD_TRY(sub_int(v, "precision", &precision));
    HD_TRY(scaled_micros(l, v, "subseconds", precision, &rest));
    if (rest > INT64_MAX / 4 || rest < INT64_MIN / 4)
        return fe_json_fail(v, "expected a shorter interval");
    l->interval.days = days;
    l->interval.micros = micros + seconds * 1000000 + rest;
    return 0;
}

static int months(struct literal *l)
{
    HD_TRY(add_months(l, l->v));
    return keep_interval(l);
}

/* A date takes whole days, which some producers have in seconds. */
static int days(struct literal *l)
{
    const int64_t day = INT64_C(86400000000);
    HD_TRY(add_days(l, l->v));
    l->interval.days += l->interval.micros / day;
    l->interval.micros %= day;
    return keep_interval(l);
}

static int compound(struct literal *l)
{
    struct fe_json m;
    if (fe_json_get(l->v, "intervalYearToMonth", &m))
        HD_TRY(add_months(l, &m));
    if (fe_json_get(l->v, "intervalDayToSecond", &m))
        HD_TRY(add_days(l, &m));
    return keep_interval(l);
}

/* ---- all of them ---- */

static int read(struct sub *t, const struct fe_json *v, struct literal *l)
{
    static const char *const names[] = {
#define T_LITERAL_OF(name, type, rule) name,
#include "frontend/substrait_literals.def"
    };
    static const struct {
        const char *type;
        int (*rule)(struct literal *l);
    } rows[] = {
#define T_LITERAL_OF(name, type, rule) {type, rule},
#include "frontend/substrait_literals.def"
    };
    int k;
    struct fe_json m;
    HD_TRY(sub_kind(v, names, (int)HD_COUNT(names), "a literal", &k, &m));
    *l = (struct literal){.t = t, .v = &m, .type = rows[k].type};
    HD_TRY(rows[k].rule(l));
    l->v = v;
    return 0;
}

bool sub_interval(const struct cJSON *x, struct hd_interval *out)
{
    hd_i128 v;
    const char *type = fe_member_text(x, "type"), *text = fe_member_text(x, "lit");
    if (!type || !text || strcmp(type, "interval") != 0 || !hd_interval_parse(text, strlen(text), &v))
        return false;
    *out = hd_interval_unpack(v);
    return true;
}

int sub_literal(struct sub *t, const struct fe_json *v, struct cJSON **out)
{
    struct literal l;
    HD_TRY(read(t, v, &l));
    *out = fe_make_object(t->arena);
    fe_put(*out, "lit", l.value);
    if (*l.type)
        fe_put(*out, "type", fe_make_string(t->arena, l.type));
    return 0;
}

int sub_literal_value(struct sub *t, const struct fe_json *v, struct cJSON **out)
{
    struct literal l;
    HD_TRY(read(t, v, &l));
    *out = l.value;
    return 0;
}
