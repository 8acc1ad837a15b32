/* Exact 128-bit decimals: every result is rounded once, half away from zero, and checked. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cpu/helpers.h"
#include "runtime/cpu/text.h"
#include "runtime/cpu/wide.h"

static const hd_u128 MAGNITUDE_MAX = ~(hd_u128)0 >> 1;

static hd_u128 magnitude(hd_i128 v)
{
    return v < 0 ? -(hd_u128)v : (hd_u128)v;
}

static hd_u128 power10(int k)
{
    static const uint64_t small[] = {1,
                                     10,
                                     100,
                                     1000,
                                     10000,
                                     100000,
                                     1000000,
                                     10000000,
                                     100000000,
                                     1000000000,
                                     10000000000,
                                     100000000000,
                                     1000000000000,
                                     10000000000000,
                                     100000000000000,
                                     1000000000000000,
                                     10000000000000000,
                                     100000000000000000,
                                     1000000000000000000,
                                     10000000000000000000u};
    return k <= 19 ? small[k] : (hd_u128)small[19] * small[k - 19];
}

static int32_t put(void *out, hd_i128 v)
{
    memcpy(out, &v, sizeof v);
    return 0;
}

/* limit digits 0: only the width of 128 bits counts. */
static int32_t put_checked(struct hdd_thread *t, bool negative, hd_u128 m, int32_t digits,
                           enum rt_failure f, int32_t path, void *out)
{
    if (m > MAGNITUDE_MAX || (digits > 0 && m >= power10(digits)))
        return hdr_fail(t, (int32_t)f, path);
    return put(out, negative ? -(hd_i128)m : (hd_i128)m);
}

int32_t hdr_mul_i128(struct hdd_thread *t, int64_t alo, int64_t ahi, int64_t blo, int64_t bhi,
                     int32_t digits, int32_t path, void *out)
{
    hd_i128 r;
    if (__builtin_mul_overflow(hdr_i128(alo, ahi), hdr_i128(blo, bhi), &r))
        return hdr_fail(t, RT_FAIL_OVERFLOW, path);
    return put_checked(t, r < 0, magnitude(r), digits, RT_FAIL_OVERFLOW, path, out);
}

/* round(|a| * 10^scale / |b|); the product may need 256 bits. */
static bool scaled_quotient(hd_u128 a, hd_u128 b, int scale, hd_u128 *q)
{
    hd_u128 p;
    if (!__builtin_mul_overflow(a, power10(scale), &p)) {
        hd_u128 r = p % b;
        *q = p / b + (r >= b - r);
        return true;
    }
    return hdr_wide_div_round(hdr_wide_mul(a, power10(scale)), b, q);
}

int32_t hdr_div_dec(struct hdd_thread *t, int64_t alo, int64_t ahi, int64_t blo, int64_t bhi,
                    int32_t scale, int32_t digits, int32_t path, void *out)
{
    hd_i128 a = hdr_i128(alo, ahi), b = hdr_i128(blo, bhi);
    hd_u128 q;
    if (b == 0)
        return hdr_fail(t, RT_FAIL_DIV_ZERO, path);
    if (!scaled_quotient(magnitude(a), magnitude(b), scale, &q))
        return hdr_fail(t, RT_FAIL_OVERFLOW, path);
    return put_checked(t, (a < 0) != (b < 0), q, digits, RT_FAIL_OVERFLOW, path, out);
}

int32_t hdr_rescale_i128(struct hdd_thread *t, int64_t lo, int64_t hi, int32_t scale,
                         int32_t digits, int32_t path, void *out)
{
    hd_i128 a = hdr_i128(lo, hi);
    hd_u128 p;
    bool over = __builtin_mul_overflow(magnitude(a), power10(scale), &p);
    if (path == HDD_PATH_SATURATE) {
        p = over || p > power10(HD_DEC_MAX) ? power10(HD_DEC_MAX) : p;
        put(out, a < 0 ? -(hd_i128)p : (hd_i128)p);
        return 0;
    }
    if (over)
        return hdr_fail(t, RT_FAIL_OVERFLOW, path);
    return put_checked(t, a < 0, p, digits, RT_FAIL_OVERFLOW, path, out);
}

void hdr_div_round_i128(int64_t lo, int64_t hi, int32_t scale, void *out)
{
    hd_i128 a = hdr_i128(lo, hi);
    hd_u128 q;
    scaled_quotient(magnitude(a), power10(scale), 0, &q);
    put(out, a < 0 ? -(hd_i128)q : (hd_i128)q);
}

int32_t hdr_mod_i128(struct hdd_thread *t, int64_t alo, int64_t ahi, int64_t blo, int64_t bhi,
                     int32_t path, void *out)
{
    hd_i128 a = hdr_i128(alo, ahi), b = hdr_i128(blo, bhi);
    if (b == 0)
        return hdr_fail(t, RT_FAIL_DIV_ZERO, path);
    return put(out, b == -1 ? 0 : a % b);
}

/* Correctly rounded: directly where both operands are exact doubles, else through the text. */
double hdr_to_f64(int64_t lo, int64_t hi, int32_t scale)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    hd_i128 v = hdr_i128(lo, hi);
    if (scale == 0)
        return (double)v;
    if (magnitude(v) <= (hd_u128)1 << DBL_MANT_DIG && scale < (int)HD_COUNT(exact))
        return (double)(int64_t)v / exact[scale];
    char digits[HD_TEXT_MAX], text[HD_TEXT_MAX + 8];
    double r = 0;
    int n = snprintf(text, sizeof text, "%se-%d", hd_dec_text(v, 0, digits), scale);
    hdr_parse_f64(text, (size_t)n, &r);
    return r;
}

/* The exact binary value times 10^scale, rounded once. */
static bool scaled_f64(double v, int scale, hd_u128 *q)
{
    int e;
    double m = frexp(fabs(v), &e); /* 0.5 <= m < 1 */
    hd_u128 bits = (hd_u128)(uint64_t)ldexp(m, DBL_MANT_DIG);
    e -= DBL_MANT_DIG;
    if (e > 127 - DBL_MANT_DIG)
        return false;
    if (e > 0) {
        struct hdr_u256 p = hdr_wide_mul(bits << e, power10(scale));
        *q = p.lo;
        return p.hi == 0;
    }
    return hdr_wide_shift_round(hdr_wide_mul(bits, power10(scale)), -e, q);
}

int32_t hdr_from_f64(struct hdd_thread *t, double v, int32_t scale, int32_t digits,
                     int32_t bits, int32_t path, void *out)
{
    hd_u128 q;
    if (!isfinite(v) || !scaled_f64(v, scale, &q))
        return hdr_fail(t, RT_FAIL_CAST_RANGE, path);
    if (bits < 128) {
        hd_u128 most = ((hd_u128)1 << (bits - 1)) - (v > 0);
        if (q > most)
            return hdr_fail(t, RT_FAIL_CAST_RANGE, path);
    }
    return put_checked(t, v < 0, q, digits, RT_FAIL_CAST_RANGE, path, out);
}
