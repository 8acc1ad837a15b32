/* Databases whose files were changed at random places under right checksums: queries over them
 * give rows or one clean error, and never leave their memory. test_store_crafted [SEEDS [SEED]]:
 * so many for each file, from SEED on. */
#include "tests/store/store_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "tests/store/craft.h"

enum { PARENTS = 3000, ORDERS = 1000, CHILDREN = 20000, MAX_FILES = 128 };

static int seeds = 3;
static uint64_t first_seed = 1;

/* ---- the database --------------------------------------------------------------------------- */

static const char schema[] = "{\"tables\":["
                             "{\"name\":\"p\",\"primary_key\":[\"k\"],\"columns\":["
                             "{\"name\":\"k\",\"type\":\"int64\"},{\"name\":\"s\",\"type\":\"string\"},"
                             "{\"name\":\"d\",\"type\":\"string\"},"
                             "{\"name\":\"n\",\"type\":\"int32\",\"nullable\":true}]},"
                             "{\"name\":\"o\",\"primary_key\":[\"q\"],\"columns\":["
                             "{\"name\":\"q\",\"type\":\"int32\"},{\"name\":\"day\",\"type\":\"date\"}]},"
                             "{\"name\":\"c\",\"columns\":["
                             "{\"name\":\"f\",\"type\":\"int64\"},{\"name\":\"g\",\"type\":\"int32\"},"
                             "{\"name\":\"v\",\"type\":\"int64\",\"nullable\":true},"
                             "{\"name\":\"m\",\"type\":\"decimal(12,2)\"},{\"name\":\"w\",\"type\":\"decimal(38,2)\"},"
                             "{\"name\":\"b\",\"type\":\"bool\"},{\"name\":\"x\",\"type\":\"float64\"},"
                             "{\"name\":\"at\",\"type\":\"timestamp\"},"
                             "{\"name\":\"t\",\"type\":\"string\",\"nullable\":true},"
                             "{\"name\":\"u\",\"type\":\"string\",\"nullable\":true}],"
                             "\"foreign_keys\":[{\"columns\":[\"f\"],\"table\":\"p\",\"references\":[\"k\"]},"
                             "{\"columns\":[\"g\"],\"table\":\"o\",\"references\":[\"q\"]}]}]}";

struct data {
    int64_t k[PARENTS], f[CHILDREN], v[CHILDREN], at[CHILDREN];
    int32_t n[PARENTS], q[ORDERS], day[ORDERS], g[CHILDREN];
    hd_i128 m[CHILDREN], w[CHILDREN];
    double x[CHILDREN];
    uint8_t b[CHILDREN], v_valid[CHILDREN], n_valid[PARENTS];
    const char *s[PARENTS], *d[PARENTS], *t[CHILDREN], *u[CHILDREN];
    char names[CHILDREN][32];
};

static void fill_parents(struct data *x)
{
    static const char *const few[] = {"red", "green", "blue", "amber", "teal"};
    for (int i = 0; i < PARENTS; i++) {
        x->k[i] = (int64_t)i * 7 % PARENTS * 3;
        x->s[i] = x->names[i];
        x->d[i] = few[i % 5];
        x->n[i] = i % 90 + 5;
        x->n_valid[i] = i % 7 != 0;
    }
    for (int i = 0; i < ORDERS; i++) {
        x->q[i] = 3 * i + 100;
        x->day[i] = 8000 + i * 37 % 900;
    }
}

static struct data *make_data(void)
{
    static const char *const few[] = {"one", "two", NULL, "three", "four"};
    struct data *x = calloc(1, sizeof *x);
    for (int i = 0; i < CHILDREN; i++)
        snprintf(x->names[i], sizeof x->names[i], "name %d of many", i);
    fill_parents(x);
    for (int i = 0; i < CHILDREN; i++) {
        x->f[i] = x->k[(int64_t)i * 31 % PARENTS];
        x->g[i] = x->q[i / (CHILDREN / ORDERS)];
        x->v[i] = 1000 + i % 900;
        x->v_valid[i] = i % 5 != 0;
        x->m[i] = 100 * (1 + i % 50);
        x->w[i] = ((hd_i128)i << 70) - ((hd_i128)1 << 80);
        x->b[i] = i % 3 == 0;
        x->x[i] = i * 0.25;
        x->at[i] = (int64_t)i * 60000000;
        x->t[i] = few[i % 5];
        x->u[i] = i % 11 ? x->names[i] : NULL;
    }
    return x;
}

