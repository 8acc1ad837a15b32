/* JCC-H's skew; see gen_skew.h.
 *
 * Every key has a hash: its place in a pseudo-random permutation of 0..n-1.  The hash decides
 * the region (mod 5 or by fifths) and who is populous, so that correlated joins can be built
 * from the row number alone.  Names below: h is a hash, k a key (from 1), u = k-1 a unit. */
#include "gen_skew.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gen_par.h"

#define PERM_FACTOR UINT64_C(1442968193)
#define PERM_OFFSET UINT64_C(792606555396977)

#define POPULOUS_ORDERS 5
#define POPULOUS_PARTS  20
#define BUSY_SUPPLIERS  4     /* per region */
#define EXTRA_SUPPLIERS 60    /* parts with a fourth supplier */
#define SUM_SLICE       65536 /* lines that one thread sums at a time */

/* ---- permutations ----------------------------------------------------------------------- */

/* Least v >= 3 with factor*v = 1 modulo n, by Euclid's algorithm. */
static uint64_t inverse_of(uint64_t factor, uint64_t n)
{
    int64_t a = (int64_t)(factor % n), b = (int64_t)n, x = 1, y = 0;
    while (a > 1 && b != 0) {
        int64_t q = a / b, t = a - q * b;
        a = b;
        b = t;
        t = x - q * y;
        x = y;
        y = t;
    }
    x %= (int64_t)n;
    if (x < 0)
        x += (int64_t)n;
    return (uint64_t)(x < 3 ? x + (int64_t)n : x);
}

static struct tg_perm perm_of(int64_t rows)
{
    const uint64_t n = (uint64_t)rows;
    uint64_t top = 1;
    while (2 * top < n)
        top *= 2;
    return (struct tg_perm){n, PERM_OFFSET & (top - 1), inverse_of(PERM_FACTOR, n)};
}

static int64_t hash_of(const struct tg_perm *p, int64_t unit)
{
    return (int64_t)(((uint64_t)unit * PERM_FACTOR + p->add) % p->n);
}

static int64_t key_of(const struct tg_perm *p, int64_t hash)
{
    return (int64_t)(((uint64_t)hash + p->n - p->add) * p->inverse % p->n) + 1;
}

/* ---- populous units --------------------------------------------------------------------- */

static void add_populous(struct tg_populous *p, const struct tg_perm *perm, int64_t hash)
{
    const int64_t unit = key_of(perm, hash) - 1;
    int i = p->count++;
    for (; i > 0 && p->unit[i - 1] > unit; i--) {
        p->unit[i] = p->unit[i - 1];
        p->hash[i] = p->hash[i - 1];
    }
    p->unit[i] = unit;
    p->hash[i] = hash;
}

/* Unit behind the last part that has a fourth supplier: the first 60 ordinary ones do. */
static int64_t extra_parts_end(const struct tg_gen *g)
{
    int64_t ordinary = 0, unit = 0;
    for (; ordinary < EXTRA_SUPPLIERS; unit++)
        ordinary += tg_populous_find(&g->big_parts, unit) < 0;
    return unit;
}

/* Suppliers without comments at the head of the table delay the pool's random stream, because
 * the reference builds the pool at the first comment. */
static uint64_t pool_shift(const struct tg_gen *g, int64_t first)
{
    uint64_t n = 0;
    while (hash_of(&g->supplier_perm, first + (int64_t)n) % (g->suppliers / 5) < BUSY_SUPPLIERS)
        n++;
    return n;
}

void tg_skew_init(struct tg_gen *g, const struct tg_options *o)
{
    int64_t first_supplier = 0, end;
    g->part_perm = perm_of(g->parts);
    g->supplier_perm = perm_of(g->suppliers);
    g->customer_perm = perm_of(g->customers);
    g->order_perm = perm_of(g->orders);
    g->big_orders.rows = g->orders / 5;
    for (int h = 0; h < POPULOUS_ORDERS; h++)
        add_populous(&g->big_orders, &g->order_perm, h);
    g->big_parts.rows = g->suppliers;
    for (int h = 0; h < POPULOUS_PARTS; h++)
        add_populous(&g->big_parts, &g->part_perm, h);
    g->hot_parts = 149 * (g->parts / 150) / 5 * 5;
    g->extra_parts_end = extra_parts_end(g);
    if (o->chunks > 0) {
        tg_chunk_units(g, TG_ORDERS, o->chunk, o->chunks, &g->surplus_order, &end);
        tg_chunk_units(g, TG_PART, o->chunk, o->chunks, &g->surplus_part, &end);
        tg_chunk_units(g, TG_SUPPLIER, o->chunk, o->chunks, &first_supplier, &end);
    }
    g->pool_shift = pool_shift(g, first_supplier);
}

