/* Tests of the generator that need no reference data: arithmetic, independence of ranges and
 * columns, the writer's behaviour on errors.  Content is checked by check_vectors.py. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gen_check.h"
#include "gen_format.h"
#include "gen_pool.h"
#include "gen_rng.h"
#include "gen_tbl.h"

#define SF 0.01

/* ---- random numbers --------------------------------------------------------------------- */

static void powers_are_known(void)
{
    static const uint32_t known[][2] = {
        {1, 16807},      {2, 282475249},  {3, 1622650073}, {4, 984943658},  {7, 101027544},
        {8, 1457850878}, {9, 1458777923}, {14, 74243042},  {92, 657821123},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        CHECK(tg_power(known[i][0]) == known[i][1], "power %u", known[i][0]);
}

static void streams_skip_ahead(void)
{
    CHECK(tg_state(TG_S_L_QTY, 1) == 730058666, "1 draw");
    CHECK(tg_state(TG_S_L_QTY, 7) == 1028926155, "7 draws");
    CHECK(tg_state(TG_S_L_QTY, 7000000) == 1100741725, "7000000 draws");
    CHECK(tg_state(TG_S_L_QTY, 1049999993) == 1655213082, "1049999993 draws");
}

static void sequences_are_successive_draws(void)
{
    uint32_t out[64], x = 1;
    tg_sequence(tg_next(1), TG_FACTOR, 61, out);
    for (int i = 0; i < 61; i++) {
        x = tg_next(x);
        CHECK(out[i] == x, "draw %d", i);
    }
}

/* The shortcut by integers must equal the doubles wherever it is used. */
static void small_ranges_need_no_doubles(void)
{
    uint32_t x = 12345;
    for (uint32_t range = 1; range <= TG_SMALL_RANGE; range += 1 + range / 50)
        for (int i = 0; i < 2000; i++) {
            x = tg_next(x);
            uint32_t wide = (uint32_t)tg_scale_wide(x, range);
            CHECK(tg_scale_small(x, range) == wide, "draw %u range %u", x, range);
        }
}

/* ---- formatting ------------------------------------------------------------------------- */

static void numbers_print_as_printf(void)
{
    static const int64_t edges[] = {
        0,         1,         9,          10,         99,         100,        101,        999,        1000,
        9999,      10000,     99999,      100000,     999999,     1000000,    9999999,    10000000,   99999999,
        100000000, 999999999, 1000000000, 2147483647, 2147483648, 4294967295, 4294967296, 5999999999, 123456789012345};
    char text[64 + TG_FORMAT_SLACK], want[64];
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        *tg_put_i64(text, edges[i]) = 0;
        snprintf(want, sizeof want, "%lld", (long long)edges[i]);
        CHECK(strcmp(text, want) == 0, "%s for %s", text, want);
        if (edges[i] > UINT32_MAX)
            continue;
        *tg_put_money(text, -edges[i]) = 0;
        snprintf(want, sizeof want, "%s%lld.%02lld", edges[i] > 0 ? "-" : "", (long long)edges[i] / 100,
                 (long long)edges[i] % 100);
        CHECK(strcmp(text, want) == 0, "%s for %s", text, want);
    }
}

/* ---- ranges and columns ----------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t length;
};

/* Units [begin, end) as text, in ranges of max_rows rows. */
static struct text text_of(const struct tg_gen *g, enum tg_table t, int64_t begin, int64_t end, int64_t max_rows)
{
    const int64_t rows = tg_rows_between(g, t, begin, end);
    struct text out = {malloc(tg_tbl_room(t, rows)), 0};
    struct tg_batch *b = tg_batch_new(t, tg_all_columns(t), max_rows);
    struct tg_cursor c;
    struct tg_range r;
    int64_t next = tg_rows_between(g, t, 0, begin);
    tg_cursor_init(&c, g, t, begin, end);
    while (tg_cursor_next(&c, max_rows, &r)) {
        CHECK(r.first_row == next && r.rows <= max_rows, "%s rows", tg_table_name(t));
        next += r.rows;
        tg_produce(g, &r, b);
        out.length = (size_t)(tg_tbl_format(b, out.bytes + out.length) - out.bytes);
    }
    CHECK(next == tg_rows_between(g, t, 0, end), "%s row count", tg_table_name(t));
    tg_batch_free(b);
    return out;
}

