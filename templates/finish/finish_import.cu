// Columns of Arrow's layouts as kernels read them (frontend/catalog.h): values of the column's width, ends of strings by
// blocks, codes of a sorted dictionary, bitmaps from bit 0 on. Values that no column may have are told by the smallest of their
// rows. Rows are those of the column; a launch is a chunk of them.
#include "hd/arrow_value.cuh"
#include "hd/finish_grid.cuh"
#include "hd/text.cuh"

HDD_DEVICE bool hdd_import_bit(u64 bits, u64 i)
{
    return hdd_at<const u8>(bits)[i >> 3] >> (i & 7) & 1;
}

HDD_DEVICE void hdd_import_bad(const hdd_import_args &p, u64 row)
{
    hdd_atomic_min(hdd_at<i64>(p.bad), (i64)row);
}

// ---- values as integers --------------------------------------------------------------------------

// Value i of a buffer.
struct hdd_import_place {
    u32 format;
    u64 from, i;
};

template <class T> HDD_DEVICE T hdd_import_load(const hdd_import_place &at)
{
    return hdd_at<const T>(at.from)[at.i];
}

#define HDD_IMPORT(value) HDD_DEVICE bool hdd_import_##value(const hdd_import_place &at, i128 &v)
#define HDD_IMPORT_PLAIN(value, type) \
    HDD_IMPORT(value) \
    { \
        v = hdd_import_load<type>(at); \
        return true; \
    }
HDD_IMPORT_PLAIN(I8, i8)
HDD_IMPORT_PLAIN(U8, u8)
HDD_IMPORT_PLAIN(I16, i16)
HDD_IMPORT_PLAIN(U16, u16)
HDD_IMPORT_PLAIN(I32, i32)
HDD_IMPORT_PLAIN(U32, u32)
HDD_IMPORT_PLAIN(I64, i64)
HDD_IMPORT_PLAIN(U64, u64)
HDD_IMPORT_PLAIN(I128, i128)

HDD_IMPORT(BIT)
{
    v = hdd_import_bit(at.from, at.i);
    return true;
}

// False: it does not fit 128 bits.
HDD_IMPORT(I256)
{
    const i128 *const half = hdd_at<const i128>(at.from) + 2 * at.i;
    v = half[0];
    return half[1] == v >> 127;
}

HDD_IMPORT(HALF)
{
    v = hdd_arrow_half(hdd_import_load<u16>(at));
    return true;
}

HDD_IMPORT(UNIT32)
{
    i64 x = 0;
    const bool ok = hdd_arrow_unit(at.format, hdd_import_load<i32>(at), &x);
    v = x;
    return ok;
}

HDD_IMPORT(UNIT64)
{
    i64 x = 0;
    const bool ok = hdd_arrow_unit(at.format, hdd_import_load<i64>(at), &x);
    v = x;
    return ok;
}

HDD_IMPORT(MONTHS)
{
    return hdd_arrow_interval(hdd_import_load<i32>(at), 0, 0, &v);
}

HDD_IMPORT(DAY_MILLIS)
{
    const i32 *const parts = hdd_at<const i32>(at.from) + 2 * at.i;
    return hdd_arrow_interval(0, parts[0], parts[1] * 1000000ll, &v);
}

HDD_IMPORT(MONTH_DAY_NANOS)
{
    const i32 *const parts = hdd_at<const i32>(at.from) + 4 * at.i;
    return hdd_arrow_interval(parts[0], parts[1], hdd_at<const i64>(at.from)[2 * at.i + 1], &v);
}

HDD_DEVICE bool hdd_import_NONE(const hdd_import_place &, i128 &)
{
    return false;
}

HDD_DEVICE bool hdd_import_value(const hdd_import_place &at, i128 &v)
{
    v = 0;
    switch ((hdd_arrow_format)at.format) {
#define X(id, bytes, layout, value) \
    case HDD_ARROW_##id: return hdd_import_##value(at, v);
        HDD_ARROW_FORMATS(X)
#undef X
    case HDD_ARROW_FORMAT_COUNT: break;
    }
    return false;
}

