// Many rows in order. A least-significant-digit radix sort (Knuth, The Art of Computer
// Programming 3, 5.2.5) over keys that hold only the bits in which the rows differ
// (finish_pack.cu): most orders need two to five passes of eight bits. A sort by comparisons
// would read rows log n times, at random.
#include "hd/finish_digits.cuh"

constexpr u32 HDD_EACH = HDD_TILE_ITEMS / HDD_BLOCK; // items of a thread
constexpr u32 HDD_AT_ONCE = 4;
constexpr u32 HDD_WARP_ITEMS = HDD_EACH * HDD_LANES;

struct hdd_radix_shared {
    hdd_radix_counts counts;
    hdd_block_prefix sums;
    u32 begin[HDD_RADIX]; // of a digit among the items of the tile
    u32 place[HDD_RADIX]; // of a digit's first item of this tile, less `begin`
    u64 stage[HDD_TILE_ITEMS];
    u16 rank[HDD_TILE_ITEMS]; // of an item among those of its digit; then its place in stage

    // The digit of what is in place i of stage, where the counts were before.
    HDD_MEMBER u8 &digit(u32 i)
    {
        static_assert(sizeof counts >= HDD_TILE_ITEMS, "a byte per item");
        return reinterpret_cast<u8 *>(counts.warp)[i];
    }
};

HDD_DEVICE u32 hdd_digit(const hdd_radix_args &p, u64 key)
{
    return (u32)(key >> p.shift) & p.mask;
}

