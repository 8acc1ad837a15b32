/* The generator object: scale, units and rows, cursors, batches; see gen_core.h. */
#include "gen_core.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_internal.h"
#include "gen_par.h"
#include "gen_pool.h"
#include "gen_skew.h"
#include "ssb/gen_ssb.h"

const struct tg_column_info tg_columns[TG_COLUMN_COUNT] = {
#define T_COL(table, id, name, kind, dict, max, used) {name, TG_##table, TG_##kind, max, used},
#include "gen_columns.def"
};

static const enum tg_dist column_dists[TG_COLUMN_COUNT] = {
#define T_COL(table, id, name, kind, dict, max, used) TG_D_##dict,
#include "gen_columns.def"
};

enum schema { schema_TPCH, schema_SSB, SCHEMA_COUNT };

static const struct {
    enum schema schema;
    const char *name;
    int first;
    tg_producer *produce;
    int lines;
    bool whole;
} tables[TG_TABLE_COUNT + 1] = {
#define T_TABLE(schema, id, name, first, produce, lines, whole) \
    {schema_##schema, name, TG_##first, tg_produce_##produce, lines, whole},
#include "gen_tables.def"
    {SCHEMA_COUNT, NULL, TG_COLUMN_COUNT, NULL, 0, false},
};

static enum schema schema_of(enum tg_scheme s)
{
    return s == TG_SSB ? schema_SSB : schema_TPCH;
}

/* The first table from t on that is in the schema, or is not. */
static int next_table(int t, enum schema s, bool inside)
{
    while (t < TG_TABLE_COUNT && (tables[t].schema == s) != inside)
        t++;
    return t;
}

int tg_first_table(enum tg_scheme s)
{
    return next_table(0, schema_of(s), true);
}

int tg_end_table(enum tg_scheme s)
{
    return next_table(tg_first_table(s), schema_of(s), false);
}

int tg_find_table(enum tg_scheme s, const char *name, size_t n)
{
    for (int t = tg_first_table(s); t < tg_end_table(s); t++)
        if (strlen(tables[t].name) == n && memcmp(tables[t].name, name, n) == 0)
            return t;
    return -1;
}

int tg_unit_rows(enum tg_table t)
{
    return tables[t].lines;
}

bool tg_table_whole(enum tg_table t)
{
    return tables[t].whole;
}

const char *tg_table_name(enum tg_table t)
{
    return tables[t].name;
}

int tg_first_column(enum tg_table t)
{
    return tables[t].first;
}

uint64_t tg_all_columns(enum tg_table t)
{
    uint64_t mask = 0;
    for (int c = tables[t].first; c < tables[t + 1].first; c++)
        mask |= TG_BIT(c);
    return mask;
}

uint64_t tg_used_columns(enum tg_table t)
{
    uint64_t mask = 0;
    for (int c = tables[t].first; c < tables[t + 1].first; c++)
        if (tg_columns[c].used)
            mask |= TG_BIT(c);
    return mask;
}

struct tg_dict tg_column_dict(int column)
{
    return tg_dists[column_dists[column]];
}

void tg_fail(struct tg_error *err, const char *path, int code, const char *format, ...)
{
    if (err == NULL)
        return;
    memset(err, 0, sizeof *err);
    snprintf(err->path, sizeof err->path, "%s", path);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (code != 0 && n >= 0 && (size_t)n < sizeof err->text) {
        char buffer[128];
        const char *reason = strerror_r(code, buffer, sizeof buffer);
        snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", reason);
    }
    err->user = code == 0;
}

/* ---- the generator ---------------------------------------------------------------------- */

/* A table's base size times the scale factor, as the reference rounds it. */
static int64_t scaled(const struct tg_options *o, int64_t base)
{
    if (o->sf >= 1)
        return base * (int64_t)o->sf;
    int64_t n = (int64_t)(1000.0 * o->sf) * base / 1000;
    return n > 0 ? n : 1;
}

static int check_options(const struct tg_options *o, struct tg_error *err)
{
    const bool jcch = o->scheme == TG_JCCH;
    const double min = jcch ? 0.003 : 0.001, max = jcch ? 1000 : 29999;
    if (!(o->sf >= min && o->sf <= max)) {
        tg_fail(err, "", 0, "scale factor %g is not in %g .. %g", o->sf, min, max);
        return -1;
    }
    if (o->chunks < 0 || o->chunk < 0 || o->chunk > o->chunks || (o->chunks > 0 && (o->chunk == 0 || !jcch))) {
        tg_fail(err, "", 0, "chunk %lld of %lld is not valid here", (long long)o->chunk, (long long)o->chunks);
        return -1;
    }
    return 0;
}

int tg_gen_new(const struct tg_options *o, struct tg_gen **out, struct tg_error *err)
{
    if (check_options(o, err) != 0)
        return -1;
    struct tg_gen *g = calloc(1, sizeof *g);
    if (g == NULL) {
        tg_fail(err, "", ENOMEM, "generator");
        return -1;
    }
    g->scheme = o->scheme;
    g->scale = o->sf >= 1 ? (int64_t)o->sf : 1;
    g->orders = scaled(o, 1500000);
    g->parts = scaled(o, 200000);
    g->suppliers = scaled(o, g->scheme == TG_SSB ? 2000 : 10000);
    g->customers = scaled(o, g->scheme == TG_SSB ? 30000 : 150000);
    if (g->scheme == TG_SSB)
        tg_ssb_init(g);
    if (g->scheme == TG_JCCH)
        tg_skew_init(g, o);
    *out = g;
    return 0;
}

int tg_gen_prepare(struct tg_gen *g, int threads, struct tg_error *err)
{
    threads = tg_thread_count(threads);
    if (g->scheme == TG_SSB)
        return 0;
    if (g->pool == NULL)
        g->pool = tg_pool_build(threads, g->pool_shift);
    if (g->pool == NULL) {
        tg_fail(err, "", errno, "text pool");
        return -1;
    }
    if (tg_skew_prepare(g, threads) != 0) {
        tg_fail(err, "", ENOMEM, "populous orders");
        return -1;
    }
    return 0;
}

void tg_gen_free(struct tg_gen *g)
{
    if (g == NULL)
        return;
    tg_pool_free(g->pool);
    free(g);
}

enum tg_scheme tg_gen_scheme(const struct tg_gen *g)
{
    return g->scheme;
}

const char *tg_gen_pool(const struct tg_gen *g)
{
    return g->pool;
}

/* ---- units and rows --------------------------------------------------------------------- */

int64_t tg_unit_count(const struct tg_gen *g, enum tg_table t)
{
    switch (t) {
    case TG_REGION: return 5;
    case TG_NATION: return 25;
    case TG_PART:
    case TG_SSB_PART:
    case TG_PARTSUPP: return g->parts;
    case TG_SUPPLIER:
    case TG_SSB_SUPPLIER: return g->suppliers;
    case TG_CUSTOMER:
    case TG_SSB_CUSTOMER: return g->customers;
    case TG_ORDERS:
    case TG_LINEITEM:
    case TG_SSB_LINEORDER: return g->orders;
    case TG_SSB_DATE: return TG_CALENDAR_DAYS;
    case TG_TABLE_COUNT: break;
    }
    return 0;
}

void tg_line_counts(const struct tg_gen *g, int64_t unit, int64_t n, uint32_t *raw, int32_t *count)
{
    if (g->scheme == TG_JCCH) {
        tg_skew_line_counts(unit, n, count);
        return;
    }
    tg_draw_rows(g, TG_S_O_LINES, unit, n, 0, raw);
    tg_map_i32(raw, n, 1, TG_MAX_LINES, count);
}

/* Lines of plain orders, drawn in blocks. */
static int64_t count_lines(const struct tg_gen *g, int64_t begin, int64_t end)
{
    enum { BLOCK = 2048 };
    uint32_t raw[BLOCK];
    int32_t count[BLOCK];
    int64_t sum = 0;
    for (; begin < end; begin += BLOCK) {
        int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        tg_line_counts(g, begin, n, raw, count);
        for (int64_t i = 0; i < n; i++)
            sum += count[i];
    }
    return sum;
}

int64_t tg_rows_between(const struct tg_gen *g, enum tg_table t, int64_t begin, int64_t end)
{
    if (tables[t].lines == 1)
        return end - begin;
    if (g->scheme == TG_JCCH)
        return tg_skew_rows_before(g, t, end) - tg_skew_rows_before(g, t, begin);
    return t == TG_PARTSUPP ? 4 * (end - begin) : count_lines(g, begin, end);
}

void tg_chunk_units(const struct tg_gen *g, enum tg_table t, int64_t i, int64_t n, int64_t *begin, int64_t *end)
{
    const int64_t units = tg_unit_count(g, t);
    if (tables[t].whole)
        i = n = 1;
    *begin = (i - 1) * (units / n);
    *end = i == n ? units : *begin + units / n;
}

int tg_populous_find(const struct tg_populous *p, int64_t unit)
{
    for (int i = 0; i < p->count; i++)
        if (p->unit[i] == unit)
            return i;
    return -1;
}

const struct tg_populous *tg_populous_of(const struct tg_gen *g, enum tg_table t)
{
    static const struct tg_populous none;
    if (t == TG_ORDERS || t == TG_LINEITEM)
        return &g->big_orders;
    return t == TG_PARTSUPP ? &g->big_parts : &none;
}

uint32_t tg_unit_state(const struct tg_gen *g, enum tg_stream s, int64_t unit, int64_t draw)
{
    uint64_t skip = (uint64_t)tg_streams[s].draws * (uint64_t)unit + (uint64_t)draw;
    if (g->scheme == TG_JCCH)
        skip += tg_skew_surplus(g, s, unit);
    return tg_state(s, skip);
}

void tg_draw_rows(const struct tg_gen *g, enum tg_stream s, int64_t unit, int64_t n, int draw, uint32_t *out)
{
    tg_sequence(tg_unit_state(g, s, unit, draw + 1), tg_power(tg_streams[s].draws), n, out);
}

/* ---- cursors ---------------------------------------------------------------------------- */

void tg_cursor_init(struct tg_cursor *c, const struct tg_gen *g, enum tg_table t, int64_t unit_begin, int64_t unit_end)
{
    *c = (struct tg_cursor){.gen = g, .table = t, .unit = unit_begin, .unit_end = unit_end, .row_end = -1};
    c->first_row = tg_rows_between(g, t, 0, unit_begin);
}

void tg_cursor_inside(struct tg_cursor *c, const struct tg_gen *g, const struct tg_range *r)
{
    *c = (struct tg_cursor){.gen = g,
                            .table = r->table,
                            .unit = r->unit_begin,
                            .unit_end = r->unit_end,
                            .row = r->slice ? r->row_begin : 0,
                            .row_end = r->slice ? r->row_end : -1,
                            .first_row = r->first_row};
}

/* The next rows of the populous unit under the cursor. */
static void claim_slice(struct tg_cursor *c, int64_t unit_rows, int64_t max_rows, struct tg_range *out)
{
    if (c->table == TG_ORDERS)
        unit_rows = 1;
    if (c->row_end >= 0)
        unit_rows = c->row_end;
    out->slice = true;
    out->row_begin = c->row;
    out->row_end = unit_rows - c->row < max_rows ? unit_rows : c->row + max_rows;
    out->unit_end = out->unit_begin + 1;
    out->rows = out->row_end - out->row_begin;
    c->row = out->row_end;
    if (c->row == unit_rows) {
        c->unit++;
        c->row = 0;
    }
}

/* Ordinary units up to the next populous one. */
static void claim_units(struct tg_cursor *c, const struct tg_populous *p, int64_t max_rows, struct tg_range *out)
{
    int64_t end = c->unit + max_rows / tables[c->table].lines;
    if (end > c->unit_end)
        end = c->unit_end;
    for (int i = 0; i < p->count; i++)
        if (p->unit[i] > c->unit && p->unit[i] < end)
            end = p->unit[i];
    out->unit_end = end;
    out->rows = tg_rows_between(c->gen, c->table, c->unit, end);
    c->unit = end;
}

bool tg_cursor_next(struct tg_cursor *c, int64_t max_rows, struct tg_range *out)
{
    if (c->unit >= c->unit_end)
        return false;
    const struct tg_populous *p = tg_populous_of(c->gen, c->table);
    *out = (struct tg_range){.table = c->table, .unit_begin = c->unit, .first_row = c->first_row};
    if (tg_populous_find(p, c->unit) >= 0)
        claim_slice(c, p->rows, max_rows, out);
    else
        claim_units(c, p, max_rows, out);
    c->first_row += out->rows;
    return true;
}

/* ---- batches ---------------------------------------------------------------------------- */

/* Hands out pieces of one block; with a NULL block it only measures. */
struct carver {
    char *block;
    size_t used;
};

static void *carve(struct carver *c, size_t count, size_t size)
{
    void *p = c->block != NULL ? c->block + c->used : NULL;
    c->used += (count * size + 63) / 64 * 64;
    return p;
}

static void carve_scratch(struct carver *c, struct tg_scratch *s, int64_t capacity)
{
    const size_t n = (size_t)capacity;
    s->capacity = capacity;
    s->start = carve(c, n, sizeof *s->start);
    for (int i = 0; i < 3; i++)
        s->raw[i] = carve(c, n, sizeof *s->raw[i]);
    s->count = carve(c, n, sizeof *s->count);
    s->day = carve(c, n, sizeof *s->day);
    s->order = carve(c, n, sizeof *s->order);
    s->number = carve(c, n, sizeof *s->number);
    s->part = carve(c, n, sizeof *s->part);
    s->supp = carve(c, n, sizeof *s->supp);
    s->qty = carve(c, n, sizeof *s->qty);
    s->disc = carve(c, n, sizeof *s->disc);
    s->tax = carve(c, n, sizeof *s->tax);
    s->ship = carve(c, n, sizeof *s->ship);
    s->receipt = carve(c, n, sizeof *s->receipt);
    s->marked = carve(c, n, sizeof *s->marked);
    s->length = carve(c, n, sizeof *s->length);
}

/* Texts are copied in blocks of 32 bytes, so their buffers run over by one block. */
static void carve_column(struct carver *c, const struct tg_column_info *info, size_t rows, struct tg_column *col)
{
    switch (info->kind) {
    case TG_I32:
    case TG_DAY: col->i32 = carve(c, rows, sizeof *col->i32); break;
    case TG_I64:
    case TG_MONEY: col->i64 = carve(c, rows, sizeof *col->i64); break;
    case TG_CODE: col->code = carve(c, rows, sizeof *col->code); break;
    case TG_TEXT:
        col->bytes = carve(c, rows * (size_t)info->max_bytes + 64, 1);
        col->offsets = carve(c, rows + 1, sizeof *col->offsets);
    }
}

static void carve_batch(struct carver *c, struct tg_batch *b)
{
    const size_t rows = (size_t)(b->max_rows + 2 * TG_LANES);
    const int first = tables[b->table].first, end = tables[b->table + 1].first;
    for (int i = first; i < end; i++)
        if (tg_wants(b, TG_BIT(i)))
            carve_column(c, &tg_columns[i], rows, &b->col[i - first]);
    int64_t lines = b->table == TG_ORDERS ? TG_MAX_LINES * b->max_rows : b->max_rows;
    carve_scratch(c, b->scratch, lines + 4 * TG_LANES);
}

struct tg_batch *tg_batch_new(enum tg_table t, uint64_t mask, int64_t max_rows)
{
    struct tg_batch *b = calloc(1, sizeof *b);
    struct tg_scratch *s = calloc(1, sizeof *s);
    struct carver c = {NULL, 0};
    if (b == NULL || s == NULL)
        goto fail;
    *b = (struct tg_batch){.table = t, .mask = mask & tg_all_columns(t), .max_rows = max_rows, .scratch = s};
    carve_batch(&c, b);
    c.block = s->memory = aligned_alloc(64, c.used);
    if (s->memory == NULL)
        goto fail;
    c.used = 0;
    carve_batch(&c, b);
    return b;
fail:
    free(s);
    free(b);
    return NULL;
}

void tg_batch_free(struct tg_batch *b)
{
    if (b == NULL)
        return;
    free(b->scratch->memory);
    free(b->scratch);
    free(b);
}

void tg_produce(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    b->rows = r->rows;
    tables[r->table].produce(g, r, b);
}
