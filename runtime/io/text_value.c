/* Texts of single values. The common forms have fast paths of their own: the general parsers of
 * runtime/base work in 128 bits. */
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/interval.h"
#include "runtime/io/text_parse.h"

static locale_t c_locale;
static pthread_once_t locale_once = PTHREAD_ONCE_INIT;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static bool is_special(const char *s, size_t n)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    size_t sign = n > 0 && (s[0] == '-' || s[0] == '+');
    for (size_t i = 0; i < HD_COUNT(words); i++)
        if (n - sign == strlen(words[i]) && strncasecmp(s + sign, words[i], n - sign) == 0)
            return true;
    return false;
}

/* strtod reads more than the forms of docs/plan.md: blanks, hexadecimal numbers, nan(...). */
static bool is_number(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool digit = (unsigned char)(s[i] - '0') <= 9;
        if (!digit && s[i] != '.' && s[i] != '-' && s[i] != '+' && s[i] != 'e' && s[i] != 'E')
            return false;
    }
    return n > 0;
}

/* An embedding program may have set a locale with a decimal comma. A number that rounds to
 * infinity is none. */
static double read_real(const char *text, char **end, bool single)
{
    pthread_once(&locale_once, make_locale);
    if (single)
        return c_locale ? strtof_l(text, end, c_locale) : strtof(text, end);
    return c_locale ? strtod_l(text, end, c_locale) : strtod(text, end);
}

static bool parse_real(const char *s, size_t n, bool single, double *out)
{
    char buf[128], *text = buf, *end;
    bool number = is_number(s, n);
    if (!number && !is_special(s, n))
        return false;
    if (n >= sizeof buf && !(text = malloc(n + 1)))
        return false;
    memcpy(text, s, n);
    text[n] = 0;
    *out = read_real(text, &end, single);
    bool ok = end == text + n && (!number || isfinite(*out));
    if (text != buf)
        free(text);
    return ok;
}

/* [-]digits[.digits] with at most 18 digits in all and at most `scale` behind the point. */
static bool parse_short(const char *s, size_t n, int scale, int64_t *out)
{
    size_t i = n && s[0] == '-', first = i;
    uint64_t u = 0; /* 19 digits fit, 18 are taken */
    int frac = -1;
    if (n - i > 18 + 1)
        return false;
    for (; i < n; i++) {
        unsigned d = (unsigned)(unsigned char)s[i] - '0';
        if (d <= 9) {
            u = u * 10 + d;
            frac += frac >= 0;
        } else if (s[i] == '.' && frac < 0 && i > first) {
            frac = 0;
        } else {
            return false;
        }
    }
    if (i == first || frac > scale || n - first > (frac >= 0 ? 19u : 18u))
        return false;
    int64_t v = (int64_t)u;
    for (int k = HD_MAX(frac, 0); k < scale; k++)
        if (__builtin_mul_overflow(v, 10, &v))
            return false;
    *out = first ? -v : v;
    return true;
}

static bool parse_bool(const char *s, size_t n, hd_i128 *out)
{
    static const struct {
        const char *text;
        int value;
    } names[] = {{"true", 1}, {"false", 0}, {"t", 1}, {"f", 0}, {"1", 1}, {"0", 0}};
    for (size_t i = 0; i < HD_COUNT(names); i++)
        if (strlen(names[i].text) == n && strncasecmp(s, names[i].text, n) == 0) {
            *out = names[i].value;
            return true;
        }
    return false;
}

static bool parse_decimal(struct hd_type t, const char *s, size_t n, hd_i128 *out)
{
    int64_t v;
    hd_i128 limit = hd_pow10(t.precision);
    if (parse_short(s, n, t.scale, &v))
        *out = v;
    else if (!hd_dec_parse(s, n, t.scale, out))
        return false;
    return *out < limit && *out > -limit;
}

static bool parse_int(const char *s, size_t n, hd_i128 min, hd_i128 max, hd_i128 *out)
{
    int64_t v;
    if (memchr(s, '.', n))
        return false;
    if (parse_short(s, n, 0, &v))
        *out = v;
    else if (!hd_dec_parse(s, n, 0, out))
        return false;
    return *out >= min && *out <= max;
}

bool text_parse_value(struct hd_type t, const char *s, size_t n, hd_i128 *wide, double *real)
{
    int32_t days;
    int64_t micros;
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return parse_bool(s, n, wide);
    case HD_INT32: return parse_int(s, n, INT32_MIN, INT32_MAX, wide);
    case HD_INT64: return parse_int(s, n, INT64_MIN, INT64_MAX, wide);
    case HD_DECIMAL: return parse_decimal(t, s, n, wide);
    case HD_FLOAT32:
    case HD_FLOAT64: return parse_real(s, n, t.kind == HD_FLOAT32, real);
    case HD_DATE:
        if (!hd_date_parse(s, n, &days))
            return false;
        *wide = days;
        return true;
    case HD_INTERVAL: return hd_interval_parse(s, n, wide);
    case HD_TIME:
    case HD_TIMESTAMP:
        if (!(t.kind == HD_TIME ? hd_time_parse : hd_timestamp_parse)(s, n, &micros))
            return false;
        *wide = micros;
        return true;
    case HD_STRING:
    case HD_BINARY:
    case HD_TYPE_COUNT: break;
    }
    return false;
}
