/* Primary and foreign keys: what is refused and how it is told; what indexes hold. */
#include "tests/store/store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/claim.h"
#include "runtime/store/store_file.h"

#define COLUMN(name, type) "{\"name\":\"" name "\",\"type\":\"" type "\",\"nullable\":true}"
#define TWO_TABLES(type, pk) \
    "{\"tables\":[{\"name\":\"p\",\"columns\":[" COLUMN("k", type) "]" pk "},{\"name\":\"c\",\"columns\":[" COLUMN( \
        "f", type) "],\"foreign_keys\":[{\"columns\":[\"f\"],\"table\":\"p\"," \
                   "\"references\":[\"k\"]}]}]}"
#define PK ",\"primary_key\":[\"k\"]"

static void put(heddle_writer *w, const char *table, const char *column, const int64_t *v, int64_t n,
                const uint8_t *valid)
{
    struct fx_batch *b = fx_batch_new(n, 0);
    fx_add(b, column, "l", v, 8, valid);
    fx_append(w, table, 0, b);
}

static void refuse(struct fx_dir *d, heddle_writer *w, const char *table, const char *message)
{
    heddle_error *e = NULL;
    fx_expect(heddle_writer_commit(w, NULL, NULL, &e), &e, HEDDLE_ERROR_DATA, table, message);
    heddle_writer_free(w);
    assert_int_equal(fx_count_entries(d->path), 0);
}

static void primary_keys_are_checked(void **state)
{
    struct fx_dir *d = *state;
    const int64_t twice[] = {4, 9, 2, 9}, far[] = {1, INT64_MAX, 1}, null[] = {1, 2};
    const uint8_t valid[] = {1, 0};
    const char schema[] = "{\"tables\":[{\"name\":\"p\",\"columns\":[" COLUMN("k", "int64") "]" PK "}]}";
    heddle_writer *w = fx_writer(d, schema);
    put(w, "p", "k", twice, 4, NULL);
    refuse(d, w, "p", "primary key (k): rows 2 and 4 both have 9");
    w = fx_writer(d, schema);
    put(w, "p", "k", far, 3, NULL);
    refuse(d, w, "p", "rows 1 and 3 both have 1");
    w = fx_writer(d, schema);
    put(w, "p", "k", null, 2, valid);
    refuse(d, w, "p", "column \"k\" is NULL in row 2");
}

static void composite_keys_are_checked(void **state)
{
    struct fx_dir *d = *state;
    enum { ROWS = 200000 };
    int64_t *a = malloc(ROWS * sizeof *a), *b = malloc(ROWS * sizeof *b);
    const char schema[] = "{\"tables\":[{\"name\":\"t\",\"columns\":[" COLUMN("a", "int64") "," COLUMN(
        "b", "int64") "],\"primary_key\":[\"a\",\"b\"]}]}";
    /* Lexicographic; short runs in disorder; long runs; no order at all. */
    for (int shape = 0; shape < 4; shape++)
        for (int broken = 0; broken < 2; broken++) {
            for (int64_t i = 0; i < ROWS; i++) {
                int64_t run = shape == 2 ? 5000 : 5;
                a[i] = i / run;
                b[i] = shape == 0 ? i % run : (i % run) * 7 % (run == 5 ? 5 : 5003);
                if (shape == 3) {
                    a[i] = i * 7919 % 1000;
                    b[i] = i / 1000 * ((int64_t)1 << 40);
                }
            }
            if (broken) {
                a[150001] = a[150000];
                b[150001] = b[150000];
            }
            heddle_writer *w = fx_writer(d, schema);
            heddle_error *e = NULL;
            struct fx_batch *x = fx_batch_new(ROWS, 0);
            fx_add(x, "a", "l", a, 8, NULL);
            fx_add(x, "b", "l", b, 8, NULL);
            fx_append(w, "t", 0, x);
            int rc = heddle_writer_commit(w, NULL, NULL, &e);
            if (broken)
                fx_expect(rc, &e, HEDDLE_ERROR_DATA, "t", "primary key (a, b): rows 150001 and 150002 both have (");
            else
                fx_ok(rc, &e);
            heddle_writer_free(w);
            hd_dir_remove(d->db);
        }
    free(a);
    free(b);
}