/* Draws of a populous unit with this hash beyond the normal number. */
static int64_t surplus_of(const struct tg_gen *g, enum tg_stream s, int64_t hash)
{
    const int64_t lines = g->big_orders.rows, suppliers = g->big_parts.rows;
    switch ((int)s) {
    case TG_S_L_QTY:
    case TG_S_L_DISCOUNT:
    case TG_S_L_TAX:
    case TG_S_L_INSTRUCT:
    case TG_S_L_MODE:
    case TG_S_L_SHIP:
    case TG_S_L_COMMIT:
    case TG_S_L_RECEIPT: return lines - 7;
    case TG_S_L_COMMENT: return 2 * lines - 14;
    /* All lines of 1992 to 1994 are received by today and draw, none of 1997 and 1998 do. */
    case TG_S_L_FLAG: return hash < 3 ? lines - 7 : 0;
    case TG_S_PS_COST: return suppliers - 4;
    case TG_S_PS_COMMENT: return 2 * suppliers - 8;
    default: return 0;
    }
}

uint64_t tg_skew_surplus(const struct tg_gen *g, enum tg_stream s, int64_t unit)
{
    const bool of_part = s == TG_S_PS_COST || s == TG_S_PS_COMMENT;
    const struct tg_populous *p = of_part ? &g->big_parts : &g->big_orders;
    const int64_t from = of_part ? g->surplus_part : g->surplus_order;
    int64_t sum = 0;
    for (int i = 0; i < p->count; i++)
        if (p->unit[i] >= from && p->unit[i] < unit)
            sum += surplus_of(g, s, p->hash[i]);
    return (uint64_t)sum;
}

/* Ordinary orders have three lines, the first fifteen rows four. */
static int ordinary_lines(int64_t unit)
{
    return unit < 15 ? 4 : 3;
}

void tg_skew_line_counts(int64_t unit, int64_t n, int32_t *count)
{
    for (int64_t i = 0; i < n; i++)
        count[i] = ordinary_lines(unit + i);
}

int64_t tg_skew_rows_before(const struct tg_gen *g, enum tg_table t, int64_t unit)
{
    const struct tg_populous *p = tg_populous_of(g, t);
    int64_t rows = 3 * unit, ordinary = unit;
    for (int i = 0; i < p->count && p->unit[i] < unit; i++) {
        ordinary--;
        rows += p->rows - (t == TG_LINEITEM ? ordinary_lines(p->unit[i]) : 3);
    }
    if (t == TG_LINEITEM)
        return rows + (unit < 15 ? unit : 15);
    return rows + (ordinary < EXTRA_SUPPLIERS ? ordinary : EXTRA_SUPPLIERS);
}

/* ---- totals of populous orders ---------------------------------------------------------- */

struct sum_job {
    const struct tg_gen *g;
    int64_t slices; /* per order */
    atomic_llong next;
    atomic_llong total[POPULOUS_ORDERS];
    atomic_bool no_memory;
};

static void sum_slice(struct sum_job *job, int64_t slice, struct tg_batch *b)
{
    const struct tg_populous *p = &job->g->big_orders;
    const int64_t order = slice / job->slices, begin = slice % job->slices * SUM_SLICE;
    const int64_t end = begin + SUM_SLICE < p->rows ? begin + SUM_SLICE : p->rows;
    struct tg_range part, whole = {.table = TG_LINEITEM,
                                   .unit_begin = p->unit[order],
                                   .unit_end = p->unit[order] + 1,
                                   .slice = true,
                                   .row_begin = begin,
                                   .row_end = end};
    struct tg_cursor c;
    int64_t sum = 0;
    tg_cursor_inside(&c, job->g, &whole);
    while (tg_cursor_next(&c, b->max_rows, &part))
        sum += tg_sum_lines(job->g, &part, b);
    atomic_fetch_add(&job->total[order], sum);
}

static void sum_slices(void *arg, int index)
{
    struct sum_job *job = arg;
    const int64_t slices = job->g->big_orders.count * job->slices;
    struct tg_batch *b = tg_batch_new(TG_LINEITEM, 0, 4096);
    (void)index;
    if (b == NULL)
        atomic_store(&job->no_memory, true);
    else
        for (int64_t i; (i = atomic_fetch_add(&job->next, 1)) < slices;)
            sum_slice(job, i, b);
    tg_batch_free(b);
}

