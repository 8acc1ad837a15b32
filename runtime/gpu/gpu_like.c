#include "runtime/gpu/gpu_like.h"

#include <string.h>

/* As templates/text.cuh declares them. */
struct head {
    uint32_t open_start, open_end, npieces, least;
};
struct piece {
    uint32_t at, n;
};

/* Pieces stand between the `%` of the pattern: bytes, then a flag per byte that any byte fits. */
struct build {
    struct head head;
    struct piece *pieces;
    unsigned char *bytes, *wild; /* of the piece being read */
    uint32_t n;
    unsigned char *out;
    uint32_t used;
};

static void end_piece(struct build *b)
{
    if (b->n == 0)
        return;
    b->pieces[b->head.npieces++] = (struct piece){b->used, b->n};
    memcpy(b->out + b->used, b->bytes, b->n);
    memcpy(b->out + b->used + b->n, b->wild, b->n);
    b->used += 2 * b->n;
    b->head.least += b->n;
    b->n = 0;
}

const void *rt_gpu_like(struct hd_arena *a, const char *pattern, size_t n, char escape,
                        size_t *size)
{
    size_t last = 0; /* just past the last % */
    size_t table = sizeof(struct head) + (n + 1) * sizeof(struct piece);
    struct build b = {.bytes = hd_alloc(a, n + 1), .wild = hd_alloc(a, n + 1)};
    b.out = hd_zalloc(a, table + 2 * n + 1);
    b.pieces = (struct piece *)(b.out + sizeof(struct head));
    b.used = (uint32_t)table;
    for (size_t i = 0; i < n; i++) {
        bool escaped = escape && pattern[i] == escape && i + 1 < n;
        if (escaped)
            i++;
        if (!escaped && pattern[i] == '%') {
            b.head.open_start |= i == 0;
            end_piece(&b);
            last = i + 1;
            continue;
        }
        b.wild[b.n] = !escaped && pattern[i] == '_';
        b.bytes[b.n++] = (unsigned char)pattern[i];
    }
    end_piece(&b);
    b.head.open_end = n > 0 && last == n;
    memcpy(b.out, &b.head, sizeof b.head);
    *size = b.used;
    return b.out;
}
