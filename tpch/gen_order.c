/* Tables orders and lineitem.
 *
 * An order's status and total come from its lines, so both tables share the columns of lines;
 * each is drawn only if something asked for needs it. */
#include "gen_internal.h"
#include "gen_lines.h"
#include "gen_order.h"
#include "gen_skew.h"

enum { STATE_O, STATE_F, STATE_P }; /* order_states */
enum { FLAG_R, FLAG_A, FLAG_N };    /* return_flags */
enum { LINE_OPEN, LINE_FILLED };    /* line_states */

/* ---- columns of lines ------------------------------------------------------------------- */

void tg_order_days(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w)
{
    const int64_t n = r->unit_end - r->unit_begin;
    tg_draw_rows(g, TG_S_O_DATE, r->unit_begin, n, 0, w->raw[0]);
    tg_map_i32(w->raw[0], n, TG_DAY_0, TG_DAY_0 + 2405, w->day);
    if (g->scheme == TG_JCCH)
        tg_skew_days(g, r, w->day);
}

void tg_order_lines(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w)
{
    const int64_t n = r->unit_end - r->unit_begin;
    if (!r->slice)
        tg_line_counts(g, r->unit_begin, n, w->raw[0], w->count);
    tg_lines_number(r, n, w);
}

/* Parts, suppliers too if asked, and in JCC-H which lines are marked. */
void tg_line_parts(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, bool suppliers)
{
    if (r->slice) {
        tg_skew_big_lines(g, r, w, suppliers);
        return;
    }
    tg_lines_draw(g, r, w, TG_S_L_PART, 1, 0, w->raw[0]);
    tg_map_i64(w->raw[0], w->lines, 1, g->parts, w->part);
    if (g->scheme == TG_JCCH) {
        tg_skew_lines(g, r, w, suppliers);
        return;
    }
    if (!suppliers)
        return;
    tg_lines_draw(g, r, w, TG_S_L_SUPP, 1, 0, w->raw[0]);
    for (int64_t i = 0; i < w->lines; i++)
        w->supp[i] = tg_part_supplier(g->suppliers, w->part[i], tg_scale_small(w->raw[0][i], 4));
}

void tg_line_quantities(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w)
{
    tg_lines_draw(g, r, w, TG_S_L_QTY, 1, 0, w->raw[0]);
    tg_map_i32(w->raw[0], w->lines, 1, 50, w->qty);
    if (g->scheme == TG_JCCH)
        for (int64_t i = 0; i < w->lines; i++)
            w->qty[i] = w->marked[i] ? TG_MARKED_QUANTITY : w->qty[i];
}

void tg_line_rates(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w)
{
    tg_lines_draw(g, r, w, TG_S_L_DISCOUNT, 1, 0, w->raw[0]);
    tg_map_i32(w->raw[0], w->lines, 0, 10, w->disc);
    tg_lines_draw(g, r, w, TG_S_L_TAX, 1, 0, w->raw[0]);
    tg_map_i32(w->raw[0], w->lines, 0, 8, w->tax);
}

static void draw_ship_days(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w)
{
    tg_lines_draw(g, r, w, TG_S_L_SHIP, 1, 0, w->raw[0]);
    for (int64_t i = 0; i < w->lines; i++)
        w->ship[i] = w->day[w->order[i]] + 1 + (int32_t)tg_scale_small(w->raw[0][i], 121);
}

static void draw_receipt_days(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w)
{
    tg_lines_draw(g, r, w, TG_S_L_RECEIPT, 1, 0, w->raw[0]);
    for (int64_t i = 0; i < w->lines; i++)
        w->receipt[i] = w->ship[i] + 1 + (int32_t)tg_scale_small(w->raw[0][i], 30);
}

/* ---- lineitem --------------------------------------------------------------------------- */

static void produce_keys(const struct tg_range *r, const struct tg_scratch *w, struct tg_batch *b)
{
    if (tg_wants(b, TG_BIT(TG_L_ORDERKEY))) {
        int64_t *out = tg_column_of(b, TG_L_ORDERKEY)->i64;
        for (int64_t i = 0; i < w->lines; i++)
            out[i] = tg_order_key(r->unit_begin + w->order[i] + 1);
    }
    if (tg_wants(b, TG_BIT(TG_L_LINENUMBER))) {
        int32_t *out = tg_column_of(b, TG_L_LINENUMBER)->i32;
        for (int64_t i = 0; i < w->lines; i++)
            out[i] = w->number[i];
    }
}

