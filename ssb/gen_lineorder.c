/* Table lineorder: the lines of TPC-H's plain scheme with what they need of their order.  Suppliers are drawn from
 * all, as there is no partsupp. */
#include "ssb/gen_ssb.h"

#include "tpch/gen_lines.h"
#include "tpch/gen_order.h"

/* What each line takes from its order. */
static void spread(const int32_t *of_order, const struct tg_scratch *w, int32_t *out)
{
    for (int64_t i = 0; i < w->lines; i++)
        out[i] = of_order[w->order[i]];
}

static void spread_wide(const int64_t *of_order, const struct tg_scratch *w, int32_t *out)
{
    for (int64_t i = 0; i < w->lines; i++)
        out[i] = (int32_t)of_order[w->order[i]];
}

static void copy(const int32_t *from, const struct tg_scratch *w, int32_t *out)
{
    for (int64_t i = 0; i < w->lines; i++)
        out[i] = from[i];
}

static void produce_keys(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    if (tg_wants(b, TG_BIT(TG_SSB_LO_ORDERKEY))) {
        int64_t *out = tg_column_of(b, TG_SSB_LO_ORDERKEY)->i64;
        for (int64_t i = 0; i < w->lines; i++)
            out[i] = tg_order_key(r->unit_begin + w->order[i] + 1);
    }
    if (tg_wants(b, TG_BIT(TG_SSB_LO_LINENUMBER)))
        copy(w->number, w, tg_column_of(b, TG_SSB_LO_LINENUMBER)->i32);
    if (tg_wants(b, TG_BIT(TG_SSB_LO_CUSTKEY))) {
        tg_order_customers(g, r, w, w->supp);
        spread_wide(w->supp, w, tg_column_of(b, TG_SSB_LO_CUSTKEY)->i32);
    }
    if (tg_wants(b, TG_BIT(TG_SSB_LO_SUPPKEY))) {
        tg_lines_draw(g, r, w, TG_S_L_SUPP, 1, 0, w->raw[0]);
        tg_map_i32(w->raw[0], w->lines, 1, (int32_t)g->suppliers, tg_column_of(b, TG_SSB_LO_SUPPKEY)->i32);
    }
}

static void produce_dates(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    if (tg_wants(b, TG_BIT(TG_SSB_LO_ORDERDATE))) {
        for (int o = 0; o < w->orders; o++)
            w->length[o] = g->date_key[w->day[o] - TG_DAY_0];
        spread(w->length, w, tg_column_of(b, TG_SSB_LO_ORDERDATE)->i32);
    }
    if (tg_wants(b, TG_BIT(TG_SSB_LO_COMMITDATE))) {
        int32_t *out = tg_column_of(b, TG_SSB_LO_COMMITDATE)->i32;
        tg_commit_days(g, r, w, out);
        for (int64_t i = 0; i < w->lines; i++)
            out[i] = g->date_key[out[i] - TG_DAY_0];
    }
}

static void produce_codes(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    if (tg_wants(b, TG_BIT(TG_SSB_LO_ORDERPRIORITY))) {
        uint8_t *out = tg_column_of(b, TG_SSB_LO_ORDERPRIORITY)->code;
        tg_draw_rows(g, TG_S_O_PRIORITY, r->unit_begin, w->orders, 0, w->raw[0]);
        tg_map_code(w->raw[0], w->orders, 5, w->marked);
        for (int64_t i = 0; i < w->lines; i++)
            out[i] = w->marked[w->order[i]];
    }
    if (tg_wants(b, TG_BIT(TG_SSB_LO_SHIPPRIORITY)))
        for (int64_t i = 0; i < w->lines; i++)
            tg_column_of(b, TG_SSB_LO_SHIPPRIORITY)->code[i] = 0;
    if (tg_wants(b, TG_BIT(TG_SSB_LO_SHIPMODE)))
        tg_line_codes(g, r, w, TG_S_L_MODE, 7, tg_column_of(b, TG_SSB_LO_SHIPMODE)->code);
}

#define TOTAL  TG_BIT(TG_SSB_LO_ORDTOTALPRICE)
#define PRICES (TOTAL | TG_BIT(TG_SSB_LO_EXTENDEDPRICE) | TG_BIT(TG_SSB_LO_REVENUE))

static void draw_measures(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    if (tg_wants(b, PRICES | TG_BIT(TG_SSB_LO_PARTKEY) | TG_BIT(TG_SSB_LO_SUPPLYCOST)))
        tg_line_parts(g, r, w, false);
    if (tg_wants(b, PRICES | TG_BIT(TG_SSB_LO_QUANTITY)))
        tg_line_quantities(g, r, w);
    if (tg_wants(b, TOTAL | TG_BIT(TG_SSB_LO_REVENUE) | TG_BIT(TG_SSB_LO_DISCOUNT) | TG_BIT(TG_SSB_LO_TAX)))
        tg_line_rates(g, r, w);
}

/* From parts, quantities and rates; of hundredths the rest of a division is dropped. */
static void produce_prices(const struct tg_scratch *w, struct tg_batch *b)
{
    if (tg_wants(b, TG_BIT(TG_SSB_LO_EXTENDEDPRICE)))
        for (int64_t i = 0; i < w->lines; i++)
            tg_column_of(b, TG_SSB_LO_EXTENDEDPRICE)->i32[i] = (int32_t)tg_line_price(w, i);
    if (tg_wants(b, TG_BIT(TG_SSB_LO_REVENUE)))
        for (int64_t i = 0; i < w->lines; i++)
            tg_column_of(b, TG_SSB_LO_REVENUE)->i32[i] = (int32_t)(tg_line_price(w, i) * (100 - w->disc[i]) / 100);
    if (tg_wants(b, TG_BIT(TG_SSB_LO_SUPPLYCOST)))
        for (int64_t i = 0; i < w->lines; i++)
            tg_column_of(b, TG_SSB_LO_SUPPLYCOST)->i32[i] = (int32_t)(6 * tg_retail_price(w->part[i]) / 10);
    if (tg_wants(b, TOTAL)) {
        tg_order_totals(w, w->supp);
        spread_wide(w->supp, w, tg_column_of(b, TG_SSB_LO_ORDTOTALPRICE)->i32);
    }
}

static void produce_measures(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    draw_measures(g, r, b);
    produce_prices(w, b);
    if (tg_wants(b, TG_BIT(TG_SSB_LO_PARTKEY)))
        for (int64_t i = 0; i < w->lines; i++)
            tg_column_of(b, TG_SSB_LO_PARTKEY)->i32[i] = (int32_t)w->part[i];
    if (tg_wants(b, TG_BIT(TG_SSB_LO_QUANTITY)))
        copy(w->qty, w, tg_column_of(b, TG_SSB_LO_QUANTITY)->i32);
    if (tg_wants(b, TG_BIT(TG_SSB_LO_DISCOUNT)))
        copy(w->disc, w, tg_column_of(b, TG_SSB_LO_DISCOUNT)->i32);
    if (tg_wants(b, TG_BIT(TG_SSB_LO_TAX)))
        copy(w->tax, w, tg_column_of(b, TG_SSB_LO_TAX)->i32);
}

void tg_produce_ssb_lineorder(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    tg_order_lines(g, r, b->scratch);
    tg_order_days(g, r, b->scratch);
    produce_keys(g, r, b);
    produce_dates(g, r, b);
    produce_codes(g, r, b);
    produce_measures(g, r, b);
}
