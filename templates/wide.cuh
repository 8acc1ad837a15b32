// Integers of 128 and 256 bits: powers of ten, magnitudes, products and quotients that are
// rounded once. Shared with host C (templates/host.h). One thread at a time.
#ifndef HDD_WIDE_CUH
#define HDD_WIDE_CUH

#ifdef __cplusplus
#include "hd/machine.cuh"
#else
#include "templates/host.h"
#endif

// k at most 38.
HDD_DEVICE i128 hdd_pow10(i32 k)
{
    i128 p = 1;
    for (i32 i = 0; i < k; i++)
        p *= 10;
    return p;
}

HDD_DEVICE u128 hdd_magnitude(i128 v)
{
    return v < 0 ? -(u128)v : (u128)v;
}

// Bits of v without leading zeros.
HDD_DEVICE i32 hdd_bits_in(u128 v)
{
    i32 n = 0;
    for (i32 step = 64; step > 0; step /= 2)
        if (v >> step) {
            v >>= step;
            n += step;
        }
    return n + (v != 0);
}

// v / 10^scale, rounded down (direction -1), towards zero (0) or up (1).
HDD_DEVICE i128 hdd_div_toward(i128 v, i32 scale, i32 direction)
{
    const i128 by = hdd_pow10(scale), q = v / by, rest = v - q * by;
    return q + (direction > 0 && rest > 0) - (direction < 0 && rest < 0);
}

// Of the buckets of equal width whose lower bounds are from `lo` on, n in all, the one of x; 0 below, n + 1 above. The
// product of distance and n, over the width, by the bits of n from the highest: nothing grows beyond 128 bits.
HDD_DEVICE i32 hdd_wide_bucket(i128 x, i128 lo, u128 width, i32 n)
{
    const u128 y = (u128)x - (u128)lo;
    u128 rest = 0;
    i32 q = 0;
    if (x < lo || y >= width)
        return x < lo ? 0 : n + 1;
    for (i32 bit = 30; bit >= 0; bit--) {
        const bool twice = rest >= width - rest, more = (n >> bit & 1) != 0;
        rest = twice ? rest - (width - rest) : rest + rest;
        const bool carry = more && rest >= width - y;
        if (more)
            rest = carry ? rest - (width - y) : rest + y;
        q = 2 * q + twice + carry;
    }
    return 1 + q;
}

typedef struct {
    u128 hi, lo;
} hdd_u256;

// By halves: (ah:al) * (bh:bl).
HDD_DEVICE hdd_u256 hdd_wide_mul(u128 a, u128 b)
{
    const u128 mask = ~(u64)0;
    const u128 al = a & mask, ah = a >> 64, bl = b & mask, bh = b >> 64;
    const u128 ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
    const u128 mid = (ll >> 64) + (lh & mask) + (hl & mask);
    hdd_u256 r;
    r.hi = hh + (lh >> 64) + (hl >> 64) + (mid >> 64);
    r.lo = (mid << 64) | (ll & mask);
    return r;
}

// round(n / d), ties upwards; d > 0. False: beyond 128 bits.
HDD_CALLED bool hdd_wide_div_round(hdd_u256 n, u128 d, u128 *q);
// round(a * by / b) of magnitudes, half away from zero; b not 0. False: it does not fit 127
// bits.
HDD_CALLED bool hdd_scaled_quotient(u128 a, u128 by, u128 b, u128 *q);
// round((high * 2^64 + low) * 10^scale / n), half away from zero, scale at most 18; |high| below
// 2^126, n > 0. False: beyond `digits` decimal digits, or 64 bits where that is 0.
HDD_CALLED bool hdd_parts_quotient(i128 high, i128 low, i32 scale, i64 n, i32 digits, i128 *q);

#ifdef HDD_LIBRARY_WIDE
// As hdd_pow10, of a scale that nothing is known of: loops here stay loops, because kernels wait for this to be compiled.
HDD_DEVICE u128 hdd_power_of_ten(i32 k)
{
    u128 p = 1;
    HDD_NO_UNROLL
    for (i32 i = 0; i < k; i++)
        p *= 10;
    return p;
}

HDD_CALLED bool hdd_wide_div_round(hdd_u256 n, u128 d, u128 *q)
{
    u128 r = n.hi, quotient = 0;
    if (n.hi >= d)
        return false;
    if (n.hi == 0 && !(n.lo >> 64) && !(d >> 64)) {
        quotient = (u64)n.lo / (u64)d;
        r = (u64)n.lo % (u64)d;
    } else if (n.hi == 0) {
        quotient = n.lo / d;
        r = n.lo - quotient * d;
    } else {
        HDD_NO_UNROLL
        for (i32 i = 127; i >= 0; i--) { // schoolbook, bit by bit
            const bool carry = (r >> 127) != 0;
            r = (r << 1) | ((n.lo >> i) & 1);
            quotient <<= 1;
            if (carry || r >= d) {
                r -= d;
                quotient |= 1;
            }
        }
    }
    if (r >= d - r && ++quotient == 0)
        return false;
    *q = quotient;
    return true;
}

HDD_CALLED bool hdd_scaled_quotient(u128 a, u128 by, u128 b, u128 *q)
{
    return hdd_wide_div_round(hdd_wide_mul(a, by), b, q) && !(*q >> 127);
}

HDD_CALLED bool hdd_parts_quotient(i128 high, i128 low, i32 scale, i64 n, i32 digits, i128 *q)
{
    const i128 top = high + (low >> 64); // the whole is top * 2^64 + word
    const bool negative = top < 0;
    const u64 word = negative ? -(u64)low : (u64)low;
    const u128 upper = negative ? ~(u128)top + (word == 0) : (u128)top;
    const u128 by = hdd_power_of_ten(scale), below = word * by;
    const hdd_u256 above = hdd_wide_mul(upper, by);
    hdd_u256 whole;
    u128 m = 0;
    whole.lo = (above.lo << 64) + below;
    whole.hi = (above.hi << 64 | above.lo >> 64) + (whole.lo < below);
    const u128 limit = digits > 0 ? hdd_power_of_ten(digits) : ((u128)1 << 63) + negative;
    if (!hdd_wide_div_round(whole, (u128)n, &m) || m >= limit)
        return false;
    *q = negative ? -(i128)m : (i128)m;
    return true;
}
#endif

// round(n / 2^k), ties upwards, k >= 0. False: beyond 128 bits.
HDD_DEVICE bool hdd_wide_shift_round(hdd_u256 n, i32 k, u128 *q)
{
    u128 half = 0, rest = n.lo;
    if (k > 256) {
        rest = 0;
    } else if (k > 128) {
        half = n.hi >> (k - 129);
        rest = k == 256 ? 0 : n.hi >> (k - 128);
    } else if (k == 128) {
        half = n.lo >> 127;
        rest = n.hi;
    } else if (k > 0) {
        half = n.lo >> (k - 1);
        rest = n.lo >> k | n.hi << (128 - k);
    }
    if ((k < 128 && n.hi >> k) || ((half & 1) && rest == ~(u128)0))
        return false;
    *q = rest + (half & 1);
    return true;
}

#endif