int tg_skew_prepare(struct tg_gen *g, int threads)
{
    if (g->scheme != TG_JCCH)
        return 0;
    struct sum_job job = {.g = g};
    job.slices = (g->big_orders.rows + SUM_SLICE - 1) / SUM_SLICE;
    tg_parallel(threads, sum_slices, &job);
    for (int i = 0; i < g->big_orders.count; i++)
        g->big_total[i] = atomic_load(&job.total[i]);
    return atomic_load(&job.no_memory) ? -1 : 0;
}

/* ---- supplier and customer -------------------------------------------------------------- */

/* By region: the nation where nine tenths live, then four small ones. */
static const int8_t region_nations[5][5] = {
    {15, 0, 5, 14, 16}, {24, 1, 2, 3, 17}, {18, 9, 12, 21, 8}, {7, 6, 22, 19, 23}, {4, 10, 11, 13, 20},
};

/* In doubles, in this order: rounding decides at the borders, exact arithmetic differs. */
static int nation_of(double h, double n)
{
    const int region = (int)(h / (0.2 * n));
    const int64_t behind = (int64_t)(h - ((0.18 + region * 0.2) * n));
    const int place = behind > 0 ? 1 + (int)((double)(4 * behind) / (0.02 * n)) : 0;
    return region_nations[region][place];
}

void tg_skew_nations(const struct tg_perm *p, int64_t unit, int64_t n, int32_t *nation)
{
    for (int64_t i = 0; i < n; i++)
        nation[i] = nation_of((double)hash_of(p, unit + i), (double)p->n);
}

void tg_skew_silence(const struct tg_gen *g, const struct tg_range *r, int32_t *length)
{
    for (int64_t i = 0; i < r->rows; i++)
        if (hash_of(&g->supplier_perm, r->unit_begin + i) % (g->suppliers / 5) < BUSY_SUPPLIERS)
            length[i] = 0;
}

/* The five whales, one per region, answer at country codes 40 to 80. */
void tg_skew_phones(const struct tg_gen *g, const struct tg_range *r, char *bytes)
{
    const int64_t fifth = g->customers / 5;
    for (int64_t i = 0; i < r->rows; i++) {
        const int64_t h = hash_of(&g->customer_perm, r->unit_begin + i);
        if (h % fifth != 0)
            continue;
        bytes[15 * i] = (char)('4' + h / fifth);
        bytes[15 * i + 1] = '0';
    }
}

/* ---- part and its suppliers ------------------------------------------------------------- */

enum { BRAND_15 = 4, BRAND_55 = 24, CONTAINER_LG_BOX = 9, TYPE_GOLD = 150 };

bool tg_skew_hot_part(const struct tg_gen *g, int64_t unit)
{
    return tg_populous_find(&g->big_parts, unit) >= 0;
}

/* What the skew may change in one part. */
struct part {
    int brand, type, size, container;
};

static void skew_part(const struct tg_gen *g, int64_t hash, struct part *p)
{
    if (hash < POPULOUS_PARTS) {
        *p = (struct part){BRAND_55, TYPE_GOLD, 1, CONTAINER_LG_BOX};
        return;
    }
    const bool in_box = p->container == CONTAINER_LG_BOX, branded = p->brand == BRAND_55;
    const bool gold = !branded && hash > g->hot_parts;
    if (branded && in_box)
        p->brand = BRAND_15;
    if (gold)
        p->type = TYPE_GOLD;
    if ((in_box || branded || gold) && p->size == 1)
        p->size = 2 + (int)(hash % 50);
}

static void draw_part(const struct tg_gen *g, int64_t unit, struct part *p)
{
    uint32_t maker = tg_unit_state(g, TG_S_P_MFGR, unit, 1);
    uint32_t brand = tg_unit_state(g, TG_S_P_BRAND, unit, 1);
    p->brand = (int)(5 * tg_scale_small(maker, 5) + tg_scale_small(brand, 5));
    p->type = (int)tg_scale_small(tg_unit_state(g, TG_S_P_TYPE, unit, 1), 150);
    p->size = 1 + (int)tg_scale_small(tg_unit_state(g, TG_S_P_SIZE, unit, 1), 50);
    p->container = (int)tg_scale_small(tg_unit_state(g, TG_S_P_CONTAINER, unit, 1), 40);
}

