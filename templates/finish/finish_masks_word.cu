// Bits in which rows differ: of keys of any type, as words of the normalised key.
#include "hd/finish_masks.cuh"

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

HDD_KERNEL(hdd_sort_masks)(HDD_PARAMETER(hdd_survey_args, p))
{
    HDD_SHARED(hdd_masks_shared, s);
    hdd_differences(s, p, [&](const u8 *row, u32 w) { return hdd_key_word(p.keys, row, p.word + w); });
    HDD_NO_UNROLL
    for (u32 w = 0; w < p.words; w++)
        hdd_add_mask(hdd_at<u64>(p.masks) + p.word + w, s.mask[w][hdd_thread()]);
}
