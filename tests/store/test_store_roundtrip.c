/* What goes in comes out: all types, NULLs, extremes, forms of input, cuts into batches. */
#include "tests/store/store_fixture.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hd_i128 dec_max(void)
{
    return hd_pow10(38) - 1;
}

/* One column of one type, written in pieces of `cut` rows, the last first. */
static void write_column(struct fx_dir *d, const char *type, const char *format, const void *values, size_t width,
                         const uint8_t *valid, int64_t rows, int64_t cut, int64_t offset)
{
    char schema[256];
    snprintf(schema, sizeof schema,
             "{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"x\",\"type\":\"%s\","
             "\"nullable\":true}]}]}",
             type);
    heddle_writer *w = fx_writer(d, schema);
    for (int64_t end = rows; end > 0;) {
        int64_t from = HD_MAX(end - cut, 0);
        struct fx_batch *b = fx_batch_new(end - from, offset);
        const uint8_t *v = valid ? valid + from : NULL;
        if (strcmp(format, "b") == 0)
            fx_add_bool(b, "x", (const uint8_t *)values + from, v);
        else if (strcmp(format, "u") == 0 || strcmp(format, "U") == 0)
            fx_add_text(b, "x", (const char *const *)values + from, format[0] == 'U');
        else
            fx_add(b, "x", format, (const char *)values + (size_t)from * width, width, v);
        fx_append(w, "t", from, b);
        end = from;
    }
    fx_commit(w);
}

/* As write_column, packed, of int64. */
static void write_packed(struct fx_dir *d, const int64_t *values, const uint8_t *valid, int64_t rows)
{
    heddle_writer *w = fx_writer(d, "{\"packed\":true,\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"x\","
                                    "\"type\":\"int64\",\"nullable\":true}]}]}");
    struct fx_batch *b = fx_batch_new(rows, 0);
    fx_add(b, "x", "l", values, sizeof *values, valid);
    fx_append(w, "t", 0, b);
    fx_commit(w);
}

static void remove_db(struct fx_dir *d)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", d->db);
    assert_int_equal(system(command), 0);
}

typedef hd_i128 (*get_fn)(const void *values, int64_t i);
static hd_i128 get_i8(const void *v, int64_t i)
{
    return ((const int8_t *)v)[i];
}
static hd_i128 get_u8(const void *v, int64_t i)
{
    return ((const uint8_t *)v)[i];
}
static hd_i128 get_u16(const void *v, int64_t i)
{
    return ((const uint16_t *)v)[i];
}
static hd_i128 get_i32(const void *v, int64_t i)
{
    return ((const int32_t *)v)[i];
}
static hd_i128 get_u32(const void *v, int64_t i)
{
    return ((const uint32_t *)v)[i];
}
static hd_i128 get_i64(const void *v, int64_t i)
{
    return ((const int64_t *)v)[i];
}
static hd_i128 get_i128(const void *v, int64_t i)
{
    return ((const hd_i128 *)v)[i];
}

static void expect_ints(struct fx_dir *d, const void *values, get_fn get, const uint8_t *valid, int64_t rows, int width)
{
    struct fx_db db;
    fx_open(&db, d->db);
    const struct fe_table *t = fx_table(&db, "t");
    const struct fe_table_column *c = fx_column(t, "x");
    assert_int_equal(t->rows, rows);
    if (width)
        assert_int_equal(c->width, width);
    for (int64_t i = 0; i < rows; i++) {
        assert_int_equal(rt_col_valid(c, i), valid ? valid[i] : 1);
        if (!valid || valid[i])
            assert_true(rt_col_int(c, i) == get(values, i));
    }
    fx_close(&db);
    remove_db(d);
}