// Where the value of a row lies; false: it is NULL, or its index is none of the dictionary.
HDD_DEVICE bool hdd_import_find(const hdd_import_args &p, u64 row, u64 &at)
{
    at = row - p.first + p.offset;
    if (p.valid && !hdd_import_bit(p.valid, at))
        return false;
    if (!p.index)
        return true;
    i128 k;
    hdd_import_value({p.index_format, p.index, at}, k);
    if (k < 0 || k >= (i128)p.nentries) {
        hdd_import_bad(p, row);
        return false;
    }
    at = (u64)k + p.entry_offset;
    return !p.entry_valid || hdd_import_bit(p.entry_valid, at);
}

HDD_DEVICE i128 hdd_import_bound(const u64 *half)
{
    return (i128)((u128)half[1] << 64 | half[0]);
}

HDD_DEVICE void hdd_import_put(const hdd_import_args &p, u64 row, i128 v)
{
    switch (p.width) {
    case 1: hdd_at<u8>(p.to)[row] = (u8)v; break;
    case 2: hdd_at<u16>(p.to)[row] = (u16)v; break;
    case 4: hdd_at<u32>(p.to)[row] = (u32)v; break;
    case 8: hdd_at<u64>(p.to)[row] = (u64)v; break;
    default: hdd_at<i128>(p.to)[row] = v; break;
    }
}

HDD_KERNEL(hdd_import_values)(HDD_PARAMETER(hdd_import_args, p))
{
    const i128 least = hdd_import_bound(p.least), most = hdd_import_bound(p.most);
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u64 row = p.first + i;
        u64 at;
        i128 v = 0;
        if (hdd_import_find(p, row, at) &&
            (!hdd_import_value({p.format, p.from, at}, v) || (p.bounded && (v < least || v > most))))
            hdd_import_bad(p, row);
        if (p.to)
            hdd_import_put(p, row, v);
    }
}

// A word of the bitmap a warp. The first word of a chunk may have rows of the chunk before it, which was written before.
HDD_KERNEL(hdd_import_validity)(HDD_PARAMETER(hdd_import_args, p))
{
    const u64 before = p.first % HDD_LANES, words = p.first / HDD_LANES;
    u64 nulls = 0;
    for (u64 i = hdd_grid_thread(); i < hdd_whole_warps(before + p.n); i += hdd_grid_step(p.blocks)) {
        u64 at;
        const bool is_row = i >= before && i < before + p.n;
        const bool there = is_row && hdd_import_find(p, words * HDD_LANES + i, at);
        nulls += is_row && !there;
        u32 word = hdd_ballot(there);
        u32 *const to = hdd_at<u32>(p.bits) + words + i / HDD_LANES;
        if (hdd_lane() == 0) {
            if (i < before)
                word |= *to & ((1u << before) - 1);
            *to = word;
        }
    }
    if (nulls)
        hdd_atomic_add(hdd_at<u64>(p.nulls), nulls);
}

// ---- strings where they lie ----------------------------------------------------------------------

HDD_DEVICE i64 hdd_import_offset(const hdd_import_args &p, u64 i)
{
    switch ((hdd_arrow_format)p.format) {
    case HDD_ARROW_UTF8: return hdd_at<const i32>(p.from)[i];
    case HDD_ARROW_LARGE_UTF8: return hdd_at<const i64>(p.from)[i];
    default: return (i64)(i * p.width);
    }
}

