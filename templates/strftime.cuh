// Text of a time by a format (strftime of frontend/ops.def): one source for kernels, the CPU's runtime and the emulator.
// Shared with host C (templates/host.h). One thread at a time.
#ifndef HDD_STRFTIME_CUH
#define HDD_STRFTIME_CUH

#ifdef __cplusplus
#include "hd/civil.cuh"
#include "hd/text.cuh"
#else
#include "templates/civil.cuh"
#include "templates/text.cuh"
#endif

// The k-th of names that are 9 bytes each, with blanks behind them; its first `most` bytes.
HDD_DEVICE i64 hdd_put_name(u8 *to, i64 at, const char *names, i64 k, i32 most)
{
    const char *name = names + 9 * k;
    for (i32 i = 0; i < most && name[i] != ' '; i++, at++)
        if (to)
            to[at] = (u8)name[i];
    return at;
}

HDD_DEVICE i64 hdd_put_month(u8 *to, i64 at, i64 month, i32 most)
{
    return hdd_put_name(to, at,
                        "January  February March    April    May      June     July     August   SeptemberOctober  "
                        "November December ",
                        month - 1, most);
}

HDD_DEVICE i64 hdd_put_weekday(u8 *to, i64 at, i64 dow, i32 most)
{
    return hdd_put_name(to, at, "Sunday   Monday   Tuesday  WednesdayThursday Friday   Saturday ", dow, most);
}

// The last `digits` decimal digits of v >= 0; zeros before them are `zero`.
HDD_DEVICE i64 hdd_put_digits(u8 *to, i64 at, i64 v, i32 digits, u8 zero)
{
    for (i32 i = digits - 1; i >= 0; i--, v /= 10)
        if (to)
            to[at + i] = (u8)(v == 0 && i < digits - 1 ? zero : '0' + v % 10);
    return at + digits;
}

HDD_DEVICE i64 hdd_put_time_field(u8 *to, i64 at, i64 micros, u32 field, i32 digits)
{
    return hdd_put_digits(to, at, hdd_time_part(micros, field), digits, '0');
}

// What stands behind a %.
HDD_DEVICE i64 hdd_put_format(u8 *to, i64 at, i64 micros, u8 what)
{
    const i64 hour = hdd_time_part(micros, HDD_FIELD_HOUR);
    switch (what) {
    case 'Y': return hdd_put_time_field(to, at, micros, HDD_FIELD_YEAR, 4);
    case 'y': return hdd_put_time_field(to, at, micros, HDD_FIELD_YEAR, 2);
    case 'm': return hdd_put_time_field(to, at, micros, HDD_FIELD_MONTH, 2);
    case 'd': return hdd_put_time_field(to, at, micros, HDD_FIELD_DAY, 2);
    case 'e': return hdd_put_digits(to, at, hdd_time_part(micros, HDD_FIELD_DAY), 2, ' ');
    case 'j': return hdd_put_time_field(to, at, micros, HDD_FIELD_DOY, 3);
    case 'u': return hdd_put_time_field(to, at, micros, HDD_FIELD_ISODOW, 1);
    case 'w': return hdd_put_time_field(to, at, micros, HDD_FIELD_DOW, 1);
    case 'H': return hdd_put_digits(to, at, hour, 2, '0');
    case 'I': return hdd_put_digits(to, at, hour % 12 == 0 ? 12 : hour % 12, 2, '0');
    case 'M': return hdd_put_time_field(to, at, micros, HDD_FIELD_MINUTE, 2);
    case 'S': return hdd_put_time_field(to, at, micros, HDD_FIELD_SECOND, 2);
    case 'f': return hdd_put_time_field(to, at, micros, HDD_FIELD_MICROSECOND, 6);
    case 'b': return hdd_put_month(to, at, hdd_time_part(micros, HDD_FIELD_MONTH), 3);
    case 'B': return hdd_put_month(to, at, hdd_time_part(micros, HDD_FIELD_MONTH), 9);
    case 'a': return hdd_put_weekday(to, at, hdd_time_part(micros, HDD_FIELD_DOW), 3);
    case 'A': return hdd_put_weekday(to, at, hdd_time_part(micros, HDD_FIELD_DOW), 9);
    case 'p': return hdd_put_name(to, at, hour < 12 ? "AM       " : "PM       ", 0, 2);
    }
    return hdd_put_bytes(to, at, &what, 1);
}

// Typing has checked the format (frontend/expr_date.c).
HDD_DEVICE i64 hdd_strftime(u8 *to, i64 micros, const u8 *format, i32 n)
{
    i64 size = 0;
    for (i32 i = 0; i < n; i++) {
        if (format[i] == '%' && i + 1 < n)
            size = hdd_put_format(to, size, micros, format[++i]);
        else
            size = hdd_put_bytes(to, size, format + i, 1);
    }
    return size;
}

#endif
