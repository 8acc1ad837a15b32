// The first k of many rows: the k-th smallest packed key (finish_pack.cu) is looked for from
// the most significant digit on; the few rows that remain are left to hdd_sort_rank.
#include "hd/finish_digits.cuh"

// The bin with the k-th smallest key becomes the next digit of the prefix. One thread, after
// all blocks have counted.
HDD_DEVICE void hdd_select_digit(const hdd_select_args &p, hdd_select_state &s)
{
    u64 before = 0;
    u32 d = 0;
    HDD_NO_UNROLL
    for (; d + 1 < HDD_RADIX; d++) {
        const u32 n = hdd_load_relaxed(&s.counts[d]);
        if (before + n >= s.wanted)
            break;
        before += n;
    }
    const u32 n = hdd_load_relaxed(&s.counts[d]);
    s.wanted -= before;
    s.prefix |= (u64)d << p.shift;
    s.known |= (u64)(HDD_RADIX - 1) << p.shift;
    s.done = n <= p.enough || p.shift == 0;
    HDD_NO_UNROLL
    for (u32 k = 0; k < HDD_RADIX; k++)
        s.counts[k] = 0;
    s.arrived = 0;
}

struct hdd_select_shared {
    u32 count[HDD_RADIX];
};

HDD_KERNEL(hdd_select_count)(HDD_PARAMETER(hdd_select_args, p))
{
    HDD_SHARED(hdd_select_shared, shared);
    hdd_select_state &s = *hdd_at<hdd_select_state>(p.state);
    if (s.done) // the same for all: written by an earlier launch
        return;
    const u64 prefix = s.prefix, known = s.known;
    for (u32 d = hdd_thread(); d < HDD_RADIX; d += HDD_BLOCK)
        shared.count[d] = 0;
    hdd_block_sync();
    for (u64 i = hdd_grid_thread(); i < hdd_whole_warps(p.n); i += hdd_grid_step(p.blocks)) {
        const u64 key = i < p.n ? hdd_at<const u64>(p.keys)[i] : 0;
        if (i < p.n && (key & known) == prefix)
            hdd_atomic_add(&shared.count[(u32)(key >> p.shift) & (HDD_RADIX - 1)], 1u);
    }
    hdd_block_sync();
    HDD_NO_UNROLL
    for (u32 d = hdd_thread(); d < HDD_RADIX; d += HDD_BLOCK) {
        if (shared.count[d])
            hdd_atomic_add(&s.counts[d], shared.count[d]);
    }
    hdd_fence();
    hdd_block_sync();
    if (hdd_thread() == 0 && hdd_atomic_add(&s.arrived, 1u) == p.blocks - 1) {
        hdd_fence();
        hdd_select_digit(p, s);
    }
}

HDD_KERNEL(hdd_select_collect)(HDD_PARAMETER(hdd_select_args, p))
{
    hdd_select_state &s = *hdd_at<hdd_select_state>(p.state);
    for (u64 i = hdd_grid_thread(); i < hdd_whole_warps(p.n); i += hdd_grid_step(p.blocks)) {
        const bool taken = i < p.n && (hdd_at<const u64>(p.keys)[i] & s.known) <= s.prefix;
        const u64 at = hdd_reserve_places(&s.found, taken);
        if (taken && at < p.room)
            hdd_at<u32>(p.to)[at] = (u32)i;
    }
}
