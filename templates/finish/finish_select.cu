// The first k of many rows: the k-th smallest packed key (finish_pack.cu) is looked for from
// the most significant digit on; the few rows that remain are left to hdd_sort_rank.
#include "hd/finish_digits.cuh"

struct hdd_select_shared {
    u32 count[HDD_RADIX];
    hdd_block_prefix sums;
    bool last; // of the blocks to end
};

// The bin with the k-th smallest key, of which the bins before have `before`, becomes the next digit of the prefix.
HDD_DEVICE void hdd_select_bin(const hdd_select_args &p, hdd_select_state &s, u32 digit, u32 before, u32 n)
{
    s.wanted -= before;
    s.prefix |= (u64)digit << p.shift;
    s.known |= (u64)(HDD_RADIX - 1) << p.shift;
    s.done = n <= p.enough || p.shift == 0;
    s.arrived = 0;
}

// Whole block, after all have counted: one thread has the bin. Counts are zero for the next digit.
HDD_DEVICE void hdd_select_digit(const hdd_select_args &p, hdd_select_state &s, hdd_block_prefix &sums)
{
    const u64 wanted = s.wanted;
    const u32 first = hdd_thread() * HDD_DIGITS;
    u32 n[HDD_DIGITS] = {}, mine = 0, total;
    HDD_UNROLL
    for (u32 j = 0; j < HDD_DIGITS && hdd_has_digits(); j++) {
        n[j] = hdd_load_relaxed(&s.counts[first + j]);
        s.counts[first + j] = 0;
        mine += n[j];
    }
    u32 before = hdd_block_prefix_sum(sums, mine, total); // all have seen what is wanted
    HDD_UNROLL
    for (u32 j = 0; j < HDD_DIGITS && hdd_has_digits(); j++) {
        if (before < wanted && wanted <= (u64)before + n[j])
            hdd_select_bin(p, s, first + j, before, n[j]);
        before += n[j];
    }
}

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
    if (hdd_thread() == 0)
        shared.last = hdd_atomic_add(&s.arrived, 1u) == p.blocks - 1;
    hdd_block_sync();
    if (!shared.last)
        return;
    hdd_fence();
    hdd_select_digit(p, s, shared.sums);
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
