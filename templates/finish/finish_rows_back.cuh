// From packed keys back to rows (finish_rows.cuh).
#ifndef HDD_FINISH_ROWS_BACK_CUH
#define HDD_FINISH_ROWS_BACK_CUH

#define HDD_CHOSEN_WARPS 8
#include "hd/finish_digits.cuh"
#include "hd/finish_pieces.cuh"

static_assert(HDD_BLOCK == HDD_RADIX_THREADS, "blocks are as the host launches them");

constexpr u32 HDD_ROWS_AT_ONCE = 4;

// ---- ties ----------------------------------------------------------------------------------

// Keys lie side by side that agree in the bits that they were sorted by. Up to HDD_TIES_MAX of them are put in order by
// the block in whose tile they begin: each finds its place by counting those before it.
constexpr u32 HDD_TIES_MAX = 64, HDD_TIES_LOADED = 2048, HDD_TIES_EACH = HDD_TIES_LOADED / HDD_BLOCK;
constexpr u32 HDD_TIES_TILE = HDD_TIES_LOADED - 1 - HDD_TIES_MAX; // keys of a tile: 1 .. HDD_TIES_TILE of the loaded

struct hdd_ties {
    u64 key[HDD_TIES_LOADED];
    u32 some; // not 0: two neighbours tie
};

struct hdd_tie_tile {
    u64 first; // number of the tile's first key
    u32 begin, end; // of the loaded keys there are begin .. end - 1
    u64 upper; // bits that keys were sorted by
    const u64 *key;
    u32 *failed;

    HDD_MEMBER bool tied(u32 a, u32 b) const
    {
        return !((key[a] ^ key[b]) & upper);
    }

    // Whether the key has a tie on either side.
    HDD_MEMBER bool has_tie(u32 e) const
    {
        return (e > begin && tied(e - 1, e)) || (e + 1 < end && tied(e, e + 1));
    }

    // The place of a key, in keys from the tile's first one; false: not for this block to say, or too many are tied.
    HDD_MEMBER bool place(u32 e, u32 &at) const
    {
        u32 from = e, before = 0, i;
        while (from > begin && e - from < HDD_TIES_MAX && tied(from - 1, e))
            from--;
        for (i = from; i < end && i - from < HDD_TIES_MAX && tied(i, e); i++)
            before += key[i] < key[e] || (key[i] == key[e] && i < e);
        if (from == 0 || from > HDD_TIES_TILE)
            return false;
        at = from - 1 + before;
        if (i <= e || (i < end && tied(i, e))) {
            hdd_store_relaxed(failed, 1u);
            return false;
        }
        return true;
    }
};

// Keys and rows of W words in two places.
template <u32 W> struct hdd_rows_of_keys {
    static constexpr bool in_place = false;
    const hdd_row_bits_args &p;

    HDD_MEMBER u64 load(u64 i) const
    {
        return hdd_at<const u64>(p.keys)[i];
    }

    HDD_MEMBER u64 key_of(u64 word) const
    {
        return word;
    }

    HDD_MEMBER void store(u64 i, u64 key) const
    {
        const u64 place = i - p.skip;
        if (place >= p.count)
            return;
        u64 row[W];
        HDD_UNROLL
        for (u32 w = 0; w < W; w++)
            row[w] = p.base[w];
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.npieces; k++) {
            const hdd_row_piece &piece = p.piece[k];
            const u64 bits = hdd_unpacked_piece(piece, key);
            HDD_UNROLL
            for (u32 w = 0; w < W; w++)
                row[w] ^= W == 1 || piece.word == w ? bits : 0;
        }
        HDD_UNROLL
        for (u32 w = 0; w < W; w++)
            hdd_at<u64>(p.rows)[place * W + w] = row[w];
    }
};

// Rows of one word stay but for ties. Other blocks may look at them before and after: the bits that they look at are
// the same.
struct hdd_rows_in_place {
    static constexpr bool in_place = true;
    const hdd_row_bits_args &p;

    HDD_MEMBER u64 load(u64 i) const
    {
        return hdd_load_relaxed(hdd_at<const u64>(p.rows) + i);
    }

    HDD_MEMBER u64 key_of(u64 word) const
    {
        u64 key = 0;
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.npieces; k++)
            key |= hdd_packed_piece(p.piece[k], word ^ p.base[0]);
        return key;
    }

    HDD_MEMBER void store(u64 i, u64 key) const
    {
        u64 word = p.base[0];
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.npieces; k++)
            word ^= hdd_unpacked_piece(p.piece[k], key);
        hdd_store_relaxed(hdd_at<u64>(p.rows) + i, word);
    }
};

