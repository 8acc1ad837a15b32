// Strings: LIKE over a compiled pattern, membership in a sorted list, dictionaries. One thread
// at a time.
#ifndef HDD_TEXT_CUH
#define HDD_TEXT_CUH

#include "hd/run.cuh"
#include "hd/value.cuh"

// A compiled LIKE pattern, one block of memory in host and device form alike: this head,
// `pieces` pieces, then the bytes. Pieces stand between the `%` of the pattern; `_` matches
// one byte.
struct hdd_like_piece {
    u32 at; // of its bytes, from the start of the head; their wildcard flags follow them
    u32 n;
};
struct hdd_like_pattern {
    u32 open_start, open_end; // a `%` there
    u32 npieces;
    u32 least; // bytes of all pieces: no shorter string matches
};

HDD_DEVICE bool hdd_like_at(const u8 *piece, u32 n, const u8 *s)
{
    for (u32 i = 0; i < n; i++)
        if (piece[i] != s[i] && !piece[n + i])
            return false;
    return true;
}

// First place at or after `from` where the piece fits before `end`, or -1.
HDD_DEVICE i32 hdd_like_find(const u8 *piece, u32 n, const u8 *s, u32 from, u32 end)
{
    for (u32 i = from; i + n <= end; i++)
        if (hdd_like_at(piece, n, s + i))
            return (i32)i;
    return -1;
}

// Greedy from the left: the first place for every piece leaves most room for the rest. The
// last piece is anchored unless the pattern ends with `%`.
HDD_DEVICE bool hdd_like_match(const hdd_like_pattern *p, hdd_text t)
{
    const u8 *base = reinterpret_cast<const u8 *>(p);
    const hdd_like_piece *pieces = reinterpret_cast<const hdd_like_piece *>(p + 1);
    const u32 n = (u32)t.n;
    u32 at = 0;
    if (n < p->least)
        return false;
    if (p->npieces == 0)
        return n == 0 || p->open_start || p->open_end;
    for (u32 k = 0; k < p->npieces; k++) {
        const u8 *piece = base + pieces[k].at;
        const u32 m = pieces[k].n;
        const bool first = k == 0 && !p->open_start,
                   last = k + 1 == p->npieces && !p->open_end;
        if (last && n - at < m)
            return false;
        const u32 from = last ? n - m : at;
        if (first && from != 0)
            return false;
        const u32 end = first || last ? from + m : n;
        const i32 found = hdd_like_find(piece, m, t.s, from, end <= n ? end : n);
        if (found < 0)
            return false;
        at = (u32)found + m;
    }
    return true;
}

struct hdd_like_of {
    const hdd_like_pattern *pattern;
    HDD_MEMBER bool operator()(hdd_text t) const
    {
        return hdd_like_match(pattern, t);
    }
};

template <class A> HDD_DEVICE auto hdd_like(A a, const hdd_like_pattern *p)
{
    return hdd_strict(hdd_like_of{p}, a);
}

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

// Bytes start .. start + length - 1, counted from 1. What lies before 1 is cut off, not
// shifted.
HDD_DEVICE hdd_text hdd_cut(hdd_text t, i64 start, i64 length)
{
    const i64 stop = (i64)t.n + 1;
    const i64 end = start > stop - length ? stop : start + length;
    const i64 from = start < 1 ? 1 : start > stop ? stop : start;
    return hdd_text{t.s + (from - 1), (i32)(end > from ? end - from : 0)};
}

struct hdd_substring_of {
    const hdd_run &run;
    i32 path;
    i64 length;

    HDD_MEMBER hdd_text operator()(hdd_text t, i64 start) const
    {
        if (length >= 0)
            return hdd_cut(t, start, length);
        run.fail(HDD_FAIL_SUBSTRING, path);
        return hdd_text();
    }
};

template <class A, class B>
HDD_DEVICE auto hdd_substring(const hdd_run &run, i32 path, A t, B start)
{
    return hdd_strict(hdd_substring_of{run, path, 0x7fffffffffffffffll}, t, start);
}

template <class A, class B>
HDD_DEVICE auto hdd_substring(const hdd_run &run, i32 path, A t, B start, i64 length)
{
    return hdd_strict(hdd_substring_of{run, path, length}, t, start);
}

template <class A, class B>
HDD_DEVICE auto hdd_substring(const hdd_run &run, i32 path, A t, B start, hdd_opt<i64> length)
{
    typedef decltype(hdd_substring(run, path, hdd_opt<hdd_text>(), start, (i64)0)) R;
    return length.ok ? R(hdd_substring(run, path, t, start, length.v)) : R();
}

// Entry k of a dictionary is bytes[offsets[k] .. offsets[k + 1]).
struct hdd_dict_text_of {
    const u32 *offsets;
    const u8 *bytes;
    HDD_MEMBER hdd_text operator()(i32 code) const
    {
        const u32 begin = offsets[code];
        return hdd_text{bytes + begin, (i32)(offsets[code + 1] - begin)};
    }
};

template <class A> HDD_DEVICE auto hdd_dict_text(A code, const u32 *offsets, const u8 *bytes)
{
    return hdd_strict(hdd_dict_text_of{offsets, bytes}, code);
}

#endif
