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
#include "hd/device.cuh"
#include "hd/wide.cuh"
#else
#include "templates/device.cuh"
#include "templates/wide.cuh"
#endif

#define HDD_LN2_HI      0.6931471805592082 // 40 bits: exact in products with exponents
#define HDD_LN2_LO      7.371002565167799e-13
#define HDD_INVERSE_LN2 1.4426950408889634
#define HDD_NAN         hdd_f64_from_bits(0x7ff8000000000000ll)
#define HDD_INFINITY    hdd_f64_from_bits(0x7ff0000000000000ll)

// ---- pairs ---------------------------------------------------------------------------------

// hi + lo. Sums and products of two float64 are pairs without error: Dekker, "A Floating-Point Technique for Extending
// the Available Precision" (Numerische Mathematik 18, 1971), and Knuth, TAOCP 2, 4.2.2, theorem B.
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

HDD_DEVICE hdd_pair hdd_exact_sum(f64 a, f64 b)
{
    hdd_pair r;
    r.hi = a + b;
    const f64 of_b = r.hi - a;
    r.lo = (a - (r.hi - of_b)) + (b - of_b);
    return r;
}

// The upper 26 bits, rounded; the rest has as many.
HDD_DEVICE f64 hdd_upper_half(f64 a)
{
    const f64 c = a * 134217729.0; // 2^27 + 1
    return c - (c - a);
}

// Both are below 2^990, and the product is 0 or not near the smallest numbers.
HDD_DEVICE hdd_pair hdd_exact_product(f64 a, f64 b)
{
    const f64 a1 = hdd_upper_half(a), a2 = a - a1, b1 = hdd_upper_half(b), b2 = b - b1;
    hdd_pair r;
    r.hi = a * b;
    r.lo = ((a1 * b1 - r.hi) + a1 * b2 + a2 * b1) + a2 * b2;
    return r;
}