static void produce_prices(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, struct tg_batch *b)
{
    if (tg_wants(b, TG_BIT(TG_L_QUANTITY) | TG_BIT(TG_L_EXTENDEDPRICE)))
        tg_line_quantities(g, r, w);
    if (tg_wants(b, TG_BIT(TG_L_QUANTITY))) {
        int32_t *out = tg_column_of(b, TG_L_QUANTITY)->i32;
        for (int64_t i = 0; i < w->lines; i++)
            out[i] = w->qty[i];
    }
    if (tg_wants(b, TG_BIT(TG_L_EXTENDEDPRICE))) {
        int64_t *out = tg_column_of(b, TG_L_EXTENDEDPRICE)->i64;
        for (int64_t i = 0; i < w->lines; i++)
            out[i] = tg_line_price(w, i);
    }
}

static void produce_rates(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, struct tg_batch *b)
{
    static const struct {
        int column;
        enum tg_stream stream;
        int max;
    } rates[2] = {{TG_L_DISCOUNT, TG_S_L_DISCOUNT, 10}, {TG_L_TAX, TG_S_L_TAX, 8}};
    for (int i = 0; i < 2; i++) {
        if (!tg_wants(b, TG_BIT(rates[i].column)))
            continue;
        tg_lines_draw(g, r, w, rates[i].stream, 1, 0, w->raw[0]);
        tg_map_i64(w->raw[0], w->lines, 0, rates[i].max, tg_column_of(b, rates[i].column)->i64);
    }
}

/* Lines received by today draw R or A; others are N and leave the draw to the next that
 * needs one, so the draws of an order are used up from its first line on. */
static void produce_flags(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, uint8_t *out)
{
    const uint32_t *draw = w->raw[0];
    tg_lines_draw(g, r, w, TG_S_L_FLAG, 1, 0, w->raw[0]);
    for (int64_t i = 0; i < w->lines; i++) {
        if (w->number[i] == 1)
            draw = w->raw[0] + i;
        const bool drawn = w->receipt[i] <= TG_DAY_TODAY;
        out[i] = drawn ? (uint8_t)tg_scale_small(*draw, 2) : FLAG_N;
        draw += drawn;
    }
    if (g->scheme == TG_JCCH)
        tg_skew_flags(r, w, FLAG_R, out);
}

static void copy_days(const int32_t *from, int64_t n, int32_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = from[i];
}

static void produce_dates(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, struct tg_batch *b)
{
    if (tg_wants(b,
                 TG_BIT(TG_L_SHIPDATE) | TG_BIT(TG_L_LINESTATUS) | TG_BIT(TG_L_RECEIPTDATE) | TG_BIT(TG_L_RETURNFLAG)))
        draw_ship_days(g, r, w);
    if (tg_wants(b, TG_BIT(TG_L_RECEIPTDATE) | TG_BIT(TG_L_RETURNFLAG)))
        draw_receipt_days(g, r, w);
    if (tg_wants(b, TG_BIT(TG_L_SHIPDATE)))
        copy_days(w->ship, w->lines, tg_column_of(b, TG_L_SHIPDATE)->i32);
    if (tg_wants(b, TG_BIT(TG_L_RECEIPTDATE)))
        copy_days(w->receipt, w->lines, tg_column_of(b, TG_L_RECEIPTDATE)->i32);
    if (tg_wants(b, TG_BIT(TG_L_RETURNFLAG)))
        produce_flags(g, r, w, tg_column_of(b, TG_L_RETURNFLAG)->code);
    if (tg_wants(b, TG_BIT(TG_L_LINESTATUS))) {
        uint8_t *out = tg_column_of(b, TG_L_LINESTATUS)->code;
        for (int64_t i = 0; i < w->lines; i++)
            out[i] = w->ship[i] <= TG_DAY_TODAY ? LINE_FILLED : LINE_OPEN;
    }
}

void tg_commit_days(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, int32_t *out)
{
    tg_lines_draw(g, r, w, TG_S_L_COMMIT, 1, 0, w->raw[0]);
    for (int64_t i = 0; i < w->lines; i++)
        out[i] = w->day[w->order[i]] + 30 + (int32_t)tg_scale_small(w->raw[0][i], 61);
}

