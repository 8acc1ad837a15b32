// Narrow rows that hold nothing but their sort keys: the packed key is all that moves, and rows are made of it again.
// What is inverted in a key for its order is inverted in the row, so both are a few shifts of words. Rows of one word
// are packed by the first pass of the sort and unpacked by the last one.
// Each width has its kernels in two sources of its own, from rows to keys (finish_rows_1.cu and so on) and back
// (finish_rows_back.cuh): a program asks for one width, and the two compile side by side.
#ifndef HDD_FINISH_ROWS_CUH
#define HDD_FINISH_ROWS_CUH

#define HDD_CHOSEN_WARPS 8
#include "hd/finish_digits.cuh"
#include "hd/finish_pieces.cuh"

static_assert(HDD_BLOCK == HDD_RADIX_THREADS, "blocks are as the host launches them");

// ---- bits in which rows differ -------------------------------------------------------------

// A word per thread and word of a row. Whole warp.
template <u32 W> HDD_DEVICE void hdd_or_all(u64 to, const u64 (&mask)[W])
{
    hdd_warp_sync();
    HDD_UNROLL
    for (u32 w = 0; w < W; w++) {
        const u64 all = (u64)hdd_warp_or((u32)(mask[w] >> 32)) << 32 | hdd_warp_or((u32)mask[w]);
        u64 *const word = hdd_at<u64>(to) + w;
        if (hdd_lane() == 0 && (hdd_load_relaxed(word) & all) != all)
            hdd_atomic_or(word, all);
    }
}

// One of `each` rows, by chance: rows in steps of one length could agree where others differ.
HDD_DEVICE u64 hdd_sampled_row(u64 i, u32 each)
{
    return i * each + ((u32)i * 0x9E3779B9u >> 8) % each;
}

template <u32 W> HDD_DEVICE void hdd_row_masks(const hdd_row_survey_args &p)
{
    const u64 *const rows = hdd_at<const u64>(p.rows);
    const u64 n = p.n / p.each;
    u64 first[W], mask[W];
    HDD_UNROLL
    for (u32 w = 0; w < W; w++) {
        first[w] = rows[w];
        mask[w] = 0;
    }
    for (u64 i = hdd_grid_thread(); i < n && p.each > 1; i += hdd_grid_step(p.blocks)) {
        HDD_UNROLL
        for (u32 w = 0; w < W; w++)
            mask[w] |= rows[hdd_sampled_row(i, p.each) * W + w] ^ first[w];
    }
    HDD_UNROLL_4
    for (u64 i = hdd_grid_thread(); i < n && p.each == 1; i += hdd_grid_step(p.blocks)) {
        HDD_UNROLL
        for (u32 w = 0; w < W; w++)
            mask[w] |= rows[i * W + w] ^ first[w];
    }
    hdd_or_all(p.masks, mask);
    HDD_UNROLL
    for (u32 w = 0; w < W; w++)
        if (hdd_grid_thread() == 0)
            hdd_at<u64>(p.first)[w] = first[w];
}

HDD_KERNEL(hdd_rows_masks)(HDD_PARAMETER(hdd_row_survey_args, p))
{
    hdd_row_masks<HDD_ROW_WIDTH>(p);
}

// ---- from rows to keys ---------------------------------------------------------------------

template <u32 W> struct hdd_packed_rows {
    const hdd_row_bits_args &p;
    u64 (&missed)[W];

    template <u32 N> HDD_MEMBER void operator()(u64 start, u64 step, u64 (&key)[N]) const
    {
        u64 word[N][W];
        HDD_UNROLL
        for (u32 j = 0; j < N; j++) {
            key[j] = 0;
            HDD_UNROLL
            for (u32 w = 0; w < W; w++) {
                word[j][w] = hdd_at<const u64>(p.rows)[(start + j * step) * W + w] ^ p.base[w];
                missed[w] |= word[j][w] & p.outside[w];
            }
        }
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.npieces; k++) {
            const hdd_row_piece &piece = p.piece[k];
            HDD_UNROLL
            for (u32 w = 0; w < W; w++) {
                if (W > 1 && piece.word != w)
                    continue;
                HDD_UNROLL
                for (u32 j = 0; j < N; j++)
                    key[j] |= hdd_packed_piece(piece, word[j][w]);
            }
        }
    }
};

template <u32 W> HDD_DEVICE void hdd_pack_rows(hdd_digit_counts &s, const hdd_row_bits_args &p)
{
    u64 missed[W];
    HDD_UNROLL
    for (u32 w = 0; w < W; w++)
        missed[w] = 0;
    hdd_count_digits(s, p.digits, p.blocks, p.n, p.keys, hdd_packed_rows<W>{p, missed});
    hdd_or_all(p.missed, missed);
}

// Keys are counted as they are made.
HDD_KERNEL(hdd_rows_pack)(HDD_PARAMETER(hdd_row_bits_args, p))
{
    HDD_SHARED(hdd_digit_counts, s);
    hdd_pack_rows<HDD_ROW_WIDTH>(s, p);
}

#endif