static void foreign_keys_are_checked(void **state)
{
    struct fx_dir *d = *state;
    const int64_t p[] = {10, 20, 30}, c[] = {30, 10, 11, 99}, far[] = {10, INT64_MIN};
    const int64_t sparse[] = {INT64_MIN, 0, INT64_MAX}, not_sparse[] = {0, 1};
    heddle_writer *w = fx_writer(d, TWO_TABLES("int64", PK));
    put(w, "p", "k", p, 3, NULL);
    put(w, "c", "f", c, 4, NULL);
    refuse(d, w, "c", "foreign key (f): 11 in row 3 is not in p(k)");
    w = fx_writer(d, TWO_TABLES("int64", ""));
    put(w, "p", "k", p, 3, NULL);
    put(w, "c", "f", far, 2, NULL);
    refuse(d, w, "c", "foreign key (f): -9223372036854775808 in row 2 is not in p(k)");
    w = fx_writer(d, TWO_TABLES("int64", ""));
    put(w, "p", "k", sparse, 3, NULL);
    put(w, "c", "f", not_sparse, 2, NULL);
    refuse(d, w, "c", "1 in row 2 is not in p(k)");
    w = fx_writer(d, TWO_TABLES("int64", ""));
    put(w, "p", "k", c, 4, NULL);
    put(w, "c", "f", p, 0, NULL);
    heddle_error *e = NULL;
    fx_ok(heddle_writer_commit(w, NULL, NULL, &e), &e);
    heddle_writer_free(w);
    hd_dir_remove(d->db);
    const int64_t dup[] = {1, 1};
    w = fx_writer(d, TWO_TABLES("int64", ""));
    put(w, "p", "k", dup, 2, NULL);
    refuse(d, w, "p", "referenced key (k): rows 1 and 2 both have 1");
}

static void string_keys_are_checked(void **state)
{
    struct fx_dir *d = *state;
    const char *p[] = {"x", "y", "z"}, *c[] = {"z", "x", "z", NULL}, *wrong[] = {"x", "w"};
    const char schema[] = TWO_TABLES("string", PK);
    for (int k = 0; k < 2; k++) {
        heddle_writer *w = fx_writer(d, schema);
        struct fx_batch *b = fx_batch_new(3, 0);
        fx_add_text(b, "k", p, false);
        fx_append(w, "p", 0, b);
        b = fx_batch_new(k ? 2 : 4, 0);
        fx_add_text(b, "f", k ? wrong : c, false);
        fx_append(w, "c", 0, b);
        if (k) {
            refuse(d, w, "c", "\"w\" in row 2 is not in p(k)");
            continue;
        }
        fx_commit(w);
        struct fx_db db;
        fx_open(&db, d->db);
        const struct fe_foreign_key *f = &fx_table(&db, "c")->fks[0];
        const uint32_t offsets[] = {0, 1, 1, 3};
        const uint32_t rows[] = {1, 0, 2};
        assert_memory_equal(f->offsets, offsets, sizeof offsets);
        assert_memory_equal(f->child_rows, rows, sizeof rows);
        assert_int_equal(f->max_children, 2);
        assert_int_equal(fx_table(&db, "p")->nkeyidx, 0);
        fx_close(&db);
        hd_dir_remove(d->db);
    }
}

static void composite_foreign_keys_are_checked(void **state)
{
    struct fx_dir *d = *state;
    const char schema[] = "{\"tables\":[{\"name\":\"p\",\"columns\":[" COLUMN("a", "int64") "," COLUMN(
        "s", "string") "],\"primary_key\":[\"a\",\"s\"]},{\"name\":\"c\",\"columns\":"
                       "[" COLUMN("x", "int64") "," COLUMN("y", "string") "],\"foreign_keys\":[{"
                                                                          "\"columns\":[\"x\",\"y\"]"
                                                                          ",\"table\":\"p\","
                                                                          "\"references\":[\"a\","
                                                                          "\"s\"]}]}]}";
    const int64_t a[] = {1, 1, 2}, x[] = {2, 1, 7}, bad[] = {2, 2, 1};
    const char *s[] = {"u", "v", "u"}, *y[] = {"u", "v", NULL}, *bad_y[] = {"u", "v", "u"};
    const uint8_t all[] = {1, 1, 1};
    for (int k = 0; k < 2; k++) {
        heddle_writer *w = fx_writer(d, schema);
        struct fx_batch *b = fx_batch_new(3, 0);
        fx_add(b, "a", "l", a, 8, all);
        fx_add_text(b, "s", s, false);
        fx_append(w, "p", 0, b);
        b = fx_batch_new(3, 0);
        fx_add(b, "x", "l", k ? bad : x, 8, all);
        fx_add_text(b, "y", k ? bad_y : y, false);
        fx_append(w, "c", 0, b);
        if (k) {
            refuse(d, w, "c", "foreign key (x, y): (2, \"v\") in row 2 is not in p(a, s)");
        } else {
            fx_commit(w);
            struct fx_db db;
            fx_open(&db, d->db);
            assert_null(fx_table(&db, "c")->fks[0].offsets);
            assert_int_equal(fx_table(&db, "c")->fks[0].n_columns, 2);
            fx_close(&db);
            hd_dir_remove(d->db);
        }
    }
}