/* Marked lines get entry 0 of either list: REG AIR, DELIVER IN PERSON. */
void tg_line_codes(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, enum tg_stream s,
                   uint32_t values, uint8_t *out)
{
    tg_lines_draw(g, r, w, s, 1, 0, w->raw[0]);
    tg_map_code(w->raw[0], w->lines, values, out);
    if (g->scheme == TG_JCCH)
        for (int64_t i = 0; i < w->lines; i++)
            out[i] = w->marked[i] ? 0 : out[i];
}

static bool needs_parts(const struct tg_gen *g, const struct tg_batch *b)
{
    uint64_t columns = TG_BIT(TG_L_PARTKEY) | TG_BIT(TG_L_SUPPKEY) | TG_BIT(TG_L_EXTENDEDPRICE);
    if (g->scheme == TG_JCCH)
        columns |= TG_BIT(TG_L_QUANTITY) | TG_BIT(TG_L_SHIPMODE) | TG_BIT(TG_L_SHIPINSTRUCT) | TG_BIT(TG_L_RETURNFLAG);
    return tg_wants(b, columns);
}

static void copy_keys(const int64_t *from, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = from[i];
}

static void produce_parts(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, struct tg_batch *b)
{
    tg_line_parts(g, r, w, tg_wants(b, TG_BIT(TG_L_SUPPKEY)));
    if (tg_wants(b, TG_BIT(TG_L_PARTKEY)))
        copy_keys(w->part, w->lines, tg_column_of(b, TG_L_PARTKEY)->i64);
    if (tg_wants(b, TG_BIT(TG_L_SUPPKEY)))
        copy_keys(w->supp, w->lines, tg_column_of(b, TG_L_SUPPKEY)->i64);
}

void tg_produce_lineitem(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    tg_order_lines(g, r, w);
    tg_order_days(g, r, w);
    produce_keys(r, w, b);
    if (needs_parts(g, b))
        produce_parts(g, r, w, b);
    produce_prices(g, r, w, b);
    produce_rates(g, r, w, b);
    produce_dates(g, r, w, b);
    if (tg_wants(b, TG_BIT(TG_L_COMMITDATE)))
        tg_commit_days(g, r, w, tg_column_of(b, TG_L_COMMITDATE)->i32);
    if (tg_wants(b, TG_BIT(TG_L_SHIPINSTRUCT)))
        tg_line_codes(g, r, w, TG_S_L_INSTRUCT, 4, tg_column_of(b, TG_L_SHIPINSTRUCT)->code);
    if (tg_wants(b, TG_BIT(TG_L_SHIPMODE)))
        tg_line_codes(g, r, w, TG_S_L_MODE, 7, tg_column_of(b, TG_L_SHIPMODE)->code);
    if (tg_wants(b, TG_BIT(TG_L_COMMENT)))
        tg_lines_text(g, r, b, TG_S_L_COMMENT, TG_L_COMMENT, 27);
}

/* ---- orders ----------------------------------------------------------------------------- */

/* What a line adds to its order's total; each division truncates. */
static inline int64_t line_total(int64_t price, int64_t disc, int64_t tax)
{
    return price * (100 - disc) / 100 * (100 + tax) / 100;
}

/* The reference keeps totals in 32 bits; only populous orders exceed them. */
static int64_t wrapped(int64_t total)
{
    return (int32_t)(uint32_t)(uint64_t)total;
}

int64_t tg_sum_lines(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    int64_t sum = 0;
    tg_lines_number(r, 1, w);
    tg_line_parts(g, r, w, false);
    tg_line_quantities(g, r, w);
    tg_line_rates(g, r, w);
    for (int64_t i = 0; i < w->lines; i++)
        sum += line_total(tg_line_price(w, i), w->disc[i], w->tax[i]);
    return sum;
}

void tg_order_totals(const struct tg_scratch *w, int64_t *out)
{
    for (int o = 0; o < w->orders; o++)
        out[o] = 0;
    for (int64_t i = 0; i < w->lines; i++)
        out[w->order[i]] += line_total(tg_line_price(w, i), w->disc[i], w->tax[i]);
}

static void produce_totals(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, int64_t *out)
{
    if (r->slice) {
        out[0] = wrapped(g->big_total[tg_populous_find(&g->big_orders, r->unit_begin)]);
        return;
    }
    tg_line_parts(g, r, w, false);
    tg_line_quantities(g, r, w);
    tg_line_rates(g, r, w);
    tg_order_totals(w, out);
}

