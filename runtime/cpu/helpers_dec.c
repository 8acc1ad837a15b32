/* Exact 128-bit decimals: every result is rounded once, half away from zero, and checked. */
#include <string.h>

#include "runtime/cpu/helpers.h"
#include "templates/float.cuh"

static const hd_u128 MAGNITUDE_MAX = ~(hd_u128)0 >> 1;

static int32_t put(void *out, hd_i128 v)
{
    memcpy(out, &v, sizeof v);
    return 0;
}

/* limit digits 0: only the width of 128 bits counts. */
static bool fits(hd_u128 m, int32_t digits)
{
    return m <= MAGNITUDE_MAX && (digits <= 0 || m < (hd_u128)hd_pow10(digits));
}

static int32_t put_signed(void *out, bool negative, hd_u128 m)
{
    return put(out, negative ? -(hd_i128)m : (hd_i128)m);
}

static int32_t overflow(struct hdd_thread *t, int32_t path, hd_i128 a, hd_i128 b)
{
    return hdr_fail_value(t, RT_FAIL_OVERFLOW, path, (int64_t)a, (int64_t)(a >> 64), (int64_t)b, (int64_t)(b >> 64));
}

int32_t hdr_mul_i128(struct hdd_thread *t, int64_t alo, int64_t ahi, int64_t blo, int64_t bhi, int32_t digits,
                     int32_t path, void *out)
{
    hd_i128 a = hdr_i128(alo, ahi), b = hdr_i128(blo, bhi), r;
    if (__builtin_mul_overflow(a, b, &r) || !fits(hdd_magnitude(r), digits))
        return overflow(t, path, a, b);
    return put(out, r);
}

int32_t hdr_div_dec(struct hdd_thread *t, int64_t alo, int64_t ahi, int64_t blo, int64_t bhi, int32_t scale,
                    int32_t digits, int32_t path, void *out)
{
    hd_i128 a = hdr_i128(alo, ahi), b = hdr_i128(blo, bhi);
    hd_u128 q;
    if (b == 0)
        return hdr_fail(t, RT_FAIL_DIV_ZERO, path);
    if (!hdd_scaled_quotient(hdd_magnitude(a), (hd_u128)hd_pow10(scale), hdd_magnitude(b), &q) || !fits(q, digits))
        return overflow(t, path, a, b);
    return put_signed(out, (a < 0) != (b < 0), q);
}

int32_t hdr_of_parts(struct hdd_thread *t, int64_t high_lo, int64_t high_hi, int64_t low_lo, int64_t low_hi, int64_t n,
                     int32_t scale, int32_t digits, int32_t path, void *out)
{
    hd_i128 q;
    if (!hdd_parts_quotient(hdr_i128(high_lo, high_hi), hdr_i128(low_lo, low_hi), scale, n, digits, &q))
        return hdr_fail(t, RT_FAIL_OVERFLOW, path);
    return put(out, q);
}

int32_t hdr_rescale_i128(struct hdd_thread *t, int64_t lo, int64_t hi, int32_t scale, int32_t digits, int32_t path,
                         void *out)
{
    hd_i128 a = hdr_i128(lo, hi);
    hd_u128 p;
    bool over = __builtin_mul_overflow(hdd_magnitude(a), (hd_u128)hd_pow10(scale), &p);
    if (path == HDD_PATH_SATURATE) {
        p = over || p > (hd_u128)hd_pow10(HD_DEC_MAX) ? (hd_u128)hd_pow10(HD_DEC_MAX) : p;
        return put_signed(out, a < 0, p);
    }
    return over || !fits(p, digits) ? overflow(t, path, a, 0) : put_signed(out, a < 0, p);
}

void hdr_div_round_i128(int64_t lo, int64_t hi, int32_t scale, void *out)
{
    hd_i128 a = hdr_i128(lo, hi);
    hd_u128 q = 0;
    hdd_scaled_quotient(hdd_magnitude(a), 1, (hd_u128)hd_pow10(scale), &q);
    put(out, a < 0 ? -(hd_i128)q : (hd_i128)q);
}

int32_t hdr_mod_i128(struct hdd_thread *t, int64_t alo, int64_t ahi, int64_t blo, int64_t bhi, int32_t path, void *out)
{
    hd_i128 a = hdr_i128(alo, ahi), b = hdr_i128(blo, bhi);
    if (b == 0)
        return hdr_fail(t, RT_FAIL_DIV_ZERO, path);
    return put(out, b == -1 ? 0 : a % b);
}

double hdr_to_f64(int64_t lo, int64_t hi, int32_t scale)
{
    return hdd_wide_to_f64(hdr_i128(lo, hi), scale);
}

float hdr_to_f32(int64_t lo, int64_t hi, int32_t scale)
{
    return hdd_wide_to_f32(hdr_i128(lo, hi), scale);
}

int32_t hdr_from_f64(struct hdd_thread *t, double v, int32_t scale, int32_t digits, int32_t bits, int32_t path,
                     void *out)
{
    hd_i128 r;
    if (!hdd_f64_to_wide(v, scale, digits, bits, &r))
        return hdr_fail_value(t, RT_FAIL_CAST_RANGE, path, hdd_f64_bits(v), 0, 0, 0);
    return put(out, r);
}
