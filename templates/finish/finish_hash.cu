// HASH: rows of equal keys side by side, and a slot per key as probes expect it
// (templates/probe.cuh).
#include "hd/finish_keys.cuh"
#include "hd/probe.cuh"

HDD_DEVICE const u8 *hdd_hash_row(const hdd_hash_args &p, u64 row)
{
    return hdd_at<const u8>(p.rows + row * p.keys.stride);
}

// Number of the first row of the key of `row`: rows are in the table under the number of the
// one that came first, beside bits of its hash, so that few rows of other keys are looked at.
// Nothing that is compared is written in this kernel.
HDD_DEVICE u32 hdd_hash_first(const hdd_hash_args &p, u32 row)
{
    u64 *const table = hdd_at<u64>(p.table);
    const u8 *const mine = hdd_hash_row(p, row);
    const u64 h = hdd_field<u64>(mine, 0), word = h >> 32 << 32 | (u64)(row + 1);
    for (u64 at = h & p.table_mask;; at = (at + 1) & p.table_mask) {
        u64 there = hdd_load_relaxed(table + at);
        if (there == 0)
            there = hdd_atomic_cas(table + at, (u64)0, word);
        if (there == 0)
            return row;
        const u32 first = (u32)there - 1;
        if (there >> 32 == h >> 32 && hdd_field<u64>(hdd_hash_row(p, first), 0) == h &&
            hdd_equal_rows(p.keys, hdd_hash_row(p, first), mine))
            return first;
    }
}

HDD_KERNEL(hdd_hash_group)(HDD_PARAMETER(hdd_hash_args, p))
{
    HDD_SHARED(hdd_frequent_counters, frequent);
    u32 keys = 0;
    const auto first_of = [&](u64 i) {
        const u32 first = hdd_hash_first(p, (u32)i);
        keys += first == i;
        hdd_at<u32>(p.first)[i] = first;
        return first;
    };
    if (p.dedupe)
        for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks))
            first_of(i);
    else
        hdd_rank_items(frequent, p.blocks, p.n, hdd_at<u32>(p.counts), hdd_at<u32>(p.ranks), first_of);
    hdd_warp_sync();
    const u64 all = hdd_warp_sum(keys);
    if (hdd_lane() == 0 && all)
        hdd_atomic_add(hdd_at<u64>(p.totals), all);
}

// A slot for a key that has none.
HDD_DEVICE void hdd_hash_slot_of(const hdd_hash_args &p, u64 h, u64 word)
{
    u64 *const slots = hdd_at<u64>(p.slots);
    u64 at = h & p.mask;
    while (hdd_atomic_cas(slots + at, (u64)0, word) != 0)
        at = (at + 1) & p.mask;
}

// Row i is the first of its key, which has `count` rows from `begin` on. The first of these begins
// with their number.
HDD_DEVICE void hdd_hash_put(const hdd_hash_args &p, u64 i, u32 count, u64 begin)
{
    const u8 *const row = hdd_hash_row(p, i);
    u64 *const to = hdd_at<u64>(p.to + begin * p.keys.stride);
    const u64 h = hdd_field<u64>(row, 0);
    hdd_hash_slot_of(p, h, hdd_slot_word(h, begin, count > 1));
    if (p.dedupe) {
        hdd_copy_words(to, reinterpret_cast<const u64 *>(row), p.keys.stride / 8);
    } else {
        *to = count;
        hdd_at<u32>(p.counts)[i] = (u32)begin;
    }
}

// A place for the rows of each key, in any order of keys. Deduplicated: the row itself.
HDD_KERNEL(hdd_hash_place)(HDD_PARAMETER(hdd_hash_args, p))
{
    HDD_SHARED(hdd_block_places, shared);
    u64 *const placed = hdd_at<u64>(p.totals) + 1;
    for (u64 from = (u64)hdd_block() * HDD_BLOCK; from < p.n; from += hdd_grid_step(p.blocks)) {
        const u64 i = from + hdd_thread();
        const bool first = i < p.n && hdd_at<const u32>(p.first)[i] == i;
        const u32 count = !first ? 0 : p.dedupe ? 1 : hdd_at<const u32>(p.counts)[i];
        const u64 begin = hdd_reserve_block_places(shared, placed, count);
        if (first)
            hdd_hash_put(p, i, count, begin);
    }
}

HDD_KERNEL(hdd_hash_move)(HDD_PARAMETER(hdd_hash_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u32 first = hdd_at<const u32>(p.first)[i];
        const u32 rank = hdd_at<const u32>(p.ranks)[i], skip = rank == 0; // its head is there
        const u64 place = (u64)hdd_at<const u32>(p.counts)[first] + rank;
        hdd_copy_words(hdd_at<u64>(p.to + place * p.keys.stride) + skip,
                       hdd_at<const u64>(p.rows + i * p.keys.stride) + skip, p.keys.stride / 8 - skip);
    }
}

// Facts prove that keys are distinct: rows stay where they are.
HDD_KERNEL(hdd_hash_unique)(HDD_PARAMETER(hdd_hash_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u64 h = hdd_field<u64>(hdd_hash_row(p, i), 0);
        hdd_hash_slot_of(p, h, hdd_slot_word(h, i, false));
    }
}
