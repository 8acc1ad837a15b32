// Text forms of values and back (docs/plan.md, end of section 2.2). Writers give the number of
// bytes, at most HDD_FORM_MAX; readers give false for a text that is no value. Shared with
// host C (templates/host.h). One thread at a time.
#ifndef HDD_FORMS_CUH
#define HDD_FORMS_CUH

#ifdef __cplusplus
#include "hd/civil.cuh"
#include "hd/float.cuh"
#else
#include "templates/civil.cuh"
#include "templates/float.cuh"
#endif

#define HDD_FORM_MAX 48

// ---- writing -------------------------------------------------------------------------------

HDD_DEVICE i32 hdd_put_text(u8 *out, const char *text)
{
    i32 n = 0;
    for (; text[n]; n++)
        out[n] = (u8)text[n];
    return n;
}

// Digits of v, with zeros in front up to `min`.
HDD_CALLED i32 hdd_put_u64(u8 *out, u64 v, i32 min)
{
    i32 n = 1;
    for (u64 rest = v / 10; rest; rest /= 10)
        n++;
    n = n < min ? min : n;
    for (i32 i = n; i > 0; v /= 10)
        out[--i] = (u8)('0' + v % 10);
    return n;
}

// In groups of 18 digits, as there is no quick division of 128 bits.
HDD_DEVICE i32 hdd_put_u128(u8 *out, u128 v)
{
    const u64 group = 1000000000000000000ull;
    i32 n = 0, min = 1;
    if (v >= (u128)group * group) {
        n = hdd_put_u64(out, (u64)(v / group / group), min);
        min = 18;
    }
    if (v >= group) {
        n += hdd_put_u64(out + n, (u64)(v / group % group), min);
        min = 18;
    }
    return n + hdd_put_u64(out + n, (u64)(v % group), min);
}

HDD_DEVICE i32 hdd_put_bool(u8 *out, bool v)
{
    return hdd_put_text(out, v ? "true" : "false");
}

// v / 10^scale with all digits of the scale, and at least one before the point.
HDD_CALLED i32 hdd_put_decimal(u8 *out, i128 v, i32 scale)
{
    u8 digits[HDD_FORM_MAX];
    const i32 n = hdd_put_u128(digits, hdd_magnitude(v));
    i32 to = 0;
    if (v < 0)
        out[to++] = '-';
    for (i32 left = n > scale ? n : scale + 1; left > 0; left--) {
        if (left == scale)
            out[to++] = '.';
        out[to++] = left > n ? (u8)'0' : digits[n - left];
    }
    return to;
}

// 12, 0.012: the point within or before the digits, as there are at least k of them.
HDD_DEVICE i32 hdd_put_plain(u8 *out, const hdd_f64_digits *d)
{
    i32 n = 0;
    if (d->k <= 0)
        n = hdd_put_text(out, "0.");
    for (i32 i = d->k; i < 0; i++)
        out[n++] = '0';
    for (i32 i = 0; i < d->n; i++) {
        if (i == d->k && i > 0)
            out[n++] = '.';
        out[n++] = d->d[i];
    }
    return n;
}

// 1.2e+20.
HDD_DEVICE i32 hdd_put_scientific(u8 *out, const hdd_f64_digits *d)
{
    const i32 e = d->k - 1;
    i32 n = 0;
    for (i32 i = 0; i < d->n; i++) {
        if (i == 1)
            out[n++] = '.';
        out[n++] = d->d[i];
    }
    out[n++] = 'e';
    out[n++] = e < 0 ? '-' : '+';
    return n + hdd_put_u64(out + n, (u64)(e < 0 ? -e : e), 2);
}

// As printf's %g with as many digits as it takes; of a float32 those that tell it from other float32.
HDD_DEVICE i32 hdd_put_real(u8 *out, f64 v, bool single)
{
    const bool negative = hdd_f64_bits(v) < 0;
    i32 n = 0;
    hdd_f64_digits d;
    if (v != v)
        return hdd_put_text(out, "nan");
    if (negative)
        out[n++] = '-';
    if (v == 0)
        return n + hdd_put_text(out + n, "0");
    if (v - v != 0)
        return n + hdd_put_text(out + n, "inf");
    if (single)
        hdd_f32_shortest((f32)v, &d);
    else
        hdd_f64_shortest(v, &d);
    if (d.k < -3 || d.k > d.n)
        return n + hdd_put_scientific(out + n, &d);
    return n + hdd_put_plain(out + n, &d);
}

HDD_CALLED i32 hdd_put_f64(u8 *out, f64 v)
{
    return hdd_put_real(out, v, false);
}

HDD_CALLED i32 hdd_put_f32(u8 *out, f32 v)
{
    return hdd_put_real(out, v, true);
}

HDD_CALLED i32 hdd_put_date(u8 *out, i32 day)
{
    const hdd_civil c = hdd_civil_of(day);
    i32 n = 0;
    if (c.year < 0)
        out[n++] = '-';
    n += hdd_put_u64(out + n, (u64)(c.year < 0 ? -c.year : c.year), 4 - n);
    out[n++] = '-';
    n += hdd_put_u64(out + n, (u64)c.month, 2);
    out[n++] = '-';
    return n + hdd_put_u64(out + n, (u64)c.day, 2);
}

