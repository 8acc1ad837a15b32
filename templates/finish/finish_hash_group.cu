// HASH: a slot for each key, and whether keys repeat (finish_hash.cu).
#include "hd/finish_keys.cuh"
#include "hd/probe.cuh"

HDD_DEVICE const u8 *hdd_hash_row(const hdd_hash_args &p, u64 row)
{
    return hdd_at<const u8>(p.rows + row * p.keys.stride);
}

// Number of the first row of the key of `row`: the one that came first has the slot. steps: from
// where the hash says to that slot. Nothing that is compared is written in this kernel.
HDD_DEVICE u32 hdd_hash_first(const hdd_hash_args &p, u32 row, u32 &steps)
{
    u64 *const slots = hdd_at<u64>(p.slots);
    const u8 *const mine = hdd_hash_row(p, row);
    const u64 h = hdd_field<u64>(mine, 0), word = hdd_slot_word(h, row, false);
    for (steps = 0;; steps++) {
        u64 *const at = slots + ((h + steps) & p.mask);
        u64 there = hdd_load_relaxed(at);
        if (there == 0)
            there = hdd_atomic_cas(at, (u64)0, word);
        if (there == 0)
            return row;
        const u8 *const first = hdd_hash_row(p, hdd_slot_row(there));
        if (hdd_slot_has_tag(there, h) && hdd_field<u64>(first, 0) == h && hdd_equal_rows(p.keys, first, mine))
            return hdd_slot_row(there);
    }
}

// A slot for each key, which says its first row: all there is to do where no key repeats. With counts
// other rows are counted at once.
HDD_KERNEL(hdd_hash_group)(HDD_PARAMETER(hdd_hash_args, p))
{
    HDD_SHARED(hdd_frequent_counters, frequent);
    u32 keys = 0;
    const auto counted_at = [&](u64 i) {
        u32 steps;
        const u32 first = hdd_hash_first(p, (u32)i, steps);
        hdd_at<u32>(p.first)[i] = first;
        if (first != i)
            return first;
        keys++;
        hdd_at<u32>(p.ranks)[i] = steps;
        return HDD_NOT_COUNTED;
    };
    if (p.counts)
        hdd_rank_items(frequent, p.blocks, p.n, hdd_at<u32>(p.counts), hdd_at<u32>(p.ranks), counted_at);
    else
        for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks))
            counted_at(i);
    hdd_warp_sync();
    const u64 all = hdd_warp_sum(keys);
    if (hdd_lane() == 0 && all)
        hdd_atomic_add(hdd_at<u64>(p.totals), all);
}