/* Packed keys of whole numbers, found and not, and those too far off for 64 bits. */
static void packed_foreign_keys_are_checked(void **state)
{
    struct fx_dir *d = *state;
    const char schema[] = "{\"tables\":[{\"name\":\"p\",\"columns\":[" COLUMN("a", "int64") "," COLUMN(
        "b", "int64") "],\"primary_key\":[\"a\",\"b\"]},{\"name\":\"c\",\"columns\":"
                      "[" COLUMN("x", "int64") "," COLUMN("y", "int64") "],\"foreign_keys\":[{"
                                                                        "\"columns\":[\"x\",\"y\"],"
                                                                        "\"table\":\"p\","
                                                                        "\"references\":[\"a\","
                                                                        "\"b\"]}]}]}";
    enum { PARENTS = 3000, CHILDREN = 70000 };
    static const int64_t wrong[][2] = {{5, 9}, {-1, 0}, {PARENTS, 0}, {INT64_MIN, INT64_MAX}};
    int64_t a[PARENTS], b[PARENTS], *x = malloc(CHILDREN * 8), *y = malloc(CHILDREN * 8);
    for (int k = 0; k <= (int)HD_COUNT(wrong); k++) {
        for (int i = 0; i < PARENTS; i++) {
            a[i] = i * 11 % PARENTS;
            b[i] = a[i] % 7 - 3;
        }
        for (int i = 0; i < CHILDREN; i++) {
            x[i] = a[i * 13 % PARENTS];
            y[i] = b[i * 13 % PARENTS];
        }
        if (k) {
            x[66666] = wrong[k - 1][0];
            y[66666] = wrong[k - 1][1];
        }
        heddle_writer *w = fx_writer(d, schema);
        struct fx_batch *p = fx_batch_new(PARENTS, 0), *c = fx_batch_new(CHILDREN, 0);
        fx_add(p, "a", "l", a, 8, NULL);
        fx_add(p, "b", "l", b, 8, NULL);
        fx_append(w, "p", 0, p);
        fx_add(c, "x", "l", x, 8, NULL);
        fx_add(c, "y", "l", y, 8, NULL);
        fx_append(w, "c", 0, c);
        if (k) {
            refuse(d, w, "c", "in row 66667 is not in p(a, b)");
        } else {
            fx_commit(w);
            hd_dir_remove(d->db);
        }
    }
    free(x);
    free(y);
}

/* ---- indexes -------------------------------------------------------------------------------- */

/* Keys, and the index that they get. */
struct keyed {
    const char *what;
    enum fe_index_kind kind;
    int64_t rows, first, step; /* row r has first + step * r, */
    int64_t shuffle;           /* or, not 0, of r * shuffle modulo rows; */
    int64_t hole;              /* rows from half on have so much more */
};

static int64_t key_of(const struct keyed *k, int64_t r)
{
    int64_t at = k->shuffle ? r * k->shuffle % k->rows : r;
    return k->first + at * k->step + (at >= k->rows / 2 ? k->hole : 0);
}

static void keyed_database(struct fx_dir *d, struct fx_db *db, const struct keyed *k)
{
    static const char schema[] = "{\"tables\":[{\"name\":\"p\",\"columns\":[" COLUMN("k", "int64") "]" PK "}]}";
    int64_t *v = malloc((size_t)HD_MAX(k->rows, 1) * sizeof *v);
    for (int64_t r = 0; r < k->rows; r++)
        v[r] = key_of(k, r);
    heddle_writer *w = fx_writer(d, schema);
    put(w, "p", "k", v, k->rows, NULL);
    fx_commit(w);
    free(v);
    fx_open(db, d->db);
}

