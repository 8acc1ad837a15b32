// Order of few rows by comparing every pair of them: each row has a block, whose threads compare it with one row each. What
// takes long is neither the number of comparisons nor what they read, but that one comes after the other, and the code, which
// is fetched once.
#ifndef HDD_FINISH_PAIRS_CUH
#define HDD_FINISH_PAIRS_CUH

#include "hd/finish_keys.cuh"

struct hdd_pairs_shared {
    u32 before;
};

// Of n rows those that come before row i; equal ones keep their order. Whole block; without keys rows stay as they are.
HDD_DEVICE u32 hdd_pairs_rank(hdd_pairs_shared &shared, const hdd_keys &keys, u64 rows, u32 n, u32 i)
{
    const u8 *const row = hdd_at<const u8>(rows + (u64)i * keys.stride);
    u32 before = 0;
    if (keys.n == 0)
        return i;
    if (hdd_thread() == 0)
        shared.before = 0;
    hdd_block_sync();
    for (u32 j = hdd_thread(); j < n; j += HDD_BLOCK) {
        const u8 *const other = hdd_at<const u8>(rows + (u64)j * keys.stride);
        const i32 c = i == j ? 0 : hdd_compare_rows(keys, other, row);
        before += c < 0 || (c == 0 && j < i);
    }
    if (before)
        hdd_atomic_add(&shared.before, before);
    hdd_block_sync();
    before = shared.before;
    hdd_block_sync(); // before the next row
    return before;
}

#endif
