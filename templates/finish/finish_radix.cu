// Many rows in order. A least-significant-digit radix sort (Knuth, The Art of Computer
// Programming 3, 5.2.5) over keys that hold only the bits in which the rows differ
// (finish_pack.cu): most orders need two to five passes of eight bits, each of one reading and one
// writing (finish_digits.cuh). A sort by comparisons would read rows log n times, at random.
#include "hd/finish_digits.cuh"

constexpr u32 HDD_EACH = HDD_TILE_ITEMS / HDD_BLOCK; // items of a thread
constexpr u32 HDD_AT_ONCE = 4;
constexpr u32 HDD_WARP_ITEMS = HDD_EACH * HDD_LANES;

struct hdd_radix_shared {
    hdd_radix_tile tile;
    u64 stage[HDD_TILE_ITEMS];
    u16 rank[HDD_TILE_ITEMS]; // of an item among those of its digit; then its place in stage

    // The digit of what is in place i of stage, where the counts were before.
    HDD_MEMBER u8 &digit(u32 i)
    {
        static_assert(sizeof tile.counts >= HDD_TILE_ITEMS, "a byte per item");
        return reinterpret_cast<u8 *>(tile.counts.warp)[i];
    }
};

HDD_DEVICE u32 hdd_digit(const hdd_radix_args &p, u64 key)
{
    return (u32)(key >> p.shift) & p.mask;
}

// ---- counting ------------------------------------------------------------------------------

struct hdd_memory_keys {
    u64 at;

    template <u32 N> HDD_MEMBER void operator()(u64 start, u64 step, u64 (&key)[N]) const
    {
        HDD_UNROLL
        for (u32 j = 0; j < N; j++)
            key[j] = hdd_at<const u64>(at)[start + j * step];
    }
};

struct hdd_hash_keys {
    u64 rows;
    u32 stride;

    template <u32 N> HDD_MEMBER void operator()(u64 start, u64 step, u64 (&key)[N]) const
    {
        HDD_UNROLL
        for (u32 j = 0; j < N; j++) {
            const u64 i = start + j * step;
            key[j] = *hdd_at<const u64>(rows + i * stride) << 32 | (i + 1);
        }
    }
};

HDD_KERNEL(hdd_radix_count)(HDD_PARAMETER(hdd_radix_count_args, p))
{
    HDD_SHARED(hdd_digit_counts, shared);
    if (p.rows)
        hdd_count_digits(shared, p.digits, p.blocks, p.n, p.keys, hdd_hash_keys{p.rows, p.stride});
    else
        hdd_count_digits(shared, p.digits, p.blocks, p.n, 0, hdd_memory_keys{p.keys});
}

// One block.
HDD_KERNEL(hdd_radix_begin)(HDD_PARAMETER(hdd_digits, p))
{
    HDD_SHARED(hdd_block_prefix, sums);
    hdd_digits_begin(sums, p);
}

// ---- moving --------------------------------------------------------------------------------

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
            s.rank[i] = (u16)hdd_radix_rank(s.tile.counts.warp[hdd_warp()], hdd_digit(p, key[j]),
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
            const u32 to = s.rank[i] + s.tile.begin[d] + s.tile.counts.warp[hdd_warp()][d];
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
        hdd_at<u64>(p.to)[i + s.tile.place[d]] = key;
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
                                          : (u32)(p.first + start + i);
    }
    hdd_block_sync();
    HDD_UNROLL_4
    for (u32 i = hdd_thread(); i < m; i += HDD_BLOCK)
        hdd_at<u32>(p.to_rows)[i + s.tile.place[s.digit(i)]] = rows[i];
    hdd_block_sync();
}

HDD_KERNEL(hdd_radix_move)(HDD_PARAMETER(hdd_radix_args, p))
{
    HDD_SHARED(hdd_radix_shared, s);
    const u32 tiles = (u32)((p.n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS);
    for (;;) {
        const u32 tile = hdd_take_tile(s.tile, p.next);
        if (tile >= tiles)
            return;
        const u64 start = (u64)tile * HDD_TILE_ITEMS, left = p.n - start;
        const u32 m = left < HDD_TILE_ITEMS ? (u32)left : (u32)HDD_TILE_ITEMS;
        const u64 *const from = hdd_at<const u64>(p.from) + start;
        hdd_radix_clear(s.tile.counts);
        hdd_radix_ranks(s, p, from, m);
        hdd_block_sync();
        hdd_radix_begins(s.tile, tile, tile + 1 == tiles, true, p.status, p.base);
        hdd_radix_keys(s, p, from, m);
        if (p.to_rows)
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
