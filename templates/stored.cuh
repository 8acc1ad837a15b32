// Stored numbers of a column (frontend/catalog.h), of whole bytes or packed. Nothing here is written while kernels run.
#ifndef HDD_STORED_CUH
#define HDD_STORED_CUH

#include "hd/machine.cuh"

template <class S> HDD_DEVICE S hdd_stored(const S *data, i32 row)
{
    return hdd_load_const(data + (u32)row);
}

// A packed column's numbers of Bits bits, one behind the other, lowest bit first; at least 16 bytes lie behind the last
// one. Nothing has this type: an address of it says how to read.
template <u32 Bits> struct hdd_packed;

template <u32 Bits> HDD_DEVICE u64 hdd_stored(const hdd_packed<Bits> *data, i32 row)
{
    const u64 at = (u64)(u32)row * Bits;
    const u32 *const words = reinterpret_cast<const u32 *>(data) + (at >> 5);
    const u32 shift = (u32)at & 31;
    const u32 w0 = hdd_load_const(words), w1 = hdd_load_const(words + 1);
    const u64 low = hdd_shift_pair(w0, w1, shift);
    if (Bits <= 32)
        return low & ((1ull << Bits) - 1);
    // The third word is needed where the number ends in it, and is there in any case.
    const u64 high = hdd_shift_pair(w1, hdd_load_const(words + 2), shift);
    return (high << 32 | low) & ((1ull << Bits) - 1);
}

#endif
