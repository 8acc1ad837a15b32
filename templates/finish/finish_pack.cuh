// Keys for the radix sort and for top-k: the bits in which rows differ (finish_masks.cuh), side by side in words
// of 64 bits. Where all keys are numbers no word of the normalised key is asked for.
#ifndef HDD_FINISH_PACK_CUH
#define HDD_FINISH_PACK_CUH

#include "hd/finish_keys.cuh"

HDD_DEVICE const u8 *hdd_sort_row(u64 rows, u64 list, u32 stride, u64 i)
{
    const u64 row = list ? hdd_at<const u32>(list)[i] : i;
    return hdd_at<const u8>(rows + row * stride);
}

// A key or a word of the normalised one is made once for all the runs from it, which follow each other.
template <bool with_words> HDD_DEVICE void hdd_extract(const hdd_extract_args &p)
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
            } else if (with_words) {
                if (run.word != of_word)
                    word = hdd_key_word(p.keys, row, of_word = run.word);
                packed |= (word >> run.shift & all) << run.to;
            }
        }
        hdd_at<u64>(p.to)[i] = packed;
    }
}

#endif
