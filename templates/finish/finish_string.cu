// Rows of the result with their strings in one buffer: one copy to the host brings all.
#include "hd/finish_keys.cuh"
#include "hd/finish_grid.cuh"

HDD_DEVICE u32 hdd_string_bytes(const hdd_string_args &p, const u8 *row)
{
    const hdd_key *const key = hdd_keys_of(p.keys);
    u32 bytes = 0;
    for (u32 k = 0; k < p.keys.n; k++)
        if (hdd_field_valid(key[k], row))
            bytes += (u32)hdd_field_string(row, key[k].offset).n;
    return bytes;
}

// Strings of one row, at `offset` of the buffer.
HDD_DEVICE void hdd_string_copy(const hdd_string_args &p, const u8 *row, u8 *to, u64 offset)
{
    const hdd_key *const key = hdd_keys_of(p.keys);
    for (u32 k = 0; k < p.keys.n; k++) {
        if (!hdd_field_valid(key[k], row))
            continue;
        const hdd_string t = hdd_field_string(row, key[k].offset);
        u8 *const out = hdd_at<u8>(p.strings + offset);
        for (i32 i = 0; i < t.n; i++)
            out[i] = t.s[i];
        *reinterpret_cast<u64 *>(to + key[k].offset) = offset;
        offset += (u32)t.n;
    }
}

HDD_DEVICE void hdd_string_row(const hdd_string_args &p, u64 i, u64 offset)
{
    const u8 *const row = hdd_at<const u8>(p.rows + i * p.keys.stride);
    u8 *const to = hdd_at<u8>(p.to + i * p.keys.stride);
    hdd_copy_words(reinterpret_cast<u64 *>(to), reinterpret_cast<const u64 *>(row), p.keys.stride / 8);
    hdd_string_copy(p, row, to, offset);
}

HDD_KERNEL(hdd_string_lengths)(HDD_PARAMETER(hdd_string_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks))
        hdd_at<u32>(p.lengths)[i] = hdd_string_bytes(p, hdd_at<const u8>(p.rows + i * p.keys.stride));
}

HDD_KERNEL(hdd_string_rows)(HDD_PARAMETER(hdd_string_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks))
        hdd_string_row(p, i, hdd_at<const u64>(p.offsets)[i]);
}

// Not so many rows: one launch does it all, and says at `offsets`, 0 before, how many bytes the strings have, which lie in any
// order. Where they are more than there is room for, rows are missing.
HDD_KERNEL(hdd_string_some)(HDD_PARAMETER(hdd_string_args, p))
{
    HDD_SHARED(hdd_block_places, shared);
    for (u64 from = (u64)hdd_block() * HDD_BLOCK; from < p.n; from += hdd_grid_step(p.blocks)) {
        const u64 i = from + hdd_thread();
        const u32 mine = i < p.n ? hdd_string_bytes(p, hdd_at<const u8>(p.rows + i * p.keys.stride)) : 0;
        const u64 at = hdd_reserve_block_places(shared, hdd_at<u64>(p.offsets), mine);
        if (i < p.n && (mine == 0 || at + mine <= p.room))
            hdd_string_row(p, i, at);
    }
}
