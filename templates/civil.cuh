// Dates and timestamps of the proleptic Gregorian calendar: days and microseconds since 1970.
// Results stay within the years 1 to 9999, which have a text form. Shared with host C
// (templates/host.h). One thread at a time.
#ifndef HDD_CIVIL_CUH
#define HDD_CIVIL_CUH

#ifdef __cplusplus
#include "hd/machine.cuh"
#else
#include "templates/host.h"
#endif

#define HDD_FIRST_DAY      (-719162)
#define HDD_LAST_DAY       2932896
#define HDD_MICROS_PER_DAY 86400000000ll

typedef struct {
    i32 year, month, day;
} hdd_civil;

// Days are counted from 0000-03-01, so that the leap day ends a year, in eras of 400 years. Quotients are of 32 bits, which
// compilers make of fewer instructions: the rest of a division by an era is moved to that begin, which is 135,080 days
// into an era.
HDD_DEVICE hdd_civil hdd_civil_of(i32 days)
{
    const i32 eras = days / 146097, rest = days - eras * 146097 + 135080;
    const i32 more = rest < 0 ? -1 : rest >= 146097, of_era = rest - more * 146097;
    const i32 year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const i32 of_year = of_era - (365 * year + year / 4 - year / 100);
    const i32 mp = (5 * of_year + 2) / 153;
    hdd_civil c;
    c.day = of_year - (153 * mp + 2) / 5 + 1;
    c.month = mp < 10 ? mp + 3 : mp - 9;
    c.year = year + (eras + more + 4) * 400 + (c.month <= 2);
    return c;
}

HDD_DEVICE i32 hdd_day_of(hdd_civil c)
{
    const i32 y = c.month <= 2 ? c.year - 1 : c.year;
    const i32 era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    const i32 of_year = (153 * (c.month + (c.month > 2 ? -3 : 9)) + 2) / 5 + c.day - 1;
    return (i32)(era * 146097ll + (of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468));
}

HDD_DEVICE i32 hdd_month_days(i32 year, i32 month)
{
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month == 2)
        return leap ? 29 : 28;
    return 30 + ((month + (month > 7)) & 1);
}

// The day that a timestamp belongs to began before it, also before 1970.
HDD_DEVICE i64 hdd_floor_day(i64 micros)
{
    return micros / HDD_MICROS_PER_DAY - (micros % HDD_MICROS_PER_DAY < 0);
}

// The time within that day. (A day's own begin may lie before the first timestamp.)
HDD_DEVICE i64 hdd_of_day(i64 micros)
{
    const i64 rest = micros % HDD_MICROS_PER_DAY;
    return rest < 0 ? rest + HDD_MICROS_PER_DAY : rest;
}

// The same time of another day.
HDD_DEVICE i64 hdd_move_day(i64 micros, i64 day)
{
    return day * HDD_MICROS_PER_DAY + hdd_of_day(micros);
}

// ---- fields --------------------------------------------------------------------------------

// By number those of frontend/fields.def.
enum hdd_field {
    HDD_FIELD_YEAR,
    HDD_FIELD_MONTH,
    HDD_FIELD_DAY,
    HDD_FIELD_QUARTER,
    HDD_FIELD_WEEK,
    HDD_FIELD_ISOYEAR,
    HDD_FIELD_DOW,
    HDD_FIELD_ISODOW,
    HDD_FIELD_DOY,
    HDD_FIELD_DECADE,
    HDD_FIELD_CENTURY,
    HDD_FIELD_EPOCH,
    HDD_FIELD_HOUR,
    HDD_FIELD_MINUTE,
    HDD_FIELD_SECOND,
    HDD_FIELD_MILLISECOND,
    HDD_FIELD_MICROSECOND
};

HDD_DEVICE i64 hdd_floor_ratio(i64 a, i64 b)
{
    return a / b - (a % b < 0);
}

// Monday is 1, Sunday 7. (1970-01-01 was a Thursday.)
HDD_DEVICE i32 hdd_iso_weekday(i32 days)
{
    return (i32)(days + 3 - 7 * hdd_floor_ratio((i64)days + 3, 7)) + 1;
}

