// Keys of rows whose layout is an argument: equality, order, and a form that compares as bits.
#ifndef HDD_FINISH_KEYS_CUH
#define HDD_FINISH_KEYS_CUH

#include "hd/finish_grid.cuh"
#include "hd/value.cuh"

HDD_DEVICE const hdd_key *hdd_keys_of(const hdd_keys &k)
{
    return k.more ? hdd_at<const hdd_key>(k.more) : k.key;
}

template <class T> HDD_DEVICE T hdd_field(const u8 *row, u32 offset)
{
    return *reinterpret_cast<const T *>(row + offset);
}

HDD_DEVICE hdd_string hdd_field_string(const u8 *row, u32 offset)
{
    return hdd_field<hdd_row_string>(row, offset);
}

HDD_DEVICE bool hdd_field_valid(const hdd_key &k, const u8 *row)
{
    return k.valid < 0 || row[k.valid] != 0;
}

// ---- comparing -----------------------------------------------------------------------------

template <class T> HDD_DEVICE i32 hdd_order_of(T a, T b)
{
    return hdd_less(a, b) ? -1 : hdd_less(b, a) ? 1 : 0;
}

// The first eight bytes, the first one on top; of a shorter string zeros behind.
HDD_DEVICE u64 hdd_string_head(hdd_string t)
{
    u64 v = 0;
    HDD_UNROLL
    for (i32 i = 0; i < 8; i++)
        v = v << 8 | (i < t.n ? t.s[i] : 0);
    return v;
}

// As hdd_compare_strings; eight bytes at a time, so that loads do not wait for each other where strings begin alike.
HDD_DEVICE i32 hdd_compare_texts(hdd_string a, hdd_string b)
{
    HDD_NO_UNROLL
    while (a.n >= 8 && b.n >= 8) {
        const u64 x = hdd_string_head(a), y = hdd_string_head(b);
        if (x != y)
            return x < y ? -1 : 1;
        a = hdd_string{a.s + 8, a.n - 8};
        b = hdd_string{b.s + 8, b.n - 8};
    }
    return hdd_compare_strings(a, b);
}

HDD_DEVICE i32 hdd_compare_values(u32 phys, const u8 *a, const u8 *b, u32 at)
{
    switch (phys) {
    case HDD_BOOL: return hdd_order_of(a[at] != 0, b[at] != 0);
    case HDD_I32: return hdd_order_of(hdd_field<i32>(a, at), hdd_field<i32>(b, at));
    case HDD_I64: return hdd_order_of(hdd_field<i64>(a, at), hdd_field<i64>(b, at));
    case HDD_I128: return hdd_order_of(hdd_field<i128>(a, at), hdd_field<i128>(b, at));
    case HDD_F64: return hdd_order_of(hdd_field<f64>(a, at), hdd_field<f64>(b, at));
    case HDD_F32: return hdd_order_of(hdd_field<f32>(a, at), hdd_field<f32>(b, at));
    default: return hdd_compare_texts(hdd_field_string(a, at), hdd_field_string(b, at));
    }
}

// Order of two rows by all keys.
HDD_APART i32 hdd_compare_rows(const hdd_keys &keys, const u8 *a, const u8 *b)
{
    const hdd_key *const key = hdd_keys_of(keys);
    for (u32 i = 0; i < keys.n; i++) {
        const hdd_key &k = key[i];
        const bool va = hdd_field_valid(k, a), vb = hdd_field_valid(k, b);
        if (va != vb)
            return va == (k.nulls_first != 0) ? 1 : -1;
        const i32 c = va ? hdd_compare_values(k.phys, a, b, k.offset) : 0;
        if (c)
            return k.desc ? -c : c;
    }
    return 0;
}

template <class T> HDD_DEVICE bool hdd_same_fields(const u8 *a, const u8 *b, u32 at)
{
    return hdd_same(hdd_field<T>(a, at), hdd_field<T>(b, at));
}

HDD_DEVICE bool hdd_same_values(u32 phys, const u8 *a, const u8 *b, u32 at)
{
    switch (phys) {
    case HDD_BOOL: return (a[at] != 0) == (b[at] != 0);
    case HDD_I32: return hdd_same_fields<i32>(a, b, at);
    case HDD_I64: return hdd_same_fields<i64>(a, b, at);
    case HDD_I128: return hdd_same_fields<i128>(a, b, at);
    case HDD_F64: return hdd_same_fields<f64>(a, b, at);
    case HDD_F32: return hdd_same_fields<f32>(a, b, at);
    default: return hdd_same(hdd_field_string(a, at), hdd_field_string(b, at));
    }
}

// Equality of two rows in all keys, NULLs equal. Strings of two lengths are not looked at.
HDD_APART bool hdd_equal_rows(const hdd_keys &keys, const u8 *a, const u8 *b)
{
    const hdd_key *const key = hdd_keys_of(keys);
    for (u32 i = 0; i < keys.n; i++) {
        const hdd_key &k = key[i];
        const bool va = hdd_field_valid(k, a), vb = hdd_field_valid(k, b);
        if (va != vb || (va && !hdd_same_values(k.phys, a, b, k.offset)))
            return false;
    }
    return true;
}

