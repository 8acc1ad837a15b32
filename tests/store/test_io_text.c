/* The text loader: formats, NULLs, quotes, headers, pieces, and errors with file, line, column. */
#include "tests/store/store_fixture.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/claim.h"
#include "runtime/base/fault.h"
#include "runtime/base/strbuf.h"
#include "runtime/io/text_load.h"
#include "runtime/io/text_split.h"
#include "runtime/store/store_file.h"

#define CSV ",\"format\":{\"delimiter\":\",\",\"quote\":\"\\\"\",\"trailing_delimiter\":false"

static void put(const struct fx_dir *d, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "in/%s", name);
    mkdir(fx_path(d, "in"), 0777);
    fx_write_file(fx_path(d, path), text, strlen(text));
}

static int load(struct fx_dir *d, const char *columns, const char *more, heddle_error **e)
{
    char schema[1024];
    heddle_writer *w = NULL;
    snprintf(schema, sizeof schema, "{\"tables\":[{\"name\":\"t\",\"columns\":[%s]%s}]}", columns, more);
    int rc = heddle_writer_open(d->context, d->db, schema, &w, e) ||
             heddle_writer_load_text(w, fx_path(d, "in"), NULL, NULL, e) || heddle_writer_commit(w, NULL, NULL, e);
    heddle_writer_free(w);
    return rc ? -1 : 0;
}

#define COL(n, t) "{\"name\":\"" n "\",\"type\":\"" t "\"}"
#define NUL(n, t) "{\"name\":\"" n "\",\"type\":\"" t "\",\"nullable\":true}"

static void expect_str(const struct fe_table_column *c, int64_t row, const char *text)
{
    assert_int_equal(rt_col_valid(c, row), text != NULL);
    if (!text)
        return;
    struct rt_str s = rt_col_str(c, row);
    assert_int_equal(s.n, strlen(text));
    assert_memory_equal(s.p, text, s.n);
}

/* ---- good files ----------------------------------------------------------------------------- */

static void tbl_files_load(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    struct fx_db db;
    put(d, "t.tbl", "1|a b|1.50|1998-12-01|\n-2||-0.05|1970-01-01|\n");
    put(d, "t.tbl.10", "4|d|4|2000-02-29|\n");
    put(d, "t.tbl.9", "3|\"q\"|3.1|0001-01-01|"); /* no line end */
    put(d, "t.tbl.x", "rubbish");
    put(d, "tt.tbl", "rubbish");
    fx_ok(load(d, COL("i", "int32") "," COL("s", "string") "," COL("d", "decimal(12,2)") "," COL("x", "date"), "", &e),
          &e);
    fx_open(&db, d->db);
    const struct fe_table *t = fx_table(&db, "t");
    assert_int_equal(t->rows, 4);
    const int64_t ints[] = {1, -2, 3, 4}, decs[] = {150, -5, 310, 400};
    const char *texts[] = {"a b", "", "\"q\"", "d"};
    for (int i = 0; i < 4; i++) {
        assert_true(rt_col_int(&t->cols[0], i) == ints[i]);
        expect_str(&t->cols[1], i, texts[i]);
        assert_true(rt_col_int(&t->cols[2], i) == decs[i]);
    }
    assert_true(rt_col_int(&t->cols[3], 0) == hd_date_from_civil(1998, 12, 1));
    assert_true(rt_col_int(&t->cols[3], 1) == 0);
    fx_close(&db);
}

