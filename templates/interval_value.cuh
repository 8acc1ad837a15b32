// Intervals: months, days and microseconds in one integer of 128 bits, which orders by length and tells its parts.
//
//   bits 58..127  the length in microseconds, with months of 30 days and days of 24 hours, signed
//   bits 32..57   months + 2^25
//   bits  0..31   days + 2^31
//
// Intervals compare, group and join by their lengths, the upper bits. Of equal ones the integer has those with fewer
// months, then fewer days first. The microseconds are what the length has beyond months and days. Lengths lie below
// 2^68, so every value has at most 38 digits, as decimals have. Shared with host C (templates/host.h). One thread at a
// time.
#ifndef HDD_INTERVAL_VALUE_CUH
#define HDD_INTERVAL_VALUE_CUH

#ifdef __cplusplus
#include "hd/civil.cuh"
#else
#include "templates/civil.cuh"
#endif

// Of either sign. 2^25 months are 2.8 million years, 2^31 days 5.9 million; microseconds are those of 64 bits of
// nanoseconds, 292 years, so that every interval is one of Arrow.
#define HDD_INTERVAL_MONTHS_MAX 33554431ll
#define HDD_INTERVAL_MICROS_MAX 9223372036854775ll

typedef struct {
    i64 months, days, micros;
} hdd_interval;

HDD_DEVICE i128 hdd_interval_span(i128 v)
{
    return v >> 58;
}

HDD_DEVICE i64 hdd_interval_months_of(i128 v)
{
    return (i64)((u64)(v >> 32) & 0x3ffffff) - (HDD_INTERVAL_MONTHS_MAX + 1);
}

HDD_DEVICE i64 hdd_interval_days_of(i128 v)
{
    return (i64)(u32)v - 0x80000000ll;
}

HDD_DEVICE i64 hdd_interval_micros_of(i128 v)
{
    const i64 days = hdd_interval_months_of(v) * 30 + hdd_interval_days_of(v);
    return (i64)(hdd_interval_span(v) - (i128)days * HDD_MICROS_PER_DAY);
}

HDD_DEVICE hdd_interval hdd_interval_parts(i128 v)
{
    hdd_interval r;
    r.months = hdd_interval_months_of(v);
    r.days = hdd_interval_days_of(v);
    r.micros = hdd_interval_micros_of(v);
    return r;
}

// False if a part is too large.
HDD_DEVICE bool hdd_interval_pack(hdd_interval v, i128 *out)
{
    if (v.months < -HDD_INTERVAL_MONTHS_MAX || v.months > HDD_INTERVAL_MONTHS_MAX || v.days != (i32)v.days ||
        v.micros < -HDD_INTERVAL_MICROS_MAX || v.micros > HDD_INTERVAL_MICROS_MAX)
        return false;
    const i128 span = (i128)(v.months * 30 + v.days) * HDD_MICROS_PER_DAY + v.micros;
    const u64 parts = (u64)(v.months + HDD_INTERVAL_MONTHS_MAX + 1) << 32 | (u64)(v.days + 0x80000000ll);
    *out = (i128)((u128)span << 58 | parts);
    return true;
}

// ---- arithmetic, part by part ---------------------------------------------------------------

// a + sign * b where that fits, sign 1 or -1.
HDD_DEVICE bool hdd_interval_sum(i128 a, i128 b, i32 sign, i128 *out)
{
    hdd_interval x = hdd_interval_parts(a);
    const hdd_interval y = hdd_interval_parts(b);
    x.months += y.months * sign;
    x.days += y.days * sign;
    x.micros += y.micros * sign;
    return hdd_interval_pack(x, out);
}

HDD_DEVICE bool hdd_interval_product(i128 a, i64 n, i128 *out)
{
    hdd_interval x = hdd_interval_parts(a);
    const i128 months = (i128)x.months * n, days = (i128)x.days * n, micros = (i128)x.micros * n;
    x.months = (i64)months;
    x.days = (i64)days;
    x.micros = (i64)micros;
    return months == x.months && days == x.days && micros == x.micros && hdd_interval_pack(x, out);
}

#endif
