// A grid of blocks over n items, and what a block computes together, for the fixed kernels.
#ifndef HDD_FINISH_GRID_CUH
#define HDD_FINISH_GRID_CUH

#include "hd/finish_args.cuh"
#include "hd/launch.cuh"
#include "hd/warp.cuh"

static_assert(HDD_BLOCK == HDD_FINISH_THREADS, "blocks are as the host launches them");

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
struct hdd_block_sums {
    u32 warp[HDD_WARPS];
};

HDD_DEVICE u32 hdd_block_scan(hdd_block_sums &s, u32 v, u32 &total)
{
    const u32 upto = hdd_scan_sum(v);
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

// Adds one to a counter for each lane with an item (live) and gives the number of items
// counted before. Lanes with one counter add together: a hot key costs one atomic per warp.
// Whole warp.
HDD_DEVICE u32 hdd_count_up(u32 *counts, u32 index, bool live)
{
    const u32 lanes = hdd_ballot(live);
    if (lanes == 0)
        return 0;
    const u32 some = hdd_shuffle(index, hdd_lowest(lanes));
    // Dead lanes meet at an index that no row has.
    const u32 peers = hdd_any(live && index != some)
                          ? hdd_match(live ? (u64)index : ~(u64)0) & lanes
                          : lanes;
    const u32 leader = peers ? hdd_lowest(peers) : 0;
    u32 before = 0;
    if (live && hdd_lane() == leader)
        before = hdd_atomic_add(counts + index, hdd_popc(peers));
    return hdd_shuffle(before, leader) + hdd_popc(peers & hdd_lanes_below());
}

// Places for the items of the lanes that have some, `mine` each. Whole warp; one atomic.
HDD_DEVICE u64 hdd_take_places(u64 *cursor, u32 mine)
{
    const u32 upto = hdd_scan_sum(mine);
    const u32 all = hdd_shuffle(upto, HDD_LANES - 1);
    u64 base = 0;
    if (hdd_lane() == 0 && all)
        base = hdd_atomic_add(cursor, (u64)all);
    return hdd_shuffle(base, 0) + (upto - mine);
}

// The same for a whole block: an atomic per block, three block barriers.
struct hdd_block_places {
    hdd_block_sums sums;
    u64 base;
};

HDD_DEVICE u64 hdd_take_block_places(hdd_block_places &s, u64 *cursor, u32 mine)
{
    u32 all;
    const u32 before = hdd_block_scan(s.sums, mine, all);
    if (hdd_thread() == 0 && all)
        s.base = hdd_atomic_add(cursor, (u64)all);
    hdd_block_sync();
    return s.base + before;
}

#endif