/* The text of a table does not depend on how it is cut. */
static void ranges_are_independent(const struct tg_gen *g, enum tg_table t)
{
    static const int64_t sizes[] = {8, 13, 1000, 16384};
    const int64_t units = tg_unit_count(g, t);
    struct text whole = text_of(g, t, 0, units, 4096);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const int64_t cut = units * (int64_t)(i + 1) / 6;
        struct text tail = text_of(g, t, cut, units, sizes[i]);
        struct text head = text_of(g, t, 0, cut, sizes[i]);
        CHECK(head.length + tail.length == whole.length && memcmp(head.bytes, whole.bytes, head.length) == 0 &&
                  memcmp(tail.bytes, whole.bytes + head.length, tail.length) == 0,
              "%s in ranges of %lld", tg_table_name(t), (long long)sizes[i]);
        free(head.bytes);
        free(tail.bytes);
    }
    free(whole.bytes);
}

static bool same_column(int c, const struct tg_batch *a, const struct tg_batch *b)
{
    const struct tg_column *x = tg_batch_column(a, c), *y = tg_batch_column(b, c);
    const size_t n = (size_t)a->rows;
    switch (tg_columns[c].kind) {
    case TG_I32:
    case TG_DAY: return memcmp(x->i32, y->i32, n * 4) == 0;
    case TG_I64:
    case TG_MONEY: return memcmp(x->i64, y->i64, n * 8) == 0;
    case TG_CODE: return memcmp(x->code, y->code, n) == 0;
    case TG_TEXT: break;
    }
    return memcmp(x->offsets, y->offsets, (n + 1) * 4) == 0 && memcmp(x->bytes, y->bytes, (size_t)x->offsets[n]) == 0;
}

/* A column is the same alone as with all others. */
static void columns_are_independent(const struct tg_gen *g, enum tg_table t)
{
    struct tg_batch *all = tg_batch_new(t, tg_all_columns(t), 2000);
    for (int c = tg_first_column(t); c < tg_first_column(t + 1); c++) {
        struct tg_batch *one = tg_batch_new(t, TG_BIT(c), 2000);
        struct tg_cursor cursor;
        struct tg_range r;
        tg_cursor_init(&cursor, g, t, 0, tg_unit_count(g, t));
        while (tg_cursor_next(&cursor, 2000, &r)) {
            tg_produce(g, &r, all);
            tg_produce(g, &r, one);
            CHECK(same_column(c, all, one), "%s", tg_columns[c].name);
        }
        tg_batch_free(one);
    }
    tg_batch_free(all);
}

static int compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* (part, supplier) of every row as one number. */
static int64_t *pairs_of(const struct tg_gen *g, enum tg_table t, int part, int supplier, int64_t *count)
{
    const int64_t units = tg_unit_count(g, t);
    int64_t *out = malloc((size_t)tg_rows_between(g, t, 0, units) * sizeof *out), n = 0;
    struct tg_batch *b = tg_batch_new(t, TG_BIT(part) | TG_BIT(supplier), 4096);
    struct tg_cursor c;
    struct tg_range r;
    tg_cursor_init(&c, g, t, 0, units);
    while (tg_cursor_next(&c, 4096, &r)) {
        tg_produce(g, &r, b);
        for (int64_t i = 0; i < b->rows; i++)
            out[n++] = tg_batch_column(b, part)->i64[i] << 32 | tg_batch_column(b, supplier)->i64[i];
    }
    tg_batch_free(b);
    *count = n;
    return out;
}

/* Parts are supplied by different suppliers, and lines only use suppliers of their part. */
static void lines_use_suppliers_of_their_part(const struct tg_gen *g)
{
    int64_t supplied, used, strange = 0, twice = 0;
    int64_t *have = pairs_of(g, TG_PARTSUPP, TG_PS_PARTKEY, TG_PS_SUPPKEY, &supplied);
    int64_t *want = pairs_of(g, TG_LINEITEM, TG_L_PARTKEY, TG_L_SUPPKEY, &used);
    qsort(have, (size_t)supplied, sizeof *have, compare_i64);
    for (int64_t i = 1; i < supplied; i++)
        twice += have[i] == have[i - 1];
    for (int64_t i = 0; i < used; i++)
        strange += bsearch(&want[i], have, (size_t)supplied, sizeof *have, compare_i64) == NULL;
    CHECK(twice == 0, "%lld of %lld", (long long)twice, (long long)supplied);
    CHECK(strange == 0, "%lld of %lld", (long long)strange, (long long)used);
    free(have);
    free(want);
}

static void scheme_is_consistent(enum tg_scheme scheme)
{
    struct tg_options o = {.scheme = scheme, .sf = SF};
    struct tg_gen *g = NULL;
    struct tg_error err;
    CHECK(tg_gen_new(&o, &g, &err) == 0 && tg_gen_prepare(g, 2, &err) == 0, "%s", err.text);
    for (int t = tg_first_table(scheme); t < tg_end_table(scheme); t++) {
        ranges_are_independent(g, (enum tg_table)t);
        columns_are_independent(g, (enum tg_table)t);
    }
    if (scheme != TG_SSB)
        lines_use_suppliers_of_their_part(g);
    tg_gen_free(g);
}

