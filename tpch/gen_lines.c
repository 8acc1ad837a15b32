/* Drawing for rows owned by units; see gen_lines.h.
 *
 * The rows of a unit take successive draws from the state at the unit's start.  Eight draws
 * are stored for every unit, at the place of its first row: the surplus is overwritten by the
 * next unit, and the loop needs no branch on the random number of rows. */
#include "gen_lines.h"

static void number_slice(const struct tg_range *r, struct tg_scratch *w)
{
    w->lines = r->rows;
    w->count[0] = (int32_t)r->rows;
    for (int64_t i = 0; i < r->rows; i++) {
        w->order[i] = 0;
        w->number[i] = (int32_t)(r->row_begin + i + 1);
    }
}

void tg_lines_number(const struct tg_range *r, int64_t units, struct tg_scratch *w)
{
    w->orders = (int)units;
    if (r->slice) {
        number_slice(r, w);
        return;
    }
    int64_t at = 0;
    for (int32_t u = 0; u < w->orders; u++) {
        for (int32_t l = 0; l < TG_LANES; l++) {
            w->order[at + l] = u;
            w->number[at + l] = l + 1;
        }
        at += w->count[u];
    }
    w->lines = at;
}

/* out = draw `lane` (a power of the factor) of each unit's start state. */
static void draw_units(const struct tg_scratch *w, const uint32_t lane[TG_LANES], uint32_t *restrict out)
{
    const uint32_t *restrict start = w->start;
    const int32_t *restrict count = w->count;
    for (int u = 0; u < w->orders; u++) {
        const uint32_t x = start[u];
        for (int l = 0; l < TG_LANES; l++)
            out[l] = tg_mul(x, lane[l]);
        out += count[u];
    }
}

void tg_lines_draw(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, enum tg_stream s,
                   int per_row, int which, uint32_t *out)
{
    if (r->slice) {
        uint32_t x = tg_unit_state(g, s, r->unit_begin, r->row_begin * per_row + which + 1);
        tg_sequence(x, tg_power((uint64_t)per_row), r->rows, out);
        return;
    }
    uint32_t lane[TG_LANES];
    tg_sequence(tg_power((uint64_t)which + 1), tg_power((uint64_t)per_row), TG_LANES, lane);
    tg_sequence(tg_unit_state(g, s, r->unit_begin, 0), tg_power(tg_streams[s].draws), w->orders, w->start);
    draw_units(w, lane, out);
}

void tg_lines_text(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b, enum tg_stream s, int column,
                   int average)
{
    struct tg_scratch *w = b->scratch;
    tg_lines_draw(g, r, w, s, 2, 0, w->raw[0]);
    tg_lines_draw(g, r, w, s, 2, 1, w->raw[1]);
    tg_text_places(w->raw[0], w->raw[1], b->rows, tg_span_of(average), w->length);
    tg_text_copy(g, w->raw[0], w->length, b->rows, &b->col[column - tg_first_column(b->table)]);
}
