// Values of Arrow's formats as Heddle has them, of the integers that lie in their buffers. Shared with host C
// (templates/host.h). One thread at a time.
#ifndef HDD_ARROW_VALUE_CUH
#define HDD_ARROW_VALUE_CUH

#ifdef __cplusplus
#include "hd/arrow_formats.cuh"
#include "hd/interval_value.cuh"
#else
#include "templates/arrow_formats.cuh"
#include "templates/interval_value.cuh"
#endif

HDD_DEVICE bool hdd_arrow_scaled(i64 v, i64 by, i64 *out)
{
    const i64 max = 0x7fffffffffffffffll;
    if (v > max / by || v < -(max / by))
        return false;
    *out = v * by;
    return true;
}

// Of the layout UNIT: days of a date, else microseconds. False: it is no whole number of them, or too large.
HDD_DEVICE bool hdd_arrow_unit(u32 format, i64 v, i64 *out)
{
    const i64 day = 86400000;
    if (format == HDD_ARROW_NANOS) { // by a constant: such a division is a multiplication
        *out = v / 1000;
        return v % 1000 == 0;
    }
    if (format == HDD_ARROW_DATE_MILLIS) {
        *out = v / day;
        return v % day == 0;
    }
    return format == HDD_ARROW_MILLIS || format == HDD_ARROW_MILLIS32 ? hdd_arrow_scaled(v, 1000, out)
                                                                      : hdd_arrow_scaled(v, 1000000, out);
}

// False: the nanoseconds are no whole number of microseconds, or it is too large.
HDD_DEVICE bool hdd_arrow_interval(i64 months, i64 days, i64 nanos, i128 *out)
{
    hdd_interval v;
    v.months = months;
    v.days = days;
    v.micros = nanos / 1000;
    return nanos % 1000 == 0 && hdd_interval_pack(v, out);
}

// The bits of the float32 that a half float is: each is one. Halfs below 2^-14 have no leading bit, floats do.
HDD_DEVICE u32 hdd_arrow_half(u32 v)
{
    const u32 sign = (v & 0x8000) << 16;
    u32 exponent = v >> 10 & 31, fraction = v & 1023;
    if (exponent == 31)
        return sign | 0x7f800000 | fraction << 13;
    if (exponent == 0) {
        if (fraction == 0)
            return sign;
        exponent = 1;
        for (; !(fraction & 1024); fraction <<= 1)
            exponent--; // below 0 it wraps, and comes back with the bias
        fraction &= 1023;
    }
    return sign | (exponent + 112) << 23 | fraction << 13;
}

#endif
