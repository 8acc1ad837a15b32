// Exclusive prefix sums of any number of counts in three launches: sums of tiles, the prefix sums of these,
// the numbers themselves. Reads the counts twice; no block waits for another one.
#include "hd/finish_grid.cuh"

constexpr u32 HDD_PREFIX_SUM_STEP = HDD_BLOCK * 4; // items of a block at once: 16 bytes a thread

// Four counts of a thread; those behind the end are 0.
struct hdd_four {
    u32 v[4];
    HDD_MEMBER hdd_four(const u32 *from, u64 at, u64 n)
    {
        HDD_UNROLL
        for (u32 k = 0; k < 4; k++)
            v[k] = at + k < n ? from[at + k] : 0;
    }
    HDD_MEMBER u32 sum() const
    {
        return v[0] + v[1] + v[2] + v[3];
    }
};

HDD_KERNEL(hdd_prefix_sum_tiles)(HDD_PARAMETER(hdd_prefix_sum_args, p))
{
    HDD_SHARED(hdd_block_prefix, shared);
    const u32 *from = hdd_at<const u32>(p.from);
    const u64 tiles = (p.n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS;
    for (u64 tile = hdd_block(); tile < tiles; tile += p.blocks) {
        u32 sum = 0, total;
        HDD_UNROLL_4
        for (u32 k = 0; k < HDD_TILE_ITEMS; k += HDD_PREFIX_SUM_STEP)
            sum += hdd_four(from, tile * HDD_TILE_ITEMS + k + hdd_thread() * 4, p.n).sum();
        hdd_block_prefix_sum(shared, sum, total);
        if (hdd_thread() == 0)
            hdd_at<u64>(p.sums)[tile] = total;
    }
}

// One block. Sums of all counts need more than 32 bits where `wide`; of the tiles that are
// looked at together they never do, since a row has a number of 32 bits.
HDD_KERNEL(hdd_prefix_sum_totals)(HDD_PARAMETER(hdd_prefix_sum_args, p))
{
    HDD_SHARED(hdd_block_prefix, shared);
    constexpr u32 each = 8;
    u64 *const sums = hdd_at<u64>(p.sums);
    const u64 tiles = (p.n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS;
    u64 base = 0;
    HDD_NO_UNROLL
    for (u64 from = 0; from < tiles; from += each * HDD_BLOCK) {
        const u64 at = from + hdd_thread() * each;
        u32 v[each], mine = 0, total;
        HDD_UNROLL
        for (u32 k = 0; k < each; k++) {
            v[k] = at + k < tiles ? (u32)sums[at + k] : 0;
            mine += v[k];
        }
        u64 before = base + hdd_block_prefix_sum(shared, mine, total);
        HDD_UNROLL
        for (u32 k = 0; k < each; k++) {
            if (at + k < tiles)
                sums[at + k] = before;
            before += v[k];
        }
        base += total;
    }
    if (p.total && hdd_thread() == 0) {
        if (p.wide)
            hdd_at<u64>(p.to)[p.n] = base;
        else
            hdd_at<u32>(p.to)[p.n] = (u32)base;
    }
}

HDD_KERNEL(hdd_prefix_sum_apply)(HDD_PARAMETER(hdd_prefix_sum_args, p))
{
    HDD_SHARED(hdd_block_prefix, shared);
    const u32 *from = hdd_at<const u32>(p.from);
    const u64 tiles = (p.n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS;
    for (u64 tile = hdd_block(); tile < tiles; tile += p.blocks) {
        u64 base = hdd_at<const u64>(p.sums)[tile];
        HDD_NO_UNROLL
        for (u32 k = 0; k < HDD_TILE_ITEMS; k += HDD_PREFIX_SUM_STEP) {
            const u64 at = tile * HDD_TILE_ITEMS + k + hdd_thread() * 4;
            const hdd_four four(from, at, p.n);
            u32 total;
            u64 before = base + hdd_block_prefix_sum(shared, four.sum(), total);
            HDD_UNROLL
            for (u32 j = 0; j < 4; j++) {
                if (at + j < p.n && p.wide)
                    hdd_at<u64>(p.to)[at + j] = before;
                else if (at + j < p.n)
                    hdd_at<u32>(p.to)[at + j] = (u32)before;
                before += four.v[j];
            }
            base += total;
        }
    }
}
