/* Tables supplier, customer and part of the Star Schema Benchmark. */
#include "ssb/gen_ssb.h"

#include <string.h>

#include "tpch/gen_format.h"

#define CITIES 10 /* of a nation */
#define BRANDS 40 /* of a category */

static void produce_keys(const struct tg_range *r, struct tg_batch *b, int column)
{
    if (!tg_wants(b, TG_BIT(column)))
        return;
    int32_t *out = tg_column_of(b, column)->i32;
    for (int64_t i = 0; i < r->rows; i++)
        out[i] = (int32_t)(r->unit_begin + i + 1);
}

static void map_rows(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b, enum tg_stream s,
                     uint32_t values, uint8_t *out)
{
    tg_draw_rows(g, s, r->unit_begin, r->rows, 0, b->scratch->raw[0]);
    tg_map_code(b->scratch->raw[0], r->rows, values, out);
}

/* ---- supplier and customer --------------------------------------------------------------- */

struct party {
    enum tg_stream address, nation, city, phone;
    int c_key, c_name, c_address, c_city, c_nation, c_region, c_phone;
    const char *prefix;
};

static const struct party supplier = {
    .address = TG_S_S_ADDRESS,
    .nation = TG_S_S_NATION,
    .city = TG_S_SSB_S_CITY,
    .phone = TG_S_S_PHONE,
    .c_key = TG_SSB_S_SUPPKEY,
    .c_name = TG_SSB_S_NAME,
    .c_address = TG_SSB_S_ADDRESS,
    .c_city = TG_SSB_S_CITY,
    .c_nation = TG_SSB_S_NATION,
    .c_region = TG_SSB_S_REGION,
    .c_phone = TG_SSB_S_PHONE,
    .prefix = "Supplier#",
};
static const struct party customer = {
    .address = TG_S_C_ADDRESS,
    .nation = TG_S_C_NATION,
    .city = TG_S_SSB_C_CITY,
    .phone = TG_S_C_PHONE,
    .c_key = TG_SSB_C_CUSTKEY,
    .c_name = TG_SSB_C_NAME,
    .c_address = TG_SSB_C_ADDRESS,
    .c_city = TG_SSB_C_CITY,
    .c_nation = TG_SSB_C_NATION,
    .c_region = TG_SSB_C_REGION,
    .c_phone = TG_SSB_C_PHONE,
    .prefix = "Customer#",
};

/* City, nation, region and phone follow from the nation; the city draws a digit of its own. */
static void produce_place(const struct tg_gen *g, const struct party *p, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    int32_t *nation = w->qty;
    tg_draw_rows(g, p->nation, r->unit_begin, r->rows, 0, w->raw[0]);
    tg_map_i32(w->raw[0], r->rows, 0, 24, nation);
    if (tg_wants(b, TG_BIT(p->c_nation)))
        for (int64_t i = 0; i < r->rows; i++)
            tg_column_of(b, p->c_nation)->code[i] = (uint8_t)nation[i];
    if (tg_wants(b, TG_BIT(p->c_region)))
        for (int64_t i = 0; i < r->rows; i++)
            tg_column_of(b, p->c_region)->code[i] = (uint8_t)tg_dists[TG_D_nations].words[nation[i]].weight;
    if (tg_wants(b, TG_BIT(p->c_city))) {
        uint8_t *city = tg_column_of(b, p->c_city)->code;
        map_rows(g, r, b, p->city, CITIES, city);
        for (int64_t i = 0; i < r->rows; i++)
            city[i] = (uint8_t)(CITIES * nation[i] + city[i]);
    }
    if (tg_wants(b, TG_BIT(p->c_phone)))
        tg_phone_column(g, b, p->c_phone, p->phone, r->unit_begin, nation);
}

static void produce_party(const struct tg_gen *g, const struct party *p, const struct tg_range *r, struct tg_batch *b)
{
    produce_keys(r, b, p->c_key);
    if (tg_wants(b, TG_BIT(p->c_name)))
        tg_numbered_column(b, p->c_name, p->prefix, r->unit_begin + 1, NULL);
    if (tg_wants(b, TG_BIT(p->c_address)))
        tg_address_column(g, b, p->c_address, p->address, r->unit_begin, (struct tg_span){10, 25});
    if (tg_wants(b, TG_BIT(p->c_city) | TG_BIT(p->c_nation) | TG_BIT(p->c_region) | TG_BIT(p->c_phone)))
        produce_place(g, p, r, b);
}

void tg_produce_ssb_supplier(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    produce_party(g, &supplier, r, b);
}

