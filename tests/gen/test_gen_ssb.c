/* The Star Schema Benchmark's data select what its queries are made for: the share of lineorder that each of them keeps
 * lies near its filter factor (O'Neil, O'Neil and Chen, "Star Schema Benchmark", revision 3, section 3.1). */
#include <stdlib.h>
#include <string.h>

#include "gen_check.h"
#include "gen_core.h"

#define ROWS 4096

enum query { Q11, Q12, Q13, Q21, Q22, Q23, Q31, Q32, Q33, Q34, Q41, Q42, Q43, QUERIES };

/* tolerance: of the relation between what is found and the published factor. Orders end in August of the seventh year,
 * so that a year before has 6 % more of them than a seventh, and the last two have 16 % less than two; 2,000 suppliers
 * leave 16 for two cities. The factor of q1.3 takes ten of fifty quantities for a fifth, as that of q1.2 does. */
static const struct {
    const char *name;
    double factor, tolerance;
} queries[QUERIES] = {
    [Q11] = {"q1.1", 1 / 7.0 * 0.5 * 3 / 11, 0.1},
    [Q12] = {"q1.2", 1 / 84.0 * 0.2 * 3 / 11, 0.15},
    [Q13] = {"q1.3", 1 / 364.0 * 0.2 * 3 / 11, 0.1},
    [Q21] = {"q2.1", 1 / 25.0 / 5, 0.1},
    [Q22] = {"q2.2", 1 / 125.0 / 5, 0.1},
    [Q23] = {"q2.3", 1 / 1000.0 / 5, 0.1},
    [Q31] = {"q3.1", 1 / 5.0 / 5 * 6 / 7, 0.25},
    [Q32] = {"q3.2", 1 / 25.0 / 25 * 6 / 7, 0.2},
    [Q33] = {"q3.3", 1 / 125.0 / 125 * 6 / 7, 0.5},
    [Q34] = {"q3.4", 1 / 125.0 / 125 / 84, 1},
    [Q41] = {"q4.1", 1 / 5.0 / 5 * 2 / 5, 0.1},
    [Q42] = {"q4.2", 2 / 7.0 / 5 / 5 * 2 / 5, 0.25},
    [Q43] = {"q4.3", 2 / 7.0 / 5 / 25 / 25, 0.3},
};

