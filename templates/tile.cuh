// A tile of rows: eight neighbours per lane, read with wide loads (measured in DESIGN section
// 5: twice the bandwidth of one row per lane). One thread at a time.
#ifndef HDD_TILE_CUH
#define HDD_TILE_CUH

#include "hd/machine.cuh"

constexpr u32 HDD_TILE_ROWS = 8;                    // of a lane
constexpr u32 HDD_TILE = HDD_TILE_ROWS * HDD_LANES; // of a warp

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

template <class T> HDD_DEVICE void hdd_from_bits(u64 bits, T &v)
{
    v = (T)bits;
}

HDD_DEVICE void hdd_from_bits(u64 bits, f64 &v)
{
    v = hdd_f64_from_bits((i64)bits);
}

// Stored values of eight rows. They stay packed in 64-bit words until one is asked for, so
// that they live in registers however wide they are.
template <class T> struct hdd_tile {
    static constexpr u32 words = sizeof(T), per_word = 8 / sizeof(T), bits = 8 * sizeof(T);
    u64 w[words];

    // Rows first .. first + n - 1 of a column, n at most 8; the others read as zero.
    HDD_MEMBER hdd_tile(const T *data, u32 first, u32 n)
    {
        if (n == HDD_TILE_ROWS)
            load_all(data + first);
        else
            load_some(data + first, n);
    }

    HDD_MEMBER T operator[](u32 j) const
    {
        T v;
        hdd_from_bits(w[j / per_word] >> (j % per_word * bits % 64), v);
        return v;
    }

  private:
    HDD_MEMBER void load_all(const T *at)
    {
        const u64 *from = reinterpret_cast<const u64 *>(at);
        HDD_UNROLL
        for (u32 k = 0; k < words; k += 2)
            if (k + 1 < words)
                hdd_load_const16(from + k, w[k], w[k + 1]);
            else
                w[k] = hdd_load_const(from + k);
    }

    HDD_MEMBER void load_some(const T *at, u32 n)
    {
        const u64 mask = ~(u64)0 >> (64 - bits);
        HDD_UNROLL
        for (u32 k = 0; k < words; k++)
            w[k] = 0;
        HDD_UNROLL
        for (u32 j = 0; j < HDD_TILE_ROWS; j++)
            if (j < n)
                w[j / per_word] |= (hdd_bits_of(hdd_load_const(at + j)) & mask)
                                   << (j % per_word * bits % 64);
    }
};

// Values as wide as that are read one by one, where they are asked for.
template <> struct hdd_tile<i128> {
    const i128 *at;
    u32 n;

    HDD_MEMBER hdd_tile(const i128 *data, u32 first, u32 rows) : at(data + first), n(rows)
    {
    }

    HDD_MEMBER i128 operator[](u32 j) const
    {
        return j < n ? hdd_load_const(at + j) : 0;
    }
};

// Validity bits of the same rows: `first` is a multiple of eight, so they are one byte.
HDD_DEVICE u32 hdd_tile_valid(const u8 *valid, u32 first, u32 n)
{
    return n ? hdd_load_const(valid + first / 8) & hdd_low_bits(n) : 0;
}

#endif