static void row_counts_are_known(void)
{
    static const struct {
        enum tg_scheme scheme;
        double sf;
        int64_t lines, partsupps;
    } known[] = {
        {TG_PLAIN, 0.01, 60175, 8000},       {TG_PLAIN, 0.1, 600572, 80000}, {TG_PLAIN, 1, 6001215, 800000},
        {TG_PLAIN, 1.9, 6001215, 800000},    {TG_JCCH, 0.01, 60000, 8000},   {TG_JCCH, 1, 6000000, 800000},
        {TG_JCCH, 100, 600000000, 80000000},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct tg_options o = {.scheme = known[i].scheme, .sf = known[i].sf};
        struct tg_gen *g = NULL;
        CHECK(tg_gen_new(&o, &g, NULL) == 0, "new");
        int64_t lines = tg_rows_between(g, TG_LINEITEM, 0, tg_unit_count(g, TG_LINEITEM));
        int64_t stock = tg_rows_between(g, TG_PARTSUPP, 0, tg_unit_count(g, TG_PARTSUPP));
        CHECK(lines == known[i].lines, "%lld lines at %g", (long long)lines, known[i].sf);
        CHECK(stock == known[i].partsupps, "%lld at %g", (long long)stock, known[i].sf);
        tg_gen_free(g);
    }
}

/* Tables have the names of their scheme, and no bit of a table's mask stands for two columns. */
static void tables_belong_to_schemes(void)
{
    CHECK(tg_find_table(TG_PLAIN, "part", 4) == TG_PART && tg_find_table(TG_SSB, "part", 4) == TG_SSB_PART, "part");
    CHECK(tg_find_table(TG_SSB, "lineitem", 8) == -1 && tg_find_table(TG_JCCH, "lineorder", 9) == -1, "strange");
    CHECK(tg_find_table(TG_SSB, "parts", 5) == -1 && tg_find_table(TG_SSB, "par", 3) == -1, "length");
    for (int t = 0; t < TG_TABLE_COUNT; t++) {
        const int columns = tg_first_column((enum tg_table)(t + 1)) - tg_first_column((enum tg_table)t);
        CHECK(__builtin_popcountll(tg_all_columns((enum tg_table)t)) == columns && columns <= TG_TABLE_COLUMNS,
              "columns of table %d", t);
    }
}

