// Bits in which rows differ: of keys that are all numbers of up to 64 bits.
#include "hd/finish_masks.cuh"

// Of keys `word` .., which are all numbers, a mask each; `nulls`, `values`: words with a bit for each of these keys that some rows
// have no value of, that some have one of.
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
