// Loads of stored columns (frontend/catalog.h), one row at a time. Nothing here is written
// while kernels run.
#ifndef HDD_LOAD_CUH
#define HDD_LOAD_CUH

#include "hd/stored.cuh"
#include "hd/value.cuh"

// value = base + factor * stored, in the ring of the value's class: facts put the value itself
// inside, so what is cut off on the way does not matter.
template <class T, class S> HDD_DEVICE T hdd_decode(S stored, T base, T factor)
{
    return (T)((u64)(i64)base + (u64)(i64)factor * (u64)(i64)stored);
}

template <class T, class S> HDD_DEVICE T hdd_decode(S stored, T base)
{
    return (T)((u64)(i64)base + (u64)(i64)stored);
}

HDD_DEVICE i128 hdd_decode(i128 stored, i128 base, i128 factor)
{
    return (i128)((u128)base + (u128)factor * (u128)stored);
}

HDD_DEVICE i128 hdd_decode(i128 stored, i128 base)
{
    return (i128)((u128)base + (u128)stored);
}

// Validity bit of a row: least significant first, 1 valid.
HDD_DEVICE bool hdd_valid(const u8 *bits, i32 row)
{
    return (hdd_load_const(bits + ((u32)row >> 3)) >> ((u32)row & 7)) & 1;
}

// String r spans [end of r - 1, end of r) of its block of 65,536 rows; the first of a block
// starts at 0.
HDD_DEVICE hdd_string hdd_column_string(const u32 *ends, const u64 *bases, const u8 *bytes, i32 row)
{
    const u32 r = (u32)row;
    const u32 start = r & 0xffff ? hdd_load_const(ends + r - 1) : 0;
    const u32 end = hdd_load_const(ends + r);
    return hdd_string{bytes + hdd_load_const(bases + (r >> 16)) + start, (i32)(end - start)};
}

// What rows of `size` bytes are copied by.
template <u32 size, bool wide = size % 8 == 0, bool word = size % 4 == 0, bool half = size % 2 == 0>
struct hdd_row_piece {
    typedef u64 type;
};
template <u32 size> struct hdd_row_piece<size, false, true, true> {
    typedef u32 type;
};
template <u32 size> struct hdd_row_piece<size, false, false, true> {
    typedef u16 type;
};
template <u32 size> struct hdd_row_piece<size, false, false, false> {
    typedef u8 type;
};

HDD_DEVICE void hdd_load_pieces(const u64 *from, u64 &a, u64 &b)
{
    hdd_load_const16(from, a, b);
}

template <class T> HDD_DEVICE void hdd_load_pieces(const T *from, T &a, T &b)
{
    a = hdd_load_const(from);
    b = hdd_load_const(from + 1);
}

// A row of a state that no thread writes in this kernel, with as few loads as its size allows.
template <class Row> HDD_DEVICE Row hdd_load_row(const Row *at)
{
    typedef typename hdd_row_piece<sizeof(Row)>::type piece;
    constexpr u32 n = sizeof(Row) / sizeof(piece), step = sizeof(Row) % 16 ? 1 : 2;
    const piece *const from = reinterpret_cast<const piece *>(at);
    Row row;
    piece *const pieces = reinterpret_cast<piece *>(&row);
    HDD_UNROLL
    for (u32 k = 0; k < n; k += step)
        if (step == 2)
            hdd_load_pieces(from + k, pieces[k], pieces[k + 1]);
        else
            pieces[k] = hdd_load_const(from + k);
    return row;
}

#endif