static void put_code(struct tg_batch *b, int column, int64_t row, int code)
{
    if (tg_wants(b, TG_BIT(column)))
        b->col[column - TG_P_PARTKEY].code[row] = (uint8_t)code;
}

/* Draws again what the columns hold: one may be changed because of another not asked for. */
void tg_skew_parts(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    if (!tg_wants(b, TG_BIT(TG_P_BRAND) | TG_BIT(TG_P_TYPE) | TG_BIT(TG_P_SIZE) | TG_BIT(TG_P_CONTAINER)))
        return;
    for (int64_t i = 0; i < r->rows; i++) {
        struct part p;
        draw_part(g, r->unit_begin + i, &p);
        skew_part(g, hash_of(&g->part_perm, r->unit_begin + i), &p);
        put_code(b, TG_P_BRAND, i, p.brand);
        put_code(b, TG_P_TYPE, i, p.type);
        put_code(b, TG_P_CONTAINER, i, p.container);
        if (tg_wants(b, TG_BIT(TG_P_SIZE)))
            b->col[TG_P_SIZE - TG_P_PARTKEY].i32[i] = p.size;
    }
}

/* Supplier 0..3 of the part with hash h: a busy and an ordinary one of its own region, then
 * of another region. */
static int64_t supplier_of(const struct tg_gen *g, int64_t h, int which)
{
    const int64_t fifth = g->suppliers / 5, spread = h / 20;
    int64_t region = h % 5, place;
    if (which >= 2)
        region = (region + 1 + h / 5 % 4) % 5;
    if (which == 0)
        place = 0;
    else if (which == 2)
        place = spread % BUSY_SUPPLIERS;
    else
        place = BUSY_SUPPLIERS + spread % (fifth - BUSY_SUPPLIERS);
    return key_of(&g->supplier_perm, region * fifth + place);
}

void tg_skew_part_suppliers(const struct tg_gen *g, const struct tg_range *r, const struct tg_scratch *w, int64_t *out)
{
    for (int64_t i = 0; i < w->lines; i++) {
        if (r->slice)
            out[i] = key_of(&g->supplier_perm, w->number[i] - 1);
        else
            out[i] = supplier_of(g, hash_of(&g->part_perm, r->unit_begin + w->order[i]), w->number[i] - 1);
    }
}

/* ---- order days ------------------------------------------------------------------------- */

/* First day of each year, 1992 to 1999, days since 1970. */
static const int32_t year_start[8] = {8035, 8401, 8766, 9131, 9496, 9862, 10227, 10592};

static int year_index(int32_t day)
{
    int y = 0;
    while (day >= year_start[y + 1])
        y++;
    return y;
}

static int leap(int year)
{
    return year % 4 == 0;
}

/* "Black Friday", the day that attracts orders: May 28. */
static int32_t black_friday(int year)
{
    return year_start[year] + 147 + leap(year);
}

static bool in_embargo(int32_t day)
{
    return day >= year_start[3] && day < year_start[5];
}

/* Day before May or after August. */
static bool off_season(int32_t day, int year)
{
    const int32_t n = day - year_start[year] - leap(year);
    return n < 120 || n >= 243;
}

static int32_t final_day(int64_t hash, int64_t key, int32_t day)
{
    static const int populous_year[POPULOUS_ORDERS] = {0, 1, 2, 5, 6};
    if (hash < POPULOUS_ORDERS)
        day = black_friday(populous_year[hash]);
    const int year = year_index(day);
    return key % 4 != 3 && off_season(day, year) ? black_friday(year) : day;
}

void tg_skew_days(const struct tg_gen *g, const struct tg_range *r, int32_t *day)
{
    for (int64_t u = r->unit_begin; u < r->unit_end; u++) {
        int32_t *d = &day[u - r->unit_begin];
        *d = final_day(hash_of(&g->order_perm, u), u + 1, *d);
    }
}

/* ---- orders ----------------------------------------------------------------------------- */

static bool is_gold(int64_t hash, int32_t day)
{
    return !in_embargo(day) && hash / 20 % 20 < 7;
}

static int64_t customer_hash(const struct tg_gen *g, int64_t hash, int32_t day)
{
    const int64_t region = hash % 5, fifth = g->customers / 5;
    if (is_gold(hash, day))
        return region * g->customers / 5;
    int64_t c = hash / 5 % (fifth - fifth / 3);
    c = 3 * c / 2 % fifth;
    return (c == 0 ? 1 : c) + region * fifth;
}