/* F if all lines are filled, O if none is, else P; a populous order is always F. */
static void produce_states(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, uint8_t *out)
{
    if (r->slice) {
        out[0] = STATE_F;
        return;
    }
    draw_ship_days(g, r, w);
    int64_t at = 0;
    for (int o = 0; o < w->orders; o++) {
        int filled = 0;
        for (int l = 0; l < w->count[o]; l++)
            filled += w->ship[at + l] <= TG_DAY_TODAY;
        at += w->count[o];
        out[o] = filled == 0 ? STATE_O : filled == w->count[o] ? STATE_F : STATE_P;
    }
}

/* Every third customer never orders: the key moves up by one, then down by two... until it
 * is no multiple of three, and not beyond the last. */
static int64_t ordering_customer(int64_t c, int64_t customers)
{
    for (int64_t step = 1; c % 3 == 0; step = -step)
        c = c + step < customers ? c + step : customers;
    return c;
}

void tg_order_customers(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, int64_t *out)
{
    const int64_t n = r->unit_end - r->unit_begin;
    if (g->scheme == TG_JCCH) {
        tg_skew_order_customers(g, r, w->day, out);
        return;
    }
    tg_draw_rows(g, TG_S_O_CUSTOMER, r->unit_begin, n, 0, w->raw[0]);
    tg_map_i64(w->raw[0], n, 1, g->customers, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = ordering_customer(out[i], g->customers);
}

static void produce_clerks(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    tg_draw_rows(g, TG_S_O_CLERK, r->unit_begin, r->rows, 0, w->raw[0]);
    tg_map_i32(w->raw[0], r->rows, 1, (int32_t)(1000 * g->scale), w->length);
    tg_numbered_column(b, TG_O_CLERK, "Clerk#", 0, w->length);
}

/* Columns that need the lines.  For a populous order everything is known already. */
static void produce_sums(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    if (!tg_wants(b, TG_BIT(TG_O_TOTALPRICE) | TG_BIT(TG_O_ORDERSTATUS)))
        return;
    if (!r->slice)
        tg_order_lines(g, r, w);
    if (tg_wants(b, TG_BIT(TG_O_TOTALPRICE)))
        produce_totals(g, r, w, tg_column_of(b, TG_O_TOTALPRICE)->i64);
    if (tg_wants(b, TG_BIT(TG_O_ORDERSTATUS)))
        produce_states(g, r, w, tg_column_of(b, TG_O_ORDERSTATUS)->code);
}

static void produce_order_texts(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    if (tg_wants(b, TG_BIT(TG_O_CLERK)))
        produce_clerks(g, r, b);
    if (!tg_wants(b, TG_BIT(TG_O_COMMENT)))
        return;
    tg_text_column(g, b, TG_O_COMMENT, TG_S_O_COMMENT, r->unit_begin, 49);
    if (g->scheme == TG_JCCH)
        tg_skew_order_comments(g, r, b->scratch->day, tg_column_of(b, TG_O_COMMENT));
}

void tg_produce_orders(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    const int64_t n = r->rows, first = r->unit_begin;
    tg_order_days(g, r, w);
    if (tg_wants(b, TG_BIT(TG_O_ORDERKEY)))
        for (int64_t i = 0; i < n; i++)
            tg_column_of(b, TG_O_ORDERKEY)->i64[i] = tg_order_key(first + i + 1);
    if (tg_wants(b, TG_BIT(TG_O_CUSTKEY)))
        tg_order_customers(g, r, w, tg_column_of(b, TG_O_CUSTKEY)->i64);
    if (tg_wants(b, TG_BIT(TG_O_ORDERDATE)))
        copy_days(w->day, n, tg_column_of(b, TG_O_ORDERDATE)->i32);
    if (tg_wants(b, TG_BIT(TG_O_ORDERPRIORITY))) {
        tg_draw_rows(g, TG_S_O_PRIORITY, first, n, 0, w->raw[0]);
        tg_map_code(w->raw[0], n, 5, tg_column_of(b, TG_O_ORDERPRIORITY)->code);
    }
    if (tg_wants(b, TG_BIT(TG_O_SHIPPRIORITY)))
        for (int64_t i = 0; i < n; i++)
            tg_column_of(b, TG_O_SHIPPRIORITY)->i32[i] = 0;
    produce_sums(g, r, b);
    produce_order_texts(g, r, b);
}