/* With and without NULLs, whole and in pieces, with and without an offset in the arrays. */
static void check_ints(struct fx_dir *d, const char *type, const char *format, const void *values, size_t size,
                       get_fn get, int64_t rows, int width)
{
    uint8_t *valid = malloc((size_t)rows);
    for (int64_t i = 0; i < rows; i++)
        valid[i] = i % 3 != 1;
    for (int k = 0; k < 8; k++) {
        const uint8_t *v = k & 1 ? valid : NULL;
        write_column(d, type, format, values, size, v, rows, k & 2 ? 3 : rows, k & 4 ? 13 : 0);
        expect_ints(d, values, get, v, rows, v ? 0 : width);
    }
    free(valid);
}

/* Differences of each number of bits, from a base and times a factor, over the seam of two blocks of rows. Numbers of as
 * many bits as a width of bytes are not packed. */
static void packed_numbers_of_all_bits(void **state)
{
    struct fx_dir *d = *state;
    enum { ROWS = 65536 + 77 };
    int64_t *values = malloc(ROWS * sizeof *values);
    uint8_t *valid = malloc(ROWS);
    for (int bits = 1; bits <= 63; bits++) {
        int64_t rows = bits % 8 == 5 ? ROWS : 9 + bits, factor = bits < 40 && bits % 3 == 0 ? 1000 : 1;
        uint64_t max = ((uint64_t)1 << bits) - 1, seed = (uint64_t)bits;
        for (int64_t i = 0; i < rows; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            uint64_t v = i == 0 ? 0 : i == rows - 1 ? max : i == 1 ? max - 1 : seed >> 1 & max;
            values[i] = (bits == 63 ? 0 : -77) + (int64_t)v * factor;
            valid[i] = i % 5 != 2 || bits % 2;
        }
        write_packed(d, values, valid, rows);
        struct fx_db db;
        fx_open(&db, d->db);
        const struct fe_table_column *c = fx_column(fx_table(&db, "t"), "x");
        assert_int_equal(c->bits, bits == 8 || bits == 16 || bits == 32 ? 0 : bits);
        assert_true(c->bits == 0 || 8 * c->width > c->bits);
        fx_close(&db);
        expect_ints(d, values, get_i64, valid, rows, 0);
    }
    free(values);
    free(valid);
}

static void integers_keep_extremes(void **state)
{
    struct fx_dir *d = *state;
    const int32_t i32[] = {0, INT32_MAX, INT32_MIN, -1, 7, 7};
    const int64_t i64[] = {0, INT64_MAX, INT64_MIN, -1, 7};
    const int32_t small[] = {-128, 127, 0, 5};
    const int32_t shifted[] = {1000000, 1000255, 1000007};
    const int8_t i8[] = {-128, 127, 3, 4};
    const uint8_t u8[] = {0, 255, 3, 4};
    const uint16_t u16[] = {0, 65535, 3, 4};
    const uint32_t u32[] = {0, UINT32_MAX, 3, 4};
    check_ints(d, "int32", "i", i32, 4, get_i32, HD_COUNT(i32), 4);
    check_ints(d, "int64", "l", i64, 8, get_i64, HD_COUNT(i64), 8);
    check_ints(d, "int32", "i", small, 4, get_i32, HD_COUNT(small), 1);
    check_ints(d, "int32", "i", shifted, 4, get_i32, HD_COUNT(shifted), 1);
    check_ints(d, "int32", "c", i8, 1, get_i8, HD_COUNT(i8), 1);
    check_ints(d, "int64", "C", u8, 1, get_u8, HD_COUNT(u8), 1);
    check_ints(d, "int32", "S", u16, 2, get_u16, HD_COUNT(u16), 2);
    check_ints(d, "int64", "I", u32, 4, get_u32, HD_COUNT(u32), 4);
}

static void dates_and_times_keep_extremes(void **state)
{
    struct fx_dir *d = *state;
    const int32_t days[] = {0, HD_DATE_MAX, HD_DATE_MIN, 10000};
    const int64_t micros[] = {0, HD_TIMESTAMP_MAX, HD_TIMESTAMP_MIN, 1};
    check_ints(d, "date", "tdD", days, 4, get_i32, HD_COUNT(days), 4);
    check_ints(d, "timestamp", "tsu:", micros, 8, get_i64, HD_COUNT(micros), 8);
}

