// Strings: membership in a sorted list, substrings, dictionaries. One thread at a time.
#ifndef HDD_STRING_CUH
#define HDD_STRING_CUH

#include "hd/run.cuh"
#include "hd/value.cuh"

// A sorted constant list; strings in it are stored as in rows.
template <class T> struct hdd_set {
    const T *v;
    u64 n;
};

template <class T> HDD_DEVICE T hdd_element(const T *v, u64 k)
{
    return v[k];
}

// Elements of 16 bytes need not be aligned to as many.
HDD_DEVICE i128 hdd_element(const i128 *v, u64 k)
{
    const u64 *at = reinterpret_cast<const u64 *>(v) + 2 * k;
    return (i128)((u128)at[1] << 64 | at[0]);
}

template <class T> struct hdd_in_set_of {
    hdd_set<T> set;
    template <class X> HDD_MEMBER bool operator()(X x) const
    {
        u64 lo = 0, hi = set.n;
        while (lo < hi) {
            const u64 mid = (lo + hi) / 2;
            if (hdd_less((X)hdd_element(set.v, mid), x))
                lo = mid + 1;
            else
                hi = mid;
        }
        return lo < set.n && hdd_same((X)hdd_element(set.v, lo), x);
    }
};

template <class A, class T> HDD_DEVICE auto hdd_in_set(A a, hdd_set<T> set)
{
    return hdd_strict(hdd_in_set_of<T>{set}, a);
}

// Bit x of a word that has as many bits as x has values.
template <class W> struct hdd_in_bits_of {
    W word;
    HDD_MEMBER bool operator()(i32 x) const
    {
        return word >> ((u32)x % (8 * sizeof word)) & 1;
    }
};

template <class A, class W> HDD_DEVICE auto hdd_in_bits(A a, W word)
{
    return hdd_strict(hdd_in_bits_of<W>{word}, a);
}

// Bytes start .. start + length - 1, counted from 1. What lies before 1 is cut off, not
// shifted. No difference here can overflow: NVVM takes one before it looks at its condition.
HDD_DEVICE hdd_string hdd_cut(hdd_string t, i64 start, i64 length)
{
    const u64 before = start < 1 ? (u64)1 - (u64)start : 0;
    const u64 wanted = (u64)length > before ? (u64)length - before : 0;
    const i64 stop = (i64)t.n + 1;
    const i64 from = start < 1 ? 1 : start > stop ? stop : start;
    const u64 room = (u64)(stop - from);
    return hdd_string{t.s + (from - 1), (i32)(wanted < room ? wanted : room)};
}

// Without a length the rest of the string: from byte 1, if the start lies before it.
struct hdd_substring_from_of {
    HDD_MEMBER hdd_string operator()(hdd_string t, i64 start) const
    {
        return hdd_cut(t, start < 1 ? 1 : start, 0x7fffffffffffffffll);
    }
};

template <class A, class B> HDD_DEVICE auto hdd_substring(const hdd_run &, i32, A t, B start)
{
    return hdd_strict(hdd_substring_from_of(), t, start);
}

struct hdd_substring_of {
    const hdd_run &run;
    i32 path;
    i64 length;

    HDD_MEMBER hdd_string operator()(hdd_string t, i64 start) const
    {
        if (length >= 0)
            return hdd_cut(t, start, length);
        run.fail(HDD_FAIL_SUBSTRING, path);
        return hdd_string();
    }
};

template <class A, class B>
HDD_DEVICE auto hdd_substring(const hdd_run &run, i32 path, A t, B start, i64 length)
{
    return hdd_strict(hdd_substring_of{run, path, length}, t, start);
}

template <class A, class B>
HDD_DEVICE auto hdd_substring(const hdd_run &run, i32 path, A t, B start, hdd_opt<i64> length)
{
    typedef decltype(hdd_substring(run, path, hdd_opt<hdd_string>(), start, (i64)0)) R;
    return length.ok ? R(hdd_substring(run, path, t, start, length.v)) : R();
}

// Entry k of a dictionary is bytes[offsets[k] .. offsets[k + 1]).
struct hdd_dict_string_of {
    const u32 *offsets;
    const u8 *bytes;
    HDD_MEMBER hdd_string operator()(i32 code) const
    {
        const u32 begin = offsets[code];
        return hdd_string{bytes + begin, (i32)(offsets[code + 1] - begin)};
    }
};

template <class A> HDD_DEVICE auto hdd_dict_string(A code, const u32 *offsets, const u8 *bytes)
{
    return hdd_strict(hdd_dict_string_of{offsets, bytes}, code);
}

#endif
