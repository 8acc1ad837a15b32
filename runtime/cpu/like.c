#include "runtime/cpu/like.h"

#include <pthread.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/cpu/helpers.h"
#include "runtime/exec/borders.h"

/* ---- Searching ------------------------------------------------------------------------- */

/* How rare a byte is in texts, roughly: letters in their order of frequency, then the rest. */
static int rarity(unsigned char c)
{
    static const char common[] = " etaoinsrhldcumfpgwybvkxjqz";
    const char *p = strchr(common, c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return c && p ? (int)(p - common) : (int)sizeof common;
}

/* SHORT: comparing as many bytes costs no more than a step of the search by borders. MISSED: what is
 * compared in vain before that search, besides eight times the text: as many bytes are compared in
 * the time in which it reads some hundred. */
enum { SHORT = 64, MISSED = 4096 };

static const uint32_t *borders(struct hd_arena *a, const unsigned char *bytes, size_t n)
{
    uint32_t *border = HD_NEWN(a, uint32_t, n);
    rt_borders(bytes, n, border);
    return border;
}

struct hdr_needle hdr_needle(struct hd_arena *a, const unsigned char *bytes, size_t n)
{
    struct hdr_needle p = {bytes, n, 0, n - 1, n > SHORT ? borders(a, bytes, n) : NULL};
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

static const unsigned char *find_by_borders(const struct hdr_needle *p, const unsigned char *s, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        while (k && s[i] != p->bytes[k])
            k = p->border[k - 1];
        k += s[i] == p->bytes[k];
        if (k == p->n)
            return s + i + 1 - k;
    }
    return NULL;
}

static const unsigned char *find_slow(const struct hdr_needle *p, const unsigned char *s, size_t n)
{
    const unsigned char *first = s;
    size_t missed = 0;
    while (n >= p->n) {
        const unsigned char *q = memchr(s, p->bytes[0], n - p->n + 1);
        if (!q)
            return NULL;
        if (memcmp(q, p->bytes, p->n) == 0)
            return q;
        missed += p->n;
        n -= (size_t)(q + 1 - s);
        s = q + 1;
        if (p->border && missed > MISSED + 8 * (size_t)(s - first))
            return find_by_borders(p, s, n);
    }
    return NULL;
}

#if defined(__x86_64__)

/* Places s + 0, s + 1, ... of a block are looked at together: both rare bytes must fit, then the
 * rest is compared. The last block overlaps the one before, where nothing was found. */
#define FIND(name, attribute, WIDTH, VECTOR, SET, LOAD, EQUAL, AND, MASK) \
    attribute static const unsigned char *name(const struct hdr_needle *p, const unsigned char *s, size_t n) \
    { \
        const VECTOR a = SET((char)p->bytes[p->a]), b = SET((char)p->bytes[p->b]); \
        const unsigned char *first = s, *last = s + n - p->n + 1 - WIDTH; \
        size_t missed = 0; \
        for (;; s = s + WIDTH < last ? s + WIDTH : last) { \
            VECTOR x = LOAD((const VECTOR *)(const void *)(s + p->a)); \
            VECTOR y = LOAD((const VECTOR *)(const void *)(s + p->b)); \
            for (unsigned c = (unsigned)MASK(AND(EQUAL(x, a), EQUAL(y, b))); c; c &= c - 1) { \
                const unsigned char *q = s + __builtin_ctz(c); \
                if (memcmp(q, p->bytes, p->n) == 0) \
                    return q; \
                missed += p->n; \
            } \
            if (p->border && missed > MISSED + 8 * (size_t)(s - first)) \
                return find_by_borders(p, s, n - (size_t)(s - first)); \
            if (s == last) \
                return NULL; \
        } \
    }

FIND(find16, , 16, __m128i, _mm_set1_epi8, _mm_loadu_si128, _mm_cmpeq_epi8, _mm_and_si128, _mm_movemask_epi8)
FIND(find32, __attribute__((target("avx2"))), 32, __m256i, _mm256_set1_epi8, _mm256_loadu_si256, _mm256_cmpeq_epi8,
     _mm256_and_si256, _mm256_movemask_epi8)

/* The same in masked blocks of 64 places, one of which most strings are, whatever their length; the needle has at most
 * SHORT bytes, and is compared at once. */
__attribute__((target("avx512bw,bmi2"))) static const unsigned char *find64(const struct hdr_needle *p,
                                                                            const unsigned char *s, size_t n)
{
    const __m512i a = _mm512_set1_epi8((char)p->bytes[p->a]), b = _mm512_set1_epi8((char)p->bytes[p->b]);
    const __mmask64 rest = _bzhi_u64(~(__mmask64)0, (unsigned)p->n);
    for (ptrdiff_t places = (ptrdiff_t)n - (ptrdiff_t)p->n + 1; places > 0; places -= 64, s += 64) {
        const __mmask64 all = _bzhi_u64(~(__mmask64)0, (unsigned)HD_MIN(places, (ptrdiff_t)64));
        __mmask64 c = _mm512_mask_cmpeq_epi8_mask(all, _mm512_maskz_loadu_epi8(all, s + p->a), a);
        c = _mm512_mask_cmpeq_epi8_mask(c, _mm512_maskz_loadu_epi8(c, s + p->b), b);
        for (; c; c &= c - 1) {
            const unsigned char *q = s + __builtin_ctzll(c);
            const __m512i there = _mm512_maskz_loadu_epi8(rest, q), want = _mm512_maskz_loadu_epi8(rest, p->bytes);
            if (_mm512_cmpneq_epi8_mask(there, want) == 0)
                return q;
        }
    }
    return NULL;
}

static bool has_avx2, has_avx512;
static pthread_once_t detect_once = PTHREAD_ONCE_INIT;

static void detect(void)
{
    has_avx2 = __builtin_cpu_supports("avx2") != 0;
    has_avx512 = __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

const unsigned char *hdr_find(const struct hdr_needle *p, const unsigned char *s, size_t n)
{
    if (has_avx512 && p->n <= SHORT)
        return find64(p, s, n);
    if (n >= p->n + 31 && has_avx2)
        return find32(p, s, n);
    if (n >= p->n + 15)
        return find16(p, s, n);
    return find_slow(p, s, n);
}

static void prepare_search(void)
{
    pthread_once(&detect_once, detect);
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
    struct hd_arena *arena;
    unsigned char *bytes, *any; /* of all pieces, one after the other */
    size_t used, start;
    bool wild; /* the piece has a `_` */
};

static void end_piece(struct building *b)
{
    if (b->used > b->start) {
        struct hdr_like_piece *q = &b->p->pieces[b->p->npieces++];
        q->text = hdr_needle(b->arena, b->bytes + b->start, b->used - b->start);
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

static size_t max_pieces(const char *pattern, size_t n)
{
    size_t k = 1;
    for (size_t i = 0; i < n; i++)
        k += pattern[i] == '%';
    return k;
}

struct hdr_like *hdr_like_new(struct hd_arena *a, const char *pattern, size_t n, char escape,
                              const _Atomic int *stopped)
{
    struct building b = {.p = HD_NEW(a, struct hdr_like), .arena = a};
    prepare_search();
    size_t last = 0; /* just past the last `%` */
    b.p->stopped = stopped;
    b.p->pieces = HD_NEWN(a, struct hdr_like_piece, max_pieces(pattern, n));
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
    b.p->min = b.used;
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

/* 16 places of a text, or as many bytes; compared all at once. */
typedef unsigned char lanes __attribute__((vector_size(16)));
enum { PLACES = 64 };

static lanes load(const unsigned char *s)
{
    lanes v;
    memcpy(&v, s, sizeof v);
    return v;
}

static bool any_lane(lanes v)
{
    uint64_t words[2];
    memcpy(words, &v, sizeof words);
    return (words[0] | words[1]) != 0;
}

/* First of the places s + 0 .. s + PLACES - 1 where the piece stands, or NULL; n + PLACES - 1 bytes can
 * be read. Adds the places looked at to *work. */
static const unsigned char *find_wild_block(const struct hdr_like_piece *q, const unsigned char *s, size_t *work)
{
    lanes fits[PLACES / 16];
    unsigned char where[PLACES];
    memset(fits, 0xff, sizeof fits);
    for (size_t i = 0; i < q->text.n; i++) {
        if (q->any[i])
            continue;
        const lanes byte = (lanes){0} + q->text.bytes[i];
        lanes left = (lanes){0};
        for (int k = 0; k < PLACES / 16; k++) {
            fits[k] &= (lanes)(load(s + i + 16 * k) == byte);
            left |= fits[k];
        }
        *work += PLACES;
        if (!any_lane(left))
            return NULL;
    }
    memcpy(where, fits, sizeof where);
    for (int k = 0; k < PLACES; k++)
        if (where[k])
            return s + k;
    return NULL;
}

/* Between two looks whether the execution is stopped: about 10 ms. */
enum { LOOK_PLACES = 1 << 26, LOOK_BYTES = 1 << 22 };

static bool is_stopped(const struct hdr_like *p)
{
    return p->stopped && atomic_load_explicit(p->stopped, memory_order_relaxed) != 0;
}

static const unsigned char *find_wild(const struct hdr_like *p, const struct hdr_like_piece *q, const unsigned char *s,
                                      size_t n)
{
    size_t work = 0;
    for (; n >= q->text.n + PLACES - 1; s += PLACES, n -= PLACES) {
        const unsigned char *at = find_wild_block(q, s, &work);
        if (at)
            return at;
        if (work < LOOK_PLACES)
            continue;
        if (is_stopped(p))
            return NULL;
        work = 0;
    }
    for (; n >= q->text.n; s++, n--)
        if (piece_at(q, s))
            return s;
    return NULL;
}

static const unsigned char *find_piece(const struct hdr_like *p, const struct hdr_like_piece *q, const unsigned char *s,
                                       size_t n)
{
    size_t max = HD_MAX((size_t)LOOK_BYTES, 2 * q->text.n);
    if (q->any)
        return find_wild(p, q, s, n);
    for (; n > max; s += max - q->text.n + 1, n -= max - q->text.n + 1) {
        const unsigned char *at = hdr_find(&q->text, s, max);
        if (at || is_stopped(p))
            return at;
    }
    return hdr_find(&q->text, s, n);
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
    if (n < p->min)
        return 0;
    if (p->npieces == 0)
        return p->open_start || n == 0;
    if (!p->open_start && !match_start(p, &s, &n))
        return 0;
    if (!p->open_end && last >= first && !match_end(p, s, &n))
        return 0;
    for (int i = first; i < last; i++) {
        const unsigned char *at = find_piece(p, &p->pieces[i], s, n);
        if (!at)
            return 0;
        n -= (size_t)(at - s) + p->pieces[i].text.n;
        s = at + p->pieces[i].text.n;
    }
    return 1;
}