static void make_database(struct fx_dir *d)
{
    struct data *x = make_data();
    heddle_writer *w = fx_writer(d, schema);
    struct fx_batch *p = fx_batch_new(PARENTS, 0), *o = fx_batch_new(ORDERS, 0);
    struct fx_batch *c = fx_batch_new(CHILDREN, 0);
    fx_add(p, "k", "l", x->k, 8, NULL);
    fx_add_text(p, "s", x->s, false);
    fx_add_text(p, "d", x->d, false);
    fx_add(p, "n", "i", x->n, 4, x->n_valid);
    fx_add(o, "q", "i", x->q, 4, NULL);
    fx_add(o, "day", "tdD", x->day, 4, NULL);
    fx_add(c, "f", "l", x->f, 8, NULL);
    fx_add(c, "g", "i", x->g, 4, NULL);
    fx_add(c, "v", "l", x->v, 8, x->v_valid);
    fx_add(c, "m", "d:12,2", x->m, 16, NULL);
    fx_add(c, "w", "d:38,2", x->w, 16, NULL);
    fx_add_bool(c, "b", x->b, NULL);
    fx_add(c, "x", "g", x->x, 8, NULL);
    fx_add(c, "at", "tsu:", x->at, 8, NULL);
    fx_add_text(c, "t", x->t, false);
    fx_add_text(c, "u", x->u, false);
    fx_append(w, "p", 0, p);
    fx_append(w, "o", 0, o);
    fx_append(w, "c", 0, c);
    fx_commit(w);
    free(x);
}

/* ---- queries -------------------------------------------------------------------------------- */

#define SCAN(t)     "{\"op\":\"scan\",\"table\":\"" t "\"}"
#define WHERE(t, f) "{\"op\":\"scan\",\"table\":\"" t "\",\"filter\":\"" f "\"}"
#define COUNT(keys, in) \
    "{\"op\":\"aggregate\",\"keys\":[" keys "],\"aggs\":[{\"fn\":\"count\",\"as\":\"rows\"}]," \
    "\"input\":" in "}"
#define JOIN(kind, more, l, r, on) \
    "{\"op\":\"join\",\"kind\":\"" kind "\"," more "\"left\":" l ",\"right\":" r ",\"on\":[" on "]}"
#define SUM(keys, arg, in) \
    "{\"op\":\"aggregate\",\"keys\":[" keys "],\"aggs\":[{\"fn\":\"sum\",\"arg\":\"" arg \
    "\",\"as\":\"total\"},{\"fn\":\"max\",\"arg\":\"" arg "\",\"as\":\"most\"}],\"input\":" in "}"

#define BY_RANK \
    COUNT("\"day\"", \
          JOIN("inner", "\"strategy\":\"index\",\"build\":\"right\",", SCAN("c"), SCAN("o"), "[\"g\",\"q\"]"))

/* Every way that a query takes to stored arrays: scans of every type, dense and hashed groups,
 * dictionaries while planning and running, lookups by key and children by parent. */
