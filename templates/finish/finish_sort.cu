// Few rows in order, with limit and offset, in one launch: each row counts those before it.
// n * n comparisons of words in shared memory; for some thousand rows that is faster than the
// launches of a sort with passes. Equal rows keep their order.
#include "hd/finish_pairs.cuh"

constexpr u32 HDD_RANK_TILE = 1024; // words that all threads of a block compare with

struct hdd_rank_shared {
    u64 word[HDD_RANK_TILE];
};

HDD_DEVICE u64 hdd_rank_number(const hdd_rank_args &p, u32 i)
{
    return p.list ? hdd_at<const u32>(p.list)[i] : i;
}

HDD_DEVICE const u8 *hdd_rank_row(const hdd_rank_args &p, u32 i)
{
    return hdd_at<const u8>(p.rows + hdd_rank_number(p, i) * p.keys.stride);
}

HDD_DEVICE u64 hdd_rank_word(const hdd_rank_args &p, u32 i)
{
    return hdd_at<const u64>(p.words)[hdd_rank_number(p, i)];
}

// Row j comes before row i, which has the same word.
HDD_DEVICE bool hdd_rank_tie(const hdd_rank_args &p, u32 j, u32 i)
{
    const i32 c = p.exact || i == j ? 0 : hdd_compare_rows(p.keys, hdd_rank_row(p, j), hdd_rank_row(p, i));
    return c < 0 || (c == 0 && j < i);
}

HDD_KERNEL(hdd_sort_rank)(HDD_PARAMETER(hdd_rank_args, p))
{
    HDD_SHARED(hdd_rank_shared, shared);
    for (u32 from = hdd_block() * HDD_BLOCK; from < p.n; from += p.blocks * HDD_BLOCK) {
        const u32 i = from + hdd_thread();
        const bool live = i < p.n;
        const u64 mine = live ? hdd_rank_word(p, i) : 0;
        u32 rank = 0;
        for (u32 tile = 0; tile < p.n; tile += HDD_RANK_TILE) {
            const u32 m = hdd_min(HDD_RANK_TILE, p.n - tile);
            for (u32 k = hdd_thread(); k < m; k += HDD_BLOCK)
                shared.word[k] = hdd_rank_word(p, tile + k);
            hdd_block_sync();
            for (u32 k = 0; k < m && live; k++) {
                const u64 other = shared.word[k];
                rank += other < mine || (other == mine && hdd_rank_tie(p, tile + k, i));
            }
            hdd_block_sync();
        }
        if (live && rank >= p.skip && rank - p.skip < p.count)
            hdd_copy_words(hdd_at<u64>(p.to + (rank - p.skip) * p.keys.stride),
                           reinterpret_cast<const u64 *>(hdd_rank_row(p, i)), p.keys.stride / 8);
    }
}

// The same of so few rows that each has a block (finish_pairs.cuh).
HDD_KERNEL(hdd_sort_pairs)(HDD_PARAMETER(hdd_rank_args, p))
{
    HDD_SHARED(hdd_pairs_shared, shared);
    const hdd_pairs pairs{p.keys, p.rows, p.list, p.words, p.n};
    for (u32 i = hdd_block(); i < p.n; i += p.blocks) {
        const u32 rank = pairs.rank(shared, i);
        const u64 *const row = reinterpret_cast<const u64 *>(pairs.row(i));
        u64 *const to = hdd_at<u64>(p.to + (rank - p.skip) * p.keys.stride);
        if (rank >= p.skip && rank - p.skip < p.count)
            for (u32 k = hdd_thread(); k < p.keys.stride / 8; k += HDD_BLOCK)
                to[k] = row[k];
    }
}

// Sets the word `failed` where a row comes before the one in front of it.
HDD_KERNEL(hdd_sort_check)(HDD_PARAMETER(hdd_check_args, p))
{
    for (u64 i = hdd_grid_thread() + 1; i < p.n; i += hdd_grid_step(p.blocks)) {
        const u8 *const row = hdd_at<const u8>(p.rows + i * p.keys.stride);
        if (hdd_load_relaxed(hdd_at<u32>(p.failed)))
            return;
        if (hdd_compare_rows(p.keys, row - p.keys.stride, row) > 0)
            hdd_store_relaxed(hdd_at<u32>(p.failed), 1u);
    }
}
