#include "runtime/gpu/gpu_like.h"

#include <string.h>

#include "runtime/exec/borders.h"

/* As templates/like.cuh declares them. */
struct head {
    uint32_t open_start, open_end, npieces, min, heads;
    uint32_t sought, word[4], compared[4];
    int32_t front;
    uint32_t back;
};
struct piece {
    uint32_t at, n, borders, masks, head, compared, tail, tail_compared;
};

/* SHORT: comparing fewer bytes costs little more than masks do; and no pattern takes more than 12
 * times its size. SOUGHT: of fewer bytes a word is in every text; SOUGHT_MAX: places stay far from 2^31. */
enum { SHORT = 16, WORD = 32, SOUGHT = 2, SOUGHT_MAX = 1 << 16, ALIGN = 4 };

/* Of a word of a piece, a bit per byte: which have this high, this low half. */
struct masks {
    uint32_t high[16], low[16];
};

/* Pieces stand between the `%` of the pattern: bytes, then a flag per byte that any byte fits,
 * then the table. */
struct build {
    struct head head;
    struct piece *pieces;
    unsigned char *bytes, *wild; /* of the piece being read */
    uint32_t n;
    bool any; /* it has a `_` */
    int32_t sought_end; /* bytes of all pieces in front of the last place of a word that is sought */
    unsigned char *out;
    size_t used;
};

static void *reserve(struct build *b, size_t size, uint32_t *place)
{
    *place = (uint32_t)b->used;
    b->used += hd_align_up(size, sizeof(uint32_t));
    return b->out + *place;
}

static void fill_masks(const struct build *b, struct masks *words)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct masks *m = &words[i / WORD];
        const uint32_t bit = (uint32_t)1 << i % WORD;
        for (unsigned half = 0; half < 16; half++) {
            m->high[half] |= b->wild[i] || b->bytes[i] >> 4 == half ? bit : 0;
            m->low[half] |= b->wild[i] || (b->bytes[i] & 15) == half ? bit : 0;
        }
    }
}

static void add_table(struct build *b, struct piece *q)
{
    size_t words = (b->n + WORD - 1) / WORD;
    if (!b->any)
        rt_borders(b->bytes, b->n, reserve(b, b->n * sizeof(uint32_t), &q->borders));
    else if (b->n >= SHORT)
        fill_masks(b, reserve(b, words * sizeof(struct masks), &q->masks));
}

/* Up to four bytes of a piece from the first on, the first one lowest, and 0xff for each that is compared. */
static void fill_word(const struct build *b, uint32_t first, uint32_t *word, uint32_t *compared)
{
    for (uint32_t i = 0; i < sizeof *word && first + i < b->n; i++)
        if (!b->wild[first + i]) {
            *word |= (uint32_t)b->bytes[first + i] << 8 * i;
            *compared |= (uint32_t)0xff << 8 * i;
        }
}

/* The word at `first` of a piece, of which bytes in front of it and behind it are not compared: how many are. */
static uint32_t aligned_word(const struct build *b, int32_t first, uint32_t *word, uint32_t *compared)
{
    uint32_t n = 0;
    *word = *compared = 0;
    for (int32_t i = 0; i < ALIGN; i++)
        if (first + i >= 0 && first + i < (int32_t)b->n && !b->wild[first + i]) {
            *word |= (uint32_t)b->bytes[first + i] << 8 * i;
            *compared |= (uint32_t)0xff << 8 * i;
            n++;
        }
    return n;
}

/* The word with most bytes that are compared of a piece that begins `skip` bytes behind a multiple of ALIGN. */
static uint32_t best_word(const struct build *b, int32_t skip, int32_t *place, uint32_t *word, uint32_t *compared)
{
    uint32_t most = 0;
    for (int32_t first = -skip; first < (int32_t)b->n && most < ALIGN; first += ALIGN) {
        uint32_t w, c, n = aligned_word(b, first, &w, &c);
        if (n <= most)
            continue;
        most = n;
        *place = first;
        *word = w;
        *compared = c;
    }
    return most;
}

