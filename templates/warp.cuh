// What a whole warp computes together. Every lane must call; results are valid in every lane
// unless said otherwise. No shared memory.
#ifndef HDD_WARP_CUH
#define HDD_WARP_CUH

#include "hd/machine.cuh"

// Number of this thread in its block.
HDD_DEVICE u32 hdd_thread()
{
    return hdd_warp() * HDD_LANES + hdd_lane();
}

// Lanes below this one; lanes up to and with this one.
HDD_DEVICE u32 hdd_lanes_below()
{
    return (1u << hdd_lane()) - 1;
}

HDD_DEVICE u32 hdd_lanes_upto()
{
    return (2u << hdd_lane()) - 1;
}

HDD_DEVICE u32 hdd_min(u32 a, u32 b)
{
    return a < b ? a : b;
}

HDD_DEVICE u32 hdd_max(u32 a, u32 b)
{
    return a > b ? a : b;
}

HDD_DEVICE bool hdd_any(bool b)
{
    return hdd_ballot(b) != 0;
}

// The smaller types travel as words.
HDD_DEVICE i32 hdd_shuffle(i32 v, u32 lane)
{
    return (i32)hdd_shuffle((u32)v, lane);
}

HDD_DEVICE i64 hdd_shuffle(i64 v, u32 lane)
{
    return (i64)hdd_shuffle((u64)v, lane);
}

HDD_DEVICE bool hdd_shuffle(bool v, u32 lane)
{
    return hdd_shuffle((u32)v, lane) != 0;
}

HDD_DEVICE f64 hdd_shuffle(f64 v, u32 lane)
{
    return hdd_f64_from_bits(hdd_shuffle(hdd_f64_bits(v), lane));
}

HDD_DEVICE f32 hdd_shuffle(f32 v, u32 lane)
{
    return hdd_f32_from_bits(hdd_shuffle(hdd_f32_bits(v), lane));
}

HDD_DEVICE i128 hdd_shuffle(i128 v, u32 lane)
{
    const u64 lo = hdd_shuffle((u64)v, lane), hi = hdd_shuffle((u64)(v >> 64), lane);
    return (i128)((u128)hi << 64 | lo);
}

// Sum over the lanes up to and with this one.
HDD_DEVICE u32 hdd_warp_prefix_sum(u32 v)
{
    HDD_UNROLL
    for (u32 by = 1; by < HDD_LANES; by *= 2) {
        const u32 below = hdd_shuffle_up(v, by);
        if (hdd_lane() >= by)
            v += below;
    }
    return v;
}

// Sum over all lanes: of halves, which cannot overflow.
HDD_DEVICE u64 hdd_warp_sum(u32 v)
{
    return hdd_warp_add(v & 0xffff) + ((u64)hdd_warp_add(v >> 16) << 16);
}

// For each lane j, the lane whose part of a common sequence holds element j: `upto` is the
// running end of each lane's part (an inclusive prefix sum). Valid where j is below the end of the
// last lane.
HDD_DEVICE u32 hdd_owner(u32 upto, u32 j)
{
    u32 lane = 0;
    HDD_UNROLL
    for (u32 by = HDD_LANES / 2; by > 0; by /= 2)
        if (hdd_shuffle(upto, lane + by - 1) <= j)
            lane += by;
    return lane;
}

// Number of the k-th set bit, from 0; v has more than k.
HDD_DEVICE u32 hdd_nth_bit(u32 v, u32 k)
{
    HDD_NO_UNROLL
    for (; k > 0; k--)
        v &= v - 1;
    return hdd_lowest(v);
}

// The lowest k set bits are cleared; all of them if there are fewer.
HDD_DEVICE u32 hdd_drop_bits(u32 v, u32 k)
{
    HDD_NO_UNROLL
    for (; k > 0 && v; k--)
        v &= v - 1;
    return v;
}

#endif
