/* Drawing query parameters. One function per query, in which the order of the draws is part of
 * the definition: a draw whose value is not used still moves the stream. */
#include "qparams.h"

#include <stdarg.h>
#include <string.h>

#include "gen_dist.h"
#include "gen_rng.h"

/* A query being drawn. */
struct draw {
    uint32_t state;
    bool skewed;
    struct qp_values *out;
};

/* ---- drawing ---- */

static int uniform(struct draw *d, int lo, int hi)
{
    d->state = tg_next(d->state);
    return lo + (int)tg_scale_small(d->state, (uint32_t)(hi - lo + 1));
}

static const char *pick_word(struct draw *d, const struct tg_word *words, int count)
{
    int total = 0, i = 0;
    for (int w = 0; w < count; w++)
        total += words[w].weight;
    int left = uniform(d, 1, total);
    while (left > words[i].weight)
        left -= words[i++].weight;
    return words[i].text;
}

static const char *pick(struct draw *d, enum tg_dist list)
{
    return pick_word(d, tg_dists[list].words, tg_dists[list].count);
}

static void shuffle(struct draw *d, int *array, int n)
{
    for (int i = 0; i < n; i++) {
        int j = uniform(d, i, n - 1), t = array[i];
        array[i] = array[j];
        array[j] = t;
    }
}

/* Values that the queries once had and no longer use. */
static void drop_nation(struct draw *d)
{
    uniform(d, 1, tg_dists[TG_D_nations].count);
}

static void drop_year(struct draw *d)
{
    uniform(d, 93, 97);
}

/* ---- writing values ---- */

__attribute__((format(printf, 2, 3))) static void put(struct draw *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(d->out->at[d->out->count++], QP_VALUE_BYTES, format, args);
    va_end(args);
}

static void put_day(struct draw *d, int year, int month, int day)
{
    put(d, "%04d-%02d-%02d", year, month, day);
}

static void put_year(struct draw *d, int year)
{
    put_day(d, year, 1, 1);
}

/* The two years that a range of orders may come from: normal parameters stay in those without
 * skew, skewed ones in two of the others. */
static int draw_year(struct draw *d)
{
    return d->skewed ? uniform(d, 1993, 1994) : uniform(d, 1995, 1996);
}

static void put_year_range(struct draw *d)
{
    put_year(d, d->skewed ? 1993 : 1995);
    put_day(d, d->skewed ? 1994 : 1996, 12, 31);
}

/* Place 0 is the nation where nine tenths of a region's customers and suppliers live. */
static void put_nation(struct draw *d, int region, int place)
{
    static const uint8_t keys[5][5] = {
        {15, 0, 5, 14, 16}, {24, 1, 2, 3, 17}, {18, 9, 12, 21, 8}, {7, 6, 22, 19, 23}, {4, 10, 11, 13, 20},
    };
    put(d, "%s", tg_dists[TG_D_nations].words[keys[region][place]].text);
}

/* A nation of a drawn region: its populous one, or one of the small ones. */
static void put_any_nation(struct draw *d)
{
    int region = uniform(d, 0, 4);
    put_nation(d, region, d->skewed ? 0 : 1 + uniform(d, 0, 3));
}

static void put_region(struct draw *d, int region)
{
    put(d, "%s", tg_dists[TG_D_regions].words[region].text);
}

static void put_brand(struct draw *d, int maker, int brand)
{
    put(d, "Brand#%d%d", maker, brand);
}

/* ---- the queries ---- */

/* What the names and types of the populous parts are. */
#define HOT_NAME "shiny mined gold"
#define HOT_TYPE "SHINY MINED GOLD"

static void draw_1(struct draw *d)
{
    put(d, "%d", uniform(d, 60, 120));
}

static void draw_2(struct draw *d)
{
    int size = uniform(d, 1, 50);
    const char *type = pick(d, TG_D_types), *region = pick(d, TG_D_regions);
    put(d, "%d", d->skewed ? 1 : size);
    put(d, "%s", d->skewed ? &HOT_TYPE[uniform(d, 0, 10)] : strrchr(type, ' ') + 1);
    put(d, "%s", region);
}

