// Order of few rows by comparing every pair of them: each row has a block, whose threads compare it with one row each. What
// takes long is neither the number of comparisons nor what they read, but that one comes after the other, and the code, which
// is fetched once. So a word of the first key decides where it can.
#ifndef HDD_FINISH_PAIRS_CUH
#define HDD_FINISH_PAIRS_CUH

#include "hd/finish_keys.cuh"

struct hdd_pairs_shared {
    u32 before;
};

// Of a row's first key; of a string eight bytes, of 128 bits the upper half. Rows that have it in common may differ still.
HDD_DEVICE u64 hdd_first_word(const hdd_key &k, const u8 *row)
{
    const bool valid = hdd_field_valid(k, row), whole = hdd_value_bits(k.phys) >= 64 || k.phys == HDD_STR;
    u64 v = 0;
    if (valid && k.phys == HDD_STR)
        v = hdd_string_head(hdd_field_string(row, k.offset)) ^ (k.desc ? ~(u64)0 : 0);
    else if (valid && k.phys == HDD_I128)
        v = (u64)(hdd_normal(k.phys, row, k.offset) >> 64) ^ (k.desc ? ~(u64)0 : 0);
    else if (valid)
        v = hdd_key_number(k, row);
    return k.valid < 0 ? v : (whole ? v >> 1 : v) | (u64)(valid == (k.nulls_first != 0)) << 63;
}

// n rows, or those with the numbers of a list, which have their words already.
struct hdd_pairs {
    const hdd_keys &keys;
    u64 rows, list, words;
    u32 n;

    HDD_MEMBER u64 number(u32 i) const
    {
        return list ? hdd_at<const u32>(list)[i] : i;
    }

    HDD_MEMBER const u8 *row(u32 i) const
    {
        return hdd_at<const u8>(rows + number(i) * keys.stride);
    }

    HDD_MEMBER u64 word(u32 i) const
    {
        return words ? hdd_at<const u64>(words)[number(i)] : hdd_first_word(*hdd_keys_of(keys), row(i));
    }

    // The number of rows that come before row i; equal ones keep their order. Whole block; without keys rows stay as they are.
    HDD_MEMBER u32 rank(hdd_pairs_shared &shared, u32 i) const
    {
        u32 before = 0;
        if (keys.n == 0)
            return i;
        if (hdd_thread() == 0)
            shared.before = 0;
        hdd_block_sync();
        const u64 mine = word(i);
        for (u32 j = hdd_thread(); j < n; j += HDD_BLOCK) {
            const u64 other = word(j);
            i32 c = other < mine ? -1 : other > mine;
            if (c == 0 && i != j)
                c = hdd_compare_rows(keys, row(j), row(i));
            before += c < 0 || (c == 0 && j < i);
        }
        if (before)
            hdd_atomic_add(&shared.before, before);
        hdd_block_sync();
        before = shared.before;
        hdd_block_sync(); // before the next row
        return before;
    }
};

#endif
