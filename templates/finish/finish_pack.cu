// Keys for the radix sort and for top-k: the bits in which rows differ, side by side in words
// of 64 bits.
#include "hd/finish_keys.cuh"

HDD_DEVICE const u8 *hdd_sort_row(u64 rows, u64 list, u32 stride, u64 i)
{
    const u64 row = list ? hdd_at<const u32>(list)[i] : i;
    return hdd_at<const u8>(rows + row * stride);
}

HDD_KERNEL(hdd_sort_lengths)(HDD_PARAMETER(hdd_survey_args, p))
{
    const hdd_key *const key = hdd_keys_of(p.keys);
    for (u32 k = 0; k < p.keys.n; k++) {
        if (key[k].phys != HDD_STR)
            continue;
        u32 max = 0;
        for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
            const u8 *const row = hdd_sort_row(p.rows, 0, p.keys.stride, i);
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
        const u8 *const row = hdd_sort_row(p.rows, 0, p.keys.stride, i);
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

// A key or a word of the normalised one is made once for all the runs from it, which follow each other.
HDD_KERNEL(hdd_sort_extract)(HDD_PARAMETER(hdd_extract_args, p))
{
    const hdd_key *const key = hdd_keys_of(p.keys);
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u8 *const row = hdd_sort_row(p.rows, p.list, p.keys.stride, i);
        u64 packed = 0, number = 0, word = 0;
        u32 of_key = ~0u, of_word = ~0u;
        HDD_NO_UNROLL
        for (u32 r = 0; r < p.nruns; r++) {
            const hdd_run_of_bits &run = p.run[r];
            const u64 all = ~(u64)0 >> (64 - run.length);
            if (run.from == HDD_RUN_OF_NULL) {
                packed |= (u64)(hdd_field_valid(key[run.key], row) == (key[run.key].nulls_first != 0)) << run.to;
            } else if (run.from == HDD_RUN_OF_NUMBER) {
                if (run.key != of_key)
                    number = hdd_key_number(key[of_key = run.key], row);
                packed |= (number >> run.up & all) << run.to;
            } else {
                if (run.word != of_word)
                    word = hdd_key_word(p.keys, row, of_word = run.word);
                packed |= (word >> run.shift & all) << run.to;
            }
        }
        hdd_at<u64>(p.to)[i] = packed;
    }
}
