// Functions of float64 (T_FLOAT64 in frontend/ops.def): one source for kernels, the CPU's runtime and the emulator, so
// that they give the same bits everywhere. Shared with host C (templates/host.h). They use + - * / and square roots,
// which IEEE 754 rounds to the nearest, and compilers must not fuse them (--fmad=false, -ffp-contract=off). One thread
// at a time.
//
// Where a function is not defined the result is NaN, where it is too large, infinite. hdd_sqrt is the machine's.
//
// All follow one plan (Cody and Waite, "Software Manual for the Elementary Functions", 1980): the argument is reduced
// to a small one, of which a Taylor polynomial is evaluated whose remainder is below 2^-57 of the result, and the
// parts are put together again. What rounding would spoil on the way is carried as a pair of float64. No result is
// farther than 2 units in its last place from the exact one; tests/unit/math measures less than 1.
#ifndef HDD_MATH_CUH
#define HDD_MATH_CUH

#ifdef __cplusplus
#include "hd/machine.cuh"
#else
#include "templates/host.h"
#endif

#define HDD_LN2_HI      0.6931471805592082 // 40 bits: exact in products with exponents
#define HDD_LN2_LO      7.371002565167799e-13
#define HDD_INVERSE_LN2 1.4426950408889634
#define HDD_INFINITY    hdd_f64_from_bits(0x7ff0000000000000ll)

// ---- pairs ---------------------------------------------------------------------------------

// hi + lo. The sum of two float64 is a pair without error: Dekker, "A Floating-Point Technique for Extending the
// Available Precision" (Numerische Mathematik 18, 1971).
typedef struct {
    f64 hi, lo;
} hdd_pair;

// |a| is not below |b|, or a is 0.
HDD_DEVICE hdd_pair hdd_ordered_sum(f64 a, f64 b)
{
    hdd_pair r;
    r.hi = a + b;
    r.lo = b - (r.hi - a);
    return r;
}

// 2^k, -1022 <= k <= 1023.
HDD_DEVICE f64 hdd_power_of_2(i32 k)
{
    return hdd_f64_from_bits((i64)(k + 1023) << 52);
}

// v * 2^k, rounded once: v is near 1, k not beyond twice the range of hdd_power_of_2.
HDD_DEVICE f64 hdd_scale(f64 v, i32 k)
{
    const i32 half = k / 2;
    return v * hdd_power_of_2(half) * hdd_power_of_2(k - half);
}

// ---- exponential ---------------------------------------------------------------------------

// e^(x + c), -746 < x < 710 and |c| far below |x|: 2^k e^r with |r| <= ln 2 / 2.
HDD_DEVICE f64 hdd_exp_of(f64 x, f64 c)
{
    const i32 k = (i32)(x * HDD_INVERSE_LN2 + (x < 0 ? -0.5 : 0.5));
    const f64 a = x - k * HDD_LN2_HI, b = k * HDD_LN2_LO - c;
    const f64 r = a - b, rest = (a - r) - b;
    f64 p = 1.0 / 6227020800.0; // 1 / 13!
    p = 1.0 / 479001600.0 + r * p;
    p = 1.0 / 39916800.0 + r * p;
    p = 1.0 / 3628800.0 + r * p;
    p = 1.0 / 362880.0 + r * p;
    p = 1.0 / 40320.0 + r * p;
    p = 1.0 / 5040.0 + r * p;
    p = 1.0 / 720.0 + r * p;
    p = 1.0 / 120.0 + r * p;
    p = 1.0 / 24.0 + r * p;
    p = 1.0 / 6.0 + r * p;
    p = 1.0 / 2.0 + r * p;
    const hdd_pair s = hdd_ordered_sum(1, r);
    return hdd_scale(s.hi + (s.lo + (r * r * p + (rest + rest * r))), k);
}

HDD_DEVICE f64 hdd_exp(f64 x)
{
    if (x > 709.782712893384)
        return HDD_INFINITY;
    if (x < -745.2)
        return 0;
    return x == x ? hdd_exp_of(x, 0) : x;
}

#endif