static void all_types_parse(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    struct fx_db db;
    put(d, "t.csv",
        "true,-2147483648,9223372036854775807,-99999999999999999999999999999999999999,1e308,"
        "1970-01-02 00:00:00.000001\r\n"
        "F,2147483647,-9223372036854775808,0.10,-0.5,1969-12-31T23:59:59\r\n"
        "1,+5,000000000000000000000007,12345678901234567890.5,inf,1970-01-01\r\n");
    int rc = load(d,
                  COL("b", "bool") "," COL("i", "int32") "," COL("l", "int64") "," COL("w", "decimal(38,0)") "," COL(
                      "f", "float64") "," COL("ts", "timestamp"),
                  CSV "}", &e); /* 0.10 has a digit that scale 0 cannot hold */
    fx_expect(rc, &e, HEDDLE_ERROR_DATA, "t.csv:2", "expected decimal(38,0), found \"0.10\"");
    put(d, "t.csv",
        "true,-2147483648,9223372036854775807,-999999999999999999999999999999999999.99,1e308,"
        "1970-01-02 00:00:00.000001\r\n"
        "F,2147483647,-9223372036854775808,0.10,-0.5,1969-12-31T23:59:59\r\n"
        "1,+5,000000000000000000000007,12345678901234567890.5,inf,1970-01-01\r\n");
    fx_ok(load(d,
               COL("b", "bool") "," COL("i", "int32") "," COL("l", "int64") "," COL("w", "decimal(38,2)") "," COL(
                   "f", "float64") "," COL("ts", "timestamp"),
               CSV "}", &e),
          &e);
    fx_open(&db, d->db);
    const struct fe_table *t = fx_table(&db, "t");
    assert_int_equal(t->rows, 3);
    assert_true(rt_col_int(&t->cols[0], 0) == 1 && rt_col_int(&t->cols[0], 1) == 0);
    assert_true(rt_col_int(&t->cols[1], 0) == INT32_MIN && rt_col_int(&t->cols[1], 2) == 5);
    assert_true(rt_col_int(&t->cols[2], 1) == INT64_MIN && rt_col_int(&t->cols[2], 2) == 7);
    assert_true(rt_col_int(&t->cols[3], 0) == 1 - hd_pow10(38));
    assert_true(rt_col_int(&t->cols[3], 1) == 10);
    assert_true(rt_col_real(&t->cols[4], 0) == 1e308 && rt_col_real(&t->cols[4], 2) > DBL_MAX);
    assert_true(rt_col_int(&t->cols[5], 0) == 86400000001);
    assert_true(rt_col_int(&t->cols[5], 1) == -1000000);
    fx_close(&db);
}

static void other_integers_become_wider(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    struct fx_db db;
    static const char *const types[] = {"int8", "uint8", "int16", "uint16", "uint32", "uint64"};
    char columns[512] = "";
    put(d, "t.tbl", "-128|255|-32768|65535|4294967295|9223372036854775807|\n");
    for (int i = 0; i < 6; i++) {
        size_t n = strlen(columns);
        snprintf(columns + n, sizeof columns - n, "%s{\"name\":\"c%d\",\"type\":\"%s\"}", i ? "," : "", i, types[i]);
    }
    fx_ok(load(d, columns, "", &e), &e);
    fx_open(&db, d->db);
    const struct fe_table *t = fx_table(&db, "t");
    const int64_t values[] = {-128, 255, -32768, 65535, 4294967295, INT64_MAX};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(t->cols[i].type.kind, i < 4 ? HD_INT32 : HD_INT64);
        assert_true(rt_col_int(&t->cols[i], 0) == values[i]);
    }
    fx_close(&db);
    hd_dir_remove(d->db);
    put(d, "t.tbl", "1|\n9223372036854775808|\n");
    fx_expect(load(d, COL("x", "uint64"), "", &e), &e, HEDDLE_ERROR_DATA, "t.tbl:2",
              "column \"x\" (field 1): expected int64, found \"9223372036854775808\"");
}

