/* Tables region, nation, supplier and customer. */
#include <string.h>

#include "gen_internal.h"
#include "gen_skew.h"

static void produce_keys(struct tg_batch *b, int column, int64_t first)
{
    if (!tg_wants(b, TG_BIT(column)))
        return;
    int64_t *out = tg_column_of(b, column)->i64;
    for (int64_t i = 0; i < b->rows; i++)
        out[i] = first + i;
}

/* Entry i of the dictionary names row i. */
static void produce_codes(struct tg_batch *b, int column, int64_t first)
{
    if (!tg_wants(b, TG_BIT(column)))
        return;
    uint8_t *out = tg_column_of(b, column)->code;
    for (int64_t i = 0; i < b->rows; i++)
        out[i] = (uint8_t)(first + i);
}

void tg_produce_region(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    produce_keys(b, TG_R_REGIONKEY, r->unit_begin);
    produce_codes(b, TG_R_NAME, r->unit_begin);
    if (tg_wants(b, TG_BIT(TG_R_COMMENT)))
        tg_text_column(g, b, TG_R_COMMENT, TG_S_R_COMMENT, r->unit_begin, 72);
}

void tg_produce_nation(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    produce_keys(b, TG_N_NATIONKEY, r->unit_begin);
    produce_codes(b, TG_N_NAME, r->unit_begin);
    if (tg_wants(b, TG_BIT(TG_N_REGIONKEY)))
        for (int64_t i = 0; i < r->rows; i++)
            tg_column_of(b, TG_N_REGIONKEY)->i64[i] = tg_dists[TG_D_nations].words[r->unit_begin + i].weight;
    if (tg_wants(b, TG_BIT(TG_N_COMMENT)))
        tg_text_column(g, b, TG_N_COMMENT, TG_S_N_COMMENT, r->unit_begin, 72);
}

/* ---- what suppliers and customers have in common ---------------------------------------- */

struct party {
    enum tg_stream address, nation, phone, balance;
    int c_key, c_name, c_address, c_nation, c_phone, c_balance;
    const char *prefix;
};

static const struct party supplier = {
    TG_S_S_ADDRESS, TG_S_S_NATION,  TG_S_S_PHONE, TG_S_S_BALANCE, TG_S_SUPPKEY, TG_S_NAME,
    TG_S_ADDRESS,   TG_S_NATIONKEY, TG_S_PHONE,   TG_S_ACCTBAL,   "Supplier#",
};
static const struct party customer = {
    TG_S_C_ADDRESS, TG_S_C_NATION,  TG_S_C_PHONE, TG_S_C_BALANCE, TG_C_CUSTKEY, TG_C_NAME,
    TG_C_ADDRESS,   TG_C_NATIONKEY, TG_C_PHONE,   TG_C_ACCTBAL,   "Customer#",
};

/* Nation and phone; the skew replaces the nation after the phone has used the drawn one. */
static void produce_place(const struct tg_gen *g, const struct party *p, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    tg_draw_rows(g, p->nation, r->unit_begin, r->rows, 0, w->raw[0]);
    tg_map_i32(w->raw[0], r->rows, 0, 24, w->qty);
    if (tg_wants(b, TG_BIT(p->c_phone)))
        tg_phone_column(g, b, p->c_phone, p->phone, r->unit_begin, w->qty);
    if (!tg_wants(b, TG_BIT(p->c_nation)))
        return;
    if (g->scheme == TG_JCCH)
        tg_skew_nations(p == &supplier ? &g->supplier_perm : &g->customer_perm, r->unit_begin, r->rows, w->qty);
    for (int64_t i = 0; i < r->rows; i++)
        tg_column_of(b, p->c_nation)->i64[i] = w->qty[i];
}

static void produce_party(const struct tg_gen *g, const struct party *p, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    produce_keys(b, p->c_key, r->unit_begin + 1);
    if (tg_wants(b, TG_BIT(p->c_name)))
        tg_numbered_column(b, p->c_name, p->prefix, r->unit_begin + 1, NULL);
    if (tg_wants(b, TG_BIT(p->c_address)))
        tg_address_column(g, b, p->c_address, p->address, r->unit_begin, (struct tg_span){10, 40});
    if (tg_wants(b, TG_BIT(p->c_nation) | TG_BIT(p->c_phone)))
        produce_place(g, p, r, b);
    if (tg_wants(b, TG_BIT(p->c_balance))) {
        tg_draw_rows(g, p->balance, r->unit_begin, r->rows, 0, w->raw[0]);
        tg_map_i64(w->raw[0], r->rows, -99999, 999999, tg_column_of(b, p->c_balance)->i64);
    }
}

/* ---- supplier --------------------------------------------------------------------------- */

/* Supplier unit u mentions customers who complain or recommend: ten of 10000 do. */
static void put_opinion(const struct tg_gen *g, int64_t u, char *text, int32_t length)
{
    uint32_t kind = tg_unit_state(g, TG_S_S_KIND, u, 1);
    uint32_t gap = tg_unit_state(g, TG_S_S_GAP, u, 1);
    uint32_t position = tg_unit_state(g, TG_S_S_POSITION, u, 1);
    uint32_t room = (uint32_t)length - 19;
    uint32_t distance = tg_scale_small(gap, room + 1);
    char *p = text + tg_scale_small(position, room - distance + 1);
    memcpy(p, "Customer ", 9);
    memcpy(p + 9 + distance, tg_scale_small(kind, 101) < 50 ? "Complaints" : "Recommends", 10);
}

static void produce_supplier_comments(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    struct tg_column *c = tg_column_of(b, TG_S_COMMENT);
    tg_draw_rows(g, TG_S_S_COMMENT, r->unit_begin, r->rows, 0, w->raw[0]);
    tg_draw_rows(g, TG_S_S_COMMENT, r->unit_begin, r->rows, 1, w->raw[1]);
    tg_text_places(w->raw[0], w->raw[1], r->rows, tg_span_of(63), w->length);
    if (g->scheme == TG_JCCH)
        tg_skew_silence(g, r, w->length);
    tg_text_copy(g, w->raw[0], w->length, r->rows, c);
    tg_draw_rows(g, TG_S_S_WHETHER, r->unit_begin, r->rows, 0, w->raw[2]);
    for (int64_t i = 0; i < r->rows; i++)
        if (tg_scale_small(w->raw[2][i], 10000) < 10 && w->length[i] > 0)
            put_opinion(g, r->unit_begin + i, c->bytes + c->offsets[i], w->length[i]);
}

void tg_produce_supplier(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    produce_party(g, &supplier, r, b);
    if (tg_wants(b, TG_BIT(TG_S_COMMENT)))
        produce_supplier_comments(g, r, b);
}

/* ---- customer --------------------------------------------------------------------------- */

void tg_produce_customer(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    produce_party(g, &customer, r, b);
    if (tg_wants(b, TG_BIT(TG_C_MKTSEGMENT))) {
        tg_draw_rows(g, TG_S_C_SEGMENT, r->unit_begin, r->rows, 0, b->scratch->raw[0]);
        tg_map_code(b->scratch->raw[0], r->rows, 5, tg_column_of(b, TG_C_MKTSEGMENT)->code);
    }
    if (tg_wants(b, TG_BIT(TG_C_COMMENT)))
        tg_text_column(g, b, TG_C_COMMENT, TG_S_C_COMMENT, r->unit_begin, 73);
    if (g->scheme == TG_JCCH && tg_wants(b, TG_BIT(TG_C_PHONE)))
        tg_skew_phones(g, r, tg_column_of(b, TG_C_PHONE)->bytes);
}