// Of offsets that ascend from 0 or more. A block's strings take less than 4 GiB.
HDD_KERNEL(hdd_import_ends)(HDD_PARAMETER(hdd_import_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u64 block = i >> 16;
        const i64 base = hdd_import_offset(p, p.offset + (block << 16)), begin = hdd_import_offset(p, p.offset + i);
        const i64 end = hdd_import_offset(p, p.offset + i + 1);
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
        u64 at;
        if (!hdd_import_find(p, i, at))
            continue;
        const i64 begin = hdd_import_offset(p, at), n = hdd_import_offset(p, at + 1) - begin;
        const u8 *const s = hdd_at<const u8>(p.strings + (u64)begin);
        if (n > 0x7fffffff || (p.utf8 && !hdd_is_text(s, (i32)n)))
            hdd_import_bad(p, i);
    }
}

// ---- strings that are copied ---------------------------------------------------------------------

// Variable-size binary view layout of the Arrow columnar format: a string of up to 12 bytes lies in the view, padded with zeros,
// else there are its first four bytes, a buffer and where it begins there. False: it is no view.
HDD_DEVICE bool hdd_import_view(const hdd_import_args &p, u64 at, const u8 *&s, u32 &n)
{
    const u32 *const view = hdd_at<const u32>(p.from) + at * 4;
    n = view[0];
    s = reinterpret_cast<const u8 *>(view + 1);
    if (n > 0x7fffffff)
        return false;
    if (n <= 12) {
        bool zero = true;
        for (u32 k = n; k < 12; k++)
            zero = zero && s[k] == 0;
        return zero;
    }
    const u32 k = view[2], begin = view[3];
    if (k >= p.nbuffers || begin > 0x7fffffff)
        return false;
    const hdd_import_buffer b = hdd_at<const hdd_import_buffer>(p.buffers)[k];
    if ((u64)begin + n > b.size)
        return false;
    const u8 *const prefix = s;
    s = hdd_at<const u8>(b.address + begin);
    return s[0] == prefix[0] && s[1] == prefix[1] && s[2] == prefix[2] && s[3] == prefix[3];
}

// The string of a row, which is empty where the row is NULL; false: it is none.
HDD_DEVICE bool hdd_import_string(const hdd_import_args &p, u64 row, const u8 *&s, u32 &n)
{
    u64 at;
    const bool there = hdd_import_find(p, row, at);
    n = 0;
    s = nullptr;
    if (p.format == HDD_ARROW_VIEW)
        return !there || hdd_import_view(p, at, s, n);
    const i64 begin = hdd_import_offset(p, at), end = hdd_import_offset(p, at + 1);
    if (begin < 0 || end < begin || (there && end - begin > 0x7fffffff))
        return false;
    s = hdd_at<const u8>(p.strings + (u64)begin);
    n = there ? (u32)(end - begin) : 0;
    return true;
}

HDD_KERNEL(hdd_import_lengths)(HDD_PARAMETER(hdd_import_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u8 *s;
        u32 n;
        const bool ok = hdd_import_string(p, p.first + i, s, n);
        if (!ok)
            hdd_import_bad(p, p.first + i);
        hdd_at<u32>(p.lengths)[p.first + i] = ok ? n : 0;
    }
}

// Once all are known to be strings, and the sums of their lengths are there.
HDD_KERNEL(hdd_import_copies)(HDD_PARAMETER(hdd_import_args, p))
{
    const u64 *const sums = hdd_at<const u64>(p.sums);
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u64 row = p.first + i, block = row >> 16, base = sums[block << 16];
        const u8 *s;
        u32 n;
        hdd_import_string(p, row, s, n);
        u8 *const to = hdd_at<u8>(p.text + sums[row]);
        for (u32 k = 0; k < n; k++)
            to[k] = s[k];
        if (sums[row + 1] - base > 0xffffffffull || (p.utf8 && !hdd_is_text(s, (i32)n)))
            hdd_import_bad(p, row);
        hdd_at<u32>(p.to)[row] = (u32)(sums[row + 1] - base);
        if ((row & 0xffff) == 0)
            hdd_at<u64>(p.bases)[block] = base;
    }
}