// HH:MM:SS, and with a fraction .ffffff: microseconds of the day.
HDD_CALLED i32 hdd_put_clock(u8 *out, i64 micros)
{
    const u64 second = (u64)micros / 1000000, fraction = (u64)micros % 1000000;
    i32 n = hdd_put_u64(out, second / 3600, 2);
    out[n++] = ':';
    n += hdd_put_u64(out + n, second / 60 % 60, 2);
    out[n++] = ':';
    n += hdd_put_u64(out + n, second % 60, 2);
    if (fraction) {
        out[n++] = '.';
        n += hdd_put_u64(out + n, fraction, 6);
    }
    return n;
}

HDD_CALLED i32 hdd_put_timestamp(u8 *out, i64 micros)
{
    i32 n = hdd_put_date(out, (i32)hdd_floor_day(micros));
    out[n++] = ' ';
    return n + hdd_put_clock(out + n, hdd_of_day(micros));
}

// ---- reading -------------------------------------------------------------------------------

HDD_DEVICE bool hdd_read_bool(const u8 *s, i32 n, bool *out)
{
    const bool yes = n == 4 && s[0] == 't' && s[1] == 'r' && s[2] == 'u' && s[3] == 'e';
    *out = yes;
    return yes ||
           (n == 5 && s[0] == 'f' && s[1] == 'a' && s[2] == 'l' && s[3] == 's' && s[4] == 'e');
}

// [+-]digits[.digits] times 10^scale; digits beyond the scale must be 0, and the magnitude
// below 10^digits.
HDD_CALLED bool hdd_read_scaled(const u8 *s, i32 n, i32 scale, i32 digits, i128 *out)
{
    const i128 limit = hdd_pow10(digits), tenth = limit / 10;
    const bool sign = n > 0 && (s[0] == '-' || s[0] == '+');
    bool any = false, point = false;
    i32 fraction = 0;
    i128 v = 0;
    for (i32 i = sign; i < n; i++) {
        if (s[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (!hdd_is_digit(s[i]))
            return false;
        any = true;
        if (point && fraction == scale) {
            if (s[i] != '0')
                return false;
            continue;
        }
        fraction += point;
        if (v >= tenth) // ten times as much is not below the limit
            return false;
        v = v * 10 + (s[i] - '0');
    }
    for (; fraction < scale; fraction++) {
        if (v >= tenth)
            return false;
        v *= 10;
    }
    *out = sign && s[0] == '-' ? -v : v;
    return any;
}

// [+-]digits between least and most.
HDD_CALLED bool hdd_read_int(const u8 *s, i32 n, i64 min, i64 max, i64 *out)
{
    i128 v = 0;
    for (i32 i = 0; i < n; i++)
        if (s[i] == '.')
            return false;
    if (!hdd_read_scaled(s, n, 0, 38, &v) || v < min || v > max)
        return false;
    *out = (i64)v;
    return true;
}

// Exactly n digits.
HDD_DEVICE bool hdd_read_digits(const u8 *s, i32 n, i32 *out)
{
    *out = 0;
    for (i32 i = 0; i < n; i++) {
        if (!hdd_is_digit(s[i]))
            return false;
        *out = *out * 10 + (s[i] - '0');
    }
    return true;
}

// Exactly YYYY-MM-DD.
HDD_CALLED bool hdd_read_date(const u8 *s, i32 n, i32 *out)
{
    hdd_civil c;
    if (n != 10 || s[4] != '-' || s[7] != '-' || !hdd_read_digits(s, 4, &c.year) ||
        !hdd_read_digits(s + 5, 2, &c.month) || !hdd_read_digits(s + 8, 2, &c.day))
        return false;
    if (c.year < 1 || c.month < 1 || c.month > 12 || c.day < 1 ||
        c.day > hdd_month_days(c.year, c.month))
        return false;
    *out = hdd_day_of(c);
    return true;
}

// HH:MM:SS[.f] with up to six digits f.
HDD_CALLED bool hdd_read_clock(const u8 *s, i32 n, i64 *out)
{
    i32 hour, minute, second, micros = 0;
    if (n < 8 || s[2] != ':' || s[5] != ':' || !hdd_read_digits(s, 2, &hour) || !hdd_read_digits(s + 3, 2, &minute) ||
        !hdd_read_digits(s + 6, 2, &second) || hour > 23 || minute > 59 || second > 59)
        return false;
    if (n > 8 && (s[8] != '.' || n == 9 || n > 15 || !hdd_read_digits(s + 9, n - 9, &micros)))
        return false;
    for (i32 i = n; n > 8 && i < 15; i++)
        micros *= 10;
    *out = (i64)(hour * 3600 + minute * 60 + second) * 1000000 + micros;
    return true;
}

// YYYY-MM-DD[ HH:MM:SS[.f]], or with a T.
HDD_CALLED bool hdd_read_timestamp(const u8 *s, i32 n, i64 *out)
{
    i32 day;
    i64 time = 0;
    if (n < 10 || !hdd_read_date(s, 10, &day))
        return false;
    if (n > 10 && ((s[10] != ' ' && s[10] != 'T') || !hdd_read_clock(s + 11, n - 11, &time)))
        return false;
    *out = day * HDD_MICROS_PER_DAY + time;
    return true;
}

#endif
