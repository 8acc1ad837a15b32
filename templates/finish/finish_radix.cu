// Many rows in order. A least-significant-digit radix sort (Knuth, The Art of Computer
// Programming 3, 5.2.5) over keys that hold only the bits in which the rows differ
// (finish_pack.cu): most orders need two to five passes of eight bits, each of one reading and one
// writing (finish_digits.cuh). A sort by comparisons would read rows log n times, at random.
#define HDD_CHOSEN_WARPS 8
#include "hd/finish_digits.cuh"

static_assert(HDD_BLOCK == HDD_RADIX_THREADS, "blocks are as the host launches them");

constexpr u32 HDD_EACH = HDD_TILE_ITEMS / HDD_BLOCK; // items of a thread
constexpr u32 HDD_RADIX_BLOCKS = 3; // of a multiprocessor: 80 registers a thread, of which keys take 32

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

// Counts are no longer needed when items lie side by side.
struct hdd_radix_shared {
    hdd_radix_tile tile;
    union {
        hdd_radix_counts counts;
        u64 stage[HDD_TILE_ITEMS];
    };
};

// Item k of this thread in the tile: a warp's items lie side by side, so that places follow their order.
HDD_DEVICE u32 hdd_radix_item(u32 k)
{
    return hdd_warp() * HDD_EACH * HDD_LANES + k * HDD_LANES + hdd_lane();
}

// What a thread has of a tile, in registers.
struct hdd_radix_items {
    u64 key[HDD_EACH];
    u32 place[HDD_EACH]; // of an item in the tile
};

// Behind the last item follow such with the last digit.
HDD_DEVICE void hdd_radix_load(hdd_radix_items &t, const u64 *from, u32 m)
{
    if (m == HDD_TILE_ITEMS) {
        HDD_UNROLL
        for (u32 k = 0; k < HDD_EACH; k++)
            t.key[k] = from[hdd_radix_item(k)];
        return;
    }
    HDD_UNROLL
    for (u32 k = 0; k < HDD_EACH; k++)
        t.key[k] = hdd_radix_item(k) < m ? from[hdd_radix_item(k)] : ~(u64)0;
}

// Row numbers take the way of their keys through the same memory: place i of the tile goes to to[i]. Whole block.
HDD_DEVICE void hdd_radix_write_rows(hdd_radix_shared &s, const hdd_radix_args &p, const hdd_radix_items &t,
                                     const u32 (&to)[HDD_EACH], u64 start, u32 m)
{
    u32 *const rows = reinterpret_cast<u32 *>(s.stage);
    hdd_block_sync();
    HDD_UNROLL
    for (u32 k = 0; k < HDD_EACH; k++) {
        const u32 i = hdd_radix_item(k);
        if (i < m)
            rows[t.place[k]] = p.from_rows ? hdd_at<const u32>(p.from_rows)[start + i] : (u32)(p.first + start + i);
    }
    hdd_block_sync();
    HDD_UNROLL
    for (u32 k = 0; k < HDD_EACH; k++) {
        const u32 i = k * HDD_BLOCK + hdd_thread();
        if (i < m)
            hdd_at<u32>(p.to_rows)[to[k]] = rows[i];
    }
}

// Keys go to their digit in shared memory first, so that writes to memory are of whole runs. Whole block.
HDD_DEVICE void hdd_radix_write(hdd_radix_shared &s, const hdd_radix_args &p, const hdd_radix_items &t, u64 start,
                                u32 m)
{
    u32 to[HDD_EACH];
    HDD_UNROLL
    for (u32 k = 0; k < HDD_EACH; k++)
        s.stage[t.place[k]] = t.key[k];
    hdd_block_sync();
    HDD_UNROLL
    for (u32 k = 0; k < HDD_EACH; k++) {
        const u32 i = k * HDD_BLOCK + hdd_thread();
        const u64 key = s.stage[i];
        to[k] = i + s.tile.place[hdd_digit(p, key)];
        if (i < m)
            hdd_at<u64>(p.to)[to[k]] = key;
    }
    if (p.to_rows)
        hdd_radix_write_rows(s, p, t, to, start, m);
}

HDD_KERNEL_FOR(HDD_RADIX_BLOCKS, hdd_radix_move)(HDD_PARAMETER(hdd_radix_args, p))
{
    HDD_SHARED(hdd_radix_shared, s);
    const u32 tiles = (u32)((p.n + HDD_TILE_ITEMS - 1) / HDD_TILE_ITEMS);
    for (;;) {
        const u32 tile = hdd_take_tile(s.tile, p.next);
        if (tile >= tiles)
            return;
        const u64 start = (u64)tile * HDD_TILE_ITEMS, left = p.n - start;
        const u32 m = left < HDD_TILE_ITEMS ? (u32)left : (u32)HDD_TILE_ITEMS;
        u32 *const counts = s.counts.warp[hdd_warp()];
        hdd_radix_items t;
        hdd_radix_load(t, hdd_at<const u64>(p.from) + start, m);
        hdd_radix_clear(s.counts);
        HDD_UNROLL
        for (u32 k = 0; k < HDD_EACH; k++)
            hdd_atomic_add(counts + hdd_digit(p, t.key[k]), 1u);
        hdd_block_sync();
        // The tiles behind this one know its counts before it needs those of the tiles before it.
        const hdd_radix_digits mine =
            hdd_radix_begins(s.tile, s.counts, tile, true, p.status, HDD_TILE_ITEMS - m, p.mask);
        hdd_block_sync();
        HDD_UNROLL
        for (u32 k = 0; k < HDD_EACH; k++)
            t.place[k] = hdd_radix_place(counts, hdd_digit(p, t.key[k]));
        hdd_radix_places(s.tile, mine, tile, tile + 1 == tiles, true, p.status, p.base);
        hdd_block_sync();
        hdd_radix_write(s, p, t, start, m);
        hdd_block_sync();
    }
}

// Blocks 0 .. n - 1 of the list become rows; a warp moves a row's words side by side.
HDD_KERNEL(hdd_sort_gather)(HDD_PARAMETER(hdd_gather_args, p))
{
    const u32 words = p.stride / 8;
    const u64 n = p.n * words;
    for (u64 i = hdd_grid_thread(); i < n; i += hdd_grid_step(p.blocks)) {
        const u64 row = i / words, k = i % words;
        hdd_at<u64>(p.to)[i] = hdd_at<const u64>(p.rows)[(u64)hdd_at<const u32>(p.list)[row] * words + k];
    }
}
