/* Casts between text and the other types. A type code is kind | precision << 8 | scale << 16;
 * a value image is 128 bits: integers, dates, bools and decimals sign-extended, the bits of a
 * float64 in the low word. */
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/helpers.h"
#include "runtime/cpu/text.h"

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t plain_locale(void)
{
    pthread_once(&c_locale_once, make_locale);
    return c_locale;
}

/* Of the digits that all precisions share: most values are short, so from below. */
const char *hdr_f64_text(double v, char buf[HD_TEXT_MAX])
{
    if (!isfinite(v)) {
        snprintf(buf, HD_TEXT_MAX, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return buf;
    }
    locale_t old = uselocale(plain_locale());
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, HD_TEXT_MAX, "%.*g", digits, v);
        if (strtod(buf, NULL) == v)
            break;
    }
    uselocale(old);
    return buf;
}

/* strtod also reads hexadecimal and leading space, which are no text forms here. */
static bool looks_decimal(const char *s, size_t n)
{
    return n > 0 && !isspace((unsigned char)s[0]) && !memchr(s, 'x', n) &&
           !memchr(s, 'X', n) && !memchr(s, '(', n) && !memchr(s, 0, n);
}

bool hdr_parse_f64(const char *s, size_t n, double *out)
{
    char small[128], *text = small, *end;
    if (!looks_decimal(s, n))
        return false;
    if (n >= sizeof small && !(text = malloc(n + 1)))
        return false;
    memcpy(text, s, n);
    text[n] = 0;
    *out = strtod_l(text, &end, plain_locale());
    bool ok = end == text + n;
    if (text != small)
        free(text);
    return ok;
}

static struct hd_type type_of(int32_t code)
{
    return (struct hd_type){(unsigned char)code, (unsigned char)(code >> 8),
                            (unsigned char)(code >> 16)};
}

static double f64_of(int64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static const char *value_text(hd_i128 v, struct hd_type type, char buf[HD_TEXT_MAX])
{
    switch ((enum hd_type_kind)type.kind) {
    case HD_BOOL: return v ? "true" : "false";
    case HD_INT32:
    case HD_INT64: return hd_dec_text(v, 0, buf);
    case HD_DECIMAL: return hd_dec_text(v, type.scale, buf);
    case HD_FLOAT64: return hdr_f64_text(f64_of((int64_t)v), buf);
    case HD_DATE: return hd_date_text((int32_t)v, buf);
    case HD_TIMESTAMP: return hd_timestamp_text((int64_t)v, buf);
    case HD_STRING:
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("no text form of type %d", type.kind);
}

int32_t hdr_to_text(struct hdd_thread *t, int64_t lo, int64_t hi, int32_t code, void *out)
{
    char buf[HD_TEXT_MAX];
    struct hdr_text *o = out;
    const char *s = value_text(hdr_i128(lo, hi), type_of(code), buf);
    size_t n = strlen(s);
    char *p = hdr_text_alloc(t, n);
    if (!p)
        return 1;
    memcpy(p, s, n);
    o->s = p;
    o->n = (int64_t)n;
    return 0;
}

static bool parse_bool(const char *s, size_t n, hd_i128 *v)
{
    *v = n == 4;
    return (n == 4 && memcmp(s, "true", 4) == 0) || (n == 5 && memcmp(s, "false", 5) == 0);
}

static bool parse_int(const char *s, size_t n, hd_i128 least, hd_i128 most, hd_i128 *v)
{
    int64_t i;
    if (!hd_int_parse(s, n, &i))
        return false;
    *v = i;
    return i >= least && i <= most;
}

static bool parse_decimal(const char *s, size_t n, struct hd_type type, hd_i128 *v)
{
    hd_i128 limit = hd_pow10(type.precision);
    return hd_dec_parse(s, n, type.scale, v) && *v<limit && * v> - limit;
}

static bool parse_value(const char *s, size_t n, struct hd_type type, hd_i128 *v)
{
    int32_t day = 0;
    int64_t micros = 0, bits;
    double f = 0;
    bool ok;
    switch ((enum hd_type_kind)type.kind) {
    case HD_BOOL: return parse_bool(s, n, v);
    case HD_INT32: return parse_int(s, n, INT32_MIN, INT32_MAX, v);
    case HD_INT64: return parse_int(s, n, INT64_MIN, INT64_MAX, v);
    case HD_DECIMAL: return parse_decimal(s, n, type, v);
    case HD_FLOAT64:
        ok = hdr_parse_f64(s, n, &f);
        memcpy(&bits, &f, sizeof bits);
        *v = bits;
        return ok;
    case HD_DATE:
        ok = hd_date_parse(s, n, &day);
        *v = day;
        return ok;
    case HD_TIMESTAMP:
        ok = hd_timestamp_parse(s, n, &micros);
        *v = micros;
        return ok;
    case HD_STRING:
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("no values of type %d in text", type.kind);
}

int32_t hdr_from_text(struct hdd_thread *t, void *s, int32_t n, int32_t code, int32_t path,
                      void *out)
{
    hd_i128 v = 0;
    if (!parse_value(s, (size_t)n, type_of(code), &v))
        return hdr_fail(t, RT_FAIL_CAST_TEXT, path);
    memcpy(out, &v, sizeof v);
    return 0;
}
