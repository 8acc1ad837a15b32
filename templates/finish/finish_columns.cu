// Fields of finished rows as columns of Arrow's layout: values side by side, bits for what is NULL, strings behind each
// other. NULL rows have zeros.
#include "hd/finish_keys.cuh"
#include "hd/finish_grid.cuh"
#include "hd/interval_value.cuh"

HDD_DEVICE bool hdd_column_there(const hdd_column_args &p, const u8 *row)
{
    return p.valid < 0 || row[p.valid] != 0;
}

HDD_DEVICE const u8 *hdd_column_row(const hdd_column_args &p, u64 i)
{
    return hdd_at<const u8>(p.rows + i * p.stride);
}

HDD_DEVICE i128 hdd_column_integer(const hdd_column_args &p, const u8 *row)
{
    switch (p.phys) {
    case HDD_BOOL: return row[p.offset] != 0;
    case HDD_I32: return hdd_field<i32>(row, p.offset);
    case HDD_I64: return hdd_field<i64>(row, p.offset);
    default: return hdd_field<i128>(row, p.offset);
    }
}

// Numbers wider than, or as wide as, they lie in rows; floats are copied bit by bit.
HDD_DEVICE void hdd_column_put(const hdd_column_args &p, const u8 *row, u64 i)
{
    const bool there = hdd_column_there(p, row);
    if (p.phys == HDD_F64)
        hdd_at<u64>(p.to)[i] = there ? hdd_field<u64>(row, p.offset) : 0;
    else if (p.phys == HDD_F32)
        hdd_at<u32>(p.to)[i] = there ? hdd_field<u32>(row, p.offset) : 0;
    else {
        const i128 v = there ? hdd_column_integer(p, row) : (i128)0;
        if (p.width == 4)
            hdd_at<i32>(p.to)[i] = (i32)v;
        else if (p.width == 8)
            hdd_at<i64>(p.to)[i] = (i64)v;
        else
            hdd_at<i128>(p.to)[i] = v;
    }
}

HDD_KERNEL(hdd_column_values)(HDD_PARAMETER(hdd_column_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks))
        hdd_column_put(p, hdd_column_row(p, i), i);
}

// Months, days and nanoseconds, which every interval has.
HDD_KERNEL(hdd_column_intervals)(HDD_PARAMETER(hdd_column_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u8 *const row = hdd_column_row(p, i);
        hdd_interval v = {0, 0, 0};
        if (hdd_column_there(p, row))
            v = hdd_interval_parts(hdd_column_integer(p, row));
        const u64 low = (u64)(u32)v.days << 32 | (u64)(u32)v.months;
        hdd_at<i128>(p.to)[i] = (i128)((u128)(u64)(v.micros * 1000) << 64 | low);
    }
}

// A bit a row, a word a warp. Bits behind the last row are 0.
HDD_DEVICE void hdd_column_word(u64 bits, u64 i, bool bit)
{
    const u32 word = hdd_ballot(bit);
    if (hdd_lane() == 0)
        hdd_at<u32>(bits)[i / HDD_LANES] = word;
}

HDD_KERNEL(hdd_column_bools)(HDD_PARAMETER(hdd_column_args, p))
{
    for (u64 i = hdd_grid_thread(); i < hdd_whole_warps(p.n); i += hdd_grid_step(p.blocks)) {
        const u8 *const row = hdd_column_row(p, i);
        hdd_column_word(p.to, i, i < p.n && hdd_column_there(p, row) && hdd_column_integer(p, row) != 0);
    }
}

HDD_KERNEL(hdd_column_validity)(HDD_PARAMETER(hdd_column_args, p))
{
    u64 nulls = 0;
    for (u64 i = hdd_grid_thread(); i < hdd_whole_warps(p.n); i += hdd_grid_step(p.blocks)) {
        const bool there = i < p.n && hdd_column_there(p, hdd_column_row(p, i));
        nulls += i < p.n && !there;
        hdd_column_word(p.bits, i, there);
    }
    if (nulls)
        hdd_atomic_add(hdd_at<u64>(p.nulls), nulls);
}

// ---- strings -------------------------------------------------------------------------------

// The bytes of a row's string: in the row's own place, or an entry of a dictionary.
HDD_DEVICE const u8 *hdd_column_string(const hdd_column_args &p, const u8 *row, u32 &n)
{
    n = 0;
    if (!hdd_column_there(p, row))
        return nullptr;
    if (p.dict_offsets) {
        const u32 *const at = hdd_at<const u32>(p.dict_offsets) + (u32)hdd_column_integer(p, row);
        n = at[1] - at[0];
        return hdd_at<const u8>(p.dict_bytes) + at[0];
    }
    const hdd_string s = hdd_field_string(row, p.offset);
    n = (u32)s.n;
    return s.s;
}

HDD_KERNEL(hdd_column_lengths)(HDD_PARAMETER(hdd_column_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks))
        hdd_column_string(p, hdd_column_row(p, i), hdd_at<u32>(p.lengths)[i]);
}

// Their sums are there, and fit 32 bits.
HDD_KERNEL(hdd_column_strings)(HDD_PARAMETER(hdd_column_args, p))
{
    const u64 *const sums = hdd_at<const u64>(p.sums);
    for (u64 i = hdd_grid_thread(); i <= p.n; i += hdd_grid_step(p.blocks)) {
        hdd_at<u32>(p.to)[i] = (u32)sums[i];
        if (i == p.n)
            continue;
        u32 n;
        const u8 *const from = hdd_column_string(p, hdd_column_row(p, i), n);
        u8 *const to = hdd_at<u8>(p.strings + sums[i]);
        for (u32 k = 0; k < n; k++)
            to[k] = from[k];
    }
}