static const char *const queries[] = {
    SCAN("p"),
    SCAN("o"),
    SCAN("c"),
    WHERE("p", "d = 'green' or d > 'red' or d in ('blue', 'none')"),
    WHERE("c", "t like '%e%' and u like '%7%' and t < 'two'"),
    WHERE("c", "v between 1100 and 1300 and m < 20 and b and x > 3"),
    COUNT("\"d\",\"n\"", SCAN("p")),
    COUNT("\"t\",\"b\",\"v\"", SCAN("c")),
    COUNT("\"m\",\"at\"", SCAN("c")),
    COUNT("\"w\"", SCAN("c")),
    COUNT("\"u\"", SCAN("c")),
    SUM("", "rows", COUNT("\"f\"", SCAN("c"))),
    SUM("\"g\"", "m * v", SCAN("c")),
    SUM("", "w", SCAN("c")),
    SUM("\"v\"", "x", SCAN("c")),
    COUNT("\"d\"", JOIN("inner", "\"strategy\":\"index\",", SCAN("c"), SCAN("p"), "[\"f\",\"k\"]")),
    COUNT("\"day\"", JOIN("inner", "\"strategy\":\"index\",", SCAN("c"), SCAN("o"), "[\"g\",\"q\"]")),
    BY_RANK,
    SUM("\"d\"", "v",
        JOIN("inner", "\"strategy\":\"index\",\"build\":\"right\",", SCAN("p"), SCAN("c"), "[\"k\",\"f\"]")),
    SUM("\"day\"", "v",
        JOIN("left", "\"strategy\":\"index\",\"build\":\"right\",", SCAN("o"), SCAN("c"), "[\"q\",\"g\"]")),
    COUNT("\"b\"", JOIN("inner", "\"strategy\":\"direct\",", SCAN("c"), WHERE("p", "n > 20"), "[\"f\",\"k\"]")),
    COUNT("\"d\"", JOIN("semi", "", SCAN("p"), SCAN("c"), "[\"k\",\"f\"]")),
    COUNT("\"day\"", JOIN("anti", "", SCAN("o"), WHERE("c", "v < 1200"), "[\"q\",\"g\"]")),
    COUNT("\"n\"", JOIN("inner", "\"strategy\":\"hash\",", SCAN("p"), SCAN("c"), "[\"n\",\"v\"]")),
    "{\"op\":\"sort\",\"keys\":[\"s\",\"d\"],\"limit\":50,\"input\":" SCAN("p") "}",
    "{\"op\":\"sort\",\"keys\":[\"t\",{\"expr\":\"u\",\"desc\":true}],\"input\":" SCAN("c") "}",
};

static const char by_rank[] = "{\"heddle\":1,\"root\":" BY_RANK "}";

static int drain(struct ArrowArrayStream *s)
{
    struct ArrowArray a;
    int rc;
    while ((rc = s->get_next(s, &a)) == 0 && a.release)
        a.release(&a);
    s->release(s);
    return rc;
}

static bool harmed; /* what is there may fail */
static int rows_given, errors_given;

static void expect_clean(int rc, heddle_error *e, int query, const char *what)
{
    bool good = rc == 0 ? !e : harmed && e && heddle_error_message(e)[0];
    if (!good)
        print_error("query %d after %s: %s\n", query, what, e ? heddle_error_message(e) : "no clean end");
    assert_true(good);
    *(rc == 0 ? &rows_given : &errors_given) += 1;
    heddle_error_free(e);
}

static void run_query(heddle_database *db, int query, const char *what)
{
    char plan[4096];
    heddle_error *e = NULL;
    heddle_statement *s = NULL;
    struct ArrowArrayStream rows;
    snprintf(plan, sizeof plan, "{\"heddle\":1,\"root\":%s}", queries[query]);
    int rc = heddle_prepare(db, plan, NULL, &s, &e);
    if (rc == 0)
        rc = heddle_execute(s, &rows, &e);
    if (rc == 0 && drain(&rows) != 0)
        print_error("query %d after %s: the stream failed\n", query, what);
    expect_clean(rc, e, query, what);
    heddle_statement_free(s);
}

/* ---- damage --------------------------------------------------------------------------------- */

/* What was tried last, for a handler that may do little: it says so and leaves the rest to the
 * handler before it, a sanitizer's perhaps. */
static char now[256];
static struct sigaction before[2];

static void crashed(int sig)
{
    if (write(STDERR_FILENO, now, strlen(now)) >= 0)
        sigaction(sig, &before[sig == SIGBUS], NULL);
}