void tg_skew_order_customers(const struct tg_gen *g, const struct tg_range *r, const int32_t *day, int64_t *out)
{
    for (int64_t i = 0; i < r->rows; i++) {
        const int64_t h = hash_of(&g->order_perm, r->unit_begin + i);
        out[i] = key_of(&g->customer_perm, customer_hash(g, h, day[i]));
    }
}

void tg_skew_order_comments(const struct tg_gen *g, const struct tg_range *r, const int32_t *day,
                            struct tg_column *text)
{
    for (int64_t i = 0; i < r->rows; i++)
        if (is_gold(hash_of(&g->order_perm, r->unit_begin + i), day[i]))
            memcpy(text->bytes + text->offsets[i], "1mine2 3gold4", 13);
}

/* ---- lines ------------------------------------------------------------------------------ */

/* Outside the embargo the first line of an order is hot: the most populous part of the
 * region.  All others stay away from populous parts and in the order's region. */
void tg_skew_lines(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, bool suppliers)
{
    for (int64_t i = 0; i < w->lines; i++) {
        const int32_t o = w->order[i];
        const int64_t region = hash_of(&g->order_perm, r->unit_begin + o) % 5;
        int64_t h = region;
        w->marked[i] = w->number[i] == 1 && !in_embargo(w->day[o]);
        if (!w->marked[i]) {
            h = hash_of(&g->part_perm, w->part[i] - 1);
            h = POPULOUS_PARTS + h % (g->hot_parts - POPULOUS_PARTS);
            h = h / 5 * 5 + region;
        }
        w->part[i] = key_of(&g->part_perm, h);
        if (suppliers)
            w->supp[i] = supplier_of(g, h, w->marked[i] ? 0 : 1);
    }
}

/* Suppliers per region that a populous order runs through: least i with i >= 0.16 * S. */
static int64_t round_suppliers(const struct tg_gen *g)
{
    const double limit = (double)g->suppliers * 0.16;
    int64_t n = (int64_t)limit;
    return (double)n < limit ? n + 1 : n;
}

/* Position in the loops of a populous order: parts 5..19, the four other regions, suppliers. */
struct big_line {
    int64_t part, region, supplier;
};

static void big_line_next(struct big_line *l, int64_t suppliers, int64_t home)
{
    if (++l->supplier < suppliers)
        return;
    l->supplier = 0;
    l->region += l->region + 1 == home ? 2 : 1;
    if (l->region < 5)
        return;
    l->region = home == 0;
    if (++l->part == POPULOUS_PARTS)
        l->part = 5;
}

static struct big_line big_line_at(int64_t row, int64_t suppliers, int64_t home)
{
    struct big_line l;
    l.supplier = row % suppliers;
    l.region = row / suppliers % 4;
    l.region += l.region >= home;
    l.part = 5 + row / suppliers / 4 % (POPULOUS_PARTS - 5);
    return l;
}

void tg_skew_big_lines(const struct tg_gen *g, const struct tg_range *r, struct tg_scratch *w, bool with_suppliers)
{
    const int64_t home = hash_of(&g->order_perm, r->unit_begin) % 5;
    const int64_t suppliers = round_suppliers(g);
    int64_t parts[POPULOUS_PARTS];
    for (int h = 0; h < POPULOUS_PARTS; h++)
        parts[h] = key_of(&g->part_perm, h);
    struct big_line l = big_line_at(r->row_begin, suppliers, home);
    for (int64_t i = 0; i < w->lines; i++) {
        const int64_t h = l.region * g->suppliers / 5 + l.supplier;
        w->part[i] = parts[l.part];
        w->marked[i] = 1;
        if (with_suppliers)
            w->supp[i] = key_of(&g->supplier_perm, h);
        big_line_next(&l, suppliers, home);
    }
}

/* Goods ordered on a Black Friday come back, even before they are received, unless the line
 * is marked or the order key is divisible by 50. */
void tg_skew_flags(const struct tg_range *r, const struct tg_scratch *w, uint8_t returned, uint8_t *out)
{
    for (int64_t i = 0; i < w->lines; i++) {
        const int32_t day = w->day[w->order[i]];
        if (!w->marked[i] && day == black_friday(year_index(day)) &&
            tg_order_key(r->unit_begin + w->order[i] + 1) % 50 != 0)
            out[i] = returned;
    }
}
