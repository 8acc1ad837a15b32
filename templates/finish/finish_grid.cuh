// A grid of blocks over n items, and what a block computes together, for the fixed kernels.
#ifndef HDD_FINISH_GRID_CUH
#define HDD_FINISH_GRID_CUH

#include "hd/finish_args.cuh"
#include "hd/launch.cuh"
#include "hd/warp.cuh"

#ifndef HDD_CHOSEN_WARPS
static_assert(HDD_BLOCK == HDD_FINISH_THREADS, "blocks are as the host launches them");
#endif

// Of this thread in a grid of `blocks`, and how many there are.
HDD_DEVICE u64 hdd_grid_thread()
{
    return (u64)hdd_block() * HDD_BLOCK + hdd_thread();
}

HDD_DEVICE u64 hdd_grid_step(u32 blocks)
{
    return (u64)blocks * HDD_BLOCK;
}

template <class T> HDD_DEVICE T *hdd_at(u64 address)
{
    return reinterpret_cast<T *>(address);
}

// Items 0 .. n - 1, for loops in which whole warps take part: `i < hdd_whole_warps(n)`.
HDD_DEVICE u64 hdd_whole_warps(u64 n)
{
    return (n + HDD_LANES - 1) / HDD_LANES * HDD_LANES;
}

HDD_DEVICE void hdd_copy_words(u64 *to, const u64 *from, u32 words)
{
    for (u32 i = 0; i < words; i++)
        to[i] = from[i];
}

// Sum over the block of one number of each thread, and over those before this thread. Whole
// block; two block barriers.
struct hdd_block_prefix {
    u32 warp[HDD_WARPS];
};

HDD_DEVICE u32 hdd_block_prefix_sum(hdd_block_prefix &s, u32 v, u32 &total)
{
    const u32 upto = hdd_warp_prefix_sum(v);
    u32 before = upto - v;
    if (hdd_lane() == HDD_LANES - 1)
        s.warp[hdd_warp()] = upto;
    hdd_block_sync();
    total = 0;
    for (u32 w = 0; w < HDD_WARPS; w++) {
        if (w == hdd_warp())
            before += total;
        total += s.warp[w];
    }
    hdd_block_sync();
    return before;
}

// ---- counting items by index ---------------------------------------------------------------

// Counters that many items of a block hit, in its shared memory: a few of them would queue up
// the whole device at a few places. The first that two lanes of a warp hit at once move in and
// stay (as in frequent.cuh).
constexpr u32 HDD_FREQUENT_COUNTER_BITS = 6, HDD_FREQUENT_COUNTERS = 1 << HDD_FREQUENT_COUNTER_BITS;
constexpr u32 HDD_NOT_FREQUENT = ~0u; // the index of a free place
constexpr u32 HDD_NOT_COUNTED = ~0u;  // the index of an item that has none

struct hdd_frequent_counters {
    u32 index[HDD_FREQUENT_COUNTERS];
    u32 count[HDD_FREQUENT_COUNTERS]; // items since the last settling
    u32 base[HDD_FREQUENT_COUNTERS];  // items before those

    // Whole block; a block barrier, as in the next.
    HDD_MEMBER void begin()
    {
        for (u32 k = hdd_thread(); k < HDD_FREQUENT_COUNTERS; k += HDD_BLOCK) {
            index[k] = HDD_NOT_FREQUENT;
            count[k] = 0;
        }
        hdd_block_sync();
    }

    // What was counted here is added to the counters themselves. Two block barriers.
    HDD_MEMBER void settle(u32 *counts)
    {
        hdd_block_sync();
        for (u32 k = hdd_thread(); k < HDD_FREQUENT_COUNTERS; k += HDD_BLOCK)
            if (count[k]) {
                base[k] = hdd_atomic_add(counts + index[k], count[k]);
                count[k] = 0;
            }
        hdd_block_sync();
    }

    // One lane's place for an index, HDD_NOT_FREQUENT: none. `many`: let it in.
    HDD_MEMBER u32 place(u32 i, bool many)
    {
        const u32 k = i * 0x9E3779B9u >> (32 - HDD_FREQUENT_COUNTER_BITS);
        const u32 there = hdd_load_relaxed(index + k);
        if (there == HDD_NOT_FREQUENT && many)
            hdd_atomic_cas(index + k, HDD_NOT_FREQUENT, i);
        return there == i ? k : HDD_NOT_FREQUENT;
    }
};

