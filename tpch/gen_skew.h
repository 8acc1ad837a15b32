/* JCC-H: how the skewed and correlated data set differs from the plain one.  Everything that
 * decides by scheme lives here; the tables call these where the skew overrides a value. */
#ifndef TPCH_GEN_SKEW_H
#define TPCH_GEN_SKEW_H

#include "gen_internal.h"

/* l_quantity of lines that the skew marks; no plain line has it. */
#define TG_MARKED_QUANTITY 51

void tg_skew_init(struct tg_gen *g, const struct tg_options *o);
/* Sums up populous orders; -1 if there is no memory.  Nothing to do in the plain scheme. */
int tg_skew_prepare(struct tg_gen *g, int threads);

/* Draws that populous units before this one took beyond their normal number. */
uint64_t tg_skew_surplus(const struct tg_gen *g, enum tg_stream s, int64_t unit);
/* Rows of lineitem or partsupp before the unit. */
int64_t tg_skew_rows_before(const struct tg_gen *g, enum tg_table t, int64_t unit);

void tg_skew_nations(const struct tg_perm *p, int64_t unit, int64_t n, int32_t *nation);
/* Length 0 for the comments of the busiest suppliers. */
void tg_skew_silence(const struct tg_gen *g, const struct tg_range *r, int32_t *length);
/* bytes: phones of 15 bytes each. */
void tg_skew_phones(const struct tg_gen *g, const struct tg_range *r, char *bytes);

bool tg_skew_hot_part(const struct tg_gen *g, int64_t unit);
void tg_skew_parts(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b);
void tg_skew_part_suppliers(const struct tg_gen *g, const struct tg_range *r, const struct tg_scratch *w, int64_t *out);

/* Number of lines of ordinary orders. */
void tg_skew_line_counts(int64_t unit, int64_t n, int32_t *count);
/* From drawn to final order days. */
void tg_skew_days(const struct tg_gen *g, const struct tg_range *r, int32_t *day);
void tg_skew_order_customers(const struct tg_gen *g, const struct tg_range *r, const int32_t *day, int64_t *out);
void tg_skew_order_comments(const struct tg_gen *g, const struct tg_range *r, const int32_t *day,
                            struct tg_column *text);
/* Parts (from drawn to final), suppliers if asked, and marks of ordinary orders' lines. */
void tg_skew_lines(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, bool suppliers);
/* The same for a slice of a populous order. */
void tg_skew_big_lines(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, bool with_suppliers);
void tg_skew_flags(const struct tg_range *r, const struct tg_scratch *w, uint8_t returned, uint8_t *out);

#endif
