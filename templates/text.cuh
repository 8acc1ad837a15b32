// Functions of strings (T_TEXT and T_MADE in frontend/ops.def): one source for kernels, the CPU's runtime and the
// emulator. Shared with host C (templates/host.h). One thread at a time.
//
// Strings are bytes, UTF-8 by intention: a character begins with every byte that is not 10xxxxxx, so that any bytes have
// characters. Functions of the first parts give an i64: a number, 0 or 1, or a piece of the first argument (hdd_span).
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

// ---- new strings ---------------------------------------------------------------------------

// Each gives the number of bytes of its result and writes them where `to` is not null; a number below 0: it is not
// defined there, and nothing is written. What is longer than any string
// can be is not written, and its length is any number beyond HDD_STRING_MAX.
#define HDD_STRING_MAX  0x7fffffffll
#define HDD_STRING_MORE (1ll << 40)

HDD_DEVICE i64 hdd_put_bytes(u8 *to, i64 at, const u8 *s, i32 n)
{
    for (i32 i = 0; to && i < n; i++)
        to[at + i] = s[i];
    return at + n;
}

HDD_DEVICE i64 hdd_concat(u8 *to, const u8 *s, i32 n, const u8 *t, i32 m)
{
    return hdd_put_bytes(to, hdd_put_bytes(to, 0, s, n), t, m);
}

// The other case of letters of ASCII, Latin-1 and Latin Extended-A, where both have equally many bytes.
HDD_DEVICE u32 hdd_upper_code(u32 c)
{
    if (c < 0x100)
        return (c >= 'a' && c <= 'z') || (c >= 0xe0 && c <= 0xfe && c != 0xf7) ? c - 0x20 : c == 0xff ? 0x178u : c;
    const bool odd_small = (c < 0x138 && c != 0x131) || (c >= 0x14a && c < 0x178);
    const bool even_small = (c >= 0x139 && c < 0x149) || (c >= 0x179 && c < 0x17f);
    return (odd_small && (c & 1)) || (even_small && !(c & 1)) ? c - 1 : c;
}

HDD_DEVICE u32 hdd_lower_code(u32 c)
{
    if (c < 0x100)
        return (c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) ? c + 0x20 : c;
    if (c == 0x178)
        return 0xff;
    const bool even_large = (c < 0x138 && c != 0x130) || (c >= 0x14a && c < 0x178);
    const bool odd_large = (c >= 0x139 && c < 0x149) || (c >= 0x179 && c < 0x17f);
    return (even_large && !(c & 1)) || (odd_large && (c & 1)) ? c + 1 : c;
}

HDD_DEVICE i64 hdd_put_case(u8 *to, const u8 *s, i32 n, bool upper)
{
    for (i32 i = 0; to && i < n; i++) {
        const bool two = s[i] >= 0xc3 && s[i] <= 0xc5 && i + 1 < n && !hdd_begins_character(s[i + 1]);
        const u32 code = two ? (u32)(s[i] & 0x1f) << 6 | (s[i + 1] & 0x3f) : s[i];
        const u32 other = code >= 0x80 && !two ? code : upper ? hdd_upper_code(code) : hdd_lower_code(code);
        to[i] = (u8)(two ? 0xc0 | other >> 6 : other);
        if (two)
            to[++i] = (u8)(0x80 | (other & 0x3f));
    }
    return n;
}

HDD_DEVICE i64 hdd_upper(u8 *to, const u8 *s, i32 n)
{
    return hdd_put_case(to, s, n, true);
}

HDD_DEVICE i64 hdd_lower(u8 *to, const u8 *s, i32 n)
{
    return hdd_put_case(to, s, n, false);
}

