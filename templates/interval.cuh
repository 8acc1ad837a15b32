// Intervals in expressions: strict in NULL. One thread at a time.
#ifndef HDD_INTERVAL_CUH
#define HDD_INTERVAL_CUH

#include "hd/interval_value.cuh"
#include "hd/run.cuh"
#include "hd/value.cuh"

// ---- parts ---------------------------------------------------------------------------------

#define HDD_INTERVAL_PART(name, type, value) \
    struct name##_part { \
        HDD_MEMBER type operator()(i128 v) const \
        { \
            return value(v); \
        } \
    }; \
    template <class A> HDD_DEVICE auto name(A v) \
    { \
        return hdd_strict(name##_part(), v); \
    }
HDD_INTERVAL_PART(hdd_interval_length, i128, hdd_interval_span)
HDD_INTERVAL_PART(hdd_interval_months, i64, hdd_interval_months_of)
HDD_INTERVAL_PART(hdd_interval_days, i64, hdd_interval_days_of)
HDD_INTERVAL_PART(hdd_interval_micros, i64, hdd_interval_micros_of)
#undef HDD_INTERVAL_PART

// ---- arithmetic ----------------------------------------------------------------------------

struct hdd_interval_sum_of {
    const hdd_run &run;
    i32 path, sign;

    HDD_MEMBER i128 operator()(i128 a, i128 b) const
    {
        i128 r = 0;
        if (!hdd_interval_sum(a, b, sign, &r))
            run.fail(HDD_FAIL_OVERFLOW, path);
        return r;
    }
};

template <class A, class B> HDD_DEVICE auto hdd_interval_plus(const hdd_run &run, i32 path, A a, B b)
{
    return hdd_strict(hdd_interval_sum_of{run, path, 1}, a, b);
}

template <class A, class B> HDD_DEVICE auto hdd_interval_minus(const hdd_run &run, i32 path, A a, B b)
{
    return hdd_strict(hdd_interval_sum_of{run, path, -1}, a, b);
}

struct hdd_interval_product_of {
    const hdd_run &run;
    i32 path;

    HDD_MEMBER i128 operator()(i128 a, i64 n) const
    {
        i128 r = 0;
        if (!hdd_interval_product(a, n, &r))
            run.fail(HDD_FAIL_OVERFLOW, path);
        return r;
    }
};

template <class A, class B> HDD_DEVICE auto hdd_interval_times(const hdd_run &run, i32 path, A a, B n)
{
    return hdd_strict(hdd_interval_product_of{run, path}, a, n);
}

struct hdd_make_interval_of {
    const hdd_run &run;
    i32 path;
    i64 micros;

    HDD_MEMBER i128 operator()(i64 months, i64 days) const
    {
        const hdd_interval v = {months, days, micros};
        i128 r = 0;
        if (!hdd_interval_pack(v, &r))
            run.fail(HDD_FAIL_OVERFLOW, path);
        return r;
    }
};

template <class A, class B>
HDD_DEVICE auto hdd_make_interval(const hdd_run &run, i32 path, A months, B days, i64 micros)
{
    return hdd_strict(hdd_make_interval_of{run, path, micros}, months, days);
}

template <class A, class B>
HDD_DEVICE auto hdd_make_interval(const hdd_run &run, i32 path, A months, B days, hdd_opt<i64> micros)
{
    typedef hdd_opt<i128> Result;
    return micros.ok ? Result(hdd_make_interval(run, path, months, days, micros.v)) : Result();
}

#endif
