/* The names of templates/machine.cuh that headers need which host C includes too. Such headers
 * are plain C that is also C++, and hold what both backends must compute to the last bit. */
#ifndef HEDDLE_TEMPLATES_HOST_H
#define HEDDLE_TEMPLATES_HOST_H

#include <stdbool.h>
#include <string.h>

#include "templates/types.cuh"

#define HDD_DEVICE        static inline
#define HDD_LIBRARY_SHARE // called functions are defined where they are declared
#define HDD_LIBRARY_WIDE
#define HDD_LIBRARY_FLOAT
#define HDD_CALLED    static inline
#define HDD_APART     static inline
#define HDD_TABLE     static const
#define HDD_NO_UNROLL // compilers for a CPU know

HDD_DEVICE i64 hdd_f64_bits(f64 v)
{
    i64 r;
    memcpy(&r, &v, sizeof r);
    return r;
}

HDD_DEVICE f64 hdd_f64_from_bits(i64 v)
{
    f64 r;
    memcpy(&r, &v, sizeof r);
    return r;
}

HDD_DEVICE i32 hdd_f32_bits(f32 v)
{
    i32 r;
    memcpy(&r, &v, sizeof r);
    return r;
}

HDD_DEVICE f32 hdd_f32_from_bits(i32 v)
{
    f32 r;
    memcpy(&r, &v, sizeof r);
    return r;
}

/* Rounded to the nearest float64, as IEEE 754 has it. */
HDD_DEVICE f64 hdd_sqrt(f64 v)
{
    return __builtin_sqrt(v);
}

HDD_DEVICE f64 hdd_floor_f64(f64 v)
{
    return __builtin_floor(v);
}

HDD_DEVICE f64 hdd_ceil_f64(f64 v)
{
    return __builtin_ceil(v);
}

HDD_DEVICE f64 hdd_trunc_f64(f64 v)
{
    return __builtin_trunc(v);
}

HDD_DEVICE f32 hdd_sqrt_f32(f32 v)
{
    return __builtin_sqrtf(v);
}

HDD_DEVICE f32 hdd_floor_f32(f32 v)
{
    return __builtin_floorf(v);
}

HDD_DEVICE f32 hdd_ceil_f32(f32 v)
{
    return __builtin_ceilf(v);
}

HDD_DEVICE f32 hdd_trunc_f32(f32 v)
{
    return __builtin_truncf(v);
}

#endif
