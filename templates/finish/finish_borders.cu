// Marks where groups of sorted rows begin, by their first keys.
#include "hd/finish_keys.cuh"

HDD_DEVICE const u8 *hdd_borders_row(const hdd_borders_args &p, u64 i)
{
    return hdd_at<const u8>(p.rows + i * p.keys.stride);
}

// How many first keys row i has in common with the row before it.
HDD_APART u32 hdd_borders_common(const hdd_borders_args &p, u64 i)
{
    const hdd_key *const key = hdd_keys_of(p.keys);
    const u8 *const a = hdd_borders_row(p, i - 1), *const b = hdd_borders_row(p, i);
    u32 k = 0;
    for (; k < p.keys.n; k++) {
        const bool va = hdd_field_valid(key[k], a), vb = hdd_field_valid(key[k], b);
        if (va != vb || (va && hdd_compare_values(key[k].phys, a, b, key[k].offset) != 0))
            break;
    }
    return k;
}

// Each thread writes the marks of its row, but ends into the row before it.
HDD_KERNEL(hdd_borders_mark)(HDD_PARAMETER(hdd_borders_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u32 common = i ? hdd_borders_common(p, i) : 0;
        u8 *const row = hdd_at<u8>(p.rows + i * p.keys.stride);
        for (u32 k = 0; k < p.nfields; k++) {
            const hdd_border_field &f = p.field[k];
            const bool begins = i == 0 || common < f.nkeys;
            i32 *const at = reinterpret_cast<i32 *>(row + f.offset);
            if (f.border == HDD_BORDER_BEGIN)
                *at = begins ? (i32)i : 0;
            if (f.border == HDD_BORDER_COUNT)
                *at = begins;
            if (f.border == HDD_BORDER_END && i > 0)
                *reinterpret_cast<i32 *>(row - p.keys.stride + f.offset) = begins ? (i32)i : 0x7fffffff;
            if (f.border == HDD_BORDER_END && i == p.n - 1)
                *at = (i32)p.n;
        }
    }
}