HDD_DEVICE i32 hdd_first_of_year(i32 year)
{
    hdd_civil c;
    c.year = year;
    c.month = c.day = 1;
    return hdd_day_of(c);
}

// A field of a day that is no number of its year, month or day of the month.
HDD_DEVICE i64 hdd_day_field(i32 days, hdd_civil c, u32 field)
{
    const i32 weekday = hdd_iso_weekday(days);
    const i32 thursday = (i32)((i64)days - weekday + 4); // a week belongs to the year of its Thursday: ISO 8601
    switch (field) {
    case HDD_FIELD_QUARTER: return (c.month + 2) / 3;
    case HDD_FIELD_ISOYEAR: return hdd_civil_of(thursday).year;
    case HDD_FIELD_WEEK: return ((i64)thursday - hdd_first_of_year(hdd_civil_of(thursday).year)) / 7 + 1;
    case HDD_FIELD_DOW: return weekday % 7;
    case HDD_FIELD_ISODOW: return weekday;
    case HDD_FIELD_DOY: return (i64)days - hdd_first_of_year(c.year) + 1;
    case HDD_FIELD_DECADE: return hdd_floor_ratio(c.year, 10);
    case HDD_FIELD_CENTURY: return hdd_floor_ratio(c.year - 1, 100) + 1;
    case HDD_FIELD_EPOCH: return days * (HDD_MICROS_PER_DAY / 1000000);
    }
    return 0;
}

// Year, month or day of the month.
HDD_DEVICE i64 hdd_civil_number(i32 days, u32 field)
{
    const hdd_civil c = hdd_civil_of(days);
    return field == HDD_FIELD_YEAR ? c.year : field == HDD_FIELD_MONTH ? c.month : c.day;
}

HDD_DEVICE i64 hdd_civil_part(i32 days, u32 field)
{
    return field > HDD_FIELD_DAY ? hdd_day_field(days, hdd_civil_of(days), field) : hdd_civil_number(days, field);
}

// Microseconds of a unit of time, and those of the field that it is counted in.
HDD_DEVICE i64 hdd_field_unit(u32 field)
{
    switch (field) {
    case HDD_FIELD_HOUR: return 3600000000ll;
    case HDD_FIELD_MINUTE: return 60000000ll;
    case HDD_FIELD_MILLISECOND: return 1000ll;
    case HDD_FIELD_MICROSECOND: return 1ll;
    }
    return 1000000ll;
}

HDD_DEVICE i64 hdd_time_part(i64 micros, u32 field)
{
    if (field == HDD_FIELD_EPOCH)
        return hdd_floor_ratio(micros, 1000000);
    if (field < HDD_FIELD_EPOCH)
        return hdd_civil_part((i32)hdd_floor_day(micros), field);
    const i64 above = field == HDD_FIELD_HOUR     ? HDD_MICROS_PER_DAY
                      : field == HDD_FIELD_MINUTE ? 3600000000ll
                                                  : 60000000ll;
    return hdd_of_day(micros) % above / hdd_field_unit(field);
}

// The first day of the year, month, ... that the day is in.
HDD_DEVICE i32 hdd_trunc_day(i32 days, u32 field)
{
    hdd_civil c = hdd_civil_of(days);
    switch (field) {
    case HDD_FIELD_WEEK: return (i32)((i64)days - hdd_iso_weekday(days) + 1);
    case HDD_FIELD_QUARTER: c.month -= (c.month - 1) % 3; break;
    case HDD_FIELD_MONTH: break;
    case HDD_FIELD_YEAR: c.month = 1; break;
    case HDD_FIELD_DECADE:
        c.month = 1;
        c.year = (i32)hdd_floor_ratio(c.year, 10) * 10;
        break;
    case HDD_FIELD_CENTURY:
        c.month = 1;
        c.year = (i32)hdd_floor_ratio(c.year - 1, 100) * 100 + 1;
        break;
    default: return days;
    }
    c.day = 1;
    return hdd_day_of(c);
}

