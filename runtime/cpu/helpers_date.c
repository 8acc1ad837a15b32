/* Dates and timestamps. Results stay within the years 1 to 9999, which have a text form. */
#include "runtime/cpu/helpers.h"

enum { FIRST_DAY = -719162, LAST_DAY = 2932896 };
static const int64_t MICROS_PER_DAY = 86400000000;

/* In the order of the frontend's enum fe_field. */
enum field { FIELD_YEAR, FIELD_MONTH, FIELD_DAY };

static int64_t floor_day(int64_t micros)
{
    int64_t d = micros / MICROS_PER_DAY;
    return d - (micros % MICROS_PER_DAY < 0);
}

int64_t hdr_extract_date(int32_t days, int32_t field)
{
    int y, m, d;
    hd_date_to_civil(days, &y, &m, &d);
    return field == FIELD_YEAR ? y : field == FIELD_MONTH ? m : d;
}

int64_t hdr_extract_ts(int64_t micros, int32_t field)
{
    return hdr_extract_date((int32_t)floor_day(micros), field);
}

static int32_t checked_day(struct hdd_thread *t, int64_t day, int32_t path, int64_t *out)
{
    if (day < FIRST_DAY || day > LAST_DAY)
        return hdr_fail(t, RT_FAIL_DATE_RANGE, path);
    *out = day;
    return 0;
}

static int32_t plus_days(struct hdd_thread *t, int64_t day, int64_t n, int32_t path,
                         int64_t *out)
{
    int64_t r;
    if (__builtin_add_overflow(day, n, &r))
        return hdr_fail(t, RT_FAIL_DATE_RANGE, path);
    return checked_day(t, r, path, out);
}

static int32_t plus_months(struct hdd_thread *t, int64_t day, int64_t n, int32_t path,
                           int64_t *out)
{
    const int64_t most = 12 * 10000;
    if (n > most || n < -most || day < INT32_MIN || day > INT32_MAX)
        return hdr_fail(t, RT_FAIL_DATE_RANGE, path);
    return checked_day(t, hd_date_add_months((int32_t)day, n), path, out);
}

int32_t hdr_add_days(struct hdd_thread *t, int32_t days, int64_t n, int32_t path, void *out)
{
    int64_t r = 0;
    if (plus_days(t, days, n, path, &r) != 0)
        return 1;
    *(int32_t *)out = (int32_t)r;
    return 0;
}

int32_t hdr_add_months(struct hdd_thread *t, int32_t days, int64_t n, int32_t path, void *out)
{
    int64_t r = 0;
    if (plus_months(t, days, n, path, &r) != 0)
        return 1;
    *(int32_t *)out = (int32_t)r;
    return 0;
}

int32_t hdr_ts_add_days(struct hdd_thread *t, int64_t micros, int64_t n, int32_t path,
                        void *out)
{
    int64_t day = floor_day(micros), r = 0;
    if (plus_days(t, day, n, path, &r) != 0)
        return 1;
    *(int64_t *)out = r * MICROS_PER_DAY + (micros - day * MICROS_PER_DAY);
    return 0;
}

int32_t hdr_ts_add_months(struct hdd_thread *t, int64_t micros, int64_t n, int32_t path,
                          void *out)
{
    int64_t day = floor_day(micros), r = 0;
    if (plus_months(t, day, n, path, &r) != 0)
        return 1;
    *(int64_t *)out = r * MICROS_PER_DAY + (micros - day * MICROS_PER_DAY);
    return 0;
}
