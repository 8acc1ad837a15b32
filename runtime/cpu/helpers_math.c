/* Functions of float64: those of templates/math.cuh, as they are; rounding. */
#include "runtime/cpu/helpers.h"
#include "templates/float.cuh"
#include "templates/math.cuh"

void hdr_div_toward_i128(int64_t lo, int64_t hi, int32_t scale, int32_t direction, void *out)
{
    hd_i128 q = hdd_div_toward(hdr_i128(lo, hi), scale, direction);
    memcpy(out, &q, sizeof q);
}

int32_t hdr_bucket_i128(int64_t lo, int64_t hi, int64_t bound_lo, int64_t bound_hi, int64_t width_lo, int64_t width_hi,
                        int32_t n)
{
    return hdd_wide_bucket(hdr_i128(lo, hi), hdr_i128(bound_lo, bound_hi), (u128)hdr_i128(width_lo, width_hi), n);
}

double hdr_round_f64(double v, int32_t digits)
{
    return hdd_round_to_digits(v, digits);
}

float hdr_round_f32(float v, int32_t digits)
{
    return hdd_round_f32_to_digits(v, digits);
}

#define R_CALL(result, name, arguments)
#define R_FLOAT64_1(name) \
    double hdr_##name(double x) \
    { \
        return hdd_##name(x); \
    }
#define R_FLOAT64_2(name) \
    double hdr_##name(double x, double y) \
    { \
        return hdd_##name(x, y); \
    }
#include "templates/rtcalls.def"
