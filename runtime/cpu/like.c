#include "runtime/cpu/like.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* ---- Compiling ------------------------------------------------------------------------- */

struct building {
    struct hdr_like *p;
    unsigned char *bytes, *any; /* of all pieces, one after the other */
    size_t used, start;
    bool wild; /* the piece has a `_` */
};

static void end_piece(struct building *b)
{
    if (b->used > b->start) {
        struct hdr_like_piece *q = &b->p->pieces[b->p->npieces++];
        q->bytes = b->bytes + b->start;
        q->any = b->wild ? b->any + b->start : NULL;
        q->n = b->used - b->start;
    }
    b->start = b->used;
    b->wild = false;
}

static void add_byte(struct building *b, char c, bool any)
{
    b->bytes[b->used] = (unsigned char)c;
    b->any[b->used++] = any;
    b->wild = b->wild || any;
}

struct hdr_like *hdr_like_new(struct hd_arena *a, const char *pattern, size_t n, char escape)
{
    struct building b = {.p = HD_NEW(a, struct hdr_like)};
    size_t last = 0; /* just past the last `%` */
    b.p->pieces = HD_NEWN(a, struct hdr_like_piece, n + 1);
    b.bytes = hd_alloc(a, n + 1);
    b.any = hd_alloc(a, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (escape && pattern[i] == escape && i + 1 < n) {
            add_byte(&b, pattern[++i], false);
        } else if (pattern[i] == '%') {
            b.p->open_start = b.p->open_start || i == 0;
            end_piece(&b);
            last = i + 1;
        } else {
            add_byte(&b, pattern[i], pattern[i] == '_');
        }
    }
    end_piece(&b);
    b.p->open_end = n > 0 && last == n;
    b.p->least = b.used;
    return b.p;
}

/* ---- Searching ------------------------------------------------------------------------- */

static const unsigned char *find_slow(const unsigned char *s, size_t n,
                                      const unsigned char *needle, size_t m)
{
    while (n >= m) {
        const unsigned char *p = memchr(s, needle[0], n - m + 1);
        if (!p)
            return NULL;
        if (memcmp(p + 1, needle + 1, m - 1) == 0)
            return p;
        n -= (size_t)(p + 1 - s);
        s = p + 1;
    }
    return NULL;
}

#if defined(__SSE2__)
/* Candidates among the 16 places from s: first and last byte of the needle both fit. */
static inline unsigned candidates(const unsigned char *s, __m128i first, __m128i last,
                                  size_t m)
{
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)s);
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(s + m - 1));
    return (unsigned)_mm_movemask_epi8(
        _mm_and_si128(_mm_cmpeq_epi8(a, first), _mm_cmpeq_epi8(b, last)));
}

const unsigned char *hdr_find_bytes(const unsigned char *s, size_t n,
                                    const unsigned char *needle, size_t m)
{
    if (n < m + 15)
        return find_slow(s, n, needle, m);
    __m128i first = _mm_set1_epi8((char)needle[0]), last = _mm_set1_epi8((char)needle[m - 1]);
    const unsigned char *final = s + n - m - 15; /* of the last full block */
    for (const unsigned char *p = s;; p += 16) {
        if (p > final)
            p = final; /* overlaps the one before, where nothing was found */
        for (unsigned c = candidates(p, first, last, m); c; c &= c - 1) {
            const unsigned char *q = p + __builtin_ctz(c);
            if (m <= 2 || memcmp(q + 1, needle + 1, m - 2) == 0)
                return q;
        }
        if (p == final)
            return NULL;
    }
}
#else
const unsigned char *hdr_find_bytes(const unsigned char *s, size_t n,
                                    const unsigned char *needle, size_t m)
{
    return find_slow(s, n, needle, m);
}
#endif

/* ---- Matching -------------------------------------------------------------------------- */

static bool piece_at(const struct hdr_like_piece *q, const unsigned char *s)
{
    if (!q->any)
        return memcmp(s, q->bytes, q->n) == 0;
    for (size_t i = 0; i < q->n; i++)
        if (!q->any[i] && s[i] != q->bytes[i])
            return false;
    return true;
}

static const unsigned char *find_piece(const struct hdr_like_piece *q, const unsigned char *s,
                                       size_t n)
{
    if (!q->any)
        return hdr_find_bytes(s, n, q->bytes, q->n);
    for (; n >= q->n; s++, n--)
        if (piece_at(q, s))
            return s;
    return NULL;
}

bool hdr_like_match(const struct hdr_like *p, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    int first = 0, last = p->npieces;
    if (n < p->least)
        return false;
    if (p->npieces == 0)
        return p->open_start || n == 0;
    if (!p->open_start) {
        if (!piece_at(&p->pieces[0], s))
            return false;
        if (p->npieces == 1)
            return p->open_end || n == p->pieces[0].n;
        s += p->pieces[0].n;
        n -= p->pieces[0].n;
        first = 1;
    }
    if (!p->open_end) {
        const struct hdr_like_piece *q = &p->pieces[--last];
        if (n < q->n || !piece_at(q, s + n - q->n))
            return false;
        n -= q->n;
    }
    for (int i = first; i < last; i++) {
        const unsigned char *at = find_piece(&p->pieces[i], s, n);
        if (!at)
            return false;
        n -= (size_t)(at - s) + p->pieces[i].n;
        s = at + p->pieces[i].n;
    }
    return true;
}