static void draw_3(struct draw *d)
{
    put(d, "%s", pick(d, TG_D_segments));
    int day = uniform(d, 0, 30);
    if (!d->skewed) {
        put_day(d, 1995, 3, 1 + day);
        return;
    }
    put_day(d, 1993, 5, 29 + day / 10);
    if (day == 30)
        d->out->degenerate = "1993-05-32 is no date";
}

static void draw_4(struct draw *d)
{
    uniform(d, 0, 57);
    int t = uniform(d, 0, 7), year = 1992 + t / 2;
    if (d->skewed)
        put_day(d, year == 1995 ? 1997 : year, 5 + t % 2, 1);
    else
        put_day(d, 1995 + t / 4, (t & 2 ? 9 : 1) + t % 2, 1);
}

static void draw_5(struct draw *d)
{
    put(d, "%s", pick(d, TG_D_regions));
    put_year(d, draw_year(d));
}

static void draw_6(struct draw *d)
{
    put_year(d, d->skewed ? 1900 + uniform(d, 93, 94) : 1900 + uniform(d, 95, 96));
    put(d, "0.0%d", uniform(d, 2, 9));
    int quantity = uniform(d, 24, 25);
    put(d, "%d", d->skewed ? 100 : quantity);
}

static void draw_7(struct draw *d)
{
    if (d->skewed) {
        int customer = uniform(d, 0, 4), supplier = (customer + 1 + uniform(d, 0, 3)) % 5;
        put_nation(d, supplier, 0);
        put_nation(d, customer, 0);
    } else {
        int region = uniform(d, 0, 4), customer = uniform(d, 0, 3);
        int supplier = uniform(d, 0, 2);
        if (supplier >= customer)
            supplier = (supplier + 1) % 4;
        put_nation(d, region, 1 + supplier);
        put_nation(d, region, 1 + customer);
    }
    put_year_range(d);
}

static void draw_8(struct draw *d)
{
    const char *type = pick(d, TG_D_types);
    int region = uniform(d, 0, 4);
    if (d->skewed) {
        put_nation(d, region, 0);
    } else {
        int other = (region + 1 + uniform(d, 0, 3)) % 5;
        put_nation(d, other, 1 + uniform(d, 0, 3));
    }
    put_region(d, region);
    put(d, "%s", d->skewed ? HOT_TYPE : type);
    put_year_range(d);
}

static void draw_9(struct draw *d)
{
    const char *color = pick(d, TG_D_colors);
    put(d, "%s", d->skewed ? &HOT_NAME[uniform(d, 0, 10)] : color);
}

/* Skewed: a few days around the day of May on which a year's orders pile up. */
static void draw_10(struct draw *d)
{
    if (!d->skewed) {
        int month = 1 + uniform(d, 0, 1), day = uniform(d, 1, 25);
        put_day(d, 1995, month, day);
        put_day(d, 1995, month + 3, day);
        return;
    }
    int t = uniform(d, 0, 5), first = 24 + uniform(d, 0, 4), last = 29 + uniform(d, 0, 2);
    int year = 1992 + t + (t > 2 ? 2 : 0);
    put_day(d, year, 5, first);
    put_day(d, year, 5, last);
    if (t == 5)
        d->out->degenerate = "there are no orders in 1999";
}

/* The second value is a fraction of the scale factor: see qp_draw. */
static void draw_11(struct draw *d)
{
    put_any_nation(d);
}

static void draw_12(struct draw *d)
{
    const char *first = pick(d, TG_D_modes), *second = pick(d, TG_D_modes);
    while (second == first)
        second = pick(d, TG_D_modes);
    drop_year(d);
    put(d, "%s", first);
    put(d, "%s", d->skewed && strcmp(first, "REG AIR") != 0 ? "REG AIR" : second);
    put_year(d, draw_year(d));
}

/* Normal parameters leave the orders of the five busiest customers out: their comments begin
 * with 1mine2 3gold4. */
static void draw_13(struct draw *d)
{
    static const struct tg_word first[] = {
        {"special", 7, 20}, {"pending", 7, 20}, {"unusual", 7, 20}, {"express", 7, 20}};
    static const struct tg_word second[] = {
        {"packages", 8, 40}, {"requests", 8, 40}, {"accounts", 8, 40}, {"deposits", 8, 40}};
    const char *a = pick_word(d, first, 4), *b = pick_word(d, second, 4);
    if (d->skewed) {
        put(d, "%s", a);
        put(d, "%s", b);
        return;
    }
    for (int i = 0; i < 2; i++) {
        int cut = uniform(d, 0, 1), more = uniform(d, 0, 1);
        put(d, "%s%s", (i == 0 ? "1mine" : "3gold") + cut, !more ? "" : i == 0 ? "2" : "4");
    }
}

