// The bits in which the normalised keys of rows differ: what a sort looks at (finish_pack.cuh). Keys that are all numbers of up to
// 64 bits have kernels of their own (finish_masks_number.cu), which are compiled in half the time.
#ifndef HDD_FINISH_MASKS_CUH
#define HDD_FINISH_MASKS_CUH

#include "hd/finish_keys.cuh"

HDD_DEVICE const u8 *hdd_survey_row(const hdd_survey_args &p, u64 i)
{
    return hdd_at<const u8>(p.rows + i * p.keys.stride);
}

// In shared memory and not in registers, so that the code for a word is there once.
struct hdd_masks_shared {
    u64 first[HDD_KEY_WORDS];
    u64 mask[HDD_KEY_WORDS][HDD_BLOCK]; // of each thread
};

// A word per row and `w`, of all rows, against those of the first one. Whole block; a block barrier.
template <class WordOf> HDD_DEVICE void hdd_differences(hdd_masks_shared &s, const hdd_survey_args &p, WordOf word_of)
{
    if (hdd_thread() < p.words)
        s.first[hdd_thread()] = word_of(hdd_at<const u8>(p.rows), hdd_thread());
    for (u32 w = 0; w < p.words; w++)
        s.mask[w][hdd_thread()] = 0;
    hdd_block_sync();
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u8 *const row = hdd_survey_row(p, i);
        HDD_NO_UNROLL
        for (u32 w = 0; w < p.words; w++)
            s.mask[w][hdd_thread()] |= word_of(row, w) ^ s.first[w];
    }
    hdd_warp_sync();
}

HDD_DEVICE void hdd_add_mask(u64 *to, u64 mine)
{
    const u32 lo = hdd_warp_or((u32)mine), hi = hdd_warp_or((u32)(mine >> 32));
    const u64 all = (u64)hi << 32 | lo;
    if (hdd_lane() == 0 && (hdd_load_relaxed(to) & all) != all)
        hdd_atomic_or(to, all);
}

#endif
