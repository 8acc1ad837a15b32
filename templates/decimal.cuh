// Decimal arithmetic that scales and rounds: exact integers in, half away from zero out
// (docs/plan.md section 2.2). One thread at a time.
#ifndef HDD_DECIMAL_CUH
#define HDD_DECIMAL_CUH

#include "hd/arith.cuh"

struct hdd_div_decimal_of {
    const hdd_run &run;
    i32 scale, digits, path;

    HDD_MEMBER i128 operator()(i128 a, i128 b) const
    {
        u128 q = 0;
        if (b == 0) {
            run.fail(HDD_FAIL_DIV_ZERO, path);
            return 0;
        }
        const bool fits = hdd_scaled_quotient(hdd_magnitude(a), (u128)hdd_pow10(scale), hdd_magnitude(b), &q);
        if (hdd_beyond(!fits, (i128)q, digits)) {
            run.fail(HDD_FAIL_OVERFLOW, path);
            return 0;
        }
        return (a < 0) != (b < 0) ? -(i128)q : (i128)q;
    }
};

// a * 10^scale / b; digits and path as for checked arithmetic.
template <class A, class B>
HDD_DEVICE auto hdd_div_decimal(const hdd_run &run, i32 scale, i32 digits, i32 path, A a, B b)
{
    return hdd_strict(hdd_div_decimal_of{run, scale, digits, path}, hdd_cast<i128>(a), hdd_cast<i128>(b));
}

// a * by / b where 64 bits hold the product and twice a remainder.
struct hdd_div_rounded_of {
    i64 by;

    HDD_MEMBER i64 operator()(i64 a, i64 b) const
    {
        const i64 n = a * by, q = n / b, rest = n - q * b;
        const u64 left = (u64)(rest < 0 ? -rest : rest), whole = (u64)(b < 0 ? -b : b);
        return left >= whole - left ? q + ((n ^ b) < 0 ? -1 : 1) : q;
    }
};

struct hdd_checked_div_rounded_of {
    const hdd_run &run;
    i32 path;
    hdd_div_rounded_of f;

    HDD_MEMBER i64 operator()(i64 a, i64 b) const
    {
        if (b != 0)
            return f(a, b);
        run.fail(HDD_FAIL_DIV_ZERO, path);
        return 0;
    }
};

template <class A, class B> HDD_DEVICE auto hdd_div_rounded(i64 by, A a, B b)
{
    return hdd_strict(hdd_div_rounded_of{by}, a, b);
}

template <class A, class B> HDD_DEVICE auto hdd_checked_div_rounded(const hdd_run &run, i32 path, i64 by, A a, B b)
{
    return hdd_strict(hdd_checked_div_rounded_of{run, path, {by}}, a, b);
}

// The words of a value, and the quotient of the sums of such words (wide.cuh): sums of decimals
// that facts cannot keep within 38 digits.
struct hdd_low_word_of {
    HDD_MEMBER i128 operator()(i128 x) const
    {
        return (i128)(u64)x;
    }
};

struct hdd_high_word_of {
    HDD_MEMBER i64 operator()(i128 x) const
    {
        return (i64)(x >> 64);
    }
};

template <class A> HDD_DEVICE auto hdd_low_word(A x)
{
    return hdd_strict(hdd_low_word_of(), x);
}

template <class A> HDD_DEVICE auto hdd_high_word(A x)
{
    return hdd_strict(hdd_high_word_of(), x);
}

template <class T> struct hdd_of_parts_of {
    const hdd_run &run;
    i32 scale, digits, path;
    i64 n;

    HDD_MEMBER T operator()(i128 high, i128 low) const
    {
        i128 q = 0;
        if (!hdd_parts_quotient(high, low, scale, n, digits, &q))
            run.fail(HDD_FAIL_OVERFLOW, path);
        return (T)q;
    }
};

template <class T, class A, class B>
HDD_DEVICE auto hdd_of_parts(const hdd_run &run, i32 scale, i32 digits, i32 path, A high, B low, i64 n)
{
    return hdd_strict(hdd_of_parts_of<T>{run, scale, digits, path, n}, high, low);
}

template <class T> struct hdd_div_round_of {
    i32 scale;

    template <class From> HDD_MEMBER T operator()(From x) const
    {
        u128 q = 0;
        hdd_scaled_quotient(hdd_magnitude((i128)x), 1, (u128)hdd_pow10(scale), &q);
        return (T)(x < 0 ? -(i128)q : (i128)q);
    }
};

// x / 10^scale.
template <class T, class A> HDD_DEVICE auto hdd_div_round(i32 scale, A x)
{
    return hdd_strict(hdd_div_round_of<T>{scale}, x);
}

// x / 10^scale, rounded down, towards zero or up; of floats the whole number (scale 0).
template <i32 Direction> struct hdd_toward_of {
    i32 scale;

    template <class T> HDD_MEMBER T operator()(T x) const
    {
        return (T)hdd_div_toward((i128)x, scale, Direction);
    }
    HDD_MEMBER f64 operator()(f64 x) const
    {
        return Direction < 0 ? hdd_floor_f64(x) : Direction > 0 ? hdd_ceil_f64(x) : hdd_trunc_f64(x);
    }
    HDD_MEMBER f32 operator()(f32 x) const
    {
        return Direction < 0 ? hdd_floor_f32(x) : Direction > 0 ? hdd_ceil_f32(x) : hdd_trunc_f32(x);
    }
};

template <class A> HDD_DEVICE auto hdd_floor(i32 scale, A x)
{
    return hdd_strict(hdd_toward_of<-1>{scale}, x);
}