/* The first of a month. Skewed: of May to August, in which nothing was moved to another day. */
static void draw_14(struct draw *d)
{
    int t = uniform(d, 0, 16);
    if (!d->skewed) {
        put_day(d, 1995 + t / 8, t % 8 + (t % 8 < 4 ? 1 : 5), 1);
        return;
    }
    put_day(d, 1993 + t / 8, 5 + t % 4, 1);
    if (t == 16)
        d->out->degenerate = "1995 is a year without skew";
}

static void draw_16(struct draw *d)
{
    int sizes[50], maker = uniform(d, 1, 5), brand = uniform(d, 1, 4);
    const char *type = pick(d, TG_D_types);
    for (int i = 0; i < 50; i++)
        sizes[i] = i + 1;
    shuffle(d, sizes, 50);
    put_brand(d, maker, brand);
    put(d, "%.*s", (int)(strrchr(type, ' ') - type), type);
    for (int i = 0; i < 8; i++)
        if (d->skewed)
            put(d, "%d", i == 7 ? 1 : sizes[i]);
        else
            put(d, "%d", sizes[i] == 1 ? 2 : sizes[i]);
}

static void draw_17(struct draw *d)
{
    const char *container = pick(d, TG_D_containers);
    int maker = uniform(d, 1, 5), brand = uniform(d, 1, 4);
    if (d->skewed)
        put_brand(d, 5, 5);
    else
        put_brand(d, maker, brand);
    put(d, "%s", d->skewed ? "LG BOX" : container);
}

static void draw_18(struct draw *d)
{
    int quantity = uniform(d, 312, 315);
    put(d, "%d", d->skewed ? 500 + uniform(d, 312, 315) : quantity);
    put(d, "%d", d->skewed ? 100 : 50);
}

static void draw_19(struct draw *d)
{
    int brand[6], quantity[3];
    for (int i = 0; i < 6; i++)
        brand[i] = uniform(d, 1, i == 5 ? 4 : 5);
    for (int i = 0; i < 3; i++)
        quantity[i] = uniform(d, i ? 10 * i : 1, 10 * (i + 1));
    if (d->skewed) {
        memset(brand, 0, 4 * sizeof *brand);
        brand[4] = brand[5] = 5;
        quantity[2] = uniform(d, 41, 50);
    }
    for (int i = 0; i < 6; i += 2)
        put_brand(d, brand[i], brand[i + 1]);
    for (int i = 0; i < 3; i++)
        put(d, "%d", quantity[i]);
}

static void draw_20(struct draw *d)
{
    const char *color = pick(d, TG_D_colors);
    drop_nation(d);
    drop_year(d);
    int region = uniform(d, 0, 4), place = 0;
    if (d->skewed)
        put(d, "%.*s", uniform(d, 5, 16), HOT_NAME);
    else {
        place = 1 + uniform(d, 0, 3);
        put(d, "%s", color);
    }
    put_year(d, draw_year(d));
    put_nation(d, region, place);
}

static void draw_21(struct draw *d)
{
    drop_nation(d);
    put_any_nation(d);
}

/* Skewed: the country codes of the five busiest customers are no nation's. */
static void draw_22(struct draw *d)
{
    int codes[25];
    for (int i = 0; i < 25; i++)
        codes[i] = 10 + i;
    shuffle(d, codes, 25);
    for (int i = 0; i < 7; i++)
        put(d, "%d", d->skewed && i < 5 ? 40 + 10 * i : codes[i]);
}

static void (*const draws[QP_QUERIES])(struct draw *) = {
    draw_1,  draw_2,  draw_3,  draw_4,  draw_5,  draw_6,  draw_7,  draw_8,  draw_9,  draw_10, draw_11,
    draw_12, draw_13, draw_14, draw_14, draw_16, draw_17, draw_18, draw_19, draw_20, draw_21, draw_22,
};

/* ---- classes and seeds ---- */