static void quotes_and_nulls(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    struct fx_db db;
    put(d, "t.csv",
        "\xef\xbb\xbfs,i\n"
        "\"a,\"\"b\"\"\nc\",1\n"
        "NA,NA\n"
        "\"NA\",\"2\"\n"
        ",3\n"
        "\"\",4\n"
        "\n\r\n\n");
    fx_ok(load(d, NUL("i", "int32") "," NUL("s", "string"), CSV ",\"header\":true,\"null\":\"NA\"}", &e), &e);
    fx_open(&db, d->db);
    const struct fe_table *t = fx_table(&db, "t");
    assert_int_equal(t->rows, 5);
    expect_str(&t->cols[1], 0, "a,\"b\"\nc");
    expect_str(&t->cols[1], 1, NULL);
    expect_str(&t->cols[1], 2, "NA");
    expect_str(&t->cols[1], 3, "");
    expect_str(&t->cols[1], 4, "");
    assert_false(rt_col_valid(&t->cols[0], 1));
    assert_true(rt_col_int(&t->cols[0], 2) == 2 && rt_col_int(&t->cols[0], 4) == 4);
    fx_close(&db);
}

static void empty_text_is_null_only_where_allowed(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    struct fx_db db;
    put(d, "t.tbl", "||\nx|y|\n");
    fx_ok(load(d, COL("a", "string") "," NUL("b", "string"), "", &e), &e);
    fx_open(&db, d->db);
    expect_str(&fx_table(&db, "t")->cols[0], 0, "");
    expect_str(&fx_table(&db, "t")->cols[1], 0, NULL);
    fx_close(&db);
}

static void single_columns_may_have_empty_lines(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    struct fx_db db;
    put(d, "t.csv", "a\n\nb\n\n");
    fx_ok(load(d, COL("a", "string"), CSV "}", &e), &e);
    fx_open(&db, d->db);
    assert_int_equal(fx_table(&db, "t")->rows, 4);
    fx_close(&db);
}

static void empty_files_are_empty_tables(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    struct fx_db db;
    put(d, "t.tbl", "");
    fx_ok(load(d, COL("a", "string"), "", &e), &e);
    fx_open(&db, d->db);
    assert_int_equal(fx_table(&db, "t")->rows, 0);
    fx_close(&db);
}

/* Larger than several pieces, with line ends inside quotes at every place. */
static void large_files_load_in_pieces(void **state)
{
    struct fx_dir *d = *state;
    enum { ROWS = 300000 };
    heddle_error *e = NULL;
    struct fx_db db;
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    for (int i = 0; i < ROWS; i++)
        hd_strbuf_addf(&b, "%d,\"line %d\n,\"\"%d\"\"\n\",%d.25\n", i, i, i, i);
    put(d, "t.csv", b.s);
    hd_strbuf_release(&b);
    fx_ok(load(d, COL("i", "int64") "," COL("s", "string") "," COL("f", "float64"), CSV "}", &e), &e);
    fx_open(&db, d->db);
    const struct fe_table *t = fx_table(&db, "t");
    assert_int_equal(t->rows, ROWS);
    for (int i = 0; i < ROWS; i++) {
        char text[64];
        snprintf(text, sizeof text, "line %d\n,\"%d\"\n", i, i);
        assert_true(rt_col_int(&t->cols[0], i) == i && rt_col_real(&t->cols[2], i) == i + 0.25);
        expect_str(&t->cols[1], i, text);
    }
    fx_close(&db);
}

/* The forms of docs/plan.md, and no others of strtod's; a number beyond float64 is none. */
static void floats_are_numbers(void **state)
{
    static const char *const bad[] = {"1e400", "-1e309", "0x10", "nan(1)", "\t1", "1e", "infinit"};
    struct fx_dir *d = *state;
    struct fx_db db;
    char zeros[200]; /* longer than any short path */
    heddle_error *e = NULL;
    for (size_t i = 0; i < HD_COUNT(bad); i++) {
        put(d, "t.csv", bad[i]);
        fx_expect(load(d, COL("f", "float64"), CSV "}", &e), &e, HEDDLE_ERROR_DATA, "t.csv:1", "expected float64");
    }
    memset(zeros, '0', sizeof zeros - 1);
    zeros[1] = '.';
    zeros[sizeof zeros - 1] = 0;
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_addf(&b, "1e308\n-1e-400\ninf\n-Infinity\n+NaN\n%s1e150\n", zeros);
    put(d, "t.csv", b.s);
    hd_strbuf_release(&b);
    fx_ok(load(d, COL("f", "float64"), CSV "}", &e), &e);
    fx_open(&db, d->db);
    const struct fe_table_column *f = &fx_table(&db, "t")->cols[0];
    assert_true(rt_col_real(f, 0) == 1e308 && rt_col_real(f, 1) == 0);
    assert_true(rt_col_real(f, 2) == INFINITY && rt_col_real(f, 3) == -INFINITY);
    assert_true(isnan(rt_col_real(f, 4)) && rt_col_real(f, 5) == 1e-48);
    fx_close(&db);
}

