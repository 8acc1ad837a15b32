#include "runtime/base/type.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/interval.h"
#include "runtime/base/util.h"

static const char *const names[] = {
#define T_TYPE(id, name, ps) name,
#include "runtime/base/types.def"
};

const char *hd_type_text(struct hd_type t, char buf[HD_TEXT_MAX])
{
    if (t.kind == HD_DECIMAL)
        snprintf(buf, HD_TEXT_MAX, "decimal(%d,%d)", t.precision, t.scale);
    else
        snprintf(buf, HD_TEXT_MAX, "%s", names[t.kind]);
    return buf;
}

bool hd_type_parse(const char *s, struct hd_type *out)
{
    int p, sc, used = -1;
    if (sscanf(s, "decimal(%2d,%2d)%n", &p, &sc, &used) == 2 && used == (int)strlen(s)) {
        if (p < 1 || p > HD_DEC_MAX || sc < 0 || sc > p)
            return false;
        *out = hd_decimal(p, sc);
        return true;
    }
    for (int k = 0; k < HD_TYPE_COUNT; k++)
        if (k != HD_DECIMAL && strcmp(s, names[k]) == 0) {
            *out = hd_type_of((enum hd_type_kind)k);
            return true;
        }
    return false;
}

hd_i128 hd_pow10(int k)
{
    static const uint64_t small[] = {1u,
                                     10u,
                                     100u,
                                     1000u,
                                     10000u,
                                     100000u,
                                     1000000u,
                                     10000000u,
                                     100000000u,
                                     1000000000u,
                                     10000000000u,
                                     100000000000u,
                                     1000000000000u,
                                     10000000000000u,
                                     100000000000000u,
                                     1000000000000000u,
                                     10000000000000000u,
                                     100000000000000000u,
                                     1000000000000000000u,
                                     10000000000000000000u};
    HD_ASSERT(k >= 0 && k <= HD_DEC_MAX);
    return k < 20 ? (hd_i128)small[k] : (hd_i128)small[19] * (hd_i128)small[k - 19];
}

/* Days from civil after the well-known era decomposition: 400-year cycles of 146097 days,
 * years starting in March so that the leap day comes last. */
int32_t hd_date_from_civil(int y, int m, int d)
{
    int yy = m <= 2 ? y - 1 : y;
    int era = (yy >= 0 ? yy : yy - 399) / 400;
    int yoe = yy - era * 400;
    int doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

void hd_date_to_civil(int32_t days, int *y, int *m, int *d)
{
    int64_t z = (int64_t)days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int doe = (int)(z - era * 146097);
    int yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int mp = (5 * doy + 2) / 153;
    *d = doy - (153 * mp + 2) / 5 + 1;
    *m = mp < 10 ? mp + 3 : mp - 9;
    *y = (int)(yoe + era * 400) + (*m <= 2);
}

static int month_days(int y, int m)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return m == 2 && leap ? 29 : days[m - 1];
}

static bool digits(const char *s, int n, int *out)
{
    int v = 0;
    for (int i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        v = v * 10 + (s[i] - '0');
    }
    *out = v;
    return true;
}

bool hd_date_parse(const char *s, size_t n, int32_t *days)
{
    int y, m, d;
    if (n != 10 || s[4] != '-' || s[7] != '-')
        return false;
    if (!digits(s, 4, &y) || !digits(s + 5, 2, &m) || !digits(s + 8, 2, &d))
        return false;
    if (y < 1 || m < 1 || m > 12 || d < 1 || d > month_days(y, m))
        return false;
    *days = hd_date_from_civil(y, m, d);
    return true;
}

const char *hd_date_text(int32_t days, char buf[HD_TEXT_MAX])
{
    int y, m, d;
    hd_date_to_civil(days, &y, &m, &d);
    snprintf(buf, HD_TEXT_MAX, "%04d-%02d-%02d", y, m, d);
    return buf;
}

int32_t hd_date_add_months(int32_t days, int64_t months)
{
    int y, m, d;
    hd_date_to_civil(days, &y, &m, &d);
    int64_t k = (int64_t)y * 12 + (m - 1) + months;
    int64_t ny = k >= 0 ? k / 12 : (k - 11) / 12;
    int nm = (int)(k - ny * 12) + 1;
    int last = month_days((int)ny, nm);
    return hd_date_from_civil((int)ny, nm, d < last ? d : last);
}

bool hd_type_domain(struct hd_type t, hd_i128 *lo, hd_i128 *hi)
{
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: *lo = 0, *hi = 1; return true;
    case HD_INT32: *lo = INT32_MIN, *hi = INT32_MAX; return true;
    case HD_INT64: *lo = INT64_MIN, *hi = INT64_MAX; return true;
    case HD_DATE: *lo = HD_DATE_MIN, *hi = HD_DATE_MAX; return true;
    case HD_TIME: *lo = 0, *hi = HD_TIME_MAX; return true;
    case HD_TIMESTAMP: *lo = HD_TIMESTAMP_MIN, *hi = HD_TIMESTAMP_MAX; return true;
    case HD_INTERVAL: hd_interval_domain(lo, hi); return true;
    case HD_DECIMAL:
        *hi = hd_pow10(t.precision) - 1;
        *lo = -*hi;
        return true;
    case HD_FLOAT32:
    case HD_FLOAT64:
    case HD_STRING:
    case HD_BINARY:
    case HD_TYPE_COUNT: break;
    }
    return false;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

