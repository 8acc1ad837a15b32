// Strings of the rows of a group, one behind the other (runtime/exec/joined_text.c says how).
#include "hd/finish_grid.cuh"
#include "hd/finish_keys.cuh"

HDD_DEVICE u8 *hdd_text_row(const hdd_text_args &p, u64 i)
{
    return hdd_at<u8>(p.rows + i * p.stride);
}

// Bytes of all rows in front of row i.
HDD_DEVICE u64 hdd_text_before(const hdd_text_args &p, u64 i)
{
    return i ? hdd_field<u64>(hdd_text_row(p, i - 1), p.running) : 0;
}

HDD_DEVICE u64 hdd_text_group_bytes(const hdd_text_args &p, u64 i)
{
    const u64 end = (u64)hdd_field<i32>(hdd_text_row(p, i), p.end);
    return hdd_text_before(p, end) - hdd_text_before(p, i) - p.nseparator;
}

// The first row of a group has its string, whose own bytes have been copied by then: one thread does both.
HDD_KERNEL(hdd_text_copy)(HDD_PARAMETER(hdd_text_args, p))
{
    const u8 *const separator = hdd_at<const u8>(p.separator);
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        u8 *const row = hdd_text_row(p, i);
        const hdd_string t = hdd_field_string(row, p.value);
        u8 *const to = hdd_at<u8>(p.to + hdd_text_before(p, i));
        for (i32 k = 0; k < t.n; k++)
            to[k] = t.s[k];
        for (u32 k = 0; k < p.nseparator; k++)
            to[(u64)t.n + k] = separator[k];
        if ((u64)hdd_field<i32>(row, p.begin) != i)
            continue;
        const u64 bytes = hdd_text_group_bytes(p, i);
        u64 *const out = reinterpret_cast<u64 *>(row + p.value);
        out[0] = reinterpret_cast<u64>(to);
        out[1] = bytes;
        if (bytes > 0x7fffffff)
            *hdd_at<u64>(p.too_long) = 1;
    }
}
