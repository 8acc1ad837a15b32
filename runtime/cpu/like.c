#include "runtime/cpu/like.h"

#include <pthread.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/cpu/helpers.h"

/* ---- Searching ------------------------------------------------------------------------- */

/* How rare a byte is in texts, roughly: letters in their order of frequency, then the rest. */
static int rarity(unsigned char c)
{
    static const char common[] = " etaoinsrhldcumfpgwybvkxjqz";
    const char *p = strchr(common, c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return c && p ? (int)(p - common) : (int)sizeof common;
}

struct hdr_needle hdr_needle(const unsigned char *bytes, size_t n)
{
    struct hdr_needle p = {bytes, n, 0, n - 1};
    for (size_t i = 0; i < n; i++)
        if (rarity(bytes[i]) > rarity(bytes[p.a]))
            p.a = i;
    if (p.b == p.a)
        p.b = 0;
    for (size_t i = 0; i < n; i++)
        if (i != p.a && rarity(bytes[i]) > rarity(bytes[p.b]))
            p.b = i;
    return p;
}

static const unsigned char *find_slow(const struct hdr_needle *p, const unsigned char *s,
                                      size_t n)
{
    while (n >= p->n) {
        const unsigned char *q = memchr(s, p->bytes[0], n - p->n + 1);
        if (!q)
            return NULL;
        if (memcmp(q, p->bytes, p->n) == 0)
            return q;
        n -= (size_t)(q + 1 - s);
        s = q + 1;
    }
    return NULL;
}

#if defined(__x86_64__)

/* Places s + 0, s + 1, ... of a block are looked at together: both rare bytes must fit, then the
 * rest is compared. The last block overlaps the one before, where nothing was found. */
#define FIND(name, attribute, WIDTH, VECTOR, SET, LOAD, EQUAL, AND, MASK)                     \
    attribute static const unsigned char *name(const struct hdr_needle *p,                    \
                                               const unsigned char *s, size_t n)              \
    {                                                                                         \
        const VECTOR a = SET((char)p->bytes[p->a]), b = SET((char)p->bytes[p->b]);            \
        const unsigned char *last = s + n - p->n + 1 - WIDTH;                                 \
        for (;; s = s + WIDTH < last ? s + WIDTH : last) {                                    \
            VECTOR x = LOAD((const VECTOR *)(const void *)(s + p->a));                        \
            VECTOR y = LOAD((const VECTOR *)(const void *)(s + p->b));                        \
            for (unsigned c = (unsigned)MASK(AND(EQUAL(x, a), EQUAL(y, b))); c; c &= c - 1) { \
                const unsigned char *q = s + __builtin_ctz(c);                                \
                if (memcmp(q, p->bytes, p->n) == 0)                                           \
                    return q;                                                                 \
            }                                                                                 \
            if (s == last)                                                                    \
                return NULL;                                                                  \
        }                                                                                     \
    }

FIND(find16, , 16, __m128i, _mm_set1_epi8, _mm_loadu_si128, _mm_cmpeq_epi8, _mm_and_si128,
     _mm_movemask_epi8)
FIND(find32, __attribute__((target("avx2"))), 32, __m256i, _mm256_set1_epi8,
     _mm256_loadu_si256, _mm256_cmpeq_epi8, _mm256_and_si256, _mm256_movemask_epi8)

static bool has_avx2;
static pthread_once_t has_avx2_once = PTHREAD_ONCE_INIT;

static void detect_avx2(void)
{
    has_avx2 = __builtin_cpu_supports("avx2") != 0;
}

const unsigned char *hdr_find(const struct hdr_needle *p, const unsigned char *s, size_t n)
{
    if (n >= p->n + 31 && has_avx2)
        return find32(p, s, n);
    if (n >= p->n + 15)
        return find16(p, s, n);
    return find_slow(p, s, n);
}

static void prepare_search(void)
{
    pthread_once(&has_avx2_once, detect_avx2);
}

#else

const unsigned char *hdr_find(const struct hdr_needle *p, const unsigned char *s, size_t n)
{
    return find_slow(p, s, n);
}

static void prepare_search(void)
{
}

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
        q->text = hdr_needle(b->bytes + b->start, b->used - b->start);
        q->any = b->wild ? b->any + b->start : NULL;
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
    prepare_search();
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

/* ---- Matching -------------------------------------------------------------------------- */

static bool piece_at(const struct hdr_like_piece *q, const unsigned char *s)
{
    if (!q->any)
        return memcmp(s, q->text.bytes, q->text.n) == 0;
    for (size_t i = 0; i < q->text.n; i++)
        if (!q->any[i] && s[i] != q->text.bytes[i])
            return false;
    return true;
}

static const unsigned char *find_piece(const struct hdr_like_piece *q, const unsigned char *s,
                                       size_t n)
{
    if (!q->any)
        return hdr_find(&q->text, s, n);
    for (; n >= q->text.n; s++, n--)
        if (piece_at(q, s))
            return s;
    return NULL;
}

/* The piece before the first `%`; it moves *s and *n behind it. */
static bool match_start(const struct hdr_like *p, const unsigned char **s, size_t *n)
{
    size_t m = p->pieces[0].text.n;
    if (!piece_at(&p->pieces[0], *s))
        return false;
    *s += m;
    *n -= m;
    return p->npieces > 1 || p->open_end || *n == 0;
}

/* The piece behind the last `%`. */
static bool match_end(const struct hdr_like *p, const unsigned char *s, size_t *n)
{
    const struct hdr_like_piece *q = &p->pieces[p->npieces - 1];
    if (*n < q->text.n || !piece_at(q, s + *n - q->text.n))
        return false;
    *n -= q->text.n;
    return true;
}

int32_t hdr_like(void *pattern, void *text, int32_t length)
{
    const struct hdr_like *p = pattern;
    const unsigned char *s = text;
    size_t n = (size_t)length;
    int first = !p->open_start, last = p->npieces - !p->open_end;
    if (n < p->least)
        return 0;
    if (p->npieces == 0)
        return p->open_start || n == 0;
    if (!p->open_start && !match_start(p, &s, &n))
        return 0;
    if (!p->open_end && last >= first && !match_end(p, s, &n))
        return 0;
    for (int i = first; i < last; i++) {
        const unsigned char *at = find_piece(&p->pieces[i], s, n);
        if (!at)
            return 0;
        n -= (size_t)(at - s) + p->pieces[i].text.n;
        s = at + p->pieces[i].text.n;
    }
    return 1;
}