/* Any cut into pieces gives the same rows and lines. */
static void pieces_do_not_change_the_count(void **state)
{
    (void)state;
    static const char text[] = "a\n\"b\nb\"\n\"\"\"\n\"\n\n\"\n\n\",x\nlast";
    struct rt_pool *pool;
    assert_int_equal(rt_pool_new(2, &pool, NULL), 0);
    for (size_t size = 1; size < sizeof text + 1; size++)
        for (int quote = 0; quote < 2; quote++) {
            struct text_pieces p;
            int64_t rows = 0;
            assert_int_equal(text_split(text, text + sizeof text - 1, quote ? '"' : 0, 1, 0, size, pool, &p, NULL), 0);
            assert_int_equal(p.rows, quote ? 6 : 10);
            assert_int_equal(p.lines, 9);
            const char *at = text;
            for (size_t k = 0; k < p.n; k++) {
                assert_ptr_equal(p.v[k].from, at);
                assert_int_equal(p.v[k].first_row, rows);
                rows += p.v[k].rows;
                at = p.v[k].to;
            }
            assert_ptr_equal(at, text + sizeof text - 1);
            text_pieces_release(&p);
        }
    rt_pool_free(pool);
}

/* ---- bad files ------------------------------------------------------------------------------ */

static void bad_rows_are_told(void **state)
{
    static const struct {
        const char *text, *path, *message;
    } cases[] = {
        {"1|a|\n2|b|\nx|c|\n", "t.tbl:3", "column \"i\" (field 1): expected int32, found \"x\""},
        {"1|a|\n|b|\n", "t.tbl:2", "\"\" means NULL, and the column is not nullable (type int32)"},
        {"2147483648|a|\n", "t.tbl:1", "found \"2147483648\""},
        {"1.0|a|\n", "t.tbl:1", "found \"1.0\""},
        {"1 |a|\n", "t.tbl:1", "found \"1 \""},
        {"1|a|\n2|\n", "t.tbl:2", "expected 2 fields, found 1"},
        {"1|a|\n2|b|c|\n", "t.tbl:2", "expected 2 fields, found more"},
        {"1|a|\n\n2|b|\n", "t.tbl:2", "expected 2 fields, found 0"},
        {"1|a\n", "t.tbl:1", "line does not end with '|'"},
        {"1|a|x", "t.tbl:1", "found more"},
        {"1234567890123456789012345678901234567890123456789012345678901234567890|a|\n", "t.tbl:1",
         "found \"123456789012345678901234567890123456789012345678901234567890...\""},
    };
    struct fx_dir *d = *state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        heddle_error *e = NULL;
        put(d, "t.tbl", cases[i].text);
        fx_expect(load(d, COL("i", "int32") "," COL("s", "string"), "", &e), &e, HEDDLE_ERROR_DATA, cases[i].path,
                  cases[i].message);
        assert_int_equal(fx_count_entries(d->path), 1); /* only the input */
    }
}

