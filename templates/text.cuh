// Functions of strings that make no new bytes (T_TEXT in frontend/ops.def): one source for kernels, the CPU's runtime and
// the emulator. Shared with host C (templates/host.h). One thread at a time.
//
// Strings are bytes, UTF-8 by intention: a character begins with every byte that is not 10xxxxxx, so that any bytes have
// characters. Each function gives an i64: a number, 0 or 1, or a piece of its first argument (hdd_span).
#ifndef HDD_TEXT_CUH
#define HDD_TEXT_CUH

#ifdef __cplusplus
#include "hd/machine.cuh"
#else
#include "templates/host.h"
#endif

// Bytes from .. to - 1 of a string.
HDD_DEVICE i64 hdd_span(i32 from, i32 to)
{
    return (i64)from << 32 | (to - from);
}

HDD_DEVICE i32 hdd_span_begin(i64 piece)
{
    return (i32)(piece >> 32);
}

HDD_DEVICE i32 hdd_span_length(i64 piece)
{
    return (i32)piece;
}

HDD_DEVICE bool hdd_begins_character(u8 byte)
{
    return (byte & 0xc0) != 0x80;
}

// ---- characters ----------------------------------------------------------------------------

HDD_DEVICE i64 hdd_characters(const u8 *s, i32 from, i32 to)
{
    i64 n = 0;
    for (i32 i = from; i < to; i++)
        n += hdd_begins_character(s[i]);
    return n;
}

// Behind the first `count` characters; what continues a character before the first one belongs to none.
HDD_DEVICE i32 hdd_behind_first(const u8 *s, i32 n, i64 count)
{
    i32 at = 0;
    while (at < n && !hdd_begins_character(s[at]))
        at++;
    for (i64 seen = 0; at < n; at++) {
        seen += hdd_begins_character(s[at]);
        if (seen > count)
            break;
    }
    return at;
}

// Where the last `count` characters begin.
HDD_DEVICE i32 hdd_before_last(const u8 *s, i32 n, i64 count)
{
    i32 at = n;
    for (i64 seen = 0; at > 0 && seen < count; at--)
        seen += hdd_begins_character(s[at - 1]);
    return at;
}

HDD_DEVICE i64 hdd_length(const u8 *s, i32 n)
{
    return hdd_characters(s, 0, n);
}

HDD_DEVICE i64 hdd_octet_length(const u8 *s, i32 n)
{
    (void)s;
    return n;
}

// The code point of the first character; of bytes that are none, the first byte.
HDD_DEVICE i64 hdd_ascii(const u8 *s, i32 n)
{
    const u8 b = n > 0 ? s[0] : (u8)0;
    const i32 more = b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : b >= 0xc0 ? 1 : 0;
    if (more == 0 || more >= n)
        return b;
    i64 code = b & (0x3f >> more);
    for (i32 i = 1; i <= more; i++) {
        if (hdd_begins_character(s[i]))
            return b;
        code = code << 6 | (s[i] & 0x3f);
    }
    return code;
}

// The first count characters; a negative count leaves out as many at the end.
HDD_DEVICE i64 hdd_left(const u8 *s, i32 n, i64 count)
{
    if (count >= 0)
        return hdd_span(0, count == 0 ? 0 : hdd_behind_first(s, n, count));
    return hdd_span(0, hdd_before_last(s, n, count < -0x7fffffff ? 0x7fffffff : -count));
}

// The last count characters; a negative count leaves out as many at the front.
HDD_DEVICE i64 hdd_right(const u8 *s, i32 n, i64 count)
{
    if (count >= 0)
        return hdd_span(hdd_before_last(s, n, count), n);
    return hdd_span(hdd_behind_first(s, n, count < -0x7fffffff ? 0x7fffffff : -count), n);
}

// ---- searching -----------------------------------------------------------------------------

// Whether all of t is in s from byte `at` on.
HDD_DEVICE bool hdd_text_at(const u8 *s, i32 n, i32 at, const u8 *t, i32 m)
{
    if (at < 0 || m > n - at)
        return false;
    for (i32 i = 0; i < m; i++)
        if (s[at + i] != t[i])
            return false;
    return true;
}

// The first byte from `at` on where t begins, -1: there is none.
HDD_DEVICE i32 hdd_text_find(const u8 *s, i32 n, i32 at, const u8 *t, i32 m)
{
    for (; at <= n - m; at++)
        if (hdd_text_at(s, n, at, t, m))
            return at;
    return -1;
}