static void query_all(struct fx_dir *d, const char *what)
{
    heddle_error *e = NULL;
    heddle_database *db = NULL;
    if (heddle_database_open(d->context, d->db, 0, &db, &e) != 0) {
        expect_clean(-1, e, -1, what);
        return;
    }
    for (size_t i = 0; i < HD_COUNT(queries); i++) {
        snprintf(now, sizeof now, "crashed in query %zu after %s\n", i, what);
        run_query(db, (int)i, what);
    }
    heddle_database_free(db);
}

static void check_all(struct fx_dir *d, const char *what)
{
    heddle_error *e = NULL;
    char *report = NULL;
    snprintf(now, sizeof now, "crashed in check after %s\n", what);
    int rc = heddle_database_check(d->context, d->db, NULL, NULL, &report, &e);
    expect_clean(rc, e, -1, what);
    heddle_free(report);
}

static int list_files(const char *db, char names[MAX_FILES][64])
{
    int n = 0;
    DIR *dir = opendir(db);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.' && strncmp(e->d_name, "catalog", 7) != 0) {
            assert_true(n < MAX_FILES);
            snprintf(names[n++], 64, "%.63s", e->d_name);
        }
    closedir(dir);
    return n;
}

struct saved {
    char *file, *catalog, *sum;
    size_t file_n, catalog_n, sum_n;
};

static void try_one(struct fx_dir *d, const char *name, uint64_t seed)
{
    struct saved s = {0};
    char what[128], told[192];
    uint64_t state = seed;
    assert_true(craft_read(d->db, "catalog.json", &s.catalog, &s.catalog_n) &&
                craft_read(d->db, "catalog.sum", &s.sum, &s.sum_n) &&
                (!name || craft_read(d->db, name, &s.file, &s.file_n)));
    bool changed = name ? craft_file(d->db, name, &state, what) : craft_catalog(d->db, &state, what);
    if (changed) {
        harmed = true;
        assert_true(craft_seal(d->db));
        snprintf(told, sizeof told, "seed %llu, %s", (unsigned long long)seed, what);
        query_all(d, told);
        check_all(d, told);
        harmed = false;
    }
    assert_true((!name || craft_write(d->db, name, s.file, s.file_n)) &&
                craft_write(d->db, "catalog.json", s.catalog, s.catalog_n) &&
                craft_write(d->db, "catalog.sum", s.sum, s.sum_n));
    free(s.file);
    free(s.catalog);
    free(s.sum);
}

static void crafted_files_give_rows_or_an_error(void **state)
{
    struct fx_dir *d = *state;
    char names[MAX_FILES][64];
    make_database(d);
    int n = list_files(d->db, names);
    assert_true(n >= 30);
    query_all(d, "no change");
    for (int i = 0; i < n; i++)
        for (int k = 0; k < seeds; k++)
            try_one(d, names[i], first_seed + (uint64_t)k);
    print_message("%d ended with rows, %d with an error\n", rows_given, errors_given);
    assert_true(rows_given > 0 && errors_given > 0);
}

static void crafted_catalogs_give_rows_or_an_error(void **state)
{
    struct fx_dir *d = *state;
    make_database(d);
    for (int k = 0; k < seeds * 20; k++)
        try_one(d, NULL, first_seed + (uint64_t)k);
}

/* A number of o's key index, whose words stand for the values 100 .. 3097, and what becomes of it. */
static const struct {
    int word; /* from the end, if negative */
    uint64_t flip;
} wrong_words[] = {
    {0, UINT64_C(1) << 32},  {0, 1},  {0, 2},  {7, UINT64_C(1) << 63},  {50, UINT64_C(3) << 40},
    {50, UINT64_C(1) << 31}, {-1, 1}, {-1, 4}, {-1, UINT64_C(1) << 31}, {-1, UINT64_C(1) << 32},
};

/* A word with another bit than a key, or another number of rows before it. Each change has a bit that is in use, or the last
 * word's that are not. */