/* Every value from min to max leads to its row, or to none. */
static void expect_index(const struct fe_table *t, const struct keyed *k)
{
    int64_t seen = 0;
    const struct fe_key_index *x = t->keyidx;
    assert_int_equal(t->nkeyidx, 1);
    assert_int_equal(x->kind, k->kind);
    assert_true(k->kind != FE_INDEX_BITMAP || x->range <= fe_rank_words(x->range) * FE_RANK_VALUES);
    for (uint64_t at = 0; at < x->range; at++) {
        int64_t row = fe_key_index_row(x, at);
        assert_true(row >= -1 && row < k->rows);
        assert_true(row < 0 || key_of(k, row) == (int64_t)x->min + (int64_t)at);
        seen += row >= 0;
    }
    assert_int_equal(seen, k->rows);
}

static void key_indexes_find_rows(void **state)
{
    enum { ROWS = 200000 };
    static const struct keyed cases[] = {
        {"dense", FE_INDEX_POSITIONAL, ROWS, 1000000000000, 1, 0, 0},
        {"shuffled", FE_INDEX_ARRAY, ROWS, 0, -7, 7919, 0},
        {"gaps", FE_INDEX_BITMAP, ROWS, 0, 4, 0, 0},
        {"one gap, of words without a value", FE_INDEX_BITMAP, ROWS, -5, 1, 0, 777777},
        {"negative", FE_INDEX_BITMAP, ROWS, -ROWS * INT64_C(5), 3, 0, 0},
        {"the last value ends a word", FE_INDEX_BITMAP, 8, 0, 1, 0, 24},
        {"largest values", FE_INDEX_BITMAP, ROWS, INT64_MAX - 7 * (ROWS - 1), 7, 0, 0},
        {"smallest values", FE_INDEX_BITMAP, ROWS, INT64_MIN, 7, 0, 0},
        {"one block", FE_INDEX_BITMAP, 65536, 11, 2, 0, 0},
        {"a row in a second block", FE_INDEX_BITMAP, 65537, 11, 2, 0, 0},
        {"two rows", FE_INDEX_BITMAP, 2, 40, 2, 0, 10},
        {"one row", FE_INDEX_POSITIONAL, 1, -3, 1, 0, 0},
    };
    struct fx_dir *d = *state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        struct fx_db db;
        keyed_database(d, &db, &cases[i]);
        expect_index(fx_table(&db, "p"), &cases[i]);
        fx_close(&db);
        hd_dir_remove(d->db);
    }
}

/* Too far apart, or none at all. */
static void sparse_keys_have_no_index(void **state)
{
    static const struct keyed cases[] = {{"9 times the rows", FE_INDEX_NONE, 1000, 0, 9, 0, 0},
                                         {"both ends", FE_INDEX_NONE, 2, INT64_MIN, 1, 0, INT64_MAX},
                                         {"empty", FE_INDEX_NONE, 0, 0, 0, 0, 0}};
    struct fx_dir *d = *state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        struct fx_db db;
        keyed_database(d, &db, &cases[i]);
        assert_int_equal(fx_table(&db, "p")->nkeyidx, 0);
        fx_close(&db);
        hd_dir_remove(d->db);
    }
}

/* Parents of more than FE_LONG_CHILDREN are listed, all or none. */
static void expect_long(const struct fe_foreign_key *f, int64_t parents)
{
    int n = 0;
    for (int64_t p = 0; p < parents; p++) {
        int64_t children = (int64_t)(fe_fk_offset(f, p + 1) - fe_fk_offset(f, p));
        if (children <= FE_LONG_CHILDREN)
            continue;
        if (n < f->nlong)
            assert_true(f->longs[n].row == p && f->longs[n].children == children);
        n++;
    }
    assert_int_equal(f->nlong, n <= FE_LONG_PARENTS ? n : 0);
}