HDD_DEVICE i64 hdd_trunc_time(i64 micros, u32 field)
{
    if (field < HDD_FIELD_HOUR)
        return hdd_trunc_day((i32)hdd_floor_day(micros), field) * HDD_MICROS_PER_DAY;
    const i64 unit = hdd_field_unit(field);
    return hdd_floor_ratio(micros, unit) * unit;
}

HDD_DEVICE i32 hdd_month_end(i32 days)
{
    const hdd_civil c = hdd_civil_of(days);
    return (i32)((i64)days - c.day + hdd_month_days(c.year, c.month));
}

// Which one it is of all years, months, ... that there are.
HDD_DEVICE i64 hdd_day_number(i32 days, u32 unit)
{
    const hdd_civil c = hdd_civil_of(days);
    switch (unit) {
    case HDD_FIELD_YEAR: return c.year;
    case HDD_FIELD_QUARTER: return c.year * 4ll + (c.month - 1) / 3;
    case HDD_FIELD_MONTH: return c.year * 12ll + c.month;
    case HDD_FIELD_WEEK: return hdd_floor_ratio((i64)days + 3, 7);
    case HDD_FIELD_DECADE: return hdd_floor_ratio(c.year, 10);
    case HDD_FIELD_CENTURY: return hdd_floor_ratio(c.year - 1, 100);
    }
    return days;
}

HDD_DEVICE i64 hdd_time_number(i64 micros, u32 unit)
{
    if (unit < HDD_FIELD_HOUR)
        return hdd_day_number((i32)hdd_floor_day(micros), unit);
    return hdd_floor_ratio(micros, hdd_field_unit(unit));
}

// How many units begin behind a and not behind b.
HDD_DEVICE i64 hdd_days_between(i32 a, i32 b, u32 unit)
{
    return hdd_day_number(b, unit) - hdd_day_number(a, unit);
}

HDD_DEVICE i64 hdd_times_between(i64 a, i64 b, u32 unit)
{
    return (i64)((u64)hdd_time_number(b, unit) - (u64)hdd_time_number(a, unit));
}

// False: there is no such day in the years 1 to 9999.
HDD_DEVICE bool hdd_day_of_numbers(i64 year, i64 month, i64 day, i32 *out)
{
    if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > hdd_month_days((i32)year, (i32)month))
        return false;
    hdd_civil c;
    c.year = (i32)year;
    c.month = (i32)month;
    c.day = (i32)day;
    *out = hdd_day_of(c);
    return true;
}

// ---- intervals -----------------------------------------------------------------------------

// False: beyond the years 1 to 9999.
HDD_DEVICE bool hdd_plus_days(i64 day, i64 n, i64 *out)
{
    const i64 max = (i64)1 << 32; // and nothing overflows
    if (n > max || n < -max || day > max || day < -max)
        return false;
    *out = day + n;
    return *out >= HDD_FIRST_DAY && *out <= HDD_LAST_DAY;
}

HDD_DEVICE bool hdd_plus_micros(i64 micros, i64 n, i64 *out)
{
    const i64 first = HDD_FIRST_DAY * HDD_MICROS_PER_DAY, last = (HDD_LAST_DAY + 1) * HDD_MICROS_PER_DAY - 1;
    if (n < 0 ? micros < first - n : micros > last - n)
        return false;
    *out = micros + n;
    return *out >= first && *out <= last;
}

// The day is clipped to the month's last.
HDD_DEVICE bool hdd_plus_months(i64 day, i64 n, i64 *out)
{
    const i64 max = 12 * 10000, days_max = 2147483647;
    if (n > max || n < -max || day > days_max || day < -days_max - 1)
        return false;
    hdd_civil c = hdd_civil_of((i32)day);
    const i64 month = (i64)c.year * 12 + (c.month - 1) + n; // since the year 0
    const i64 year = month >= 0 ? month / 12 : (month - 11) / 12;
    if (year < 1 || year > 9999)
        return false;
    c.month = (i32)(month - year * 12) + 1;
    c.year = (i32)year;
    const i32 last = hdd_month_days(c.year, c.month);
    if (c.day > last)
        c.day = last;
    *out = hdd_day_of(c);
    return true;
}

#endif