HDD_DEVICE hdd_pair hdd_pair_product(hdd_pair a, hdd_pair b)
{
    const hdd_pair p = hdd_exact_product(a.hi, b.hi);
    return hdd_ordered_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

HDD_DEVICE hdd_pair hdd_pair_quotient(hdd_pair a, hdd_pair b)
{
    const f64 q = a.hi / b.hi;
    const hdd_pair p = hdd_exact_product(q, b.hi);
    return hdd_ordered_sum(q, (((a.hi - p.hi) - p.lo) + a.lo - q * b.lo) / b.hi);
}

HDD_DEVICE hdd_pair hdd_pair_of(f64 hi, f64 lo)
{
    hdd_pair r;
    r.hi = hi;
    r.lo = lo;
    return r;
}

HDD_DEVICE f64 hdd_abs_f64(f64 v)
{
    return hdd_f64_from_bits(hdd_f64_bits(v) & 0x7fffffffffffffffll);
}

HDD_DEVICE f64 hdd_with_sign(f64 magnitude, f64 of)
{
    return of < 0 ? -magnitude : magnitude;
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

// ---- logarithms ----------------------------------------------------------------------------

// ln x of a finite number above 0, to about 2^-65 of it: k ln 2 + 2 atanh s with s = (m - 1) / (m + 1), m between the
// roots of 1/2 and 2.
HDD_APART hdd_pair hdd_ln_pair(f64 x)
{
    const bool tiny = x < 2.2250738585072014e-308;
    const u64 image = (u64)hdd_f64_bits(tiny ? x * 18014398509481984.0 : x); // 2^54
    i32 k = (i32)(image >> 52) - (tiny ? 1023 + 54 : 1023);
    f64 m = hdd_f64_from_bits((i64)((image & 0xfffffffffffffull) | 0x3ff0000000000000ull));
    if (m > 1.4142135623730951) {
        m *= 0.5;
        k++;
    }
    const hdd_pair s = hdd_pair_quotient(hdd_pair_of(m - 1, 0), hdd_exact_sum(m, 1));
    const hdd_pair cube = hdd_pair_product(hdd_pair_product(s, s), s);
    const hdd_pair third = hdd_pair_product(cube, hdd_pair_of(0.6666666666666666, 3.700743415417188e-17));
    const f64 z = s.hi * s.hi;
    f64 p = 2.0 / 25;
    p = 2.0 / 23 + z * p;
    p = 2.0 / 21 + z * p;
    p = 2.0 / 19 + z * p;
    p = 2.0 / 17 + z * p;
    p = 2.0 / 15 + z * p;
    p = 2.0 / 13 + z * p;
    p = 2.0 / 11 + z * p;
    p = 2.0 / 9 + z * p;
    p = 2.0 / 7 + z * p;
    p = 2.0 / 5 + z * p;
    const hdd_pair two = hdd_ordered_sum(2 * s.hi, third.hi);
    const f64 low = two.lo + (third.lo + 2 * s.lo + cube.hi * z * p);
    const hdd_pair r = hdd_exact_sum(k * HDD_LN2_HI, two.hi);
    return hdd_ordered_sum(r.hi, r.lo + (k * HDD_LN2_LO + low));
}

HDD_DEVICE f64 hdd_ln(f64 x)
{
    if (!(x > 0))
        return HDD_NAN;
    return x - x == 0 ? hdd_ln_pair(x).hi : x;
}

HDD_DEVICE f64 hdd_log10(f64 x)
{
    if (!(x > 0))
        return HDD_NAN;
    if (x - x != 0)
        return x;
    return hdd_pair_product(hdd_ln_pair(x), hdd_pair_of(0.4342944819032518, 1.098319650216765e-17)).hi;
}

// ---- powers and roots ----------------------------------------------------------------------

// 0: no integer, 1: odd, 2: even.
HDD_DEVICE i32 hdd_parity(f64 y)
{
    const f64 a = hdd_abs_f64(y);
    if (a >= 9007199254740992.0) // 2^53
        return 2;
    const i64 n = (i64)a;
    return (f64)n != a ? 0 : n & 1 ? 1 : 2;
}

// |x|^y, x not 0 and finite, y finite.
HDD_APART f64 hdd_power_of(f64 x, f64 y)
{
    const hdd_pair l = hdd_ln_pair(hdd_abs_f64(x));
    const f64 about = l.hi * y;
    if (about > 710)
        return HDD_INFINITY;
    if (about < -746)
        return 0;
    if (l.hi == 0 || hdd_abs_f64(about) < 2.7755575615628914e-17) // 2^-55
        return 1;
    const hdd_pair p = hdd_exact_product(l.hi, y);
    return hdd_exp_of(p.hi, p.lo + l.lo * y);
}

// As pow of C, but 0 to a negative power is not defined.
HDD_DEVICE f64 hdd_power(f64 x, f64 y)
{
    const i32 parity = hdd_parity(y);
    const f64 a = hdd_abs_f64(x);
    if (y == 0 || x == 1)
        return 1;
    if (x != x || y != y)
        return x + y;
    if (y - y != 0) {
        if (a == 0 && y < 0)
            return HDD_NAN;
        return a == 1 ? 1 : (a > 1) == (y > 0) ? HDD_INFINITY : 0;
    }
    if (x == 0)
        return y < 0 ? HDD_NAN : parity == 1 ? x : 0;
    if (x < 0 && parity == 0)
        return a - a != 0 ? (y > 0 ? a : 0) : HDD_NAN;
    const f64 r = a - a != 0 ? (y > 0 ? a : 0) : hdd_power_of(x, y);
    return parity == 1 ? hdd_with_sign(r, x) : r;
}

// Halley's method from a line, then one step of Newton's with an exact residual.
HDD_DEVICE f64 hdd_cbrt(f64 x)
{
    if (x == 0 || x - x != 0)
        return x;
    const bool tiny = hdd_abs_f64(x) < 2.2250738585072014e-308;
    const u64 image = (u64)hdd_f64_bits(hdd_abs_f64(tiny ? x * 18014398509481984.0 : x)); // 2^54
    const i32 e = (i32)(image >> 52) - 1023, third = (e + 1200) / 3 - 400;
    const f64 m = hdd_f64_from_bits((i64)((image & 0xfffffffffffffull) | (u64)(1023 + e - 3 * third) << 52));
    f64 t = 0.857 + 0.143 * m; // m is between 1 and 8
    for (i32 i = 0; i < 3; i++) {
        const f64 c = t * t * t;
        t = t * (c + 2 * m) / (2 * c + m);
    }
    const hdd_pair square = hdd_exact_product(t, t), cube = hdd_exact_product(square.hi, t);
    const f64 rest = ((m - cube.hi) - cube.lo) - square.lo * t;
    return hdd_with_sign((t + rest / (3 * square.hi)) * hdd_power_of_2(third - (tiny ? 18 : 0)), x);
}

// ---- sine, cosine, tangent -----------------------------------------------------------------

#define HDD_PI_HI      3.141592653589793
#define HDD_PI_LO      1.2246467991473532e-16
#define HDD_HALF_PI_HI 1.5707963267948966
#define HDD_HALF_PI_LO 6.123233995736766e-17

// The first 1,216 bits of 2 / pi behind the point.
HDD_TABLE u64 hdd_2_over_pi[] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
    0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
    0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

// |x| = quadrant * pi / 2 + r, |r| <= pi / 4.
typedef struct {
    i32 quadrant;
    hdd_pair r;
} hdd_turned;

// q / 2^126 * pi / 2.
HDD_DEVICE hdd_pair hdd_part_of_turn(u128 q)
{
    const i32 bits = hdd_bits_in(q);
    if (bits == 0)
        return hdd_pair_of(0, 0);
    const u128 v = q << (128 - bits);
    const f64 hi = (f64)(u64)(v >> 75) * hdd_power_of_2(bits - 179);
    const f64 lo = (f64)((u64)(v >> 22) & 0x1fffffffffffffull) * hdd_power_of_2(bits - 232);
    return hdd_pair_product(hdd_pair_of(hi, lo), hdd_pair_of(HDD_HALF_PI_HI, HDD_HALF_PI_LO));
}

// Of a finite number: its 53 bits times the 192 bits of 2 / pi that matter, the whole turns before them left out (Payne
// and Hanek, "Radian Reduction for Trigonometric Functions", SIGNUM Newsletter 18(1), 1983).
HDD_APART hdd_turned hdd_turn(f64 x)
{
    const u64 image = (u64)hdd_f64_bits(x) & 0x7fffffffffffffffull;
    const i32 e = (i32)(image >> 52) - 1075, first = e > 2 ? e - 2 : 0, word = first / 64, by = first % 64;
    hdd_turned t;
    t.quadrant = 0;
    t.r = hdd_pair_of(hdd_abs_f64(x), 0);
    if (t.r.hi <= 0.7853981633974483)
        return t;
    u64 p[3];
    for (i32 i = 0; i < 3; i++) {
        const u64 next = by ? hdd_2_over_pi[word + i + 1] >> (64 - by) : 0;
        p[i] = hdd_2_over_pi[word + i] << by | next;
    }
    const u128 m = (image & 0xfffffffffffffull) | 0x10000000000000ull;
    const u128 low = m * p[2], middle = m * p[1] + (low >> 64), high = m * p[0] + (middle >> 64);
    const i32 down = e > 2 ? 0 : 2 - e; // the product has 190 + down bits behind the point, of which 126 are kept
    const u128 upper = high >> down << 64;
    u128 q = upper | (u64)middle >> down | (down ? (u64)high << (64 - down) : 0);
    t.quadrant = (i32)(q >> 126);
    q &= ((u128)1 << 126) - 1;
    const bool over = (q >> 125) != 0;
    const hdd_pair r = hdd_part_of_turn(over ? ((u128)1 << 126) - q : q);
    t.quadrant = (t.quadrant + over) & 3;
    t.r = over ? hdd_pair_of(-r.hi, -r.lo) : r;
    return t;
}

HDD_DEVICE hdd_pair hdd_sine_part(hdd_pair r)
{
    const f64 z = r.hi * r.hi;
    f64 p = 1.0 / 355687428096000.0; // 1 / 17!
    p = -1.0 / 1307674368000.0 + z * p;
    p = 1.0 / 6227020800.0 + z * p;
    p = -1.0 / 39916800.0 + z * p;
    p = 1.0 / 362880.0 + z * p;
    p = -1.0 / 5040.0 + z * p;
    p = 1.0 / 120.0 + z * p;
    p = -1.0 / 6.0 + z * p;
    return hdd_ordered_sum(r.hi, r.hi * (z * p) + r.lo * (1 - 0.5 * z));
}

HDD_DEVICE hdd_pair hdd_cosine_part(hdd_pair r)
{
    const f64 z = r.hi * r.hi, half = 0.5 * z, w = 1 - half;
    f64 p = -1.0 / 6402373705728000.0; // 1 / 18!
    p = 1.0 / 20922789888000.0 + z * p;
    p = -1.0 / 87178291200.0 + z * p;
    p = 1.0 / 479001600.0 + z * p;
    p = -1.0 / 3628800.0 + z * p;
    p = 1.0 / 40320.0 + z * p;
    p = -1.0 / 720.0 + z * p;
    p = 1.0 / 24.0 + z * p;
    return hdd_ordered_sum(w, ((1 - w) - half) + (z * z * p - r.hi * r.lo));
}

#define HDD_STRAIGHT 3.7252902984619140625e-9 // 2^-28: sin x, tan x, asin x and atan x are x

HDD_APART f64 hdd_sin(f64 x)
{
    if (hdd_abs_f64(x) < HDD_STRAIGHT)
        return x;
    if (x - x != 0)
        return HDD_NAN;
    const hdd_turned t = hdd_turn(x);
    const f64 r = t.quadrant & 1 ? hdd_cosine_part(t.r).hi : hdd_sine_part(t.r).hi;
    return hdd_with_sign(t.quadrant & 2 ? -r : r, x);
}

HDD_APART f64 hdd_cos(f64 x)
{
    if (x - x != 0)
        return HDD_NAN;
    const hdd_turned t = hdd_turn(x);
    const f64 r = t.quadrant & 1 ? hdd_sine_part(t.r).hi : hdd_cosine_part(t.r).hi;
    return t.quadrant == 1 || t.quadrant == 2 ? -r : r;
}

HDD_APART f64 hdd_tan(f64 x)
{
    if (hdd_abs_f64(x) < HDD_STRAIGHT)
        return x;
    if (x - x != 0)
        return HDD_NAN;
    const hdd_turned t = hdd_turn(x);
    const hdd_pair s = hdd_sine_part(t.r), c = hdd_cosine_part(t.r);
    const f64 r = t.quadrant & 1 ? -hdd_pair_quotient(c, s).hi : hdd_pair_quotient(s, c).hi;
    return hdd_with_sign(r, x);
}

// ---- arcs ----------------------------------------------------------------------------------

// atan(k / 8), as pairs.
HDD_TABLE f64 hdd_atan_eighths[] = {0,
                                    0,
                                    0.12435499454676144,
                                    -3.1253241424539383e-18,
                                    0.24497866312686414,
                                    1.0698755618734451e-17,
                                    0.35877067027057225,
                                    -2.4623815582638635e-17,
                                    0.4636476090008061,
                                    2.2698777452961687e-17,
                                    0.5585993153435624,
                                    -5.4556305485916264e-18,
                                    0.6435011087932844,
                                    1.5834785051444286e-17,
                                    0.7188299996216245,
                                    -2.1478388444456983e-17,
                                    0.7853981633974483,
                                    3.061616997868383e-17};

// atan(y / x), 0 <= y <= x: atan c + atan((y - c x) / (x + c y)) with c the next multiple of an eighth.
HDD_APART hdd_pair hdd_atan_pair(hdd_pair y, hdd_pair x)
{
    const i32 k = (i32)(y.hi / x.hi * 8 + 0.5);
    const f64 c = k * 0.125;
    const hdd_pair cx = hdd_exact_product(c, x.hi);
    const hdd_pair n = hdd_exact_sum(y.hi - cx.hi, (y.lo - c * x.lo) - cx.lo);
    const hdd_pair d = hdd_exact_sum(x.hi, c * y.hi);
    const hdd_pair t = hdd_pair_quotient(n, hdd_pair_of(d.hi, d.lo + (x.lo + c * y.lo)));
    const f64 z = t.hi * t.hi;
    f64 p = -1.0 / 15;
    p = 1.0 / 13 + z * p;
    p = -1.0 / 11 + z * p;
    p = 1.0 / 9 + z * p;
    p = -1.0 / 7 + z * p;
    p = 1.0 / 5 + z * p;
    p = -1.0 / 3 + z * p;
    const hdd_pair s = hdd_exact_sum(hdd_atan_eighths[2 * k], t.hi);
    return hdd_ordered_sum(s.hi, s.lo + (hdd_atan_eighths[2 * k + 1] + t.lo + t.hi * (z * p)));
}

// a - b, or a + b.
HDD_DEVICE f64 hdd_turned_by(f64 hi, f64 lo, hdd_pair b, bool plus)
{
    const hdd_pair s = hdd_exact_sum(hi, plus ? b.hi : -b.hi);
    return s.hi + (s.lo + (plus ? lo + b.lo : lo - b.lo));
}

// The angle of the point (x, y) above the axis, y >= 0, from 0 to pi.
HDD_DEVICE f64 hdd_angle(hdd_pair y, hdd_pair x)
{
    const bool left = x.hi < 0;
    const hdd_pair width = left ? hdd_pair_of(-x.hi, -x.lo) : x;
    const bool steep = y.hi > width.hi;
    const hdd_pair a = steep ? hdd_atan_pair(width, y) : hdd_atan_pair(y, width);
    if (steep)
        return hdd_turned_by(HDD_HALF_PI_HI, HDD_HALF_PI_LO, a, left);
    return left ? hdd_turned_by(HDD_PI_HI, HDD_PI_LO, a, false) : a.hi;
}

// The root of 1 - x^2, |x| <= 1.
HDD_DEVICE hdd_pair hdd_other_side(f64 x)
{
    const hdd_pair square = hdd_exact_product(x, x), s = hdd_exact_sum(1, -square.hi);
    const hdd_pair u = hdd_ordered_sum(s.hi, s.lo - square.lo);
    const f64 w = hdd_sqrt(u.hi);
    if (w == 0)
        return hdd_pair_of(0, 0);
    const hdd_pair p = hdd_exact_product(w, w);
    return hdd_ordered_sum(w, (((u.hi - p.hi) - p.lo) + u.lo) / (2 * w));
}

HDD_DEVICE f64 hdd_asin(f64 x)
{
    const f64 a = hdd_abs_f64(x);
    if (a < HDD_STRAIGHT)
        return x;
    if (!(a <= 1))
        return HDD_NAN;
    return hdd_with_sign(hdd_angle(hdd_pair_of(a, 0), hdd_other_side(a)), x);
}

HDD_DEVICE f64 hdd_acos(f64 x)
{
    if (!(hdd_abs_f64(x) <= 1))
        return HDD_NAN;
    if (hdd_abs_f64(x) < 2.7755575615628914e-17) // 2^-55
        return HDD_HALF_PI_HI;
    return hdd_angle(hdd_other_side(x), hdd_pair_of(x, 0));
}

HDD_DEVICE f64 hdd_atan(f64 x)
{
    const f64 a = hdd_abs_f64(x);
    if (a < HDD_STRAIGHT || x != x)
        return x;
    if (a > 1e18) // the rest of a right angle is below half a unit
        return hdd_with_sign(HDD_HALF_PI_HI, x);
    return hdd_with_sign(hdd_angle(hdd_pair_of(a, 0), hdd_pair_of(1, 0)), x);
}

// Whether the number is below 0, or -0.
HDD_DEVICE bool hdd_is_negative(f64 v)
{
    return hdd_f64_bits(v) < 0;
}

// atan2 of C for numbers of which one is 0 or infinite, or which are far apart; y >= 0.
HDD_DEVICE f64 hdd_angle_along_axis(f64 y, f64 x)
{
    const f64 width = hdd_abs_f64(x);
    if (y - y != 0 && width - width != 0)
        return hdd_is_negative(x) ? 2.356194490192345 : 0.7853981633974483;
    if (y > width)
        return HDD_HALF_PI_HI;
    if (hdd_is_negative(x))
        return HDD_PI_HI;
    return y == 0 || width - width != 0 ? 0 : y / x;
}

// The angle of the point (x, y), from -pi to pi.
HDD_DEVICE f64 hdd_atan2(f64 y, f64 x)
{
    const f64 height = hdd_abs_f64(y), width = hdd_abs_f64(x), far = 18446744073709551616.0; // 2^64
    const f64 larger = height > width ? height : width, smaller = height > width ? width : height;
    const f64 by = larger > 1e150 ? hdd_power_of_2(-600) : larger < 1e-150 ? hdd_power_of_2(600) : 1;
    f64 r;
    if (x != x || y != y)
        return HDD_NAN;
    if (smaller == 0 || larger - larger != 0 || larger / far > smaller)
        r = hdd_angle_along_axis(height, x);
    else
        r = hdd_angle(hdd_pair_of(height * by, 0), hdd_pair_of(x * by, 0));
    return hdd_is_negative(y) ? -r : r;
}

HDD_DEVICE f64 hdd_degrees(f64 x)
{
    return x * 57.29577951308232; // the nearest to 180 / pi
}

HDD_DEVICE f64 hdd_radians(f64 x)
{
    return x * 0.017453292519943295; // the nearest to pi / 180
}

// ---- distinct values -----------------------------------------------------------------------

// x + sum(2^(k - 1) x^(2^k)), 0 <= x < 1: what empty registers add (Ertl 2017, section 4.3).
HDD_DEVICE f64 hdd_empty_registers(f64 x)
{
    f64 sum = x, before = -1;
    for (f64 by = 1; sum != before; by += by) {
        before = sum;
        x *= x;
        sum += x * by;
    }
    return sum;
}

// How many values there are where `filled` registers, 1 or more, have one, and 2^53 times their 2^-rank add up to sum.
HDD_DEVICE f64 hdd_distinct_estimate(f64 filled, f64 sum)
{
    const f64 m = HDD_REGISTERS, all = sum / 9007199254740992.0 + m * hdd_empty_registers((m - filled) / m);
    return 0.7213475204444817 * m * m / all; // 1 / (2 ln 2)
}

#endif
