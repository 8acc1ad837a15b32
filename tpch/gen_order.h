/* What the tables of orders and their lines have in common: each function draws one thing for the
 * orders of a range, or for their lines. */
#ifndef TPCH_GEN_ORDER_H
#define TPCH_GEN_ORDER_H

#include "gen_internal.h"

/* w->day */
void tg_order_days(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w);
/* Numbers the lines: w->orders, w->lines, w->count, w->order and w->number. */
void tg_order_lines(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w);
/* The customer of each order; needs w->day. */
void tg_order_customers(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, int64_t *out);

/* All of these need numbered lines.  w->part; w->supp too if asked, and in JCC-H which lines are marked. */
void tg_line_parts(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, bool suppliers);
/* w->qty */
void tg_line_quantities(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w);
/* w->disc and w->tax, in percent */
void tg_line_rates(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w);
/* Days since 1970; needs w->day. */
void tg_commit_days(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, int32_t *out);
/* Ship modes and instructions: a code below `values` of stream s.  Marked lines get entry 0 of either
 * list: REG AIR, DELIVER IN PERSON. */
void tg_line_codes(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, enum tg_stream s,
                   uint32_t values, uint8_t *out);
/* The total price of each order, from part, quantity and rates of its lines. */
void tg_order_totals(const struct tg_scratch *w, int64_t *out);

/* The extended price of line i. */
static inline int64_t tg_line_price(const struct tg_scratch *w, int64_t i)
{
    return w->qty[i] * tg_retail_price(w->part[i]);
}

#endif
