// Places of values among those of a frame: one source for kernels, the CPU's runtime and the emulator. Shared with host C
// (templates/host.h).
#ifndef HDD_RANKED_CUH
#define HDD_RANKED_CUH

#ifdef __cplusplus
#include "hd/types.cuh"
#else
#include "templates/host.h"
#endif

// enum rt_share_place of runtime/spec.h.
enum hdd_share_place { HDD_SHARE_FLOOR, HDD_SHARE_CEILING, HDD_SHARE_FIRST };

// Of n > 0 values in ascending order, numbered from 0; 0 <= num <= den <= 10^9, n < 2^31.
HDD_DEVICE i64 hdd_place_of(i64 n, u32 place, i64 num, i64 den)
{
    if (place == HDD_SHARE_FIRST)
        return num ? (n * num - 1) / den : 0;
    return ((n - 1) * num + (place == HDD_SHARE_CEILING ? den - 1 : 0)) / den;
}

#endif
