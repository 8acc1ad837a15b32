// A result of few rows: in order, with limit and offset, and with their strings in one buffer, by one launch behind the
// pipeline that makes them. How many there are only the device knows. Where that is too many, or they are worthless, nothing is
// done, and the host, which learns of it together with the pipeline's outcome, goes the long way.
#include "hd/finish_pairs.cuh"

struct hdd_few_shared {
    hdd_pairs_shared pairs;
    u64 text; // of the row's strings, among those of all
};

HDD_DEVICE u64 hdd_few_bytes(const hdd_few_args &p, const u8 *row)
{
    const hdd_key *const key = hdd_keys_of(p.strings);
    u64 bytes = 0;
    for (u32 k = 0; k < p.strings.n; k++)
        if (hdd_field_valid(key[k], row))
            bytes += (u32)hdd_field_string(row, key[k].offset).n;
    return bytes;
}

// Whole block. The strings of rows lie in any order; in the row stands how far behind p.text each of them begins.
HDD_DEVICE void hdd_few_strings(const hdd_few_args &p, hdd_few_shared &shared, const u8 *row, u8 *to)
{
    const hdd_key *const key = hdd_keys_of(p.strings);
    const u64 bytes = hdd_few_bytes(p, row);
    if (hdd_thread() == 0)
        shared.text = hdd_atomic_add(hdd_at<u64>(p.bytes), bytes);
    hdd_block_sync(); // the row's words are there, too
    u64 at = shared.text;
    const bool fits = at + bytes <= p.text_room; // all strings of the row or none
    for (u32 k = 0; fits && k < p.strings.n; k++) {
        if (!hdd_field_valid(key[k], row))
            continue;
        const hdd_string t = hdd_field_string(row, key[k].offset);
        for (i32 i = (i32)hdd_thread(); i < t.n; i += (i32)HDD_BLOCK)
            hdd_at<u8>(p.text + at)[i] = t.s[i];
        if (hdd_thread() == 0)
            *reinterpret_cast<u64 *>(to + key[k].offset) = at;
        at += (u32)t.n;
    }
    hdd_block_sync();
}

HDD_KERNEL(hdd_few_rows)(HDD_PARAMETER(hdd_few_args, p))
{
    HDD_SHARED(hdd_few_shared, shared);
    const u64 asked = *hdd_at<const u64>(p.count), n = asked < p.capacity ? asked : p.capacity;
    const u64 left = n > p.skip ? n - p.skip : 0;
    if (*hdd_at<const u32>(p.abort) || *hdd_at<const u64>(p.made) > p.heap || n > p.max ||
        (left < p.wanted ? left : p.wanted) > p.room)
        return;
    const hdd_pairs pairs{p.keys, p.rows, 0, 0, (u32)n};
    for (u32 i = hdd_block(); i < (u32)n; i += p.blocks) {
        const u8 *const row = pairs.row(i);
        const u32 rank = pairs.rank(shared.pairs, i);
        if (rank < p.skip || rank - p.skip >= p.wanted)
            continue;
        u8 *const to = hdd_at<u8>(p.to + (rank - p.skip) * p.keys.stride);
        for (u32 k = hdd_thread(); k < p.keys.stride / 8; k += HDD_BLOCK)
            reinterpret_cast<u64 *>(to)[k] = reinterpret_cast<const u64 *>(row)[k];
        if (p.strings.n)
            hdd_few_strings(p, shared, row, to);
    }
}
