// Columns of Arrow's layout as kernels read them (frontend/catalog.h): a byte for a bool, ends of strings by blocks, codes of
// a sorted dictionary for its indices. Values that no column may have are told by the smallest of their rows.
#include "hd/finish_grid.cuh"
#include "hd/text.cuh"

HDD_DEVICE bool hdd_import_there(const hdd_import_args &p, u64 i)
{
    return !p.valid || (hdd_at<const u8>(p.valid)[i >> 3] >> (i & 7) & 1);
}

HDD_DEVICE void hdd_import_bad(const hdd_import_args &p, u64 i)
{
    hdd_atomic_min(hdd_at<i64>(p.bad), (i64)i);
}

HDD_KERNEL(hdd_import_bools)(HDD_PARAMETER(hdd_import_args, p))
{
    const u8 *const bits = hdd_at<const u8>(p.from);
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks))
        hdd_at<u8>(p.to)[i] = bits[i >> 3] >> (i & 7) & 1;
}

HDD_DEVICE i64 hdd_import_offset(const hdd_import_args &p, u64 i)
{
    return p.width == 4 ? (i64)hdd_at<const i32>(p.from)[i] : hdd_at<const i64>(p.from)[i];
}

// Of offsets that ascend from 0 or more. A block's strings take less than 4 GiB.
HDD_KERNEL(hdd_import_ends)(HDD_PARAMETER(hdd_import_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u64 block = i >> 16;
        const i64 base = hdd_import_offset(p, block << 16), begin = hdd_import_offset(p, i);
        const i64 end = hdd_import_offset(p, i + 1);
        if (base < 0 || begin < base || end < begin || end - base > 0xffffffffll)
            hdd_import_bad(p, i);
        hdd_at<u32>(p.to)[i] = (u32)(end - base);
        if ((i & 0xffff) == 0)
            hdd_at<u64>(p.bases)[block] = (u64)base;
    }
}

// Whether they are UTF-8, once their offsets are known to ascend. A string of a column has less than 2 GiB.
HDD_KERNEL(hdd_import_text)(HDD_PARAMETER(hdd_import_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const i64 begin = hdd_import_offset(p, i), n = hdd_import_offset(p, i + 1) - begin;
        const u8 *const s = hdd_at<const u8>(p.strings + (u64)begin);
        if (hdd_import_there(p, i) && (n > 0x7fffffff || (p.utf8 && !hdd_is_text(s, (i32)n))))
            hdd_import_bad(p, i);
    }
}

HDD_DEVICE i64 hdd_import_index(const hdd_import_args &p, u64 i)
{
    switch (p.width) {
    case 1: return p.is_signed ? (i64)hdd_at<const i8>(p.from)[i] : (i64)hdd_at<const u8>(p.from)[i];
    case 2: return p.is_signed ? (i64)hdd_at<const i16>(p.from)[i] : (i64)hdd_at<const u16>(p.from)[i];
    case 4: return p.is_signed ? (i64)hdd_at<const i32>(p.from)[i] : (i64)hdd_at<const u32>(p.from)[i];
    default: return hdd_at<const i64>(p.from)[i];
    }
}

// A row whose entry is NULL (code -1) is NULL, and has code 0. Whole warps: a word of the bitmap each.
HDD_KERNEL(hdd_import_codes)(HDD_PARAMETER(hdd_import_args, p))
{
    u64 nulls = 0;
    for (u64 i = hdd_grid_thread(); i < hdd_whole_warps(p.n); i += hdd_grid_step(p.blocks)) {
        bool there = i < p.n && hdd_import_there(p, i);
        i32 code = 0;
        if (there) {
            const i64 k = hdd_import_index(p, i);
            const bool is_entry = k >= 0 && k < (i64)p.nentries;
            if (!is_entry)
                hdd_import_bad(p, i);
            code = is_entry ? hdd_at<const i32>(p.codes)[k] : -1;
            there = code >= 0;
        }
        if (i < p.n)
            hdd_at<u32>(p.to)[i] = there ? (u32)code : 0;
        nulls += i < p.n && !there;
        const u32 word = hdd_ballot(there);
        if (hdd_lane() == 0)
            hdd_at<u32>(p.bits)[i / HDD_LANES] = word;
    }
    if (nulls)
        hdd_atomic_add(hdd_at<u64>(p.nulls), nulls);
}
