// Casts from and to string and floats: templates/forms.cuh and float.cuh with NULLs, failures
// and the heap of strings. One thread at a time.
#ifndef HDD_CONVERT_CUH
#define HDD_CONVERT_CUH

#include "hd/arith.cuh"
#include "hd/forms.cuh"
#include "hd/heap.cuh"

// ---- floats --------------------------------------------------------------------------------

struct hdd_wide_to_f64_of {
    i32 scale;

    HDD_MEMBER f64 operator()(i128 v) const
    {
        return hdd_wide_to_f64(v, scale);
    }
};

struct hdd_wide_to_f32_of {
    i32 scale;

    HDD_MEMBER f32 operator()(i128 v) const
    {
        return hdd_wide_to_f32(v, scale);
    }
};

struct hdd_round_of {
    i32 digits;

    HDD_MEMBER f64 operator()(f64 v) const
    {
        return hdd_round_to_digits(v, digits);
    }
    HDD_MEMBER f32 operator()(f32 v) const
    {
        return hdd_round_f32_to_digits(v, digits);
    }
};

template <class A> HDD_DEVICE auto hdd_round(i32 digits, A x)
{
    return hdd_strict(hdd_round_of{digits}, x);
}

// x / 10^scale.
template <class A> HDD_DEVICE auto hdd_to_f64_wide(i32 scale, A x)
{
    return hdd_strict(hdd_wide_to_f64_of{scale}, hdd_cast<i128>(x));
}

template <class A> HDD_DEVICE auto hdd_to_f32_wide(i32 scale, A x)
{
    return hdd_strict(hdd_wide_to_f32_of{scale}, hdd_cast<i128>(x));
}

template <class To> struct hdd_from_f64_of {
    const hdd_run &run;
    i32 scale, digits, path;

    HDD_MEMBER To operator()(f64 v) const
    {
        i128 r = 0;
        if (hdd_f64_to_wide(v, scale, digits, (i32)sizeof(To) * 8, &r))
            return (To)r;
        run.fail_value(HDD_FAIL_CAST_RANGE, path, (u64)hdd_f64_bits(v), 0);
        return To();
    }
};

// v * 10^scale.
template <class To, class A> HDD_DEVICE auto hdd_from_f64(const hdd_run &run, i32 scale, i32 digits, i32 path, A v)
{
    return hdd_strict(hdd_from_f64_of<To>{run, scale, digits, path}, v);
}

// ---- to string -----------------------------------------------------------------------------

// A copy on the heap; the empty string where there is no room (launch.cuh).
HDD_CALLED hdd_string hdd_keep_string(const hdd_launch &launch, const u8 *s, i32 n)
{
    u8 *const to = hdd_string_room(launch, n);
    if (!to)
        return hdd_string{reinterpret_cast<const u8 *>(launch.string_heap), 0};
    for (i32 i = 0; i < n; i++)
        to[i] = s[i];
    return hdd_string{to, n};
}

#define HDD_TO_STRING(name, type, put) \
    struct name##_of { \
        const hdd_run &run; \
        i32 scale; \
        HDD_MEMBER hdd_string operator()(type v) const \
        { \
            u8 form[HDD_FORM_MAX]; \
            const i32 n = put; \
            return hdd_keep_string(run.launch, form, n); \
        } \
    }; \
    template <class A> HDD_DEVICE auto name(const hdd_run &run, i32 scale, A v) \
    { \
        return hdd_strict(name##_of{run, scale}, v); \
    }
HDD_TO_STRING(hdd_bool_string, bool, hdd_put_bool(form, v))
HDD_TO_STRING(hdd_decimal_string, i128, hdd_put_decimal(form, v, scale))
HDD_TO_STRING(hdd_f64_string, f64, hdd_put_f64(form, v))
HDD_TO_STRING(hdd_f32_string, f32, hdd_put_f32(form, v))
HDD_TO_STRING(hdd_date_string, i32, hdd_put_date(form, v))
HDD_TO_STRING(hdd_timestamp_string, i64, hdd_put_timestamp(form, v))
HDD_TO_STRING(hdd_time_string, i64, hdd_put_clock(form, v))
#undef HDD_TO_STRING

// ---- from string: a failure or, by _or_null, NULL where it is no value ---------------------------------------------------------------------------

#define HDD_FROM_STRING(name, type, read) \
    struct name##_of { \
        const hdd_run &run; \
        i32 scale, digits, path; \
        HDD_MEMBER type operator()(hdd_string t) const \
        { \
            type v = type(); \
            if (read) \
                return v; \
            run.fail_string(HDD_FAIL_CAST_STRING, path, t.s, t.n); \
            return type(); \
        } \
    }; \
    template <class A> HDD_DEVICE auto name(const hdd_run &run, i32 scale, i32 digits, i32 path, A t) \
    { \
        return hdd_strict(name##_of{run, scale, digits, path}, t); \
    } \
    HDD_DEVICE hdd_opt<type> name##_or_null(i32 scale, i32 digits, hdd_string t) \
    { \
        type v = type(); \
        (void)scale, (void)digits; \
        const bool ok = read; \
        return hdd_opt<type>(v, ok); \
    } \
    HDD_DEVICE hdd_opt<type> name##_or_null(i32 scale, i32 digits, hdd_opt<hdd_string> t) \
    { \
        return t.ok ? name##_or_null(scale, digits, t.v) : hdd_null<type>(); \
    }
HDD_FROM_STRING(hdd_string_bool, bool, hdd_read_bool(t.s, t.n, &v))
HDD_FROM_STRING(hdd_string_int32, i64, hdd_read_int(t.s, t.n, -2147483648ll, 2147483647, &v))
HDD_FROM_STRING(hdd_string_int64, i64, hdd_read_int(t.s, t.n, -0x7fffffffffffffffll - 1, 0x7fffffffffffffffll, &v))
HDD_FROM_STRING(hdd_string_decimal, i128, hdd_read_scaled(t.s, t.n, scale, digits, &v))
HDD_FROM_STRING(hdd_string_f64, f64, hdd_read_f64(t.s, t.n, &v))
HDD_FROM_STRING(hdd_string_f32, f32, hdd_read_f32(t.s, t.n, &v))
HDD_FROM_STRING(hdd_string_date, i32, hdd_read_date(t.s, t.n, &v))
HDD_FROM_STRING(hdd_string_timestamp, i64, hdd_read_timestamp(t.s, t.n, &v))
HDD_FROM_STRING(hdd_string_time, i64, hdd_read_clock(t.s, t.n, &v))
#undef HDD_FROM_STRING

#endif
