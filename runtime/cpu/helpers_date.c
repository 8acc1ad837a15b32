/* Dates and timestamps: templates/civil.cuh with failures. */
#include "runtime/cpu/helpers.h"
#include "templates/civil.cuh"

int64_t hdr_extract_date(int32_t days, int32_t field)
{
    return hdd_civil_part(days, (u32)field);
}

int64_t hdr_extract_ts(int64_t micros, int32_t field)
{
    return hdd_time_part(micros, (u32)field);
}

int32_t hdr_trunc_date(int32_t days, int32_t field)
{
    return hdd_trunc_day(days, (u32)field);
}

int64_t hdr_trunc_ts(int64_t micros, int32_t field)
{
    return hdd_trunc_time(micros, (u32)field);
}

int32_t hdr_last_day(int32_t days)
{
    return hdd_month_end(days);
}

int64_t hdr_days_between(int32_t a, int32_t b, int32_t unit)
{
    return hdd_days_between(a, b, (u32)unit);
}

int64_t hdr_times_between(int64_t a, int64_t b, int32_t unit)
{
    return hdd_times_between(a, b, (u32)unit);
}

static int32_t put_date(struct hdd_thread *t, bool in_range, i64 day, int32_t path, void *out)
{
    if (!in_range)
        return hdr_fail(t, RT_FAIL_DATE_RANGE, path);
    *(int32_t *)out = (int32_t)day;
    return 0;
}

static int32_t put_timestamp(struct hdd_thread *t, bool in_range, i64 day, int64_t micros, int32_t path, void *out)
{
    if (!in_range)
        return hdr_fail(t, RT_FAIL_DATE_RANGE, path);
    *(int64_t *)out = hdd_move_day(micros, day);
    return 0;
}

int32_t hdr_add_days(struct hdd_thread *t, int32_t days, int64_t n, int32_t path, void *out)
{
    i64 r = 0;
    bool in_range = hdd_plus_days(days, n, &r);
    return put_date(t, in_range, r, path, out);
}

int32_t hdr_add_months(struct hdd_thread *t, int32_t days, int64_t n, int32_t path, void *out)
{
    i64 r = 0;
    bool in_range = hdd_plus_months(days, n, &r);
    return put_date(t, in_range, r, path, out);
}

int32_t hdr_ts_add_days(struct hdd_thread *t, int64_t micros, int64_t n, int32_t path, void *out)
{
    i64 r = 0;
    bool in_range = hdd_plus_days(hdd_floor_day(micros), n, &r);
    return put_timestamp(t, in_range, r, micros, path, out);
}

int32_t hdr_ts_add_months(struct hdd_thread *t, int64_t micros, int64_t n, int32_t path, void *out)
{
    i64 r = 0;
    bool in_range = hdd_plus_months(hdd_floor_day(micros), n, &r);
    return put_timestamp(t, in_range, r, micros, path, out);
}

int32_t hdr_add_micros(struct hdd_thread *t, int64_t micros, int64_t n, int32_t path, void *out)
{
    i64 r = 0;
    if (!hdd_plus_micros(micros, n, &r))
        return hdr_fail(t, RT_FAIL_DATE_RANGE, path);
    *(int64_t *)out = r;
    return 0;
}

int32_t hdr_make_date(struct hdd_thread *t, int64_t year, int64_t month, int64_t day, int32_t path, void *out)
{
    i32 r = 0;
    if (!hdd_day_of_numbers(year, month, day, &r))
        return hdr_fail(t, RT_FAIL_DOMAIN, path);
    *(int32_t *)out = r;
    return 0;
}