static void wrong_ranks_are_told(void **state)
{
    struct fx_dir *d = *state;
    char *text;
    size_t n;
    make_database(d);
    assert_true(craft_read(d->db, "o.q.key", &text, &n) && n % sizeof(uint64_t) == 0);
    uint64_t *words = (uint64_t *)text;
    const int count = (int)(n / sizeof *words);
    for (size_t i = 0; i < HD_COUNT(wrong_words); i++) {
        const int at = wrong_words[i].word + (wrong_words[i].word < 0 ? count : 0);
        heddle_error *e = NULL;
        heddle_database *db = NULL;
        heddle_statement *s = NULL;
        struct ArrowArrayStream rows;
        words[at] ^= wrong_words[i].flip;
        assert_true(craft_write(d->db, "o.q.key", text, n) && craft_seal(d->db));
        fx_ok(heddle_database_open(d->context, d->db, 0, &db, &e), &e);
        fx_ok(heddle_prepare(db, by_rank, NULL, &s, &e), &e);
        fx_expect(heddle_execute(s, &rows, &e), &e, HEDDLE_ERROR_CORRUPT, "o.q.key", "ranks are not those of the bits");
        heddle_statement_free(s);
        heddle_database_free(db);
        words[at] ^= wrong_words[i].flip;
    }
    free(text);
}

static void replace_text(char *text, const char *from, const char *to)
{
    char *at = strstr(text, from);
    assert_non_null(at);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
}

/* Offsets of children had 64 bits each. */
static void widen_offsets(struct fx_dir *d, char *catalog, const char *file)
{
    char *text;
    size_t n;
    assert_true(craft_read(d->db, file, &text, &n));
    uint64_t *wide = malloc(2 * n);
    for (size_t i = 0; i < n / sizeof(uint32_t); i++)
        wide[i] = ((const uint32_t *)text)[i];
    assert_true(craft_write(d->db, file, (const char *)wide, 2 * n));
    replace_text(catalog, "\"offset_width\": 4,", "");
    free(wide);
    free(text);
}

/* Versions before bitmaps made arrays for sorted keys, too: such a database has the same rows, and is sound. */
static void arrays_of_older_versions_serve(void **state)
{
    enum { RANGE = 3 * (ORDERS - 1) + 1 };
    static uint32_t rows[RANGE];
    struct fx_dir *d = *state;
    char *catalog, *report = NULL;
    heddle_error *e = NULL;
    size_t n;
    make_database(d);
    for (uint32_t i = 0; i < ORDERS; i++)
        rows[3 * i] = i + 1;
    assert_true(craft_read(d->db, "catalog.json", &catalog, &n));
    replace_text(catalog, "\"kind\": \"bitmap\"", "\"kind\": \"array\"");
    replace_text(catalog, "\"words\": {", "\"rows\": {");
    widen_offsets(d, catalog, "c.f.fk0_offsets");
    widen_offsets(d, catalog, "c.g.fk1_offsets");
    assert_true(craft_write(d->db, "catalog.json", catalog, strlen(catalog)) &&
                craft_write(d->db, "o.q.key", (const char *)rows, sizeof rows) && craft_seal(d->db));
    free(catalog);
    harmed = false;
    query_all(d, "no change");
    fx_ok(heddle_database_check(d->context, d->db, NULL, NULL, &report, &e), &e);
    heddle_free(report);
    rows[3]++; /* another row of the table */
    assert_true(craft_write(d->db, "o.q.key", (const char *)rows, sizeof rows) && craft_seal(d->db));
    fx_expect(heddle_database_check(d->context, d->db, NULL, NULL, &report, &e), &e, HEDDLE_ERROR_CORRUPT, "db",
              "problem");
    assert_non_null(strstr(report, "\"what\": \"key index\""));
    heddle_free(report);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fx_setup, fx_teardown)
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(crafted_files_give_rows_or_an_error),
        TEST(crafted_catalogs_give_rows_or_an_error),
        TEST(wrong_ranks_are_told),
        TEST(arrays_of_older_versions_serve),
    };
    if (argc > 1)
        seeds = atoi(argv[1]);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    setenv("HEDDLE_CACHE", "", 1);
    struct sigaction say = {.sa_handler = crashed};
    sigaction(SIGSEGV, &say, &before[0]);
    sigaction(SIGBUS, &say, &before[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