static void decimals_keep_extremes(void **state)
{
    struct fx_dir *d = *state;
    const hd_i128 big[] = {0, dec_max(), -dec_max(), 1, -1};
    const hd_i128 far[] = {dec_max(), dec_max() - 255, dec_max() - 100};
    const hd_i128 beyond[] = {(hd_i128)INT64_MAX + 1, (hd_i128)INT64_MAX + 3};
    const hd_i128 quantity[] = {100, 5000, 300, 4900};
    const hd_i128 eighteen[] = {hd_pow10(18) - 1, 1 - hd_pow10(18)};
    check_ints(d, "decimal(38,5)", "d:38,5", big, 16, get_i128, HD_COUNT(big), 16);
    check_ints(d, "decimal(38,0)", "d:38,0", far, 16, get_i128, HD_COUNT(far), 1);
    check_ints(d, "decimal(19,0)", "d:19,0", beyond, 16, get_i128, HD_COUNT(beyond), 1);
    check_ints(d, "decimal(12,2)", "d:12,2", quantity, 16, get_i128, HD_COUNT(quantity), 1);
    check_ints(d, "decimal(18,2)", "d:18,2,128", eighteen, 16, get_i128, HD_COUNT(eighteen), 8);
}

static hd_i128 get_bool(const void *v, int64_t i)
{
    return ((const uint8_t *)v)[i];
}

static void bools_survive(void **state)
{
    const uint8_t v[] = {1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1};
    check_ints(*state, "bool", "b", v, 1, get_bool, HD_COUNT(v), 1);
}

static void factor_is_used_where_it_narrows(void **state)
{
    struct fx_dir *d = *state;
    struct fx_db db;
    const hd_i128 v[] = {-5000, 100, 5000};
    write_column(d, "decimal(12,2)", "d:12,2", v, 16, NULL, 3, 3, 0);
    fx_open(&db, d->db);
    const struct fe_table_column *c = fx_column(fx_table(&db, "t"), "x");
    assert_int_equal(c->width, 1);
    assert_true(c->factor == 100 && c->base == 0);
    fx_close(&db);
    remove_db(d);
    const hd_i128 no[] = {100, 200, 300, 12700};
    write_column(d, "decimal(12,2)", "d:12,2", no, 16, NULL, 4, 4, 0);
    fx_open(&db, d->db);
    c = fx_column(fx_table(&db, "t"), "x");
    assert_true(c->width == 1 && c->factor == 100 && c->base == 0);
    assert_int_equal(rt_col_stored(c, 3), 127);
    fx_close(&db);
}

static void floats_are_bit_exact(void **state)
{
    struct fx_dir *d = *state;
    struct fx_db db;
    const double v[] = {0.0, -0.0, 1.5, -DBL_MAX, DBL_MIN, INFINITY, -INFINITY, NAN, 5e-324};
    write_column(d, "float64", "g", v, 8, NULL, HD_COUNT(v), 4, 3);
    fx_open(&db, d->db);
    assert_memory_equal(fx_column(fx_table(&db, "t"), "x")->at.data, v, sizeof v);
    fx_close(&db);
}

static void expect_texts(struct fx_dir *d, const char *const *v, int64_t rows, enum fe_storage storage)
{
    struct fx_db db;
    fx_open(&db, d->db);
    const struct fe_table_column *c = fx_column(fx_table(&db, "t"), "x");
    assert_int_equal(c->storage, storage);
    for (int64_t i = 0; i < rows; i++) {
        assert_int_equal(rt_col_valid(c, i), v[i] != NULL);
        struct rt_str s = rt_col_str(c, i);
        if (v[i]) {
            assert_int_equal(s.n, strlen(v[i]));
            assert_memory_equal(s.p, v[i], s.n);
        } else if (storage == FE_STORE_TEXT) {
            assert_int_equal(s.n, 0);
        }
    }
    fx_close(&db);
    remove_db(d);
}

