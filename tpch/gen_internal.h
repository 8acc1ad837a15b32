/* What the files of the generator share; not for users of the library. */
#ifndef TPCH_GEN_INTERNAL_H
#define TPCH_GEN_INTERNAL_H

#include "gen_core.h"
#include "gen_rng.h"

#define TG_DAY_0         8035 /* 1992-01-01, day index 0, in days since 1970 */
#define TG_DAY_TODAY     9298 /* 1995-06-17 */
#define TG_MAX_LINES     7    /* of an ordinary order */
#define TG_CALENDAR_DAYS 2556 /* rows of the date table, from day index 0 on */

/* Units that own far more rows than others, ascending; none in the plain scheme. */
#define TG_MAX_POPULOUS 20
struct tg_populous {
    int count;
    int64_t rows; /* of each */
    int64_t unit[TG_MAX_POPULOUS];
    int64_t hash[TG_MAX_POPULOUS]; /* rank in the skew, 0 = first */
};

/* One key permutation of JCC-H: key -> hash and back. */
struct tg_perm {
    uint64_t n, add, inverse;
};

struct tg_gen {
    enum tg_scheme scheme;
    int64_t scale; /* 1 for fractional scale factors */
    int64_t parts, suppliers, customers, orders;
    struct tg_populous big_orders, big_parts;
    struct tg_perm part_perm, supplier_perm, customer_perm, order_perm;
    int64_t hot_parts;       /* first hash behind the parts that ordinary lines use */
    int64_t extra_parts_end; /* units below this may have a fourth supplier */
    int64_t surplus_order, surplus_part; /* populous units before these do not count */
    uint64_t pool_shift;
    int32_t date_key[TG_CALENDAR_DAYS]; /* Star Schema Benchmark: YYYYMMDD by day index */
    int64_t big_total[TG_MAX_POPULOUS]; /* o_totalprice of populous orders */
    char *pool;
};

/* Working arrays of one batch; all but `start` have room for every line of the range. */
struct tg_scratch {
    int64_t capacity;
    int orders;                /* orders (or parts) of the range */
    int64_t lines;             /* lines of these orders */
    uint32_t *start;           /* states at unit starts */
    uint32_t *raw[3];          /* draws */
    int32_t *count;            /* by order: lines */
    int32_t *day;              /* by order: final order date, days since 1970 */
    int32_t *order;            /* by line: position of its order in the range */
    int32_t *number;           /* by line: 1-based line number */
    int64_t *part, *supp;      /* by line */
    int32_t *qty, *disc, *tax; /* by line */
    int32_t *ship, *receipt;   /* by line: days since 1970 */
    uint8_t *marked;           /* by line, JCC-H: hot line */
    int32_t *length;           /* by row: of a text */
    void *memory;
};

static inline struct tg_column *tg_column_of(struct tg_batch *b, int column)
{
    return &b->col[column - tg_first_column(b->table)];
}

static inline bool tg_wants(const struct tg_batch *b, uint64_t columns)
{
    return (b->mask & columns) != 0;
}

/* State of a stream before the given draw (counted from 0) of a unit, skew included. */
uint32_t tg_unit_state(const struct tg_gen *g, enum tg_stream s, int64_t unit, int64_t draw);

/* Draw number `draw` of each of n rows from `unit` on. */
void tg_draw_rows(const struct tg_gen *g, enum tg_stream s, int64_t unit, int64_t n, int draw, uint32_t *out);

/* Whether the unit is populous: its index in the list, or -1. */
int tg_populous_find(const struct tg_populous *p, int64_t unit);
const struct tg_populous *tg_populous_of(const struct tg_gen *g, enum tg_table t);

/* ---- texts (gen_text.c) ---- */

struct tg_span {
    int lo, hi; /* smallest and largest length */
};
static inline struct tg_span tg_span_of(int average)
{
    return (struct tg_span){average * 4 / 10, average * 16 / 10};
}
/* Draws to places in the pool, in place, and to lengths. */
void tg_text_places(uint32_t *place, const uint32_t *draw, int64_t n, struct tg_span span, int32_t *length);
void tg_text_copy(const struct tg_gen *g, const uint32_t *place, const int32_t *length, int64_t n,
                  struct tg_column *out);
/* A comment column with two draws a row. */
void tg_text_column(const struct tg_gen *g, struct tg_batch *b, int column, enum tg_stream s, int64_t unit,
                    int average);
/* prefix + number of at least nine digits; number i is first + i, or numbers[i] if given. */
void tg_numbered_column(struct tg_batch *b, int column, const char *prefix, int64_t first, const int32_t *numbers);
void tg_address_column(const struct tg_gen *g, struct tg_batch *b, int column, enum tg_stream s, int64_t unit,
                       struct tg_span span);
/* nation: the drawn nation of each row. */
void tg_phone_column(const struct tg_gen *g, struct tg_batch *b, int column, enum tg_stream s, int64_t unit,
                     const int32_t *nation);

/* ---- tables ---- */

typedef void tg_producer(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b);
#define T_TABLE(schema, id, name, first, produce, lines, whole) tg_producer tg_produce_##produce;
#include "gen_tables.def"

static inline int64_t tg_retail_price(int64_t part)
{
    return 90000 + (part / 10) % 20001 + 100 * (part % 1000);
}

/* Key of order row k (from 1): 8 of every 32 values are used. */
static inline int64_t tg_order_key(int64_t k)
{
    return ((k >> 3) << 5) + (k & 7);
}

/* The first n colours of a part's shuffle; x is the part's first draw. */
void tg_part_colors(uint32_t x, uint32_t n, uint8_t *color);

/* Supplier i (0..3) of part p in the plain scheme. */
int64_t tg_part_supplier(int64_t suppliers, int64_t p, int64_t i);

/* Numbers of lines of the orders of a range, before any skew. */
void tg_line_counts(const struct tg_gen *g, int64_t unit, int64_t n, uint32_t *raw, int32_t *count);
/* o_totalprice of a populous order, summed over its rows [begin, end). */
int64_t tg_sum_lines(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b);

#endif