void tg_produce_ssb_customer(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    produce_party(g, &customer, r, b);
    if (tg_wants(b, TG_BIT(TG_SSB_C_MKTSEGMENT)))
        map_rows(g, r, b, TG_S_C_SEGMENT, 5, tg_column_of(b, TG_SSB_C_MKTSEGMENT)->code);
}

/* ---- part --------------------------------------------------------------------------------- */

/* A maker has five categories, a category forty brands: category `ab` is number 5(a-1)+(b-1). */
static void produce_brands(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    uint8_t *category = w->marked;
    map_rows(g, r, b, TG_S_P_MFGR, 5, category);
    if (tg_wants(b, TG_BIT(TG_SSB_P_MFGR)))
        memcpy(tg_column_of(b, TG_SSB_P_MFGR)->code, category, (size_t)r->rows);
    tg_draw_rows(g, TG_S_SSB_P_CATEGORY, r->unit_begin, r->rows, 0, w->raw[0]);
    for (int64_t i = 0; i < r->rows; i++)
        category[i] = (uint8_t)(5 * category[i] + tg_scale_small(w->raw[0][i], 5));
    if (tg_wants(b, TG_BIT(TG_SSB_P_CATEGORY)))
        memcpy(tg_column_of(b, TG_SSB_P_CATEGORY)->code, category, (size_t)r->rows);
    if (!tg_wants(b, TG_BIT(TG_SSB_P_BRAND1)))
        return;
    struct tg_column *brand = tg_column_of(b, TG_SSB_P_BRAND1);
    tg_draw_rows(g, TG_S_SSB_P_BRAND1, r->unit_begin, r->rows, 0, w->raw[0]);
    brand->offsets[0] = 0;
    for (int64_t i = 0; i < r->rows; i++) {
        char *p = brand->bytes + brand->offsets[i];
        p = tg_put_word(p, &tg_dists[TG_D_ssb_categories].words[category[i]]);
        p = tg_put_u32(p, 1 + tg_scale_small(w->raw[0][i], BRANDS));
        brand->offsets[i + 1] = (int32_t)(p - brand->bytes);
    }
}

/* The first of a part's colours is its own, the next two are its name. */
static void produce_names(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    const struct tg_word *words = tg_dists[TG_D_colors].words;
    struct tg_column *color = tg_column_of(b, TG_SSB_P_COLOR), *name = tg_column_of(b, TG_SSB_P_NAME);
    const bool want_color = tg_wants(b, TG_BIT(TG_SSB_P_COLOR)), want_name = tg_wants(b, TG_BIT(TG_SSB_P_NAME));
    uint32_t *x = b->scratch->raw[0];
    tg_draw_rows(g, TG_S_P_NAME, r->unit_begin, r->rows, 0, x);
    if (want_name)
        name->offsets[0] = 0;
    for (int64_t i = 0; i < r->rows; i++) {
        uint8_t picked[3];
        tg_part_colors(x[i], 3, picked);
        if (want_color)
            color->code[i] = picked[0];
        if (!want_name)
            continue;
        char *p = tg_put_word(name->bytes + name->offsets[i], &words[picked[1]]);
        *p++ = ' ';
        p = tg_put_word(p, &words[picked[2]]);
        name->offsets[i + 1] = (int32_t)(p - name->bytes);
    }
}

void tg_produce_ssb_part(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    produce_keys(r, b, TG_SSB_P_PARTKEY);
    if (tg_wants(b, TG_BIT(TG_SSB_P_NAME) | TG_BIT(TG_SSB_P_COLOR)))
        produce_names(g, r, b);
    if (tg_wants(b, TG_BIT(TG_SSB_P_MFGR) | TG_BIT(TG_SSB_P_CATEGORY) | TG_BIT(TG_SSB_P_BRAND1)))
        produce_brands(g, r, b);
    if (tg_wants(b, TG_BIT(TG_SSB_P_TYPE)))
        map_rows(g, r, b, TG_S_P_TYPE, 150, tg_column_of(b, TG_SSB_P_TYPE)->code);
    if (tg_wants(b, TG_BIT(TG_SSB_P_SIZE))) {
        tg_draw_rows(g, TG_S_P_SIZE, r->unit_begin, r->rows, 0, b->scratch->raw[0]);
        tg_map_i32(b->scratch->raw[0], r->rows, 1, 50, tg_column_of(b, TG_SSB_P_SIZE)->i32);
    }
    if (tg_wants(b, TG_BIT(TG_SSB_P_CONTAINER)))
        map_rows(g, r, b, TG_S_P_CONTAINER, 40, tg_column_of(b, TG_SSB_P_CONTAINER)->code);
}