// Key e of those that are loaded.
template <class Rows> HDD_DEVICE void hdd_settle(const hdd_tie_tile &t, const Rows &rows, u32 e)
{
    u32 at = e - 1;
    if (t.has_tie(e) ? t.place(e, at) && (!Rows::in_place || at != e - 1) : !Rows::in_place)
        rows.store(t.first + at, t.key[e]);
}

// Whole block.
template <class Rows> HDD_DEVICE void hdd_load_tile(hdd_ties &s, const hdd_tie_tile &t, const Rows &rows)
{
    u64 word[HDD_TIES_EACH]; // so that loads overlap
    HDD_UNROLL
    for (u32 k = 0; k < HDD_TIES_EACH; k++) {
        const u32 e = k * HDD_BLOCK + hdd_thread();
        word[k] = e >= t.begin && e < t.end ? rows.load(t.first + e - 1) : 0;
    }
    HDD_UNROLL
    for (u32 k = 0; k < HDD_TIES_EACH; k++)
        s.key[k * HDD_BLOCK + hdd_thread()] = rows.key_of(word[k]);
    if (hdd_thread() == 0)
        s.some = 0;
    hdd_block_sync();
}

// Whole block; afterwards nobody looks at the keys if there are none.
HDD_DEVICE bool hdd_has_ties(hdd_ties &s, const hdd_tie_tile &t)
{
    bool some = false;
    HDD_UNROLL
    for (u32 k = 0; k < HDD_TIES_EACH; k++) {
        const u32 e = k * HDD_BLOCK + hdd_thread();
        some |= e >= t.begin && e + 1 < t.end && t.tied(e, e + 1);
    }
    if (some)
        hdd_atomic_or(&s.some, 1u);
    hdd_block_sync();
    const bool found = s.some != 0;
    hdd_block_sync();
    return found;
}

// The whole grid.
template <class Rows> HDD_DEVICE void hdd_settle_tiles(hdd_ties &s, const hdd_row_bits_args &p, const Rows &rows)
{
    for (u64 first = (u64)hdd_block() * HDD_TIES_TILE; first < p.n; first += (u64)p.blocks * HDD_TIES_TILE) {
        const u64 left = p.n - first;
        const u32 end = left < HDD_TIES_LOADED - 1 ? (u32)left + 1 : HDD_TIES_LOADED;
        const hdd_tie_tile t{first, first ? 0u : 1u, end, ~(u64)0 << p.sorted, s.key, hdd_at<u32>(p.failed)};
        hdd_load_tile(s, t, rows);
        if (Rows::in_place && !hdd_has_ties(s, t))
            continue;
        HDD_NO_UNROLL
        for (u32 k = 0; k < HDD_TIES_EACH; k++) {
            const u32 e = k * HDD_BLOCK + hdd_thread();
            if (e > 0 && e < t.end && (e <= HDD_TIES_TILE || t.tied(HDD_TIES_TILE, e)))
                hdd_settle(t, rows, e);
        }
        hdd_block_sync();
    }
}

#if HDD_ROW_WIDTH == 1
// Rows of one word in order but for ties.
HDD_KERNEL(hdd_rows_settle)(HDD_PARAMETER(hdd_row_bits_args, p))
{
    HDD_SHARED(hdd_ties, s);
    hdd_settle_tiles(s, p, hdd_rows_in_place{p});
}
#endif

// ---- from keys to rows ---------------------------------------------------------------------

// N keys at a time so that their loads overlap.
template <u32 W> HDD_DEVICE void hdd_unpack_sorted(const hdd_row_bits_args &p)
{
    constexpr u32 N = HDD_ROWS_AT_ONCE;
    const hdd_rows_of_keys<W> rows{p};
    const u64 step = hdd_grid_step(p.blocks);
    for (u64 start = hdd_grid_thread(); start < p.n; start += step * N) {
        u64 key[N];
        HDD_UNROLL
        for (u32 j = 0; j < N; j++)
            key[j] = start + j * step < p.n ? rows.load(start + j * step) : 0;
        HDD_UNROLL
        for (u32 j = 0; j < N; j++)
            if (start + j * step < p.n)
                rows.store(start + j * step, key[j]);
    }
}

template <u32 W> HDD_DEVICE void hdd_unpack_rows(hdd_ties &s, const hdd_row_bits_args &p)
{
    if (p.sorted)
        hdd_settle_tiles(s, p, hdd_rows_of_keys<W>{p});
    else
        hdd_unpack_sorted<W>(p);
}

HDD_KERNEL(hdd_rows_unpack)(HDD_PARAMETER(hdd_row_bits_args, p))
{
    HDD_SHARED(hdd_ties, s);
    hdd_unpack_rows<HDD_ROW_WIDTH>(s, p);
}

#endif
