// Narrow rows that hold nothing but their sort keys: the packed key is all that moves, and rows are made of it again.
// What is inverted in a key for its order is inverted in the row, so both are a few shifts of words.
#include "hd/finish_digits.cuh"

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

template <u32 W> struct hdd_packed_rows {
    const hdd_row_bits_args &p;

    template <u32 N> HDD_MEMBER void operator()(u64 start, u64 step, u64 (&key)[N]) const
    {
        u64 word[N][W];
        HDD_UNROLL
        for (u32 j = 0; j < N; j++) {
            key[j] = 0;
            HDD_UNROLL
            for (u32 w = 0; w < W; w++)
                word[j][w] = hdd_at<const u64>(p.rows)[(start + j * step) * W + w] ^ p.base[w];
        }
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.npieces; k++) {
            const hdd_row_piece &piece = p.piece[k];
            HDD_UNROLL
            for (u32 j = 0; j < N; j++) {
                u64 bits = word[j][0];
                HDD_UNROLL
                for (u32 w = 1; w < W; w++)
                    bits = piece.word == w ? word[j][w] : bits;
                key[j] |= hdd_rotate(bits, piece.left) & piece.mask;
            }
        }
    }
};

// Keys are counted as they are made.
HDD_KERNEL(hdd_rows_pack)(HDD_PARAMETER(hdd_row_bits_args, p))
{
    HDD_SHARED(hdd_digit_counts, s);
    switch (p.words) {
    case 1: hdd_count_digits(s, p.digits, p.blocks, p.n, p.keys, hdd_packed_rows<1>{p}); return;
    case 2: hdd_count_digits(s, p.digits, p.blocks, p.n, p.keys, hdd_packed_rows<2>{p}); return;
    case 3: hdd_count_digits(s, p.digits, p.blocks, p.n, p.keys, hdd_packed_rows<3>{p}); return;
    default: hdd_count_digits(s, p.digits, p.blocks, p.n, p.keys, hdd_packed_rows<4>{p}); return;
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

// Row words of a key.
template <u32 W> HDD_DEVICE void hdd_unpack_key(const hdd_row_bits_args &p, u64 key, u64 (&row)[W])
{
    HDD_UNROLL
    for (u32 w = 0; w < W; w++)
        row[w] = p.base[w];
    HDD_NO_UNROLL
    for (u32 k = 0; k < p.npieces; k++) {
        const hdd_row_piece &piece = p.piece[k];
        const u64 bits = hdd_rotate(key & piece.mask, (64 - piece.left) % 64);
        HDD_UNROLL
        for (u32 w = 0; w < W; w++)
            row[w] ^= W == 1 || piece.word == w ? bits : 0;
    }
}

// N keys at a time so that their loads overlap.
template <u32 W, u32 N> HDD_DEVICE void hdd_unpack_rows(const hdd_row_bits_args &p)
{
    const u64 *const keys = hdd_at<const u64>(p.keys);
    const u64 step = hdd_grid_step(p.blocks), upper = p.sorted ? ~(u64)0 << p.sorted : 0;
    for (u64 start = hdd_grid_thread(); start < p.n; start += step * N) {
        u64 key[N];
        bool ties[N];
        HDD_UNROLL
        for (u32 j = 0; j < N; j++) {
            const u64 i = start + j * step;
            ties[j] = false;
            if (i >= p.n)
                continue;
            key[j] = keys[i];
            if (upper)
                ties[j] =
                    (i > 0 && !((keys[i - 1] ^ key[j]) & upper)) || (i + 1 < p.n && !((keys[i + 1] ^ key[j]) & upper));
        }
        HDD_UNROLL
        for (u32 j = 0; j < N; j++) {
            const u64 i = start + j * step, place = (ties[j] ? hdd_place_among_ties(p, key[j], i) : i) - p.skip;
            if (i >= p.n || place >= p.count)
                continue;
            u64 row[W];
            hdd_unpack_key(p, key[j], row);
            HDD_UNROLL
            for (u32 w = 0; w < W; w++)
                hdd_at<u64>(p.rows)[place * W + w] = row[w];
        }
    }
}

// One key where its neighbours are loaded, too.
template <u32 W> HDD_DEVICE void hdd_unpack_all_rows(const hdd_row_bits_args &p)
{
    if (p.sorted)
        hdd_unpack_rows<W, 1>(p);
    else
        hdd_unpack_rows<W, HDD_ROWS_AT_ONCE>(p);
}

HDD_KERNEL(hdd_rows_unpack)(HDD_PARAMETER(hdd_row_bits_args, p))
{
    switch (p.words) {
    case 1: hdd_unpack_all_rows<1>(p); return;
    case 2: hdd_unpack_all_rows<2>(p); return;
    case 3: hdd_unpack_all_rows<3>(p); return;
    default: hdd_unpack_all_rows<4>(p); return;
    }
}