/* A condition of a query: a column lies between two values, or equals one of them. */
static const struct filter {
    enum query query;
    int column;
    const char *lo, *hi;
    bool either;
} filters[] = {
    {Q11, TG_SSB_D_YEAR, "1993", "1993", false},
    {Q11, TG_SSB_LO_DISCOUNT, "1", "3", false},
    {Q11, TG_SSB_LO_QUANTITY, "1", "24", false},
    {Q12, TG_SSB_D_YEARMONTHNUM, "199401", "199401", false},
    {Q12, TG_SSB_LO_DISCOUNT, "4", "6", false},
    {Q12, TG_SSB_LO_QUANTITY, "26", "35", false},
    {Q13, TG_SSB_D_YEAR, "1994", "1994", false},
    {Q13, TG_SSB_D_WEEKNUMINYEAR, "6", "6", false},
    {Q13, TG_SSB_LO_DISCOUNT, "5", "7", false},
    {Q13, TG_SSB_LO_QUANTITY, "26", "35", false},
    {Q21, TG_SSB_P_CATEGORY, "MFGR#12", "MFGR#12", false},
    {Q21, TG_SSB_S_REGION, "AMERICA", "AMERICA", false},
    {Q22, TG_SSB_P_BRAND1, "MFGR#2221", "MFGR#2228", false},
    {Q22, TG_SSB_S_REGION, "ASIA", "ASIA", false},
    {Q23, TG_SSB_P_BRAND1, "MFGR#2239", "MFGR#2239", false},
    {Q23, TG_SSB_S_REGION, "EUROPE", "EUROPE", false},
    {Q31, TG_SSB_C_REGION, "ASIA", "ASIA", false},
    {Q31, TG_SSB_S_REGION, "ASIA", "ASIA", false},
    {Q31, TG_SSB_D_YEAR, "1992", "1997", false},
    {Q32, TG_SSB_C_NATION, "UNITED STATES", "UNITED STATES", false},
    {Q32, TG_SSB_S_NATION, "UNITED STATES", "UNITED STATES", false},
    {Q32, TG_SSB_D_YEAR, "1992", "1997", false},
    {Q33, TG_SSB_C_CITY, "UNITED KI1", "UNITED KI5", true},
    {Q33, TG_SSB_S_CITY, "UNITED KI1", "UNITED KI5", true},
    {Q33, TG_SSB_D_YEAR, "1992", "1997", false},
    {Q34, TG_SSB_C_CITY, "UNITED KI1", "UNITED KI5", true},
    {Q34, TG_SSB_S_CITY, "UNITED KI1", "UNITED KI5", true},
    {Q34, TG_SSB_D_YEARMONTH, "Dec1997", "Dec1997", false},
    {Q41, TG_SSB_C_REGION, "AMERICA", "AMERICA", false},
    {Q41, TG_SSB_S_REGION, "AMERICA", "AMERICA", false},
    {Q41, TG_SSB_P_MFGR, "MFGR#1", "MFGR#2", false},
    {Q42, TG_SSB_D_YEAR, "1997", "1998", false},
    {Q42, TG_SSB_C_REGION, "AMERICA", "AMERICA", false},
    {Q42, TG_SSB_S_REGION, "AMERICA", "AMERICA", false},
    {Q42, TG_SSB_P_MFGR, "MFGR#1", "MFGR#2", false},
    {Q43, TG_SSB_D_YEAR, "1997", "1998", false},
    {Q43, TG_SSB_C_REGION, "AMERICA", "AMERICA", false},
    {Q43, TG_SSB_S_NATION, "UNITED STATES", "UNITED STATES", false},
    {Q43, TG_SSB_P_CATEGORY, "MFGR#14", "MFGR#14", false},
};
#define FILTERS (sizeof filters / sizeof filters[0])

static int compare_text(const char *text, size_t n, const char *with)
{
    const size_t m = strlen(with);
    const int c = memcmp(text, with, n < m ? n : m);
    return c != 0 ? c : (n > m) - (n < m);
}

static int compare_value(const struct tg_batch *b, int column, int64_t row, const char *with)
{
    const struct tg_column *c = tg_batch_column(b, column);
    const enum tg_kind kind = tg_columns[column].kind;
    if (kind == TG_I32)
        return (c->i32[row] > atoi(with)) - (c->i32[row] < atoi(with));
    if (kind == TG_TEXT)
        return compare_text(c->bytes + c->offsets[row], (size_t)(c->offsets[row + 1] - c->offsets[row]), with);
    const struct tg_word *word = &tg_column_dict(column).words[c->code[row]];
    return compare_text(word->text, word->len, with);
}

/* The queries that the row's own columns let pass, a bit for each. */
static uint16_t passes(const struct tg_batch *b, int64_t row)
{
    uint16_t mask = (1 << QUERIES) - 1;
    for (size_t i = 0; i < FILTERS; i++) {
        const struct filter *f = &filters[i];
        if (tg_columns[f->column].table != b->table)
            continue;
        const int lo = compare_value(b, f->column, row, f->lo), hi = compare_value(b, f->column, row, f->hi);
        if (f->either ? lo != 0 && hi != 0 : lo < 0 || hi > 0)
            mask &= (uint16_t)~(1u << f->query);
    }
    return mask;
}

/* By key; days by YYYYMMDD less 19920000. */
struct dimensions {
    uint16_t *date, *supplier, *customer, *part;
};

