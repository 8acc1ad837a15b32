// A tile of rows: eight neighbours per lane, read with wide loads: twice the bandwidth of one row
// per lane (docs/performance.md, "What memory of a GPU gives"). One thread at a time.
#ifndef HDD_TILE_CUH
#define HDD_TILE_CUH

#include "hd/machine.cuh"
#include "hd/stored.cuh"
#include "hd/warp.cuh"

constexpr u32 HDD_TILE_ROWS = HDD_LANE_ROWS; // of a lane

// As many low bits.
HDD_DEVICE u32 hdd_low_bits(u32 n)
{
    return (1u << n) - 1;
}

template <class T> HDD_DEVICE u64 hdd_bits_of(T v)
{
    return (u64)(i64)v;
}

HDD_DEVICE u64 hdd_bits_of(f64 v)
{
    return (u64)hdd_f64_bits(v);
}

HDD_DEVICE u64 hdd_bits_of(f32 v)
{
    return (u32)hdd_f32_bits(v);
}

template <class T> HDD_DEVICE void hdd_from_bits(u64 bits, T &v)
{
    v = (T)bits;
}

HDD_DEVICE void hdd_from_bits(u64 bits, f64 &v)
{
    v = hdd_f64_from_bits((i64)bits);
}

HDD_DEVICE void hdd_from_bits(u64 bits, f32 &v)
{
    v = hdd_f32_from_bits((i32)bits);
}

// Stored values of a lane's rows from `first` on: always eight. The last tile of a source ends
// in memory that is there but holds no rows (zeros: runtime/gpu/gpu_resident.c); a lane that has
// none at all reads the tile's first ones: rows in front of the tile need not be there. They stay
// packed in 32-bit words until one is asked for, so that they live in registers however wide they are.
template <class T> struct hdd_tile {
    static constexpr u32 bytes = sizeof(T), words = 2 * bytes, bits = 8 * bytes;
    u32 w[words];

    HDD_MEMBER hdd_tile(const T *data, u32 first)
    {
        const u8 *from = reinterpret_cast<const u8 *>(data + first);
        HDD_UNROLL
        for (u32 k = 0; k < words; k += 4)
            if (k + 2 < words)
                hdd_load_const16(from + 4 * k, w[k], w[k + 1], w[k + 2], w[k + 3]);
            else
                hdd_load_const8(from + 4 * k, w[k], w[k + 1]);
    }

    HDD_MEMBER T operator[](u32 j) const
    {
        T v;
        if (bytes == 8)
            hdd_from_bits((u64)w[(2 * j + 1) % words] << 32 | w[2 * j % words], v);
        else
            hdd_from_bits(w[j * bytes / 4] >> (j * bits % 32), v);
        return v;
    }
};

// A lane's eight numbers of Bits bits are Bits bytes, from any byte on: words are loaded, and moved to begin with the first
// number.
template <u32 Bits> struct hdd_tile<hdd_packed<Bits>> {
    static constexpr u32 words = (Bits + 3) / 4;
    u32 w[words + 1];

    HDD_MEMBER hdd_tile(const hdd_packed<Bits> *data, u32 first)
    {
        const u64 from = (u64)(first / 8) * Bits;
        const u32 *const at = reinterpret_cast<const u32 *>(data) + (from >> 2);
        const u32 shift = 8 * ((u32)from & 3);
        HDD_UNROLL
        for (u32 k = 0; k <= words; k++)
            w[k] = hdd_load_const(at + k);
        HDD_UNROLL
        for (u32 k = 0; k < words; k++)
            w[k] = hdd_shift_pair(w[k], w[k + 1], shift);
        w[words] = 0;
    }

    HDD_MEMBER u64 operator[](u32 j) const
    {
        const u32 at = j * Bits, k = at / 32, shift = at % 32, more = words;
        const u64 low = hdd_shift_pair(w[k], w[k + 1 < more ? k + 1 : more], shift);
        if (Bits <= 32)
            return low & ((1ull << Bits) - 1);
        const u64 high = hdd_shift_pair(w[k + 1 < more ? k + 1 : more], w[k + 2 < more ? k + 2 : more], shift);
        return (high << 32 | low) & ((1ull << Bits) - 1);
    }
};

// Values as wide as that are read where they are asked for.
template <> struct hdd_tile<i128> {
    const i128 *at;

    HDD_MEMBER hdd_tile(const i128 *data, u32 first) : at(data + first)
    {
    }

    HDD_MEMBER i128 operator[](u32 j) const
    {
        return hdd_load_const(at + j);
    }
};

// A first tier's: its loops over rows stay loops, and words that a loop indexes are kept in memory, so rows are read where
// they are asked for.
template <class T> struct hdd_tile_by_row {
    const T *const data;
    const u32 first;

    HDD_MEMBER hdd_tile_by_row(const T *column, u32 from) : data(column), first(from)
    {
    }

    HDD_MEMBER auto operator[](u32 j) const
    {
        return hdd_stored(data, (i32)(first + j));
    }
};

// Rows that this lane has of the tile that begins at `first`.
template <u32 of_lane> HDD_DEVICE u32 hdd_tile_rows(u32 first, u32 rows)
{
    const u32 at = first + hdd_lane() * of_lane;
    return hdd_min(hdd_max(rows, at) - at, of_lane);
}

// Validity bits of the same rows: `first` is a multiple of eight, so they are one byte.
HDD_DEVICE u32 hdd_tile_valid(const u8 *valid, u32 first)
{
    return hdd_load_const(valid + first / 8);
}

// Bits of a state that has one per row, likewise.
HDD_DEVICE u32 hdd_tile_bits(const u64 *bits, u32 first)
{
    return hdd_load_const(reinterpret_cast<const u8 *>(bits) + first / 8);
}

#endif