HDD_KERNEL(hdd_radix_count)(HDD_PARAMETER(hdd_radix_args, p))
{
    HDD_SHARED(hdd_radix_counts, shared);
    const u64 tiles = (p.n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS;
    for (u64 tile = hdd_block(); tile < tiles; tile += p.blocks) {
        hdd_radix_clear(shared);
        HDD_NO_UNROLL
        for (u32 k = 0; k < HDD_EACH; k += HDD_AT_ONCE) {
            const u64 start = tile * HDD_TILE_ITEMS + k * HDD_BLOCK + hdd_thread();
            u64 key[HDD_AT_ONCE];
            HDD_UNROLL
            for (u32 j = 0; j < HDD_AT_ONCE; j++) {
                const u64 i = start + j * HDD_BLOCK;
                key[j] = i < p.n ? hdd_at<const u64>(p.from)[i] : 0;
            }
            HDD_UNROLL
            for (u32 j = 0; j < HDD_AT_ONCE; j++)
                hdd_radix_rank(shared.warp[hdd_warp()], hdd_digit(p, key[j]),
                               start + j * HDD_BLOCK < p.n);
        }
        hdd_block_sync();
        HDD_NO_UNROLL
        for (u32 d = hdd_thread(); d < HDD_RADIX; d += HDD_BLOCK) {
            u32 sum = 0;
            for (u32 w = 0; w < HDD_WARPS; w++)
                sum += shared.warp[w][d];
            hdd_at<u32>(p.counts)[d * tiles + tile] = sum;
        }
        hdd_block_sync();
    }
}

// From counts per warp and digit to where each warp's items of a digit begin in the tile.
HDD_DEVICE void hdd_radix_begins(const hdd_radix_args &p, hdd_radix_shared &s, u64 tile,
                                 u64 tiles)
{
    constexpr u32 digits = HDD_RADIX / HDD_BLOCK; // of a thread
    u32 sum[digits], mine = 0, total;
    HDD_UNROLL
    for (u32 j = 0; j < digits; j++) {
        const u32 d = hdd_thread() * digits + j;
        sum[j] = 0;
        for (u32 w = 0; w < HDD_WARPS; w++) {
            const u32 n = s.counts.warp[w][d];
            s.counts.warp[w][d] = sum[j];
            sum[j] += n;
        }
        mine += sum[j];
    }
    u32 begin = hdd_block_prefix_sum(s.sums, mine, total);
    HDD_UNROLL
    for (u32 j = 0; j < digits; j++) {
        const u32 d = hdd_thread() * digits + j;
        s.begin[d] = begin;
        s.place[d] = hdd_at<const u32>(p.counts)[d * tiles + tile] - begin;
        begin += sum[j];
    }
    hdd_block_sync();
}

// Item k of this thread in the tile: a warp's items lie side by side, so that ranks follow
// their order.
HDD_DEVICE u32 hdd_radix_item(u32 k)
{
    return hdd_warp() * HDD_WARP_ITEMS + k * HDD_LANES + hdd_lane();
}

// Ranks of the warp's items among those of their digit, a few at a time so that their loads
// overlap. Whole warp.
HDD_DEVICE void hdd_radix_ranks(hdd_radix_shared &s, const hdd_radix_args &p, const u64 *from,
                                u32 m)
{
    HDD_NO_UNROLL
    for (u32 k = 0; k < HDD_EACH; k += HDD_AT_ONCE) {
        u64 key[HDD_AT_ONCE];
        HDD_UNROLL
        for (u32 j = 0; j < HDD_AT_ONCE; j++) {
            const u32 i = hdd_radix_item(k + j);
            key[j] = i < m ? from[i] : 0;
        }
        HDD_UNROLL
        for (u32 j = 0; j < HDD_AT_ONCE; j++) {
            const u32 i = hdd_radix_item(k + j);
            s.rank[i] = (u16)hdd_radix_rank(s.counts.warp[hdd_warp()], hdd_digit(p, key[j]),
                                            i < m);
        }
    }
}

// Keys go to their digit in shared memory first, so that writes to memory are of whole runs.
// Whole block.
HDD_DEVICE void hdd_radix_keys(hdd_radix_shared &s, const hdd_radix_args &p, const u64 *from,
                               u32 m)
{
    HDD_UNROLL_4
    for (u32 k = 0; k < HDD_EACH; k++) {
        const u32 i = hdd_radix_item(k);
        if (i < m) {
            const u64 key = from[i];
            const u32 d = hdd_digit(p, key);
            const u32 to = s.rank[i] + s.begin[d] + s.counts.warp[hdd_warp()][d];
            s.rank[i] = (u16)to;
            s.stage[to] = key;
        }
    }
    hdd_block_sync();
    HDD_UNROLL_4
    for (u32 i = hdd_thread(); i < m; i += HDD_BLOCK) {
        const u64 key = s.stage[i];
        const u32 d = hdd_digit(p, key);
        s.digit(i) = (u8)d; // for this thread, when it comes to the rows
        hdd_at<u64>(p.to)[i + s.place[d]] = key;
    }
    hdd_block_sync();
}

// Row numbers take the same way through the same memory.
HDD_DEVICE void hdd_radix_rows(hdd_radix_shared &s, const hdd_radix_args &p, u64 start, u32 m)
{
    u32 *const rows = reinterpret_cast<u32 *>(s.stage);
    HDD_UNROLL_4
    for (u32 k = 0; k < HDD_EACH; k++) {
        const u32 i = hdd_radix_item(k);
        if (i < m)
            rows[s.rank[i]] = p.from_rows ? hdd_at<const u32>(p.from_rows)[start + i]
                                          : (u32)(start + i);
    }
    hdd_block_sync();
    HDD_UNROLL_4
    for (u32 i = hdd_thread(); i < m; i += HDD_BLOCK)
        hdd_at<u32>(p.to_rows)[i + s.place[s.digit(i)]] = rows[i];
    hdd_block_sync();
}

HDD_KERNEL(hdd_radix_move)(HDD_PARAMETER(hdd_radix_args, p))
{
    HDD_SHARED(hdd_radix_shared, s);
    const u64 tiles = (p.n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS;
    for (u64 tile = hdd_block(); tile < tiles; tile += p.blocks) {
        const u64 start = tile * HDD_TILE_ITEMS, left = p.n - start;
        const u32 m = left < HDD_TILE_ITEMS ? (u32)left : (u32)HDD_TILE_ITEMS;
        const u64 *const from = hdd_at<const u64>(p.from) + start;
        hdd_radix_clear(s.counts);
        hdd_radix_ranks(s, p, from, m);
        hdd_block_sync();
        hdd_radix_begins(p, s, tile, tiles);
        hdd_radix_keys(s, p, from, m);
        hdd_radix_rows(s, p, start, m);
    }
}

// Blocks 0 .. n - 1 of the list become rows; a warp moves a row's words side by side.
HDD_KERNEL(hdd_sort_gather)(HDD_PARAMETER(hdd_gather_args, p))
{
    const u32 words = p.stride / 8;
    const u64 n = p.n * words;
    for (u64 i = hdd_grid_thread(); i < n; i += hdd_grid_step(p.blocks)) {
        const u64 row = i / words, k = i % words;
        hdd_at<u64>(p.to)[i] =
            hdd_at<const u64>(p.rows)[(u64)hdd_at<const u32>(p.list)[row] * words + k];
    }
}