static const char *const validation[QP_QUERIES][QP_MAX_VALUES] = {
    {"90"},
    {"15", "BRASS", "EUROPE"},
    {"BUILDING", "1995-03-15"},
    {"1993-07-01"},
    {"ASIA", "1994-01-01"},
    {"1994-01-01", "0.06", "24"},
    {"FRANCE", "GERMANY", "1995-01-01", "1996-12-31"},
    {"BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL", "1995-01-01", "1996-12-31"},
    {"green"},
    {"1993-10-01", "1994-01-01"},
    {"GERMANY"},
    {"MAIL", "SHIP", "1994-01-01"},
    {"special", "requests"},
    {"1995-09-01"},
    {"1996-01-01"},
    {"Brand#45", "MEDIUM POLISHED", "49", "14", "23", "45", "19", "3", "36", "9"},
    {"Brand#23", "MED BOX"},
    {"300", "50"},
    {"Brand#12", "Brand#23", "Brand#34", "1", "10", "20"},
    {"forest", "1994-01-01", "CANADA"},
    {"SAUDI ARABIA"},
    {"13", "31", "23", "29", "30", "18", "17"},
};

static const char *const class_names[QP_CLASS_COUNT] = {
    [QP_VALIDATION] = "validation",
    [QP_NORMAL] = "normal",
    [QP_SKEWED] = "skewed",
};

const char *qp_class_name(enum qp_class c)
{
    return class_names[c];
}

bool qp_class_find(const char *name, enum qp_class *out)
{
    for (int c = 0; c < QP_CLASS_COUNT; c++)
        if (strcmp(class_names[c], name) == 0) {
            *out = (enum qp_class)c;
            return true;
        }
    return false;
}

bool qp_seed_valid(int64_t seed)
{
    return seed > 0 && seed % TG_MODULUS != 0;
}

void qp_draw(enum qp_class c, int64_t seed, double sf, int query, struct qp_values *out)
{
    struct draw d = {.skewed = c == QP_SKEWED, .out = out};
    out->count = 0;
    out->degenerate = NULL;
    if (c == QP_VALIDATION) {
        const char *const *fixed = validation[query - 1];
        while (out->count < QP_MAX_VALUES && fixed[out->count])
            put(&d, "%s", fixed[out->count]);
    } else {
        /* The stream of a query starts as many draws behind the seed as its number says. */
        d.state = tg_mul((uint32_t)(seed % TG_MODULUS), tg_power((uint64_t)query));
        draws[query - 1](&d);
    }
    if (query == 11)
        put(&d, "%.10f", 0.0001 / sf);
}

/* ---- JSON ---- */

struct shape {
    int query;
    const char *name, *text; /* text NULL: a list */
    int first, last;
};

static const struct shape shapes[] = {
#define T_TEXT(query, name, text)        {query, name, text, 0, 0},
#define T_LIST(query, name, first, last) {query, name, NULL, first, last},
#include "qparams.def"
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* No value holds a character that JSON would escape. */
static void write_text(FILE *f, const char *text, const struct qp_values *v)
{
    fputc('"', f);
    for (; *text; text++)
        if (*text == '$')
            fputs(v->at[*++text - '1'], f);
        else
            fputc(*text, f);
    fputc('"', f);
}

static void write_list(FILE *f, const struct shape *s, const struct qp_values *v)
{
    for (int i = s->first; i <= s->last; i++)
        fprintf(f, "%s\"%s\"", i == s->first ? "[" : ", ", v->at[i - 1]);
    fputc(']', f);
}

void qp_write_query(FILE *f, int query, const struct qp_values *v)
{
    const char *separator = "";
    fputc('{', f);
    for (int i = 0; i < SHAPES; i++) {
        const struct shape *s = &shapes[i];
        if (s->query != query)
            continue;
        fprintf(f, "%s\"%s\": ", separator, s->name);
        separator = ", ";
        if (s->text)
            write_text(f, s->text, v);
        else
            write_list(f, s, v);
    }
    fputc('}', f);
}

void qp_write_file(FILE *f, const struct qp_values all[QP_QUERIES])
{
    fputs("{\n", f);
    for (int q = 1; q <= QP_QUERIES; q++) {
        fprintf(f, "  \"q%02d\": ", q);
        qp_write_query(f, q, &all[q - 1]);
        fputs(q < QP_QUERIES ? ",\n" : "\n", f);
    }
    fputs("}\n", f);
}