/* The piece's words are sought if they tell more than those of the pieces before. */
static void seek(struct build *b)
{
    struct head h = b->head;
    int32_t before = (int32_t)h.min, first = INT32_MAX, last = INT32_MIN, place = 0;
    h.sought = ALIGN;
    if (b->n > SOUGHT_MAX || h.min > SOUGHT_MAX)
        return;
    for (int32_t k = 0; k < ALIGN; k++) {
        h.sought = HD_MIN(h.sought, best_word(b, k, &place, &h.word[k], &h.compared[k]));
        first = HD_MIN(first, place);
        last = HD_MAX(last, place);
    }
    if (h.sought < SOUGHT || h.sought <= b->head.sought)
        return;
    h.front = before + first;
    b->sought_end = before + last;
    b->head = h;
}

static void end_seeking(struct head *h, int32_t sought_end)
{
    if (h->min > SOUGHT_MAX)
        h->sought = 0;
    else if (h->sought)
        h->back = h->min - (uint32_t)sought_end;
}

static void end_piece(struct build *b)
{
    if (b->n == 0)
        return;
    seek(b);
    struct piece *q = &b->pieces[b->head.npieces++];
    unsigned char *to = reserve(b, 2 * (size_t)b->n, &q->at);
    q->n = b->n;
    fill_word(b, 0, &q->head, &q->compared);
    if (b->n >= sizeof q->tail)
        fill_word(b, b->n - (uint32_t)sizeof q->tail, &q->tail, &q->tail_compared);
    b->head.heads &= q->compared == UINT32_MAX;
    memcpy(to, b->bytes, b->n);
    memcpy(to + b->n, b->wild, b->n);
    add_table(b, q);
    b->head.min += b->n;
    b->n = 0;
    b->any = false;
}

static void add_byte(struct build *b, char c, bool any)
{
    b->wild[b->n] = any;
    b->bytes[b->n++] = (unsigned char)c;
    b->any = b->any || any;
}

static size_t max_pieces(const char *pattern, size_t n)
{
    size_t k = 1;
    for (size_t i = 0; i < n; i++)
        k += pattern[i] == '%';
    return HD_MIN(k, n / 2 + 1);
}

/* What the pieces of a pattern of n bytes take at most: bytes and flags, padded, a border each, and
 * a word's masks for each SHORT of them. */
static size_t max_bytes(size_t n, size_t pieces)
{
    size_t tables = n * sizeof(uint32_t) + n / SHORT * sizeof(struct masks);
    return 2 * n + pieces * sizeof(uint32_t) + tables;
}

const void *rt_gpu_like(struct hd_arena *a, const char *pattern, size_t n, char escape, size_t *size)
{
    size_t last = 0; /* just past the last % */
    size_t pieces = max_pieces(pattern, n);
    size_t table = sizeof(struct head) + pieces * sizeof(struct piece);
    struct build b = {.head = {.heads = 1}, .bytes = hd_alloc(a, n + 1), .wild = hd_alloc(a, n + 1), .used = table};
    b.out = hd_zalloc(a, table + max_bytes(n, pieces));
    b.pieces = (struct piece *)(b.out + sizeof(struct head));
    for (size_t i = 0; i < n; i++) {
        if (escape && pattern[i] == escape && i + 1 < n) {
            add_byte(&b, pattern[++i], false);
        } else if (pattern[i] == '%') {
            b.head.open_start |= i == 0;
            end_piece(&b);
            last = i + 1;
        } else {
            add_byte(&b, pattern[i], pattern[i] == '_');
        }
    }
    end_piece(&b);
    b.head.open_end = n > 0 && last == n;
    end_seeking(&b.head, b.sought_end);
    memcpy(b.out, &b.head, sizeof b.head);
    *size = b.used;
    return b.out;
}