// The character of a code point in UTF-8; -1: there is none. (Surrogates are halves of characters.)
HDD_DEVICE i64 hdd_chr(u8 *to, i64 code)
{
    if (code < 1 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return -1;
    const i32 n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (i32 i = n - 1; to && i > 0; i--, code >>= 6)
        to[i] = (u8)(0x80 | (code & 0x3f));
    if (to)
        to[0] = (u8)(n == 1 ? code : (0xf00 >> n & 0xff) | code);
    return n;
}

// ---- binary ----

// Two digits for each byte.
HDD_DEVICE i64 hdd_hex(u8 *to, const u8 *s, i32 n)
{
    if (n > HDD_STRING_MAX / 2)
        return HDD_STRING_MORE;
    for (i32 i = 0; to && i < n; i++) {
        const i32 high = s[i] >> 4, low = s[i] & 15;
        to[2 * i] = (u8)(high + (high < 10 ? '0' : 'A' - 10));
        to[2 * i + 1] = (u8)(low + (low < 10 ? '0' : 'A' - 10));
    }
    return 2 * (i64)n;
}

HDD_DEVICE i32 hdd_hex_digit(u8 c)
{
    const i32 letter = c | 32;
    return c >= '0' && c <= '9' ? c - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

// The bytes of such digits; -1: there are others, or one too few.
HDD_DEVICE i64 hdd_unhex(u8 *to, const u8 *s, i32 n)
{
    if (n & 1)
        return -1;
    for (i32 i = 0; i < n; i += 2) {
        const i32 high = hdd_hex_digit(s[i]), low = hdd_hex_digit(s[i + 1]);
        if (high < 0 || low < 0)
            return -1;
        if (to)
            to[i / 2] = (u8)(high << 4 | low);
    }
    return n / 2;
}

// Bytes of the character of UTF-8 that n bytes at s begin with; 0: there is none (Unicode 15, table 3-7).
HDD_DEVICE i32 hdd_utf8_character(const u8 *s, i32 n)
{
    const u8 c = s[0];
    if (c < 0x80)
        return 1;
    const i32 size = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (size == 0 || size > n)
        return 0;
    const u8 least = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80, most = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < least || s[1] > most)
        return 0;
    for (i32 i = 2; i < size; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

// Whether bytes are UTF-8: 1, 0.
HDD_DEVICE i64 hdd_is_text(const u8 *s, i32 n)
{
    i32 size = 1;
    for (i32 i = 0; i < n && size > 0; i += size)
        size = hdd_utf8_character(s + i, n - i);
    return size > 0;
}

// The same bytes as a string; -1: they are none.
HDD_DEVICE i64 hdd_as_text(u8 *to, const u8 *s, i32 n)
{
    if (!to && !hdd_is_text(s, n))
        return -1;
    return hdd_put_bytes(to, 0, s, n);
}

// Characters from last to first.
HDD_DEVICE i64 hdd_reverse(u8 *to, const u8 *s, i32 n)
{
    i64 at = 0;
    for (i32 end = n, begin; end > 0; end = begin) {
        begin = hdd_before_last(s, end, 1);
        at = hdd_put_bytes(to, at, s + begin, end - begin);
    }
    return at;
}

HDD_DEVICE i64 hdd_repeat(u8 *to, const u8 *s, i32 n, i64 times)
{
    if (times <= 0 || n == 0)
        return 0;
    if (times > HDD_STRING_MAX)
        return HDD_STRING_MORE;
    for (i64 k = 0; to && k < times; k++)
        hdd_put_bytes(to, k * n, s, n);
    return times * n;
}

// Each t becomes u, from the front. An empty t is nowhere.
HDD_DEVICE i64 hdd_replace(u8 *to, const u8 *s, i32 n, const u8 *t, i32 m, const u8 *u, i32 k)
{
    i64 size = 0;
    for (i32 from = 0;;) {
        const i32 at = m ? hdd_text_find(s, n, from, t, m) : -1;
        size = hdd_put_bytes(to, size, s + from, (at < 0 ? n : at) - from);
        if (at < 0)
            return size;
        size = hdd_put_bytes(to, size, u, k);
        from = at + m;
    }
}

// Each character of s that is in t becomes the one in the same place of u, or goes if there is none there.
HDD_DEVICE i64 hdd_translate(u8 *to, const u8 *s, i32 n, const u8 *t, i32 m, const u8 *u, i32 k)
{
    i64 size = 0;
    for (i32 from = 0, next; from < n; from = next) {
        next = from + 1;
        while (next < n && !hdd_begins_character(s[next]))
            next++;
        i32 in_t = 0, in_u = 0;
        bool found = false;
        while (in_t < m && !found) {
            i32 end = in_t + 1, end_u = in_u < k ? in_u + 1 : k;
            while (end < m && !hdd_begins_character(t[end]))
                end++;
            while (end_u < k && !hdd_begins_character(u[end_u]))
                end_u++;
            found = end - in_t == next - from && hdd_text_at(t, m, in_t, s + from, next - from);
            if (found)
                size = hdd_put_bytes(to, size, u + in_u, end_u - in_u);
            in_t = end;
            in_u = end_u;
        }
        if (!found)
            size = hdd_put_bytes(to, size, s + from, next - from);
    }
    return size;
}

// As many characters of t, again and again, as `count`; t has some.
HDD_DEVICE i64 hdd_put_fill(u8 *to, i64 at, const u8 *t, i32 m, i64 count)
{
    const i64 each = hdd_characters(t, 0, m);
    if (count > HDD_STRING_MAX)
        return HDD_STRING_MORE;
    const i64 whole = count / each;
    const i32 rest = count % each ? hdd_behind_first(t, m, count % each) : 0;
    for (i64 k = 0; to && k < whole; k++)
        hdd_put_bytes(to, at + k * m, t, m);
    return hdd_put_bytes(to, at + whole * m, t, rest);
}

// Cut to `count` characters, or filled up to as many with those of t, at the front or at the end.
HDD_DEVICE i64 hdd_pad(u8 *to, const u8 *s, i32 n, i64 count, const u8 *t, i32 m, bool front)
{
    const i64 has = hdd_characters(s, 0, n);
    if (count <= has)
        return hdd_put_bytes(to, 0, s, count > 0 ? hdd_behind_first(s, n, count) : 0);
    if (hdd_characters(t, 0, m) == 0)
        return hdd_put_bytes(to, 0, s, n);
    const i64 filled = hdd_put_fill(to, front ? 0 : n, t, m, count - has);
    hdd_put_bytes(to, front ? filled : 0, s, n);
    return front ? filled + n : filled;
}

HDD_DEVICE i64 hdd_lpad(u8 *to, const u8 *s, i32 n, i64 count, const u8 *t, i32 m)
{
    return hdd_pad(to, s, n, count, t, m, true);
}

HDD_DEVICE i64 hdd_rpad(u8 *to, const u8 *s, i32 n, i64 count, const u8 *t, i32 m)
{
    return hdd_pad(to, s, n, count, t, m, false);
}

#endif