/* Told with line and column; what is UTF-8 passes, whatever bytes stand at the ends of pieces. */
static void bytes_that_are_no_utf8_are_told(void **state)
{
    static const struct {
        const char *text, *path, *message;
    } cases[] = {
        {"1|a|\n2|caf\xe9|\n", "t.tbl:2", "column \"s\" (field 2): the text is not UTF-8: byte 0xe9 behind 3 others"},
        {"1|\xc3\xa9|\n2|\xc3|\n", "t.tbl:2", "byte 0xc3 behind 0 others"},
        {"1|\xed\xa0\x80|\n", "t.tbl:1", "byte 0xed"}, /* a surrogate */
        {"1|\xc0\xaf|\n", "t.tbl:1", "byte 0xc0"},     /* a longer form than need be */
        {"1|ok|\n2|\xf5\x80\x80\x80|\n", "t.tbl:2", "byte 0xf5"},
        {"\xff|a|\n", "t.tbl:1", "column \"i\" (field 1): the text is not UTF-8"},
    };
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        put(d, "t.tbl", cases[i].text);
        fx_expect(load(d, COL("i", "int32") "," COL("s", "string"), "", &e), &e, HEDDLE_ERROR_DATA, cases[i].path,
                  cases[i].message);
    }
    put(d, "t.tbl", "1|\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\n2|\x7f|\n");
    fx_ok(load(d, COL("i", "int32") "," COL("s", "string"), "", &e), &e);
}

/* A FIFO would keep the loader waiting; a file of /proc has no size, and is read all the same. */
static void odd_files_are_refused_or_read(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    struct fx_db db;
    put(d, "t.tbl", "");
    assert_int_equal(unlink(fx_path(d, "in/t.tbl")), 0);
    assert_int_equal(mkfifo(fx_path(d, "in/t.tbl"), 0600), 0);
    fx_expect(load(d, COL("s", "string"), "", &e), &e, HEDDLE_ERROR_IO, "t.tbl", "not a regular file");
    assert_int_equal(unlink(fx_path(d, "in/t.tbl")), 0);
    assert_int_equal(symlink("/proc/self/status", fx_path(d, "in/t.tbl")), 0);
    fx_ok(load(d, COL("s", "string"), ",\"format\":{\"trailing_delimiter\":false}", &e), &e);
    fx_open(&db, d->db);
    const struct fe_table *t = fx_table(&db, "t");
    assert_true(t->rows > 10);
    struct rt_str first = rt_col_str(fx_column(t, "s"), 0);
    assert_true(first.n > 5 && memcmp(first.p, "Name:", 5) == 0);
    fx_close(&db);
}

static void bad_quotes_are_told(void **state)
{
    static const struct {
        const char *text, *path, *message;
    } cases[] = {
        {"1,\"a\"x\n", "t.csv:1", "text behind a quoted field"},
        {"1,\"a\n2,b\n", "t.csv:1", "quoted field without an end"},
        {"1,a\n2,b\"b\n3,c\n", "t.csv:2", "quote inside an unquoted field"},
        {"1,\"a\nb\"\nx,c\n", "t.csv:3", "found \"x\""},
        {"1,a,\n", "t.csv:1", "expected 2 fields, found more"},
        {"1\n", "t.csv:1", "expected 2 fields, found 1"},
    };
    struct fx_dir *d = *state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        heddle_error *e = NULL;
        put(d, "t.csv", cases[i].text);
        fx_expect(load(d, COL("i", "int32") "," COL("s", "string"), CSV "}", &e), &e, HEDDLE_ERROR_DATA, cases[i].path,
                  cases[i].message);
    }
}

static void bad_headers_are_told(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"i,x\n1,2\n", "header: \"x\" is no column of the table"},
        {"i,i\n1,2\n", "header: \"i\" comes twice"},
        {"i\n1\n", "header: \"s\" is missing"},
        {"\"i\n", "header: "},
    };
    struct fx_dir *d = *state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        heddle_error *e = NULL;
        put(d, "t.csv", cases[i].text);
        fx_expect(load(d, COL("i", "int32") "," COL("s", "string"), CSV ",\"header\":true}", &e), &e, HEDDLE_ERROR_DATA,
                  "t.csv:1", cases[i].message);
    }
}