static void few_texts_become_a_dictionary(void **state)
{
    struct fx_dir *d = *state;
    const char *v[] = {"b", "", "a", NULL, "b", "\xc3\xa9", "aa", NULL, ""};
    for (int k = 0; k < 4; k++) {
        write_column(d, "string", k & 1 ? "U" : "u", v, 0, NULL, HD_COUNT(v), k & 2 ? 2 : 99, 5);
        expect_texts(d, v, HD_COUNT(v), FE_STORE_DICT);
    }
}

/* 100,000 rows, so that there are two blocks; texts of the cuts are partly local dictionaries. */
static void many_texts_become_text(void **state)
{
    struct fx_dir *d = *state;
    enum { ROWS = 100000 };
    const char **v = malloc(ROWS * sizeof *v);
    char *space = malloc(ROWS * 16);
    for (int i = 0; i < ROWS; i++) {
        snprintf(space + i * 16, 16, "text %d", i > 90000 ? i % 50 : i * 7 % ROWS);
        v[i] = i % 11 == 5 ? NULL : space + i * 16;
    }
    write_column(d, "string", "u", v, 0, NULL, ROWS, ROWS, 0);
    expect_texts(d, v, ROWS, FE_STORE_TEXT);
    write_column(d, "string", "u", v, 0, NULL, ROWS, 777, 3);
    expect_texts(d, v, ROWS, FE_STORE_TEXT);
    for (int i = 0; i < ROWS; i++)
        v[i] = space + i % 20000 * 16;
    write_column(d, "string", "u", v, 0, NULL, ROWS, 30000, 3);
    expect_texts(d, v, ROWS, FE_STORE_DICT);
    free(v);
    free(space);
}

static void long_texts_survive_expansion(void **state)
{
    struct fx_dir *d = *state;
    enum { ROWS = 5000, LONG = 40000 };
    const char **v = malloc(ROWS * sizeof *v);
    char *space = malloc(ROWS * 16), *large = malloc(LONG + 1);
    memset(large, 'x', LONG);
    large[LONG] = 0;
    for (int i = 0; i < ROWS; i++) {
        snprintf(space + i * 16, 16, "%d", i);
        v[i] = i % 100 ? space + i * 16 : large;
    }
    write_column(d, "string", "u", v, 0, NULL, ROWS, 50, 0); /* small slices: local dictionaries */
    expect_texts(d, v, ROWS, FE_STORE_TEXT);
    free(v);
    free(space);
    free(large);
}

static void dictionary_input_is_renumbered(void **state)
{
    struct fx_dir *d = *state;
    const char *entries[] = {"z", "unused", "a", "m", "a"};
    const int8_t codes[] = {0, 2, 3, 4, 0, 2};
    const uint8_t valid[] = {1, 1, 1, 1, 0, 1};
    const char *expected[] = {"z", "a", "m", "a", NULL, "a"};
    heddle_writer *w = fx_writer(d, "{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"x\","
                                    "\"type\":\"string\",\"nullable\":true}]}]}");
    struct fx_batch *b = fx_batch_new(6, 2);
    fx_add_dict(b, "x", "c", codes, 1, valid, entries, 5);
    fx_append(w, "t", 0, b);
    fx_commit(w);
    struct fx_db db;
    fx_open(&db, d->db);
    assert_int_equal(fx_column(fx_table(&db, "t"), "x")->dict.n, 3);
    fx_close(&db);
    expect_texts(d, expected, 6, FE_STORE_DICT);
}