template <class A> HDD_DEVICE auto hdd_trunc(i32 scale, A x)
{
    return hdd_strict(hdd_toward_of<0>{scale}, x);
}

template <class A> HDD_DEVICE auto hdd_ceil(i32 scale, A x)
{
    return hdd_strict(hdd_toward_of<1>{scale}, x);
}

// Buckets of equal width (docs/plan.md 2.2): floats by factor = n / (hi - lo); exact numbers by a factor of Shift bits
// behind the point, which gives the bucket or the one below it; wide ones by 128-bit steps.
template <class T> struct hdd_float_bucket_of {
    T lo, hi, factor;
    i32 n;

    HDD_MEMBER i32 operator()(T x) const
    {
        const T t = (x - lo) * factor; // rounded up, a float32 may not fit an i32
        const i32 whole = x >= lo && x < hi ? t < (T)2147483648.0 ? (i32)t : n - 1 : 0; // beyond: not defined
        const i32 inside = hdd_min(whole, n - 1) + 1;
        return x < lo ? 0 : x < hi ? inside : n + 1;
    }
};

template <i32 Shift> struct hdd_bucket_of {
    u64 lo, width, factor;
    i32 n;

    HDD_MEMBER i32 operator()(i64 x) const
    {
        const u64 y = (u64)x - lo;
        const u64 q = Shift == 32 ? y * factor >> 32 : hdd_mul_high(y, factor);
        const u64 rest = y * (u32)n - q * width;
        return x < (i64)lo ? 0 : y >= width ? n + 1 : (i32)q + 1 + (rest >= width);
    }
};

struct hdd_wide_bucket_of {
    i128 lo;
    u128 width;
    i32 n;

    HDD_MEMBER i32 operator()(i128 x) const
    {
        return hdd_wide_bucket(x, lo, width, n);
    }
};

template <class A> HDD_DEVICE auto hdd_width_bucket(A x, f64 lo, f64 hi, i32 n, f64 factor)
{
    return hdd_strict(hdd_float_bucket_of<f64>{lo, hi, factor, n}, x);
}

template <class A> HDD_DEVICE auto hdd_width_bucket(A x, f32 lo, f32 hi, i32 n, f32 factor)
{
    return hdd_strict(hdd_float_bucket_of<f32>{lo, hi, factor, n}, x);
}

template <i32 Shift, class A> HDD_DEVICE auto hdd_width_bucket(A x, i64 lo, i64 width, i32 n, i64 factor)
{
    return hdd_strict(hdd_bucket_of<Shift>{(u64)lo, (u64)width, (u64)factor, n}, x);
}

template <i32 Shift, class A> HDD_DEVICE auto hdd_width_bucket(A x, i128 lo, i128 width, i32 n)
{
    return hdd_strict(hdd_wide_bucket_of{lo, (u128)width, n}, x);
}

// x * 10^scale where facts prove that it fits.
template <class T> struct hdd_rescale_of {
    i32 scale;

    template <class From> HDD_MEMBER T operator()(From x) const
    {
        return (T)x * (T)hdd_pow10(scale);
    }
};

template <class T, class A> HDD_DEVICE auto hdd_rescale(i32 scale, A x)
{
    return hdd_strict(hdd_rescale_of<T>{scale}, x);
}

// x * 10^scale; beyond 38 digits +-10^38, which is larger than every decimal, so that a
// comparison comes out right.
struct hdd_rescale_saturated_of {
    i32 scale;

    HDD_MEMBER i128 operator()(i128 x) const
    {
        const u128 max = (u128)hdd_pow10(38);
        const hdd_u256 p = hdd_wide_mul(hdd_magnitude(x), (u128)hdd_pow10(scale));
        const u128 m = p.hi || p.lo > max ? max : p.lo;
        return x < 0 ? -(i128)m : (i128)m;
    }
};

template <class A> HDD_DEVICE auto hdd_rescale_saturated(i32 scale, A x)
{
    return hdd_strict(hdd_rescale_saturated_of{scale}, hdd_cast<i128>(x));
}

// An integer of few digits over 10^scale, scale at most 22: both are exact as doubles, so that
// one rounding is left. Others: convert.cuh.
struct hdd_to_f64_of {
    i32 scale;

    template <class From> HDD_MEMBER f64 operator()(From x) const
    {
        return scale ? (f64)x / (f64)hdd_pow10(scale) : (f64)x;
    }
};

template <class A> HDD_DEVICE auto hdd_to_f64(i32 scale, A x)
{
    return hdd_strict(hdd_to_f64_of{scale}, x);
}

// A float64 that would be infinite as a float32, and is not, does not fit.
struct hdd_to_f32_of {
    const hdd_run &run;
    i32 path;

    HDD_MEMBER f32 operator()(f64 x) const
    {
        const f32 r = (f32)x;
        if (r - r != 0 && x - x == 0)
            run.fail_value(HDD_FAIL_CAST_RANGE, path, (u64)hdd_f64_bits(x), 0);
        return r;
    }
};

template <class A> HDD_DEVICE auto hdd_to_f32(const hdd_run &run, i32 path, A x)
{
    return hdd_strict(hdd_to_f32_of{run, path}, x);
}

// NULL where it would be infinite and is not.
HDD_DEVICE hdd_opt<f32> hdd_try_to_f32(f64 x)
{
    const f32 r = (f32)x;
    return hdd_opt<f32>(r, r - r == 0 || x - x != 0);
}

HDD_DEVICE hdd_opt<f32> hdd_try_to_f32(hdd_opt<f64> x)
{
    return x.ok ? hdd_try_to_f32(x.v) : hdd_null<f32>();
}

#endif
