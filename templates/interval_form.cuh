// Text forms of intervals and back (docs/plan.md, end of section 2.2), as templates/forms.cuh has those of other types. Shared
// with host C (templates/host.h). One thread at a time.
#ifndef HDD_INTERVAL_FORM_CUH
#define HDD_INTERVAL_FORM_CUH

#ifdef __cplusplus
#include "hd/interval_value.cuh"
#else
#include "templates/interval_value.cuh"
#endif

#define HDD_INTERVAL_FORM_MAX 80

// ---- writing -------------------------------------------------------------------------------

HDD_DEVICE i32 hdd_interval_put_digits(u8 *out, u64 v, i32 min)
{
    i32 n = 1;
    for (u64 rest = v / 10; rest; rest /= 10)
        n++;
    n = n < min ? min : n;
    for (i32 i = n; i > 0; v /= 10)
        out[--i] = (u8)('0' + v % 10);
    return n;
}

// " 3 days" behind `at` bytes; nothing of 0.
HDD_DEVICE i32 hdd_interval_put_unit(u8 *out, i32 at, i64 v, const char *unit)
{
    if (v == 0)
        return at;
    if (at)
        out[at++] = ' ';
    if (v < 0)
        out[at++] = '-';
    at += hdd_interval_put_digits(out + at, (u64)(v < 0 ? -v : v), 1);
    out[at++] = ' ';
    for (i32 i = 0; unit[i]; i++)
        out[at++] = (u8)unit[i];
    if (v != 1 && v != -1)
        out[at++] = 's';
    return at;
}

// 1 year 2 months 3 days 04:05:06.789: parts that are 0 are left out, 00:00:00 if all are; the number of bytes, at most
// HDD_INTERVAL_FORM_MAX.
HDD_APART i32 hdd_put_interval(u8 *out, i128 v)
{
    const hdd_interval x = hdd_interval_parts(v);
    const u64 micros = (u64)(x.micros < 0 ? -x.micros : x.micros), second = micros / 1000000;
    i32 n = hdd_interval_put_unit(out, 0, x.months / 12, "year");
    n = hdd_interval_put_unit(out, n, x.months % 12, "month");
    n = hdd_interval_put_unit(out, n, x.days, "day");
    if (n && !micros)
        return n;
    if (n)
        out[n++] = ' ';
    if (x.micros < 0)
        out[n++] = '-';
    n += hdd_interval_put_digits(out + n, second / 3600, 2);
    out[n++] = ':';
    n += hdd_interval_put_digits(out + n, second / 60 % 60, 2);
    out[n++] = ':';
    n += hdd_interval_put_digits(out + n, second % 60, 2);
    if (micros % 1000000 == 0)
        return n;
    out[n++] = '.';
    n += hdd_interval_put_digits(out + n, micros % 1000000, 6);
    while (out[n - 1] == '0')
        n--;
    return n;
}

// ---- reading -------------------------------------------------------------------------------

// *sum += v * by; false if that does not fit.
HDD_DEVICE bool hdd_interval_add(i64 *sum, i64 v, i64 by)
{
    const i128 r = *sum + (i128)v * by;
    *sum = (i64)r;
    return r == *sum;
}

// The n letters are the unit's name, in either case, maybe with `many` behind it.
HDD_DEVICE bool hdd_interval_is_unit(const u8 *s, i32 n, const char *name, const char *many)
{
    i32 i = 0, k = 0;
    for (; i < n && name[i]; i++)
        if ((s[i] | 32) != (u8)name[i])
            return false;
    if (name[i])
        return false;
    for (; i < n && many[k]; i++, k++)
        if ((s[i] | 32) != (u8)many[k])
            return false;
    return i == n && (k == 0 || !many[k]);
}