static void empty_and_all_null_tables(void **state)
{
    struct fx_dir *d = *state;
    struct fx_db db;
    heddle_writer *w =
        fx_writer(d, "{\"tables\":[{\"name\":\"e\",\"columns\":[{\"name\":\"i\",\"type\":\"int32\"},{"
                     "\"name\":\"s\",\"type\":\"string\"},{\"name\":\"f\",\"type\":\"float64\"}],"
                     "\"primary_key\":[\"i\"]},{\"name\":\"n\",\"columns\":[{\"name\":\"i\",\"type\":"
                     "\"int64\",\"nullable\":true},{\"name\":\"s\",\"type\":\"string\",\"nullable\":true},"
                     "{\"name\":\"f\",\"type\":\"float64\",\"nullable\":true}]}]}");
    const int64_t i[3] = {1, 2, 3};
    const double f[3] = {1, 2, 3};
    const uint8_t valid[3] = {0, 0, 0};
    const char *s[3] = {NULL, NULL, NULL};
    struct fx_batch *b = fx_batch_new(3, 0);
    fx_add(b, "i", "l", i, 8, valid);
    fx_add_text(b, "s", s, false);
    fx_add(b, "f", "g", f, 8, valid);
    fx_append(w, "n", 0, b);
    fx_commit(w);
    fx_open(&db, d->db);
    const struct fe_table *e = fx_table(&db, "e"), *n = fx_table(&db, "n");
    assert_int_equal(e->rows, 0);
    for (int c = 0; c < 3; c++) {
        assert_non_null(e->cols[c].at.data);
        assert_true(e->cols[c].facts.sorted && e->cols[c].facts.distinct == 0);
        assert_int_equal(n->cols[c].facts.nulls, 3);
        assert_int_equal(n->cols[c].facts.distinct, 0);
        assert_false(n->cols[c].facts.has_range);
        assert_false(rt_col_valid(&n->cols[c], 1));
    }
    fx_close(&db);
}

/* The files depend on the rows alone: not on cuts, order of appends or form of input. */
static void files_do_not_depend_on_batches(void **state)
{
    struct fx_dir *d = *state;
    enum { ROWS = 70000 };
    int64_t *v = malloc(ROWS * sizeof *v);
    uint8_t *valid = malloc(ROWS);
    char sums[2][17];
    uint64_t seed = 1;
    for (int i = 0; i < ROWS; i++) {
        v[i] = (int64_t)(fx_random(&seed) % 1000) * 1000;
        valid[i] = fx_random(&seed) % 4 != 0;
    }
    for (int k = 0; k < 2; k++) {
        struct fx_db db;
        write_column(d, "int64", "l", v, 8, valid, ROWS, k ? 501 : ROWS, k);
        fx_open(&db, d->db);
        memcpy(sums[k], db.doc->files[0].checksum, 17);
        fx_close(&db);
        remove_db(d);
    }
    assert_string_equal(sums[0], sums[1]);
    free(v);
    free(valid);
}

static void odd_names_make_safe_files(void **state)
{
    struct fx_dir *d = *state;
    struct fx_db db;
    heddle_writer *w =
        fx_writer(d, "{\"tables\":[{\"name\":\"a/b\",\"columns\":[{\"name\":\"../x y\",\"type\":\"int32\"},"
                     "{\"name\":\"\xc3\xa9\",\"type\":\"int32\"}]}]}");
    const int32_t v[] = {1, 2};
    struct fx_batch *b = fx_batch_new(2, 0);
    fx_add(b, "../x y", "i", v, 4, NULL);
    fx_add(b, "\xc3\xa9", "i", v, 4, NULL);
    fx_append(w, "a/b", 0, b);
    fx_commit(w);
    fx_open(&db, d->db);
    assert_int_equal(rt_col_int(fx_column(fx_table(&db, "a/b"), "../x y"), 1), 2);
    fx_close(&db);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fx_setup, fx_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(packed_numbers_of_all_bits),
        TEST(integers_keep_extremes),
        TEST(dates_and_times_keep_extremes),
        TEST(decimals_keep_extremes),
        TEST(bools_survive),
        TEST(factor_is_used_where_it_narrows),
        TEST(floats_are_bit_exact),
        TEST(few_texts_become_a_dictionary),
        TEST(many_texts_become_text),
        TEST(long_texts_survive_expansion),
        TEST(dictionary_input_is_renumbered),
        TEST(empty_and_all_null_tables),
        TEST(files_do_not_depend_on_batches),
        TEST(odd_names_make_safe_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
