// Decimal arithmetic that scales and rounds: exact integers in, half away from zero out
// (docs/plan.md section 2.2). One thread at a time.
#ifndef HDD_DECIMAL_CUH
#define HDD_DECIMAL_CUH

#include "hd/arith.cuh"

HDD_DEVICE u128 hdd_magnitude(i128 v)
{
    return v < 0 ? -(u128)v : (u128)v;
}

// One decimal digit of r / b, r < b: the digit is returned, r becomes the remainder. Ten times
// r may not fit, so it is built bit by bit (10 = 1010 in binary), kept below b after each
// step.
HDD_DEVICE u32 hdd_next_digit(u128 &r, u128 b)
{
    const u128 once = r;
    u128 x = 0;
    u32 digit = 0;
    for (u32 bit = 8; bit > 0; bit /= 2) {
        digit *= 2;
        x *= 2; // b is at most 2^127, x below b
        if (x >= b) {
            x -= b;
            digit++;
        }
        if (!(10 & bit))
            continue;
        x += once;
        if (x >= b) {
            x -= b;
            digit++;
        }
    }
    r = x;
    return digit;
}

// round(a * 10^scale / b) of magnitudes, b not 0. False: it does not fit 127 bits.
HDD_DEVICE bool hdd_scaled_quotient(u128 a, u128 b, i32 scale, u128 &q)
{
    const u128 most = ~(u128)0 >> 1;
    u128 r = a % b;
    q = a / b;
    for (i32 i = 0; i < scale; i++) {
        const u32 digit = hdd_next_digit(r, b);
        if (q > (most - digit) / 10)
            return false;
        q = q * 10 + digit;
    }
    q += r >= b - r;
    return q <= most;
}

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
        const bool fits = hdd_scaled_quotient(hdd_magnitude(a), hdd_magnitude(b), scale, q);
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
    return hdd_strict(hdd_div_decimal_of{run, scale, digits, path}, hdd_cast<i128>(a),
                      hdd_cast<i128>(b));
}

template <class T> struct hdd_div_round_of {
    i32 scale;

    template <class From> HDD_MEMBER T operator()(From x) const
    {
        u128 q = 0;
        hdd_scaled_quotient(hdd_magnitude((i128)x), (u128)hdd_pow10(scale), 0, q);
        return (T)(x < 0 ? -(i128)q : (i128)q);
    }
};

// x / 10^scale.
template <class T, class A> HDD_DEVICE auto hdd_div_round(i32 scale, A x)
{
    return hdd_strict(hdd_div_round_of<T>{scale}, x);
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

// An integer of few digits over 10^scale, scale at most 22: both are exact as doubles, so that
// one rounding is left.
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

#endif
