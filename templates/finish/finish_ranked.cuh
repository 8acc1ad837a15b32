// Rows on their way down a wavelet matrix (runtime/exec/frames.h).
#ifndef HDD_FINISH_RANKED_CUH
#define HDD_FINISH_RANKED_CUH

#include "hd/finish_frames.cuh"

// Places in front of `place` whose codes do not have the level's bit.
HDD_DEVICE u32 hdd_ranked_zeros(const hdd_ranked_args &p, u32 place)
{
    return hdd_at<const u32>(p.before)[place];
}

HDD_DEVICE u32 &hdd_walk(const hdd_ranked_args &p, u32 word, u64 i)
{
    return hdd_at<u32>(p.walk)[word * p.f.n + i];
}

HDD_DEVICE void hdd_walk_from(const hdd_ranked_args &p, u32 k, u64 i, u64 from, u64 to)
{
    hdd_walk(p, 2 * k, i) = (u32)from;
    hdd_walk(p, 2 * k + 1, i) = (u32)(to > from ? to : from);
}

HDD_DEVICE u8 *hdd_ranked_row(const hdd_ranked_args &p, u64 i)
{
    return hdd_at<u8>(p.f.rows + i * p.f.stride);
}

// The next level's places for those of walk k in front of which are lo and hi zeros.
HDD_DEVICE void hdd_walk_on(const hdd_ranked_args &p, u32 k, u64 i, u32 lo, u32 hi, bool zeros)
{
    const u32 all = hdd_ranked_zeros(p, (u32)p.f.n);
    u32 &from = hdd_walk(p, 2 * k, i), &to = hdd_walk(p, 2 * k + 1, i);
    from = zeros ? lo : all + from - lo;
    to = zeros ? hi : all + to - hi;
}

#endif