// ---- normalised keys -----------------------------------------------------------------------

// The keys of a row as one string of bits that compares like them: per key a bit for NULL if
// it can be, then the value; a string as `max` bytes, zeros behind its end, and its length. All
// bits of a NULL value are 0.

// Those of the number; of a string, its length.
HDD_DEVICE u32 hdd_value_bits(u32 phys)
{
    return phys == HDD_BOOL                                          ? 1
           : phys == HDD_I32 || phys == HDD_F32 || phys == HDD_STR ? 32
           : phys == HDD_I128                                        ? 128
                                                                     : 64;
}

// As an unsigned number that orders like the value: of all types but I128 and strings.
HDD_DEVICE u64 hdd_normal_number(u32 phys, const u8 *row, u32 at)
{
    switch (phys) {
    case HDD_BOOL: return row[at] != 0;
    case HDD_I32: return (u32)hdd_field<i32>(row, at) ^ 0x80000000u;
    case HDD_I64: return (u64)hdd_field<i64>(row, at) ^ (u64)1 << 63;
    default: break;
    }
    if (phys == HDD_F32) {
        const f32 v = hdd_field<f32>(row, at);
        const u32 bits = v == 0 ? 0 : v == v ? (u32)hdd_f32_bits(v) : 0x7fffffffu; // no -0, one NaN
        return bits >> 31 ? ~bits : bits | 1u << 31;
    }
    const f64 d = hdd_field<f64>(row, at);
    if (d != d)
        return ~(u64)0;
    const i64 bits = d == 0 ? 0 : hdd_f64_bits(d); // no -0
    return bits < 0 ? ~(u64)bits : (u64)bits | (u64)1 << 63;
}

HDD_DEVICE u128 hdd_normal(u32 phys, const u8 *row, u32 at)
{
    return phys == HDD_I128 ? (u128)hdd_field<i128>(row, at) ^ (u128)1 << 127 : hdd_normal_number(phys, row, at);
}

// The bits of a key of such a type in the normalised key.
HDD_DEVICE u64 hdd_key_number(const hdd_key &k, const u8 *row)
{
    if (!hdd_field_valid(k, row))
        return 0;
    const u64 v = hdd_normal_number(k.phys, row, k.offset);
    return k.desc ? ~v & ~(u64)0 >> (64 - hdd_value_bits(k.phys)) : v;
}

// Bits from .. from + 63 of a string of bits, most significant first, as they are collected.
struct hdd_window {
    u64 from, word;

    HDD_MEMBER bool touches(u64 at, u64 bits) const
    {
        return at < from + 64 && at + bits > from;
    }

    // A number of `bits` bits that begins at bit `at`.
    HDD_MEMBER void number(u64 at, u32 bits, u128 v)
    {
        const i64 up = (i64)(from + 64) - (i64)(at + bits);
        word |= up >= 0 ? (u64)v << up : (u64)(v >> -up);
    }

    // Byte by byte, as far as they touch it.
    HDD_MEMBER void string(u64 at, u64 bytes, hdd_string t, bool invert)
    {
        u64 i = at < from ? (from - at) / 8 : 0;
        HDD_NO_UNROLL
        for (i64 up = (i64)(from - at) + 56 - (i64)(8 * i); i < bytes && up > -8; i++, up -= 8) {
            const u64 v = (i < (u64)t.n ? t.s[i] : 0) ^ (invert ? 0xff : 0);
            word |= up >= 0 ? v << up : v >> -up;
        }
    }
};

// Word `number` of the key of a row.
HDD_APART u64 hdd_key_word(const hdd_keys &keys, const u8 *row, u32 number)
{
    const hdd_key *const key = hdd_keys_of(keys);
    hdd_window w{(u64)number * 64, 0};
    u64 at = 0;
    for (u32 i = 0; i < keys.n && at < w.from + 64; i++) {
        const hdd_key &k = key[i];
        const bool valid = hdd_field_valid(k, row);
        const u32 bits = hdd_value_bits(k.phys);
        u128 v = 0;
        if (k.valid >= 0) {
            if (w.touches(at, 1))
                w.word |= (u64)(valid == (k.nulls_first != 0)) << (w.from + 63 - at);
            at++;
        }
        if (k.phys == HDD_STR) {
            const hdd_string t = valid ? hdd_field_string(row, k.offset) : hdd_string{nullptr, 0};
            if (valid)
                w.string(at, k.max, t, k.desc);
            at += (u64)k.max * 8;
            v = (u32)t.n;
        }
        if (valid && w.touches(at, bits)) {
            if (k.phys != HDD_STR)
                v = hdd_normal(k.phys, row, k.offset);
            const u128 all = ((u128)1 << (bits - 1) << 1) - 1;
            w.number(at, bits, k.desc ? ~v & all : v);
        }
        at += bits;
    }
    return w.word;
}

#endif