// The last byte up to `at` where t begins, -1: there is none.
HDD_DEVICE i32 hdd_text_find_back(const u8 *s, i32 n, i32 at, const u8 *t, i32 m)
{
    while (at >= 0 && !hdd_text_at(s, n, at, t, m))
        at--;
    return at;
}

HDD_DEVICE i64 hdd_starts_with(const u8 *s, i32 n, const u8 *t, i32 m)
{
    return hdd_text_at(s, n, 0, t, m);
}

HDD_DEVICE i64 hdd_ends_with(const u8 *s, i32 n, const u8 *t, i32 m)
{
    return hdd_text_at(s, n, n - m, t, m);
}

HDD_DEVICE i64 hdd_contains(const u8 *s, i32 n, const u8 *t, i32 m)
{
    return hdd_text_find(s, n, 0, t, m) >= 0;
}

// The number of the character, from 1, where t begins first; 0: nowhere.
HDD_DEVICE i64 hdd_strpos(const u8 *s, i32 n, const u8 *t, i32 m)
{
    const i32 at = hdd_text_find(s, n, 0, t, m);
    return at < 0 ? 0 : hdd_characters(s, 0, at) + 1;
}

// ---- trimming ------------------------------------------------------------------------------

// Whether the character in bytes from .. to - 1 of s is one of t's.
HDD_DEVICE bool hdd_is_among(const u8 *s, i32 from, i32 to, const u8 *t, i32 m)
{
    for (i32 i = 0; i < m; i++)
        if (hdd_text_at(t, m, i, s + from, to - from) && (i + to - from == m || hdd_begins_character(t[i + to - from])))
            return true;
    return false;
}

HDD_DEVICE i32 hdd_trimmed_begin(const u8 *s, i32 n, const u8 *t, i32 m)
{
    i32 at = 0;
    while (at < n) {
        i32 next = at + 1;
        while (next < n && !hdd_begins_character(s[next]))
            next++;
        if (!hdd_is_among(s, at, next, t, m))
            break;
        at = next;
    }
    return at;
}

HDD_DEVICE i32 hdd_trimmed_end(const u8 *s, i32 from, i32 n, const u8 *t, i32 m)
{
    i32 at = n;
    while (at > from) {
        i32 begin = at - 1;
        while (begin > from && !hdd_begins_character(s[begin]))
            begin--;
        if (!hdd_is_among(s, begin, at, t, m))
            break;
        at = begin;
    }
    return at;
}

HDD_DEVICE i64 hdd_ltrim(const u8 *s, i32 n, const u8 *t, i32 m)
{
    return hdd_span(hdd_trimmed_begin(s, n, t, m), n);
}

HDD_DEVICE i64 hdd_rtrim(const u8 *s, i32 n, const u8 *t, i32 m)
{
    return hdd_span(0, hdd_trimmed_end(s, 0, n, t, m));
}

HDD_DEVICE i64 hdd_trim(const u8 *s, i32 n, const u8 *t, i32 m)
{
    const i32 from = hdd_trimmed_begin(s, n, t, m);
    return hdd_span(from, hdd_trimmed_end(s, from, n, t, m));
}

// ---- parts ---------------------------------------------------------------------------------

// What is between the (k - 1)-th and the k-th t, from the end if k < 0; nothing where there is no such part. An empty t
// separates nothing.
HDD_DEVICE i64 hdd_split_part(const u8 *s, i32 n, const u8 *t, i32 m, i64 k)
{
    if (m == 0)
        return k == 1 || k == -1 ? hdd_span(0, n) : hdd_span(0, 0);
    if (k > 0) {
        for (i32 from = 0;; k--) {
            const i32 to = hdd_text_find(s, n, from, t, m);
            if (k == 1)
                return hdd_span(from, to < 0 ? n : to);
            if (to < 0)
                return hdd_span(0, 0);
            from = to + m;
        }
    }
    for (i32 to = n; k < 0; k++) {
        const i32 at = hdd_text_find_back(s, to, to - m, t, m);
        if (k == -1)
            return hdd_span(at < 0 ? 0 : at + m, to);
        if (at < 0)
            break;
        to = at;
    }
    return hdd_span(0, 0);
}

#endif
