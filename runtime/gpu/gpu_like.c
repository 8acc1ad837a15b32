#include "runtime/gpu/gpu_like.h"

#include <string.h>

#include "runtime/exec/borders.h"

/* As templates/like.cuh declares them. */
struct head {
    uint32_t open_start, open_end, npieces, min, heads;
};
struct piece {
    uint32_t at, n, borders, masks, head, compared, tail, tail_compared;
};

/* SHORT: comparing fewer bytes costs little more than masks do; and no pattern takes more than 12
 * times its size. */
enum { SHORT = 16, WORD = 32 };

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

static void end_piece(struct build *b)
{
    if (b->n == 0)
        return;
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
    memcpy(b.out, &b.head, sizeof b.head);
    *size = b.used;
    return b.out;
}
