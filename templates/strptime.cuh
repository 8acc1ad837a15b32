// A time of its text by a format (strptime of frontend/ops.def): one source for kernels, the CPU's runtime and the emulator.
// Shared with host C (templates/host.h). One thread at a time.
#ifndef HDD_STRPTIME_CUH
#define HDD_STRPTIME_CUH

#ifdef __cplusplus
#include "hd/strftime.cuh"
#else
#include "templates/strftime.cuh"
#endif

// Of month, day and of_year those that the format lacks are -1.
typedef struct {
    i64 year, month, day, hour, minute, second, micros;
    i64 of_year; // day of the year
    bool twelve, afternoon; // the hour is one of twelve; those behind noon
} hdd_read_parts;

// A number of one to `most` digits from byte `at` on. Returns the byte behind it, -1: there is none.
HDD_DEVICE i32 hdd_scan_digits(const u8 *s, i32 n, i32 at, i32 most, i64 *out)
{
    const i32 from = at;
    i64 v = 0;
    for (; at < n && at - from < most && s[at] >= '0' && s[at] <= '9'; at++)
        v = v * 10 + (s[at] - '0');
    *out = v;
    return at > from ? at : -1;
}

// One to six digits behind the point of a second.
HDD_DEVICE i32 hdd_read_micros(const u8 *s, i32 n, i32 at, i64 *out)
{
    const i32 end = hdd_scan_digits(s, n, at, 6, out);
    for (i32 digits = end - at; end > 0 && digits < 6; digits++)
        *out *= 10;
    return end;
}

// The name of a month or weekday in any case: all of it, or its first three letters. Months count from 1, weekdays from 0.
HDD_DEVICE i32 hdd_read_name(const u8 *s, i32 n, i32 at, bool month, i32 most, i64 *out)
{
    for (i64 k = 0; k < (month ? 12 : 7); k++) {
        u8 name[9];
        const i32 size = (i32)(month ? hdd_put_month(name, 0, k + 1, most) : hdd_put_weekday(name, 0, k, most));
        i32 same = 0;
        while (same < size && at + same < n && (s[at + same] | 0x20) == (name[same] | 0x20))
            same++;
        *out = k + month;
        if (same == size)
            return at + size;
    }
    return -1;
}

// A digit between low and high.
HDD_DEVICE i32 hdd_take_digit(const u8 *s, i32 n, i32 at, u8 low, u8 high)
{
    return at < n && s[at] >= low && s[at] <= high ? at + 1 : -1;
}

HDD_DEVICE i32 hdd_read_half(const u8 *s, i32 n, i32 at, bool *afternoon)
{
    const i32 half = at + 1 < n && (s[at + 1] | 0x20) == 'm' ? s[at] | 0x20 : 0;
    *afternoon = half == 'p';
    return half == 'a' || half == 'p' ? at + 2 : -1;
}

// Years of two digits are those from 1969 to 2068.
HDD_DEVICE i32 hdd_read_short_year(const u8 *s, i32 n, i32 at, i64 *out)
{
    const i32 end = hdd_scan_digits(s, n, at, 2, out);
    *out += *out < 69 ? 2000 : 1900;
    return end;
}

// What stands behind a %. Returns the byte behind it, -1: it is none.
HDD_DEVICE i32 hdd_read_format(const u8 *s, i32 n, i32 at, u8 what, hdd_read_parts *p)
{
    i64 weekday; // which says nothing that the date does not
    switch (what) {
    case 'Y': return hdd_scan_digits(s, n, at, 4, &p->year);
    case 'y': return hdd_read_short_year(s, n, at, &p->year);
    case 'm': return hdd_scan_digits(s, n, at, 2, &p->month);
    case 'b': return hdd_read_name(s, n, at, true, 3, &p->month);
    case 'B': return hdd_read_name(s, n, at, true, 9, &p->month);
    case 'j': return hdd_scan_digits(s, n, at, 3, &p->of_year);
    case 'a': return hdd_read_name(s, n, at, false, 3, &weekday);
    case 'A': return hdd_read_name(s, n, at, false, 9, &weekday);
    case 'u': return hdd_take_digit(s, n, at, '1', '7');
    case 'w': return hdd_take_digit(s, n, at, '0', '6');
    case 'd': return hdd_scan_digits(s, n, at, 2, &p->day);
    case 'e': return hdd_scan_digits(s, n, at + (at < n && s[at] == ' '), 2, &p->day);
    case 'H': p->twelve = false; return hdd_scan_digits(s, n, at, 2, &p->hour);
    case 'I': p->twelve = true; return hdd_scan_digits(s, n, at, 2, &p->hour);
    case 'M': return hdd_scan_digits(s, n, at, 2, &p->minute);
    case 'S': return hdd_scan_digits(s, n, at, 2, &p->second);
    case 'f': return hdd_read_micros(s, n, at, &p->micros);
    case 'p': return hdd_read_half(s, n, at, &p->afternoon);
    }
    return at < n && s[at] == what ? at + 1 : -1;
}

// The day of the year counts where there is neither month nor day. False: there is no such day.
HDD_DEVICE bool hdd_day_of_parts(const hdd_read_parts *p, i32 *out)
{
    const bool of_month = p->month >= 0 || p->day >= 0 || p->of_year < 0;
    i32 last = 0;
    if (of_month)
        return hdd_day_of_numbers(p->year, p->month < 0 ? 1 : p->month, p->day < 0 ? 1 : p->day, out);
    if (!hdd_day_of_numbers(p->year, 1, 1, out) || !hdd_day_of_numbers(p->year, 12, 31, &last))
        return false;
    *out += (i32)p->of_year - 1;
    return p->of_year > 0 && *out <= last;
}

// False: the text is not of the format, or no time of the years 1 to 9999. Typing has checked the format.
HDD_DEVICE bool hdd_read_time(const u8 *s, i32 n, const u8 *format, i32 m, i64 *out)
{
    hdd_read_parts p = {1900, -1, -1, 0, 0, 0, 0, -1, false, false};
    i32 at = 0, day = 0;
    for (i32 i = 0; i < m && at >= 0; i++) {
        if (format[i] == '%' && i + 1 < m)
            at = hdd_read_format(s, n, at, format[++i], &p);
        else
            at = at < n && s[at] == format[i] ? at + 1 : -1;
    }
    if (at != n || p.hour > (p.twelve ? 12 : 23) || (p.twelve && p.hour < 1) || p.minute > 59 || p.second > 59 ||
        !hdd_day_of_parts(&p, &day))
        return false;
    if (p.twelve)
        p.hour = p.hour % 12 + (p.afternoon ? 12 : 0);
    *out = day * HDD_MICROS_PER_DAY + ((p.hour * 60 + p.minute) * 60 + p.second) * 1000000 + p.micros;
    return true;
}

#endif