/* Parts of the Star Schema Benchmark grow with the logarithm, the calendar not at all. */
static void star_row_counts_are_known(void)
{
    static const struct {
        double sf;
        int64_t rows[5]; /* date, supplier, customer, part, lineorder */
    } known[] = {
        {0.01, {2556, 20, 300, 2000, 60175}},
        {0.5, {2556, 1000, 15000, 100000, 2999671}},
        {1, {2556, 2000, 30000, 200000, 6001215}},
        {2, {2556, 4000, 60000, 400000, 11997996}},
        {3, {2556, 6000, 90000, 400000, 17996609}},
        {4, {2556, 8000, 120000, 600000, 23996604}},
        {100, {2556, 200000, 3000000, 1400000, 600037902}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct tg_options o = {.scheme = TG_SSB, .sf = known[i].sf};
        struct tg_gen *g = NULL;
        CHECK(tg_gen_new(&o, &g, NULL) == 0, "new");
        for (int t = TG_SSB_DATE; t < tg_end_table(TG_SSB); t++) {
            const int64_t rows = tg_rows_between(g, (enum tg_table)t, 0, tg_unit_count(g, (enum tg_table)t));
            CHECK(rows == known[i].rows[t - TG_SSB_DATE], "%lld rows of %s at %g", (long long)rows,
                  tg_table_name((enum tg_table)t), known[i].sf);
        }
        tg_gen_free(g);
    }
}

/* ---- errors ----------------------------------------------------------------------------- */

static void bad_options_are_refused(void)
{
    static const struct tg_options bad[] = {
        {.sf = 0},
        {.sf = -1},
        {.sf = 30000},
        {.scheme = TG_JCCH, .sf = 0.001},
        {.sf = NAN},
        {.scheme = TG_JCCH, .sf = 1001},
        {.sf = 1, .chunk = 1, .chunks = 4},
        {.scheme = TG_JCCH, .sf = 1, .chunk = 5, .chunks = 4},
        {.scheme = TG_JCCH, .sf = 1, .chunk = 0, .chunks = 4},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tg_gen *g = NULL;
        struct tg_error err = {.text = ""};
        CHECK(tg_gen_new(&bad[i], &g, &err) != 0 && g == NULL, "case %zu", i);
        CHECK(err.user && err.text[0] != 0, "case %zu", i);
    }
}

/* Entries of a directory, or -1. */
static int entries_of(const char *dir)
{
    DIR *d = opendir(dir);
    if (d == NULL)
        return -1;
    int n = -2; /* . and .. */
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static int stop_half_way(void *user, double fraction, const char *what)
{
    double *seen = user;
    CHECK(fraction >= *seen && fraction <= 1 && what != NULL, "progress %g", fraction);
    *seen = fraction;
    return fraction > 0.5;
}

static int watch(void *user, double fraction, const char *what)
{
    (void)what;
    *(double *)user = fraction;
    return 0;
}

static void writing_cleans_up(const struct tg_gen *g, const char *dir)
{
    struct tg_error err;
    double seen = 0;
    struct tg_tbl_options o = {.dir = dir, .threads = 3, .progress = stop_half_way, .user = &seen};
    CHECK(tg_tbl_write(g, &o, &err) != 0 && err.cancelled, "cancelled by progress");
    CHECK(entries_of(dir) == -1, "directory remains");

    atomic_bool cancel = true;
    o = (struct tg_tbl_options){.dir = dir, .cancel = &cancel};
    CHECK(tg_tbl_write(g, &o, &err) != 0 && err.cancelled, "cancelled by flag");
    CHECK(entries_of(dir) == -1, "directory remains");

    char path[512];
    snprintf(path, sizeof path, "%s/region.tbl", dir);
    CHECK(mkdir(dir, 0777) == 0 && mkdir(path, 0777) == 0, "%s", path);
    o = (struct tg_tbl_options){.dir = dir};
    CHECK(tg_tbl_write(g, &o, &err) != 0 && strstr(err.path, "region.tbl") != NULL, "%s", err.path);
    CHECK(rmdir(path) == 0 && strstr(err.text, "directory") != NULL, "%s", err.text);

    o = (struct tg_tbl_options){.dir = dir,
                                .tables = 1u << TG_NATION | 1u << TG_CUSTOMER,
                                .chunk = 2,
                                .chunks = 3,
                                .progress = watch,
                                .user = &seen};
    CHECK(tg_tbl_write(g, &o, &err) == 0, "%s", err.text);
    CHECK(seen > 0.99, "progress ends at %g", seen);
    snprintf(path, sizeof path, "%s/customer.tbl.2", dir);
    CHECK(unlink(path) == 0, "%s", path);
    snprintf(path, sizeof path, "%s/nation.tbl", dir);
    CHECK(unlink(path) == 0, "%s", path);
}

static void errors_name_the_file(const struct tg_gen *g, const char *dir)
{
    struct tg_error err;
    struct tg_tbl_options o = {.dir = "/nonexistent/dir"};
    CHECK(tg_tbl_write(g, &o, &err) != 0, "no parent");
    CHECK(strcmp(err.path, o.dir) == 0 && strstr(err.text, "No such file") != NULL, "%s", err.text);
    CHECK(!err.user, "an error of the system");
    o = (struct tg_tbl_options){.dir = dir, .chunk = 4, .chunks = 3};
    CHECK(tg_tbl_write(g, &o, &err) != 0 && err.user, "chunk 4/3");
}

static void writing_handles_errors(void)
{
    struct tg_options o = {.sf = SF};
    struct tg_gen *g = NULL;
    char base[] = "/tmp/test_gen_XXXXXX", dir[64];
    CHECK(mkdtemp(base) != NULL, "%s", base);
    snprintf(dir, sizeof dir, "%s/out", base);
    CHECK(tg_gen_new(&o, &g, NULL) == 0 && tg_gen_prepare(g, 2, NULL) == 0, "prepare");
    errors_name_the_file(g, base);
    writing_cleans_up(g, dir);
    CHECK(rmdir(dir) == 0 && rmdir(base) == 0, "something was left in %s", base);
    tg_gen_free(g);
}

int main(void)
{
    powers_are_known();
    streams_skip_ahead();
    sequences_are_successive_draws();
    small_ranges_need_no_doubles();
    numbers_print_as_printf();
    tables_belong_to_schemes();
    row_counts_are_known();
    star_row_counts_are_known();
    bad_options_are_refused();
    scheme_is_consistent(TG_PLAIN);
    scheme_is_consistent(TG_JCCH);
    scheme_is_consistent(TG_SSB);
    writing_handles_errors();
    printf("%d failures\n", gen_failures);
    return gen_failures == 0 ? 0 : 1;
}
