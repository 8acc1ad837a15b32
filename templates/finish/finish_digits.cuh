// Counting items by a digit of their keys, without atomics: each warp has counters of its own,
// and lanes with one digit have one that writes.
#ifndef HDD_FINISH_DIGITS_CUH
#define HDD_FINISH_DIGITS_CUH

#include "hd/finish_grid.cuh"

struct hdd_radix_counts {
    u32 warp[HDD_WARPS][HDD_RADIX];
};

// Live lanes with the digit of this one. Whole warp.
HDD_DEVICE u32 hdd_same_digit(u32 digit, bool live)
{
    u32 same_lanes = hdd_ballot(live);
    HDD_UNROLL
    for (u32 bit = 1; bit < HDD_RADIX; bit *= 2) {
        const u32 with = hdd_ballot(digit & bit);
        same_lanes &= digit & bit ? with : ~with;
    }
    return same_lanes;
}

HDD_DEVICE void hdd_radix_clear(hdd_radix_counts &c)
{
    HDD_NO_UNROLL
    for (u32 k = hdd_thread(); k < HDD_WARPS * HDD_RADIX; k += HDD_BLOCK)
        c.warp[k / HDD_RADIX][k % HDD_RADIX] = 0;
    hdd_block_sync();
}

// Items of the digit that the warp has seen before this lane's; counts it. Whole warp; each
// digit has one lane that writes.
HDD_DEVICE u32 hdd_radix_rank(u32 *counts, u32 digit, bool live)
{
    const u32 same_lanes = hdd_same_digit(digit, live);
    const u32 before = live ? counts[digit] : 0;
    hdd_warp_sync();
    if (live && !(same_lanes & hdd_lanes_below()))
        counts[digit] = before + hdd_popc(same_lanes);
    hdd_warp_sync();
    return before + hdd_popc(same_lanes & hdd_lanes_below());
}

#endif