// Adds one to a counter for each lane with an item (live) and gives the number of items
// counted before; where `frequent_at` is a place, those since the last settling. Lanes with one counter
// add together: a frequent key costs one atomic per warp. Whole warp.
HDD_DEVICE u32 hdd_count_up(hdd_frequent_counters &frequent, u32 *counts, u32 index, bool live, u32 &frequent_at)
{
    const u32 lanes = hdd_ballot(live);
    frequent_at = HDD_NOT_FREQUENT;
    if (lanes == 0)
        return 0;
    const u32 some = hdd_shuffle(index, hdd_lowest(lanes));
    // Dead lanes meet at an index that no row has.
    const u32 same_lanes = hdd_any(live && index != some) ? hdd_match(live ? (u64)index : ~(u64)0) & lanes : lanes;
    const u32 leader = same_lanes ? hdd_lowest(same_lanes) : 0;
    u32 before = 0, place = HDD_NOT_FREQUENT;
    if (live && hdd_lane() == leader) {
        const u32 n = hdd_popc(same_lanes);
        place = frequent.place(index, n > 1);
        before = hdd_atomic_add(place == HDD_NOT_FREQUENT ? counts + index : frequent.count + place, n);
    }
    frequent_at = hdd_shuffle(place, leader);
    return hdd_shuffle(before, leader) + hdd_popc(same_lanes & hdd_lanes_below());
}

// Numbers items 0 .. n - 1 by index_of(item), from 0 for each index, into ranks; those that are
// HDD_NOT_COUNTED get no number. The whole grid.
template <class IndexOf>
HDD_DEVICE void hdd_rank_items(hdd_frequent_counters &frequent, u32 blocks, u64 n, u32 *counts, u32 *ranks,
                               IndexOf index_of)
{
    constexpr u32 each = 4; // items of a thread between two settlings
    frequent.begin();
    for (u64 from = (u64)hdd_block() * HDD_BLOCK * each; from < n; from += hdd_grid_step(blocks) * each) {
        u32 rank[each], frequent_at[each];
        bool live[each];
        HDD_UNROLL
        for (u32 k = 0; k < each; k++) {
            const u64 i = from + k * HDD_BLOCK + hdd_thread();
            const u32 index = i < n ? index_of(i) : HDD_NOT_COUNTED;
            live[k] = index != HDD_NOT_COUNTED;
            hdd_warp_sync();
            rank[k] = hdd_count_up(frequent, counts, index, live[k], frequent_at[k]);
        }
        frequent.settle(counts);
        HDD_UNROLL
        for (u32 k = 0; k < each; k++) {
            const u64 i = from + k * HDD_BLOCK + hdd_thread();
            if (live[k])
                ranks[i] = rank[k] + (frequent_at[k] == HDD_NOT_FREQUENT ? 0 : frequent.base[frequent_at[k]]);
        }
    }
}

// ---- places --------------------------------------------------------------------------------

// Places for the items of the lanes that have some, `mine` each. Whole warp; one atomic.
HDD_DEVICE u64 hdd_reserve_places(u64 *cursor, u32 mine)
{
    const u32 upto = hdd_warp_prefix_sum(mine);
    const u32 all = hdd_shuffle(upto, HDD_LANES - 1);
    u64 base = 0;
    if (hdd_lane() == 0 && all)
        base = hdd_atomic_add(cursor, (u64)all);
    return hdd_shuffle(base, 0) + (upto - mine);
}

// The same for a whole block: an atomic per block, three block barriers.
struct hdd_block_places {
    hdd_block_prefix sums;
    u64 base;
};

HDD_DEVICE u64 hdd_reserve_block_places(hdd_block_places &s, u64 *cursor, u32 mine)
{
    u32 all;
    const u32 before = hdd_block_prefix_sum(s.sums, mine, all);
    if (hdd_thread() == 0 && all)
        s.base = hdd_atomic_add(cursor, (u64)all);
    hdd_block_sync();
    return s.base + before;
}

#endif