HDD_DEVICE bool hdd_interval_add_units(hdd_interval *to, const u8 *s, i32 n, i64 v)
{
    if (hdd_interval_is_unit(s, n, "century", "") || hdd_interval_is_unit(s, n, "centuries", ""))
        return hdd_interval_add(&to->months, v, 1200);
    if (hdd_interval_is_unit(s, n, "decade", "s"))
        return hdd_interval_add(&to->months, v, 120);
    if (hdd_interval_is_unit(s, n, "year", "s"))
        return hdd_interval_add(&to->months, v, 12);
    if (hdd_interval_is_unit(s, n, "quarter", "s"))
        return hdd_interval_add(&to->months, v, 3);
    if (hdd_interval_is_unit(s, n, "month", "s"))
        return hdd_interval_add(&to->months, v, 1);
    if (hdd_interval_is_unit(s, n, "week", "s"))
        return hdd_interval_add(&to->days, v, 7);
    if (hdd_interval_is_unit(s, n, "day", "s"))
        return hdd_interval_add(&to->days, v, 1);
    if (hdd_interval_is_unit(s, n, "hour", "s"))
        return hdd_interval_add(&to->micros, v, 3600000000ll);
    if (hdd_interval_is_unit(s, n, "minute", "s"))
        return hdd_interval_add(&to->micros, v, 60000000);
    if (hdd_interval_is_unit(s, n, "second", "s"))
        return hdd_interval_add(&to->micros, v, 1000000);
    if (hdd_interval_is_unit(s, n, "millisecond", "s"))
        return hdd_interval_add(&to->micros, v, 1000);
    return hdd_interval_is_unit(s, n, "microsecond", "s") && hdd_interval_add(&to->micros, v, 1);
}

HDD_DEVICE bool hdd_interval_is_digit(u8 c)
{
    return c >= '0' && c <= '9';
}

// :MM:SS[.ffffff] from s[*at] on, behind `hours` of the sign.
HDD_DEVICE bool hdd_interval_read_clock(const u8 *s, i32 n, i32 *at, i64 hours, i64 sign, i64 *micros)
{
    i64 unit = 1000000, fraction = 0, sixties[2];
    for (i32 k = 0; k < 2; k++, *at += 3) {
        const u8 *p = s + *at;
        if (n - *at < 3 || p[0] != ':' || !hdd_interval_is_digit(p[1]) || !hdd_interval_is_digit(p[2]) || p[1] > '5')
            return false;
        sixties[k] = (p[1] - '0') * 10 + (p[2] - '0');
    }
    if (*at < n && s[*at] == '.') {
        const i32 from = ++*at;
        for (; *at < n && unit > 1 && hdd_interval_is_digit(s[*at]); ++*at) {
            unit /= 10;
            fraction += unit * (s[*at] - '0');
        }
        if (*at == from)
            return false;
    }
    const i64 rest = (sixties[0] * 60 + sixties[1]) * 1000000 + fraction;
    const i128 all = *micros + (i128)hours * 3600000000ll + sign * rest;
    *micros = (i64)all;
    return all == *micros;
}

// A signed integer and a unit, or a clock, from s[*at] on.
HDD_DEVICE bool hdd_interval_read_part(const u8 *s, i32 n, i32 *at, hdd_interval *to)
{
    const i64 sign = s[*at] == '-' ? -1 : 1;
    const i32 from = *at += s[*at] == '-' || s[*at] == '+';
    i64 v = 0;
    for (; *at < n && hdd_interval_is_digit(s[*at]); ++*at)
        if (!hdd_interval_add(&v, v, 9) || !hdd_interval_add(&v, s[*at] - '0', sign))
            return false;
    if (*at == from)
        return false;
    if (*at < n && s[*at] == ':')
        return *at - from >= 2 && hdd_interval_read_clock(s, n, at, v, sign, &to->micros);
    while (*at < n && s[*at] == ' ')
        ++*at;
    const i32 unit = *at;
    while (*at < n && (s[*at] | 32) >= 'a' && (s[*at] | 32) <= 'z')
        ++*at;
    return hdd_interval_add_units(to, s + unit, *at - unit, v);
}

// Parts in any order with blanks between them: an integer and a unit, from century to microsecond, maybe in the plural, or
// [-]HH:MM:SS[.ffffff], of two digits or more for hours. Equal units add up.
HDD_APART bool hdd_read_interval(const u8 *s, i32 n, i128 *out)
{
    hdd_interval v = {0, 0, 0};
    i32 at = 0;
    for (;;) {
        if (at >= n || !hdd_interval_read_part(s, n, &at, &v))
            return false;
        if (at == n)
            return hdd_interval_pack(v, out);
        if (s[at] != ' ')
            return false;
        while (at < n && s[at] == ' ')
            at++;
    }
}

#endif
