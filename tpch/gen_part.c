/* Tables part and partsupp. */
#include <string.h>

#include "gen_internal.h"
#include "gen_lines.h"
#include "gen_skew.h"

static void map_rows(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b, enum tg_stream s,
                     uint32_t values, uint8_t *out)
{
    tg_draw_rows(g, s, r->unit_begin, r->rows, 0, b->scratch->raw[0]);
    tg_map_code(b->scratch->raw[0], r->rows, values, out);
}

/* Brand `ab` is number 5(a-1)+(b-1) of the dictionary; a is the manufacturer's digit. */
static void produce_makers(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    uint8_t *brand = tg_column_of(b, TG_P_BRAND)->code;
    struct tg_scratch *w = b->scratch;
    if (tg_wants(b, TG_BIT(TG_P_MFGR)))
        map_rows(g, r, b, TG_S_P_MFGR, 5, tg_column_of(b, TG_P_MFGR)->code);
    if (!tg_wants(b, TG_BIT(TG_P_BRAND)))
        return;
    tg_draw_rows(g, TG_S_P_MFGR, r->unit_begin, r->rows, 0, w->raw[0]);
    tg_draw_rows(g, TG_S_P_BRAND, r->unit_begin, r->rows, 0, w->raw[1]);
    for (int64_t i = 0; i < r->rows; i++)
        brand[i] = (uint8_t)(5 * tg_scale_small(w->raw[0][i], 5) + tg_scale_small(w->raw[1][i], 5));
}

/* The head of a shuffle of all colours.  Only its first swaps matter; the draws of the others are
 * skipped with the row. */
void tg_part_colors(uint32_t x, uint32_t n, uint8_t *color)
{
    uint8_t order[92];
    for (int i = 0; i < 92; i++)
        order[i] = (uint8_t)i;
    for (uint32_t i = 0; i < n; i++, x = tg_next(x)) {
        uint32_t j = i + tg_scale_small(x, 92 - i);
        color[i] = order[j];
        order[j] = order[i];
    }
}

static char *put_name(char *out, uint32_t x)
{
    enum { COLORS = 5 };
    const struct tg_dict colors = tg_dists[TG_D_colors];
    uint8_t color[COLORS];
    tg_part_colors(x, COLORS, color);
    for (int i = 0; i < COLORS; i++) {
        memcpy(out, colors.words[color[i]].text, 16);
        out += colors.words[color[i]].len;
        *out++ = ' ';
    }
    return out - 1;
}

static void produce_names(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_column *c = tg_column_of(b, TG_P_NAME);
    uint32_t *x = b->scratch->raw[0];
    tg_draw_rows(g, TG_S_P_NAME, r->unit_begin, r->rows, 0, x);
    c->offsets[0] = 0;
    for (int64_t i = 0; i < r->rows; i++) {
        char *p = c->bytes + c->offsets[i], *end;
        if (g->scheme == TG_JCCH && tg_skew_hot_part(g, r->unit_begin + i))
            end = (char *)memcpy(p, "shiny mined gold", 16) + 16;
        else
            end = put_name(p, x[i]);
        c->offsets[i + 1] = (int32_t)(end - c->bytes);
    }
}

static void produce_sizes(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    uint32_t *raw = b->scratch->raw[0];
    tg_draw_rows(g, TG_S_P_SIZE, r->unit_begin, r->rows, 0, raw);
    tg_map_i32(raw, r->rows, 1, 50, tg_column_of(b, TG_P_SIZE)->i32);
}

