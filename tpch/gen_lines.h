/* Rows that several units own together: lines of orders, suppliers of parts. */
#ifndef TPCH_GEN_LINES_H
#define TPCH_GEN_LINES_H

#include "gen_internal.h"

/* Numbers the rows of a range: needs w->count for each of `units` units (ignored for a slice),
 * fills w->orders, w->lines, w->order and w->number. */
void tg_lines_number(const struct tg_range *r, int64_t units, struct tg_scratch *w);

/* One draw for every row of the range: number `which` of the `per_row` a row makes. */
void tg_lines_draw(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, enum tg_stream s,
                   int per_row, int which, uint32_t *out);

/* A comment column, two draws a row. */
void tg_lines_text(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b, enum tg_stream s, int column,
                   int average);

#endif