int64_t hd_hex_parse(const char *s, size_t n, char *out)
{
    size_t at = 0, i = n >= 2 && s[0] == '\\' && s[1] == 'x' ? 2 : 0;
    if (n % 2)
        return -1;
    for (; i < n; i += 2) {
        int high = hex_digit(s[i]), low = hex_digit(s[i + 1]);
        if (high < 0 || low < 0)
            return -1;
        out[at++] = (char)(high << 4 | low);
    }
    return (int64_t)at;
}

static bool fraction(const char *s, size_t n, int *micros)
{
    if (n < 1 || n > 6 || !digits(s, (int)n, micros))
        return false;
    for (size_t i = n; i < 6; i++)
        *micros *= 10;
    return true;
}

bool hd_time_parse(const char *s, size_t n, int64_t *micros)
{
    int h, mi, se, us = 0;
    if (n < 8 || s[2] != ':' || s[5] != ':')
        return false;
    if (!digits(s, 2, &h) || !digits(s + 3, 2, &mi) || !digits(s + 6, 2, &se) || h > 23 || mi > 59 || se > 59)
        return false;
    if (n > 8 && (s[8] != '.' || !fraction(s + 9, n - 9, &us)))
        return false;
    *micros = (h * 3600 + mi * 60 + se) * INT64_C(1000000) + us;
    return true;
}

const char *hd_time_text(int64_t micros, char buf[HD_TEXT_MAX])
{
    int s = (int)(micros / 1000000), us = (int)(micros % 1000000);
    int k = snprintf(buf, HD_TEXT_MAX, "%02d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    if (us)
        snprintf(buf + k, (size_t)(HD_TEXT_MAX - k), ".%06d", us);
    return buf;
}

bool hd_timestamp_parse(const char *s, size_t n, int64_t *micros)
{
    int32_t days;
    int64_t time = 0;
    if (n < 10 || !hd_date_parse(s, 10, &days))
        return false;
    if (n > 10 && ((s[10] != ' ' && s[10] != 'T') || !hd_time_parse(s + 11, n - 11, &time)))
        return false;
    *micros = days * INT64_C(86400000000) + time;
    return true;
}

const char *hd_timestamp_text(int64_t micros, char buf[HD_TEXT_MAX])
{
    int64_t day = micros / 86400000000LL, rest = micros % 86400000000LL;
    char time[HD_TEXT_MAX];
    if (rest < 0) {
        rest += 86400000000LL;
        day--;
    }
    int y, m, d;
    hd_date_to_civil((int32_t)day, &y, &m, &d);
    snprintf(buf, HD_TEXT_MAX, "%04d-%02d-%02d %.16s", y, m, d, hd_time_text(rest, time));
    return buf;
}

bool hd_dec_parse(const char *s, size_t n, int scale, hd_i128 *out)
{
    const hd_i128 limit = hd_pow10(HD_DEC_MAX) - 1;
    size_t i = 0;
    bool neg = false, point = false, any = false;
    int frac = 0;
    hd_i128 v = 0;
    if (i < n && (s[i] == '-' || s[i] == '+'))
        neg = s[i++] == '-';
    for (; i < n; i++) {
        if (s[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (s[i] < '0' || s[i] > '9')
            return false;
        any = true;
        if (point && frac == scale) {
            if (s[i] != '0')
                return false;
            continue;
        }
        frac += point;
        if (v > (limit - (s[i] - '0')) / 10)
            return false;
        v = v * 10 + (s[i] - '0');
    }
    for (; frac < scale; frac++) {
        if (v > limit / 10)
            return false;
        v *= 10;
    }
    *out = neg ? -v : v;
    return any;
}

const char *hd_dec_text(hd_i128 v, int scale, char buf[HD_TEXT_MAX])
{
    char tmp[HD_TEXT_MAX];
    int n = 0, k = 0;
    hd_u128 u = v < 0 ? -(hd_u128)v : (hd_u128)v;
    do {
        tmp[n++] = (char)('0' + (int)(u % 10));
        u /= 10;
        if (n == scale)
            tmp[n++] = '.';
    } while (u || n <= scale);
    if (tmp[n - 1] == '.')
        tmp[n++] = '0';
    if (v < 0)
        buf[k++] = '-';
    while (n)
        buf[k++] = tmp[--n];
    buf[k] = 0;
    return buf;
}

bool hd_int_parse(const char *s, size_t n, int64_t *out)
{
    hd_i128 v;
    if (memchr(s, '.', n) || !hd_dec_parse(s, n, 0, &v) || v < INT64_MIN || v > INT64_MAX)
        return false;
    *out = (int64_t)v;
    return true;
}

int hd_type_width(struct hd_type t)
{
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return 1;
    case HD_INT32:
    case HD_DATE:
    case HD_FLOAT32:
    case HD_STRING:
    case HD_BINARY: return 4;
    case HD_INT64:
    case HD_TIME:
    case HD_TIMESTAMP:
    case HD_FLOAT64: return 8;
    case HD_DECIMAL:
    case HD_INTERVAL: return 16;
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("type %d", (int)t.kind);
}
