/* 256-bit magnitudes for exact decimal arithmetic: a product of two 128-bit values, and its
 * quotient rounded half away from zero. */
#ifndef HEDDLE_RUNTIME_CPU_WIDE_H
#define HEDDLE_RUNTIME_CPU_WIDE_H

#include "runtime/base/util.h"

struct hdr_u256 {
    hd_u128 hi, lo;
};

struct hdr_u256 hdr_wide_mul(hd_u128 a, hd_u128 b);
/* round(n / d), ties upwards; d > 0. False: beyond 128 bits. */
bool hdr_wide_div_round(struct hdr_u256 n, hd_u128 d, hd_u128 *q);
/* round(n / 2^k), ties upwards, k >= 0. False: beyond 128 bits. */
bool hdr_wide_shift_round(struct hdr_u256 n, int k, hd_u128 *q);

#endif