static void expect_children(const struct fe_foreign_key *f, const int64_t *parent_of, int64_t children, int64_t parents,
                            bool clustered)
{
    uint64_t seen = 0, max = 0;
    assert_int_equal(f->child_rows == NULL, clustered);
    assert_int_equal(fe_fk_offset(f, 0), 0);
    for (int64_t p = 0; p < parents; p++) {
        assert_true(fe_fk_offset(f, p + 1) >= fe_fk_offset(f, p));
        max = HD_MAX(max, fe_fk_offset(f, p + 1) - fe_fk_offset(f, p));
        for (uint64_t k = fe_fk_offset(f, p); k < fe_fk_offset(f, p + 1); k++, seen++) {
            int64_t child = f->child_rows ? f->child_rows[k] : (int64_t)k;
            assert_true(child < children && parent_of[child] == p);
            if (f->child_rows && k > fe_fk_offset(f, p))
                assert_true(f->child_rows[k] > f->child_rows[k - 1]);
        }
    }
    uint64_t expected = 0;
    for (int64_t c = 0; c < children; c++)
        expected += parent_of[c] >= 0;
    assert_int_equal(seen, expected);
    assert_int_equal(f->max_children, max);
    expect_long(f, parents);
}

static void foreign_key_indexes_list_children(void **state)
{
    struct fx_dir *d = *state;
    enum { PARENTS = 5000, CHILDREN = 150000 };
    int64_t *k = malloc(PARENTS * 8), *f = malloc(CHILDREN * 8), *row = malloc(CHILDREN * 8);
    uint8_t *valid = malloc(CHILDREN);
    uint64_t seed = 3;
    for (int shape = 0; shape < 5; shape++) {
        /* 0 random, 1 in parents' order, 2 one parent has most, 3 with NULLs, 4 sparse parents */
        for (int64_t i = 0; i < PARENTS; i++)
            k[i] = shape == 4 ? (i * 4999 % PARENTS) << 40 : i * 3 - 77;
        for (int64_t i = 0; i < CHILDREN; i++) {
            row[i] = shape == 1   ? i * (PARENTS - 10) / CHILDREN
                     : shape == 2 ? (fx_random(&seed) % 10 ? 17 : i % PARENTS)
                                  : (int64_t)(fx_random(&seed) % PARENTS);
            f[i] = k[row[i]];
            valid[i] = shape != 3 || fx_random(&seed) % 3 != 0;
            if (!valid[i])
                row[i] = -1;
        }
        heddle_writer *w = fx_writer(d, TWO_TABLES("int64", PK));
        put(w, "p", "k", k, PARENTS, NULL);
        put(w, "c", "f", f, CHILDREN, shape == 3 ? valid : NULL);
        fx_commit(w);
        struct fx_db db;
        fx_open(&db, d->db);
        const struct fe_table *t = fx_table(&db, "c");
        expect_children(&t->fks[0], row, CHILDREN, PARENTS, shape == 1);
        assert_int_equal(t->fks[0].nlong, shape == 2);
        assert_int_equal(t->cols[0].facts.max_mult, t->fks[0].max_children);
        fx_close(&db);
        hd_dir_remove(d->db);
    }
    free(k);
    free(f);
    free(row);
    free(valid);
}

static void tables_may_refer_to_themselves(void **state)
{
    struct fx_dir *d = *state;
    const int64_t k[] = {1, 2, 3}, boss[] = {0, 1, 1};
    const uint8_t valid[] = {0, 1, 1};
    heddle_writer *w = fx_writer(d, "{\"tables\":[{\"name\":\"e\",\"columns\":[" COLUMN("k", "int64") "," COLUMN(
                                        "boss", "int64") "]" PK ",\"foreign_keys\":[{\"columns\":[\"boss\"],\"table\":"
                                                         "\"e\",\"references\":[\"k\"]}]}]}");
    struct fx_batch *b = fx_batch_new(3, 0);
    fx_add(b, "k", "l", k, 8, NULL);
    fx_add(b, "boss", "l", boss, 8, valid);
    fx_append(w, "e", 0, b);
    fx_commit(w);
    struct fx_db db;
    fx_open(&db, d->db);
    const struct fe_table *t = fx_table(&db, "e");
    assert_ptr_equal(t->fks[0].parent, t);
    assert_int_equal(fe_fk_offset(&t->fks[0], 1), 2);
    assert_int_equal(t->fks[0].child_rows[0], 1);
    fx_close(&db);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fx_setup, fx_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(primary_keys_are_checked),
        TEST(composite_keys_are_checked),
        TEST(foreign_keys_are_checked),
        TEST(string_keys_are_checked),
        TEST(composite_foreign_keys_are_checked),
        TEST(packed_foreign_keys_are_checked),
        TEST(key_indexes_find_rows),
        TEST(sparse_keys_have_no_index),
        TEST(foreign_key_indexes_list_children),
        TEST(tables_may_refer_to_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
