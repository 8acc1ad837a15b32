// Dates (days) and timestamps (microseconds) in expressions: strict in NULL. One thread at a
// time.
#ifndef HDD_DATE_CUH
#define HDD_DATE_CUH

#include "hd/civil.cuh"
#include "hd/run.cuh"
#include "hd/value.cuh"

// Parts of a day; what most ask for is a function of its own, because compilers take as long for what they drop.
template <u32 Part, bool number = Part <= HDD_FIELD_DAY> struct hdd_day_part {
    HDD_MEMBER static i64 of(i32 day)
    {
        return hdd_civil_part(day, Part);
    }
};

template <u32 Part> struct hdd_day_part<Part, true> {
    HDD_MEMBER static i64 of(i32 day)
    {
        return hdd_civil_number(day, Part);
    }
};

template <u32 Part> struct hdd_extract_of {
    HDD_MEMBER i64 operator()(i32 day) const
    {
        return hdd_day_part<Part>::of(day);
    }
    HDD_MEMBER i64 operator()(i64 micros) const
    {
        return hdd_time_part(micros, Part);
    }
};

// Part: enum hdd_field.
template <u32 Part, class A> HDD_DEVICE auto hdd_extract(A a)
{
    return hdd_strict(hdd_extract_of<Part>(), a);
}

template <u32 Part> struct hdd_date_trunc_of {
    HDD_MEMBER i32 operator()(i32 day) const
    {
        return hdd_trunc_day(day, Part);
    }
    HDD_MEMBER i64 operator()(i64 micros) const
    {
        return hdd_trunc_time(micros, Part);
    }
};

template <u32 Part, class A> HDD_DEVICE auto hdd_date_trunc(A a)
{
    return hdd_strict(hdd_date_trunc_of<Part>(), a);
}

struct hdd_last_day_of {
    HDD_MEMBER i32 operator()(i32 day) const
    {
        return hdd_month_end(day);
    }
};

template <class A> HDD_DEVICE auto hdd_last_day(A a)
{
    return hdd_strict(hdd_last_day_of(), a);
}

struct hdd_date_diff_of {
    HDD_MEMBER i64 operator()(i32 a, i32 b) const
    {
        return (i64)a - b;
    }
};

template <class A, class B> HDD_DEVICE auto hdd_date_diff(A a, B b)
{
    return hdd_strict(hdd_date_diff_of(), a, b);
}

template <u32 Unit> struct hdd_units_between_of {
    HDD_MEMBER i64 operator()(i32 a, i32 b) const
    {
        return hdd_days_between(a, b, Unit);
    }
    HDD_MEMBER i64 operator()(i64 a, i64 b) const
    {
        return hdd_times_between(a, b, Unit);
    }
};

// Unit: enum hdd_field.
template <u32 Unit, class A, class B> HDD_DEVICE auto hdd_units_between(A a, B b)
{
    return hdd_strict(hdd_units_between_of<Unit>(), a, b);
}

struct hdd_date_of_timestamp {
    HDD_MEMBER i32 operator()(i64 micros) const
    {
        return (i32)hdd_floor_day(micros);
    }
};

template <class A> HDD_DEVICE auto hdd_to_date(A micros)
{
    return hdd_strict(hdd_date_of_timestamp(), micros);
}

struct hdd_time_of_timestamp {
    HDD_MEMBER i64 operator()(i64 micros) const
    {
        return hdd_of_day(micros);
    }
};

template <class A> HDD_DEVICE auto hdd_to_time(A micros)
{
    return hdd_strict(hdd_time_of_timestamp(), micros);
}

struct hdd_timestamp_of_date {
    HDD_MEMBER i64 operator()(i32 day) const
    {
        return day * HDD_MICROS_PER_DAY;
    }
};

template <class A> HDD_DEVICE auto hdd_to_timestamp(A day)
{
    return hdd_strict(hdd_timestamp_of_date(), day);
}

// ---- intervals -----------------------------------------------------------------------------

// A date or timestamp moved by n days or months; the time of a timestamp stays.
template <bool Months> struct hdd_interval_of {
    const hdd_run &run;
    i32 path;

    HDD_MEMBER i64 moved(i64 day, i64 n) const
    {
        i64 r = 0;
        const bool in_range = Months ? hdd_plus_months(day, n, &r) : hdd_plus_days(day, n, &r);
        if (!in_range)
            run.fail(HDD_FAIL_DATE_RANGE, path);
        return in_range ? r : 0;
    }
    HDD_MEMBER i32 operator()(i32 day, i64 n) const
    {
        return (i32)moved(day, n);
    }
    HDD_MEMBER i64 operator()(i64 micros, i64 n) const
    {
        return hdd_move_day(micros, moved(hdd_floor_day(micros), n));
    }
};

struct hdd_micros_of {
    const hdd_run &run;
    i32 path;

    HDD_MEMBER i64 operator()(i64 micros, i64 n) const
    {
        i64 r = 0;
        if (!hdd_plus_micros(micros, n, &r))
            run.fail(HDD_FAIL_DATE_RANGE, path);
        return r;
    }
};

template <class A, class N> HDD_DEVICE auto hdd_add_micros(const hdd_run &run, i32 path, A a, N n)
{
    return hdd_strict(hdd_micros_of{run, path}, a, n);
}

template <class A, class N> HDD_DEVICE auto hdd_add_days(const hdd_run &run, i32 path, A a, N n)
{
    return hdd_strict(hdd_interval_of<false>{run, path}, a, n);
}

template <class A, class N> HDD_DEVICE auto hdd_add_months(const hdd_run &run, i32 path, A a, N n)
{
    return hdd_strict(hdd_interval_of<true>{run, path}, a, n);
}

// ---- days of numbers -----------------------------------------------------------------------

struct hdd_make_date_of {
    const hdd_run &run;
    i32 path;
    i64 day;

    HDD_MEMBER i32 operator()(i64 year, i64 month) const
    {
        i32 r = 0;
        if (!hdd_day_of_numbers(year, month, day, &r))
            run.fail(HDD_FAIL_DOMAIN, path);
        return r;
    }
};

template <class A, class B> HDD_DEVICE auto hdd_make_date(const hdd_run &run, i32 path, A year, B month, i64 day)
{
    return hdd_strict(hdd_make_date_of{run, path, day}, year, month);
}

template <class A, class B>
HDD_DEVICE auto hdd_make_date(const hdd_run &run, i32 path, A year, B month, hdd_opt<i64> day)
{
    typedef hdd_opt<i32> Result;
    return day.ok ? Result(hdd_make_date(run, path, year, month, day.v)) : Result();
}

#endif
