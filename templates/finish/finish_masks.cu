// The bits in which the normalised keys of rows differ: what a sort looks at (finish_pack.cu).
#include "hd/finish_keys.cuh"

HDD_DEVICE const u8 *hdd_survey_row(const hdd_survey_args &p, u64 i)
{
    return hdd_at<const u8>(p.rows + i * p.keys.stride);
}

// The longest string of each key.
HDD_KERNEL(hdd_sort_lengths)(HDD_PARAMETER(hdd_survey_args, p))
{
    const hdd_key *const key = hdd_keys_of(p.keys);
    for (u32 k = 0; k < p.keys.n; k++) {
        if (key[k].phys != HDD_STR)
            continue;
        u32 max = 0;
        for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
            const u8 *const row = hdd_survey_row(p, i);
            if (!hdd_field_valid(key[k], row))
                continue;
            const u32 n = (u32)hdd_field_string(row, key[k].offset).n;
            max = n > max ? n : max;
        }
        hdd_warp_sync();
        for (u32 by = HDD_LANES / 2; by > 0; by /= 2) {
            const u32 other = hdd_shuffle(max, hdd_lane() ^ by);
            max = other > max ? other : max;
        }
        if (hdd_lane() == 0)
            hdd_atomic_max(hdd_at<i64>(p.lengths) + k, (i64)max);
    }
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

HDD_KERNEL(hdd_sort_masks)(HDD_PARAMETER(hdd_survey_args, p))
{
    HDD_SHARED(hdd_masks_shared, s);
    hdd_differences(s, p, [&](const u8 *row, u32 w) { return hdd_key_word(p.keys, row, p.word + w); });
    HDD_NO_UNROLL
    for (u32 w = 0; w < p.words; w++)
        hdd_add_mask(hdd_at<u64>(p.masks) + p.word + w, s.mask[w][hdd_thread()]);
}

// The same of keys `word` .. that are all numbers of up to 64 bits, a mask each; `nulls`: another one with a bit for each
// of these keys that some rows have a value of and others have not.
HDD_KERNEL(hdd_sort_number_masks)(HDD_PARAMETER(hdd_survey_args, p))
{
    HDD_SHARED(hdd_masks_shared, s);
    const hdd_key *const key = hdd_keys_of(p.keys) + p.word;
    u32 nulls = 0, values = 0;
    hdd_differences(s, p, [&](const u8 *row, u32 w) {
        (hdd_field_valid(key[w], row) ? values : nulls) |= 1u << w;
        return hdd_key_number(key[w], row);
    });
    HDD_NO_UNROLL
    for (u32 w = 0; w < p.words; w++)
        hdd_add_mask(hdd_at<u64>(p.masks) + p.word + w, s.mask[w][hdd_thread()]);
    hdd_add_mask(hdd_at<u64>(p.nulls), nulls);
    hdd_add_mask(hdd_at<u64>(p.values), values);
}
