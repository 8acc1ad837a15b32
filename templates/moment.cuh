// Sums of products of deviations from the means, of rows that are merged in any order: one source for kernels, the CPU's
// runtime and the emulator. Shared with host C (templates/host.h).
//
// Chan, Golub, LeVeque, "Algorithms for Computing the Sample Variance: Analysis and Recommendations" (The American
// Statistician 37, 1983), equation 1.5 merges two parts by the difference of their means. A mean here is a pair whose
// second part has what rounding left of the first, so that a difference is as exact as the deviations are, however far
// from 0 the values lie. docs/plan.md 1.4 has the bound.
#ifndef HDD_MOMENT_CUH
#define HDD_MOMENT_CUH

#ifdef __cplusplus
#include "hd/types.cuh"
#else
#include "templates/host.h"
#endif

typedef struct {
    f64 n, x, x_rest, y, y_rest; // rows, means
    f64 products;
} hdd_moment;

// One row; NaN if it has a value that is infinite or NaN.
HDD_DEVICE hdd_moment hdd_moment_of(f64 x, f64 y)
{
    hdd_moment m;
    m.n = 1;
    m.x = x;
    m.y = y;
    m.x_rest = m.y_rest = 0;
    m.products = (x - x) * (y - y);
    return m;
}

HDD_DEVICE void hdd_mean_add(f64 *mean, f64 *rest, f64 v)
{
    const f64 sum = *mean + v, part = sum - *mean;
    const f64 left = ((*mean - (sum - part)) + (v - part)) + *rest; // Knuth, TAOCP 2, 4.2.2, theorem B
    *mean = sum + left;
    *rest = left - (*mean - sum);
}

// The mean of the part with more rows moves.
HDD_DEVICE void hdd_moment_merge(hdd_moment *to, const hdd_moment *from)
{
    const f64 n = to->n + from->n, share = from->n / n, kept = to->n / n;
    const f64 x = (from->x - to->x) + (from->x_rest - to->x_rest);
    const f64 y = (from->y - to->y) + (from->y_rest - to->y_rest);
    to->products = (to->products + from->products) + x * (to->n * share) * y;
    if (to->n >= from->n) {
        hdd_mean_add(&to->x, &to->x_rest, x * share);
        hdd_mean_add(&to->y, &to->y_rest, y * share);
    } else {
        to->x = from->x;
        to->x_rest = from->x_rest;
        to->y = from->y;
        to->y_rest = from->y_rest;
        hdd_mean_add(&to->x, &to->x_rest, -x * kept);
        hdd_mean_add(&to->y, &to->y_rest, -y * kept);
    }
    to->n = n;
}

#endif