static void the_first_bad_row_is_told(void **state)
{
    struct fx_dir *d = *state;
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    for (int i = 1; i <= 1500000; i++)
        hd_strbuf_addf(&b, i % 200001 == 200000 ? "bad%d|\n" : "%d|\n", i);
    put(d, "t.tbl", b.s);
    hd_strbuf_release(&b);
    for (int k = 0; k < 3; k++) {
        heddle_error *e = NULL;
        fx_expect(load(d, COL("i", "int32"), "", &e), &e, HEDDLE_ERROR_DATA, "t.tbl:200000", "found \"bad200000\"");
    }
}

static void missing_files_are_told(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    fx_expect(load(d, COL("i", "int32"), "", &e), &e, HEDDLE_ERROR_IO, "in", "cannot open");
    put(d, "u.tbl", "1|\n");
    fx_expect(load(d, COL("i", "int32"), "", &e), &e, HEDDLE_ERROR_USER, "in", "no file t.tbl, t.tbl.N or t.csv");
    fx_ok(load(d, COL("i", "int32"), ",\"rows\":0", &e), &e);
}

/* After a failed load the writer cannot publish what was loaded before. */
static void nothing_is_half_loaded(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    put(d, "a.tbl", "1|\n");
    put(d, "b.tbl", "x|\n");
    heddle_writer *w = fx_writer(d, "{\"tables\":[{\"name\":\"a\",\"columns\":[" COL(
                                        "i", "int32") "]},{\"name\":\"b\",\"columns\":[" COL("i", "int32") "]}]}");
    fx_expect(heddle_writer_load_text(w, fx_path(d, "in"), NULL, NULL, &e), &e, HEDDLE_ERROR_DATA, "b.tbl:1",
              "found \"x\"");
    fx_expect(heddle_writer_commit(w, NULL, NULL, &e), &e, HEDDLE_ERROR_USER, "db", "nothing to commit");
    heddle_writer_free(w);
    assert_int_equal(fx_count_entries(d->path), 1);
}

static void every_failure_is_clean(void **state)
{
    static const char *const kinds[] = {"alloc", "open", "mmap", "write"};
    static const enum hd_fault_kind ids[] = {HD_FAULT_ALLOC, HD_FAULT_OPEN, HD_FAULT_MMAP, HD_FAULT_WRITE};
    struct fx_dir *d = *state;
    put(d, "t.csv", "s,i\n\"a\"\"b\",1\nc,2\n");
    put(d, "t.tbl.1", "i,s\n1,x\n");
    for (size_t k = 0; k < HD_COUNT(kinds); k++) {
        uint64_t calls = UINT64_MAX;
        for (uint64_t n = 1; n <= calls; n++) {
            char spec[32];
            heddle_error *e = NULL;
            snprintf(spec, sizeof spec, "%s:%d", kinds[k], (int)n);
            assert_true(hd_fault_arm(spec));
            int rc = load(d, COL("i", "int32") "," NUL("s", "string"), CSV ",\"header\":true}", &e);
            if (rc == 0)
                calls = hd_fault_calls(ids[k]);
            hd_fault_arm(NULL);
            assert_true(rc == 0 || e);
            heddle_error_free(e);
            if (rc == 0)
                hd_dir_remove(d->db);
            assert_int_equal(fx_count_entries(d->path), 1);
        }
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fx_setup, fx_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tbl_files_load),
        TEST(all_types_parse),
        TEST(other_integers_become_wider),
        TEST(quotes_and_nulls),
        TEST(empty_text_is_null_only_where_allowed),
        TEST(single_columns_may_have_empty_lines),
        TEST(empty_files_are_empty_tables),
        TEST(large_files_load_in_pieces),
        cmocka_unit_test(pieces_do_not_change_the_count),
        TEST(floats_are_numbers),
        TEST(bad_rows_are_told),
        TEST(bytes_that_are_no_utf8_are_told),
        TEST(odd_files_are_refused_or_read),
        TEST(bad_quotes_are_told),
        TEST(bad_headers_are_told),
        TEST(the_first_bad_row_is_told),
        TEST(missing_files_are_told),
        TEST(nothing_is_half_loaded),
        TEST(every_failure_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
