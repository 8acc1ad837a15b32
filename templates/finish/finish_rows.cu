// Narrow rows that hold nothing but their sort keys: the packed key is all that moves, and rows are made of it again.
// What is inverted in a key for its order is inverted in the row, so both are a few shifts of words.
#include "hd/finish_grid.cuh"

constexpr u32 HDD_ROWS_AT_ONCE = 4;

// ---- bits in which rows differ -------------------------------------------------------------

template <u32 W> HDD_DEVICE void hdd_row_masks(const hdd_row_bits_args &p)
{
    const u64 *const rows = hdd_at<const u64>(p.rows);
    u64 first[W], mask[W];
    HDD_UNROLL
    for (u32 w = 0; w < W; w++) {
        first[w] = rows[w];
        mask[w] = 0;
    }
    HDD_UNROLL_4
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        HDD_UNROLL
        for (u32 w = 0; w < W; w++)
            mask[w] |= rows[i * W + w] ^ first[w];
    }
    hdd_warp_sync();
    HDD_UNROLL
    for (u32 w = 0; w < W; w++) {
        const u64 all = (u64)hdd_warp_or((u32)(mask[w] >> 32)) << 32 | hdd_warp_or((u32)mask[w]);
        u64 *const to = hdd_at<u64>(p.masks) + w;
        if (hdd_lane() == 0 && (hdd_load_relaxed(to) & all) != all)
            hdd_atomic_or(to, all);
    }
}

HDD_KERNEL(hdd_rows_masks)(HDD_PARAMETER(hdd_row_bits_args, p))
{
    switch (p.words) {
    case 1: hdd_row_masks<1>(p); return;
    case 2: hdd_row_masks<2>(p); return;
    case 3: hdd_row_masks<3>(p); return;
    default: hdd_row_masks<4>(p); return;
    }
}

// ---- from rows to keys ---------------------------------------------------------------------

HDD_DEVICE u64 hdd_row_bits(u32 length)
{
    return ~(u64)0 >> (64 - length);
}

HDD_KERNEL(hdd_rows_pack)(HDD_PARAMETER(hdd_row_bits_args, p))
{
    const u64 step = hdd_grid_step(p.blocks);
    for (u64 start = hdd_grid_thread(); start < p.n; start += step * HDD_ROWS_AT_ONCE) {
        u64 key[HDD_ROWS_AT_ONCE];
        HDD_UNROLL
        for (u32 j = 0; j < HDD_ROWS_AT_ONCE; j++)
            key[j] = 0;
        for (u32 k = 0; k < p.npieces; k++) {
            const hdd_row_piece &piece = p.piece[k];
            HDD_UNROLL
            for (u32 j = 0; j < HDD_ROWS_AT_ONCE; j++) {
                const u64 i = start + j * step;
                const u64 word = i < p.n ? hdd_at<const u64>(p.rows)[i * p.words + piece.word] ^ p.base[piece.word] : 0;
                key[j] |= (word >> piece.to & hdd_row_bits(piece.length)) << piece.shift;
            }
        }
        HDD_UNROLL
        for (u32 j = 0; j < HDD_ROWS_AT_ONCE; j++)
            if (start + j * step < p.n)
                hdd_at<u64>(p.keys)[start + j * step] = key[j];
    }
}

// ---- from keys to rows ---------------------------------------------------------------------

constexpr u32 HDD_TIES_MAX = 64; // on either side of a key

// Whose upper bits are those of `key`, from place i on in steps of `by`: how many there are, and how many of them are
// to come before it. Equal keys stay as they are.
HDD_DEVICE u32 hdd_ties(const hdd_row_bits_args &p, u64 key, u64 i, i64 by, u32 &before)
{
    u32 n = 0;
    for (i64 at = (i64)i + by; at >= 0 && at < (i64)p.n && n <= HDD_TIES_MAX; at += by, n++) {
        const u64 other = hdd_at<const u64>(p.keys)[at];
        if (other >> p.sorted != key >> p.sorted)
            break;
        before += by < 0 ? other <= key : other < key;
    }
    return n;
}

// The place of a key that agrees with a neighbour in the bits that keys were sorted by.
HDD_APART u64 hdd_place_among_ties(const hdd_row_bits_args &p, u64 key, u64 i)
{
    u32 before = 0;
    const u32 below = hdd_ties(p, key, i, -1, before), above = hdd_ties(p, key, i, 1, before);
    if (below > HDD_TIES_MAX || above > HDD_TIES_MAX)
        hdd_store_relaxed(hdd_at<u32>(p.failed), 1u);
    return i - below + before;
}

HDD_DEVICE bool hdd_has_ties(const hdd_row_bits_args &p, u64 key, u64 i)
{
    const u64 *const keys = hdd_at<const u64>(p.keys);
    return (i > 0 && keys[i - 1] >> p.sorted == key >> p.sorted) ||
           (i + 1 < p.n && keys[i + 1] >> p.sorted == key >> p.sorted);
}

template <u32 W> HDD_DEVICE void hdd_unpack_rows(const hdd_row_bits_args &p)
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u64 key = hdd_at<const u64>(p.keys)[i];
        const bool ties = p.sorted && hdd_has_ties(p, key, i);
        const u64 place = (ties ? hdd_place_among_ties(p, key, i) : i) - p.skip;
        u64 row[W];
        HDD_UNROLL
        for (u32 w = 0; w < W; w++)
            row[w] = 0;
        for (u32 k = 0; k < p.npieces; k++) {
            const hdd_row_piece &piece = p.piece[k];
            const u64 bits = (key >> piece.shift & hdd_row_bits(piece.length)) << piece.to;
            HDD_UNROLL
            for (u32 w = 0; w < W; w++)
                row[w] |= piece.word == w ? bits : 0;
        }
        HDD_UNROLL
        for (u32 w = 0; w < W; w++)
            if (place < p.count)
                hdd_at<u64>(p.rows)[place * W + w] = row[w] ^ p.base[w];
    }
}

HDD_KERNEL(hdd_rows_unpack)(HDD_PARAMETER(hdd_row_bits_args, p))
{
    switch (p.words) {
    case 1: hdd_unpack_rows<1>(p); return;
    case 2: hdd_unpack_rows<2>(p); return;
    case 3: hdd_unpack_rows<3>(p); return;
    default: hdd_unpack_rows<4>(p); return;
    }
}
