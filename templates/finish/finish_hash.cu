// HASH: rows of equal keys side by side, and a slot per key as probes expect it (templates/slot.cuh).
#include "hd/finish_keys.cuh"
#include "hd/probe.cuh"

HDD_DEVICE const u8 *hdd_hash_row(const hdd_hash_args &p, u64 row)
{
    return hdd_at<const u8>(p.rows + row * p.keys.stride);
}

// ---- keys with several rows ----------------------------------------------------------------

// Rows that are not the first of their key, numbered among these.
HDD_KERNEL(hdd_hash_rank)(HDD_PARAMETER(hdd_hash_args, p))
{
    HDD_SHARED(hdd_frequent_counters, frequent);
    hdd_rank_items(frequent, p.blocks, p.n, hdd_at<u32>(p.counts), hdd_at<u32>(p.ranks), [&](u64 i) {
        const u32 first = hdd_at<const u32>(p.first)[i];
        return first == i ? HDD_NOT_COUNTED : first;
    });
}

// A slot for a key that has none.
HDD_DEVICE void hdd_hash_insert(const hdd_hash_args &p, u64 h, u64 word)
{
    u64 *const slots = hdd_at<u64>(p.slots);
    u64 at = h & p.mask;
    while (hdd_atomic_cas(slots + at, (u64)0, word) != 0)
        at = (at + 1) & p.mask;
}

// Row i is the first of its key, which has `count` rows from `begin` on; how many there are stands
// in place of its hash.
HDD_DEVICE void hdd_hash_put(const hdd_hash_args &p, u64 i, u32 count, u64 begin)
{
    const u64 *const row = hdd_at<const u64>(p.rows + i * p.keys.stride);
    u64 *const to = hdd_at<u64>(p.to + begin * p.keys.stride);
    const u64 h = *row, word = hdd_slot_word(h, begin, count > 1);
    if (p.fresh)
        hdd_hash_insert(p, h, word);
    else
        hdd_at<u64>(p.slots)[(h + hdd_at<const u32>(p.ranks)[i]) & p.mask] = word;
    *to = count > 1 ? count : h;
    hdd_copy_words(to + 1, row + 1, p.keys.stride / 8 - 1);
    if (!p.dedupe)
        hdd_at<u32>(p.counts)[i] = (u32)begin;
}

// A place for the rows of each key, in any order of keys; the first ones move there.
HDD_KERNEL(hdd_hash_place)(HDD_PARAMETER(hdd_hash_args, p))
{
    HDD_SHARED(hdd_block_places, shared);
    u64 *const placed = hdd_at<u64>(p.totals) + 1;
    for (u64 from = (u64)hdd_block() * HDD_BLOCK; from < p.n; from += hdd_grid_step(p.blocks)) {
        const u64 i = from + hdd_thread();
        const bool first = i < p.n && hdd_at<const u32>(p.first)[i] == i;
        const u32 count = !first ? 0 : p.dedupe ? 1 : 1 + hdd_at<const u32>(p.counts)[i];
        const u64 begin = hdd_reserve_block_places(shared, placed, count);
        if (first)
            hdd_hash_put(p, i, count, begin);
    }
}

// The others follow.
HDD_KERNEL(hdd_hash_move)(HDD_PARAMETER(hdd_hash_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u32 first = hdd_at<const u32>(p.first)[i];
        if (first == i)
            continue;
        const u64 place = (u64)hdd_at<const u32>(p.counts)[first] + 1 + hdd_at<const u32>(p.ranks)[i];
        hdd_copy_words(hdd_at<u64>(p.to + place * p.keys.stride), hdd_at<const u64>(p.rows + i * p.keys.stride),
                       p.keys.stride / 8);
    }
}

// ---- keys that are distinct, as facts prove ------------------------------------------------

HDD_KERNEL(hdd_hash_unique)(HDD_PARAMETER(hdd_hash_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u64 h = hdd_field<u64>(hdd_hash_row(p, i), 0);
        hdd_hash_insert(p, h, hdd_slot_word(h, i, false));
    }
}