void tg_produce_part(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    const int64_t first = r->unit_begin;
    if (tg_wants(b, TG_BIT(TG_P_PARTKEY)))
        for (int64_t i = 0; i < r->rows; i++)
            tg_column_of(b, TG_P_PARTKEY)->i64[i] = first + i + 1;
    if (tg_wants(b, TG_BIT(TG_P_RETAILPRICE)))
        for (int64_t i = 0; i < r->rows; i++)
            tg_column_of(b, TG_P_RETAILPRICE)->i64[i] = tg_retail_price(first + i + 1);
    if (tg_wants(b, TG_BIT(TG_P_NAME)))
        produce_names(g, r, b);
    if (tg_wants(b, TG_BIT(TG_P_MFGR) | TG_BIT(TG_P_BRAND)))
        produce_makers(g, r, b);
    if (tg_wants(b, TG_BIT(TG_P_TYPE)))
        map_rows(g, r, b, TG_S_P_TYPE, 150, tg_column_of(b, TG_P_TYPE)->code);
    if (tg_wants(b, TG_BIT(TG_P_SIZE)))
        produce_sizes(g, r, b);
    if (tg_wants(b, TG_BIT(TG_P_CONTAINER)))
        map_rows(g, r, b, TG_S_P_CONTAINER, 40, tg_column_of(b, TG_P_CONTAINER)->code);
    if (tg_wants(b, TG_BIT(TG_P_COMMENT)))
        tg_text_column(g, b, TG_P_COMMENT, TG_S_P_COMMENT, first, 14);
    if (g->scheme == TG_JCCH)
        tg_skew_parts(g, r, b);
}

/* ---- partsupp --------------------------------------------------------------------------- */

int64_t tg_part_supplier(int64_t suppliers, int64_t p, int64_t i)
{
    /* Parts are twenty times the suppliers, so all this is below 24 times their number:
     * division of 32 bits, several times faster, serves up to scale factor 16000. */
    if (suppliers < 160000000) {
        const uint32_t s = (uint32_t)suppliers, k = (uint32_t)p;
        return (k + (uint32_t)i * (s / 4 + (k - 1) / s)) % s + 1;
    }
    return (p + i * (suppliers / 4 + (p - 1) / suppliers)) % suppliers + 1;
}

static void number_suppliers(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w)
{
    const int64_t units = r->unit_end - r->unit_begin;
    if (!r->slice)
        for (int64_t u = 0; u < units; u++)
            w->count[u] = g->scheme == TG_PLAIN || r->unit_begin + u < g->extra_parts_end ? 4 : 3;
    tg_lines_number(r, units, w);
}

static void produce_suppliers(const struct tg_gen *g, const struct tg_range *r, const struct tg_scratch *w,
                              int64_t *out)
{
    if (g->scheme == TG_JCCH) {
        tg_skew_part_suppliers(g, r, w, out);
        return;
    }
    for (int64_t i = 0; i < w->lines; i++)
        out[i] = tg_part_supplier(g->suppliers, r->unit_begin + w->order[i] + 1, w->number[i] - 1);
}

static void produce_stock(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, int64_t *out)
{
    if (r->slice) {
        for (int64_t i = 0; i < w->lines; i++)
            out[i] = 4000000 * g->scale;
        return;
    }
    tg_lines_draw(g, r, w, TG_S_PS_QTY, 1, 0, w->raw[0]);
    tg_map_i64(w->raw[0], w->lines, 1, 9999, out);
}

void tg_produce_partsupp(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    struct tg_scratch *w = b->scratch;
    number_suppliers(g, r, w);
    if (tg_wants(b, TG_BIT(TG_PS_PARTKEY)))
        for (int64_t i = 0; i < w->lines; i++)
            tg_column_of(b, TG_PS_PARTKEY)->i64[i] = r->unit_begin + w->order[i] + 1;
    if (tg_wants(b, TG_BIT(TG_PS_SUPPKEY)))
        produce_suppliers(g, r, w, tg_column_of(b, TG_PS_SUPPKEY)->i64);
    if (tg_wants(b, TG_BIT(TG_PS_AVAILQTY)))
        produce_stock(g, r, w, tg_column_of(b, TG_PS_AVAILQTY)->i64);
    if (tg_wants(b, TG_BIT(TG_PS_SUPPLYCOST))) {
        tg_lines_draw(g, r, w, TG_S_PS_COST, 1, 0, w->raw[0]);
        tg_map_i64(w->raw[0], w->lines, 100, 100000, tg_column_of(b, TG_PS_SUPPLYCOST)->i64);
    }
    if (tg_wants(b, TG_BIT(TG_PS_COMMENT)))
        tg_lines_text(g, r, b, TG_S_PS_COMMENT, TG_PS_COMMENT, 124);
}