static uint16_t *of_dimension(const struct tg_gen *g, enum tg_table t, int64_t keys, int64_t less)
{
    uint16_t *out = calloc((size_t)keys + 1, sizeof *out);
    struct tg_batch *b = tg_batch_new(t, tg_all_columns(t), ROWS);
    struct tg_cursor c;
    struct tg_range r;
    tg_cursor_init(&c, g, t, 0, tg_unit_count(g, t));
    while (tg_cursor_next(&c, ROWS, &r)) {
        tg_produce(g, &r, b);
        for (int64_t i = 0; i < b->rows; i++)
            out[tg_batch_column(b, tg_first_column(t))->i32[i] - less] = passes(b, i);
    }
    tg_batch_free(b);
    return out;
}

static void count_lines(const struct tg_gen *g, const struct dimensions *d, int64_t kept[QUERIES])
{
    const uint64_t columns = TG_BIT(TG_SSB_LO_CUSTKEY) | TG_BIT(TG_SSB_LO_SUPPKEY) | TG_BIT(TG_SSB_LO_PARTKEY) |
                             TG_BIT(TG_SSB_LO_ORDERDATE) | TG_BIT(TG_SSB_LO_DISCOUNT) | TG_BIT(TG_SSB_LO_QUANTITY);
    struct tg_batch *b = tg_batch_new(TG_SSB_LINEORDER, columns, ROWS);
    const struct tg_column *customer = tg_batch_column(b, TG_SSB_LO_CUSTKEY);
    const struct tg_column *supplier = tg_batch_column(b, TG_SSB_LO_SUPPKEY);
    const struct tg_column *part = tg_batch_column(b, TG_SSB_LO_PARTKEY);
    const struct tg_column *day = tg_batch_column(b, TG_SSB_LO_ORDERDATE);
    struct tg_cursor c;
    struct tg_range r;
    tg_cursor_init(&c, g, TG_SSB_LINEORDER, 0, tg_unit_count(g, TG_SSB_LINEORDER));
    while (tg_cursor_next(&c, ROWS, &r)) {
        tg_produce(g, &r, b);
        for (int64_t i = 0; i < b->rows; i++) {
            uint16_t mask = d->customer[customer->i32[i]] & d->supplier[supplier->i32[i]] & d->part[part->i32[i]] &
                            d->date[day->i32[i] - 19920000];
            if (mask != 0)
                mask &= passes(b, i);
            for (; mask != 0; mask &= (uint16_t)(mask - 1))
                kept[__builtin_ctz(mask)]++;
        }
    }
    tg_batch_free(b);
}

static void queries_keep_what_is_published(void)
{
    const struct tg_options o = {.scheme = TG_SSB, .sf = 1};
    struct tg_gen *g = NULL;
    int64_t kept[QUERIES] = {0};
    CHECK(tg_gen_new(&o, &g, NULL) == 0 && tg_gen_prepare(g, 1, NULL) == 0, "generator");
    struct dimensions d = {
        of_dimension(g, TG_SSB_DATE, 10000 * 7, 19920000),
        of_dimension(g, TG_SSB_SUPPLIER, tg_unit_count(g, TG_SSB_SUPPLIER), 0),
        of_dimension(g, TG_SSB_CUSTOMER, tg_unit_count(g, TG_SSB_CUSTOMER), 0),
        of_dimension(g, TG_SSB_PART, tg_unit_count(g, TG_SSB_PART), 0),
    };
    count_lines(g, &d, kept);
    const double lines = (double)tg_rows_between(g, TG_SSB_LINEORDER, 0, tg_unit_count(g, TG_SSB_LINEORDER));
    for (int q = 0; q < QUERIES; q++) {
        const double share = (double)kept[q] / lines, relation = share / queries[q].factor;
        printf("%s: %lld rows, %.3g of all, published %.3g: %.2f\n", queries[q].name, (long long)kept[q], share,
               queries[q].factor, relation);
        CHECK(relation > 1 - queries[q].tolerance && relation < 1 + queries[q].tolerance, "%s: %g", queries[q].name,
              relation);
    }
    free(d.date);
    free(d.supplier);
    free(d.customer);
    free(d.part);
    tg_gen_free(g);
}

int main(void)
{
    queries_keep_what_is_published();
    printf("%d failures\n", gen_failures);
    return gen_failures == 0 ? 0 : 1;
}
