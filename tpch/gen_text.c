/* Text columns: comments from the pool, numbered names, addresses, phones. */
#include <string.h>

#include "gen_internal.h"
#include "gen_pool.h"

/* Pool reads miss every cache; this many rows ahead they are asked for. */
#define PREFETCH_ROWS 12

void tg_text_places(uint32_t *restrict place, const uint32_t *restrict draw, int64_t n, struct tg_span span,
                    int32_t *restrict length)
{
    const double places = TG_POOL_BYTES - span.hi + 1;
    for (int64_t i = 0; i < n; i++)
        place[i] = (uint32_t)(int32_t)((double)(int32_t)place[i] / 2147483647.0 * places);
    tg_map_i32(draw, n, span.lo, span.hi, length);
}

void tg_text_copy(const struct tg_gen *g, const uint32_t *place, const int32_t *length, int64_t n,
                  struct tg_column *out)
{
    int32_t at = 0;
    out->offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t ahead = i + PREFETCH_ROWS < n ? i + PREFETCH_ROWS : n - 1;
        __builtin_prefetch(g->pool + place[ahead]);
        __builtin_prefetch(g->pool + place[ahead] + 64);
        const char *from = g->pool + place[i];
        char *to = out->bytes + at;
        for (int32_t done = 0; done < length[i]; done += 32)
            memcpy(to + done, from + done, 32);
        at += length[i];
        out->offsets[i + 1] = at;
    }
}

void tg_text_column(const struct tg_gen *g, struct tg_batch *b, int column, enum tg_stream s, int64_t unit, int average)
{
    struct tg_scratch *w = b->scratch;
    tg_draw_rows(g, s, unit, b->rows, 0, w->raw[0]);
    tg_draw_rows(g, s, unit, b->rows, 1, w->raw[1]);
    tg_text_places(w->raw[0], w->raw[1], b->rows, tg_span_of(average), w->length);
    tg_text_copy(g, w->raw[0], w->length, b->rows, tg_column_of(b, column));
}

/* Writes v with at least `digits` digits; returns how many. */
static int put_digits(char *out, int64_t v, int digits)
{
    char text[20];
    int n = 0;
    for (; v > 0 || n < digits; v /= 10)
        text[n++] = (char)('0' + v % 10);
    for (int i = 0; i < n; i++)
        out[i] = text[n - 1 - i];
    return n;
}

void tg_numbered_column(struct tg_batch *b, int column, const char *prefix, int64_t first, const int32_t *numbers)
{
    struct tg_column *c = tg_column_of(b, column);
    const size_t prefix_bytes = strlen(prefix);
    char *p = c->bytes;
    c->offsets[0] = 0;
    for (int64_t i = 0; i < b->rows; i++) {
        memcpy(p, prefix, prefix_bytes);
        p += prefix_bytes;
        p += put_digits(p, numbers != NULL ? numbers[i] : first + i, 9);
        c->offsets[i + 1] = (int32_t)(p - c->bytes);
    }
}

static const char address_letters[65] = "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";

/* The reference's range of an address draw overflowed to a negative number, whose low bits
 * (two's complement, arithmetic shifts) became the letters. */
static void put_five_letters(char *out, uint32_t draw)
{
    int64_t v = (int64_t)((double)(int32_t)draw / 2147483647.0 * -2147483648.0);
    for (int i = 0; i < 5; i++, v >>= 6)
        out[i] = address_letters[v & 63];
}

/* Draw 0 is the length, each later one gives five letters: one pass over all rows per draw
 * would store into rows of unknown place, so lengths come first. */
void tg_address_column(const struct tg_gen *g, struct tg_batch *b, int column, enum tg_stream s, int64_t unit,
                       struct tg_span span)
{
    struct tg_column *c = tg_column_of(b, column);
    struct tg_scratch *w = b->scratch;
    tg_draw_rows(g, s, unit, b->rows, 0, w->start);
    tg_map_i32(w->start, b->rows, span.lo, span.hi, w->length);
    c->offsets[0] = 0;
    for (int64_t i = 0; i < b->rows; i++) {
        uint32_t x = w->start[i];
        for (int32_t at = 0; at < w->length[i]; at += 5) {
            x = tg_next(x);
            put_five_letters(c->bytes + c->offsets[i] + at, x);
        }
        c->offsets[i + 1] = c->offsets[i] + w->length[i];
    }
}

void tg_phone_column(const struct tg_gen *g, struct tg_batch *b, int column, enum tg_stream s, int64_t unit,
                     const int32_t *nation)
{
    struct tg_column *c = tg_column_of(b, column);
    uint32_t *const *raw = b->scratch->raw;
    for (int i = 0; i < 3; i++)
        tg_draw_rows(g, s, unit, b->rows, i, raw[i]);
    c->offsets[0] = 0;
    for (int64_t i = 0; i < b->rows; i++) {
        char *p = c->bytes + 15 * i;
        put_digits(p, 10 + nation[i], 2);
        put_digits(p + 3, 100 + tg_scale_small(raw[0][i], 900), 3);
        put_digits(p + 7, 100 + tg_scale_small(raw[1][i], 900), 3);
        put_digits(p + 11, 1000 + tg_scale_small(raw[2][i], 9000), 4);
        p[2] = p[6] = p[10] = '-';
        c->offsets[i + 1] = (int32_t)(15 * (i + 1));
    }
}
