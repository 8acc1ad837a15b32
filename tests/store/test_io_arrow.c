/* In-memory tables from Arrow streams, and results as Arrow streams. */
#include "tests/store/store_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/io/arrow_out.h"
#include "runtime/io/arrow_table.h"
#include "runtime/store/store_text.h"

/* ---- registering ---------------------------------------------------------------------------- */

static struct rt_memtable *import(struct fx_batch **b, int n, bool facts)
{
    struct ArrowArrayStream s;
    struct rt_memtable *m = NULL;
    struct hd_err e;
    hd_err_init(&e);
    fx_stream(b, n, &s);
    if (rt_memtable_new("m", &s, facts, 2, &m, &e) != 0)
        print_error("%s: %s\n", e.path, e.message);
    assert_non_null(m);
    assert_null(s.release);
    return m;
}

static void single_batches_are_not_copied(void **state)
{
    (void)state;
    const int32_t i[] = {3, 1, 2};
    const hd_i128 d[] = {100, 200, -300};
    const uint8_t valid[] = {1, 0, 1};
    struct fx_batch *b = fx_batch_new(3, 0);
    fx_add(b, "i", "i", i, 4, valid);
    fx_add(b, "d", "d:12,2", d, 16, NULL);
    const void *buffer = fx_array(b)->children[0]->buffers[1];
    const void *bits = fx_array(b)->children[0]->buffers[0];
    struct rt_memtable *m = import(&b, 1, false);
    const struct fe_table *t = rt_memtable_table(m);
    assert_int_equal(t->rows, 3);
    assert_ptr_equal(t->cols[0].at.data, buffer);
    assert_ptr_equal(t->cols[0].at.validity, bits);
    assert_int_equal(t->cols[0].facts.nulls, 1);
    assert_false(t->cols[0].facts.known);
    assert_int_equal(t->cols[1].width, 16);
    assert_true(rt_col_int(&t->cols[1], 2) == -300);
    struct hd_err e;
    hd_err_init(&e);
    assert_int_equal(rt_store_touch((struct fe_table_part){t, FE_PART_COLUMN, 0}, &e), 0);
    rt_memtable_free(m);
}

enum { ROWS = 70000 };

static const char *const colours[] = {"red", "green", "blue"}; /* of even batches */
static const char *const other[] = {"green", "yellow"};

/* Batch k, whose n rows are rows row.. of the stream. */
static struct fx_batch *batch_of(int k, int64_t row, int64_t n)
{
    struct fx_batch *x = fx_batch_new(n, k % 3);
    int64_t *l = malloc((size_t)(n + 1) * 8);
    int8_t *codes = malloc((size_t)n + 1);
    uint8_t *valid = malloc((size_t)n + 1), *flags = malloc((size_t)n + 1);
    char(*space)[24] = malloc((size_t)(n + 1) * sizeof *space);
    const char **text = malloc((size_t)(n + 1) * sizeof *text);
    for (int64_t i = 0; i < n; i++) {
        l[i] = row + i;
        valid[i] = (row + i) % 4 != 2;
        flags[i] = (row + i) % 3 == 0;
        codes[i] = (int8_t)((row + i) % (k % 2 ? 2 : 3));
        snprintf(space[i], sizeof space[i], "text %d", (int)(row + i));
        text[i] = (row + i) % 5 ? space[i] : NULL;
    }
    fx_add(x, "l", "l", l, 8, valid);
    fx_add_bool(x, "b", flags, NULL);
    fx_add_text(x, "s", text, k % 2);
    fx_add_dict(x, "c", "c", codes, 1, valid, k % 2 ? other : colours, k % 2 ? 2 : 3);
    free(l);
    free(codes);
    free(valid);
    free(flags);
    free(space);
    free(text);
    return x;
}

/* "u" and "U" do not go together in one stream, whose schema is the first batch's. */
static void narrow_text(struct fx_batch *batch)
{
    struct ArrowArray *a = fx_array(batch)->children[2];
    int64_t n = a->length + a->offset;
    int32_t *narrow = malloc((size_t)(n + 1) * 4);
    for (int64_t i = 0; i <= n; i++)
        narrow[i] = (int32_t)((const int64_t *)a->buffers[1])[i];
    free((void *)(uintptr_t)a->buffers[1]);
    a->buffers[1] = narrow;
}

static void check_row(const struct fe_table *t, int64_t i)
{
    int64_t per = ROWS / 6;
    bool valid = i % 4 != 2;
    int64_t batch = i / per + (i / per >= 3); /* the fourth is empty */
    char text[24];
    snprintf(text, sizeof text, "text %d", (int)i);
    const char *colour = batch % 2 ? other[i % 2] : colours[i % 3];
    assert_int_equal(rt_col_valid(&t->cols[0], i), valid);
    assert_true(!valid || rt_col_int(&t->cols[0], i) == i);
    assert_true(rt_col_int(&t->cols[1], i) == (i % 3 == 0));
    assert_int_equal(rt_col_valid(&t->cols[2], i), i % 5 != 0);
    struct rt_str s = rt_col_str(&t->cols[2], i);
    assert_true(i % 5 == 0 || rt_str_eq(s, (struct rt_str){text, (uint32_t)strlen(text)}));
    s = rt_col_str(&t->cols[3], i);
    assert_true(!valid || rt_str_eq(s, (struct rt_str){colour, (uint32_t)strlen(colour)}));
}

/* Many batches with offsets: everything is put together, over the seams of text blocks too. */
static void batches_are_put_together(void **state)
{
    (void)state;
    struct fx_batch *b[7];
    int64_t row = 0;
    for (int k = 0; k < 7; k++) {
        int64_t n = k == 3 ? 0 : ROWS / 6;
        b[k] = batch_of(k, row, n);
        row += n;
    }
    for (int k = 1; k < 7; k += 2)
        narrow_text(b[k]);
    struct rt_memtable *m = import(b, 7, true);
    const struct fe_table *t = rt_memtable_table(m);
    assert_int_equal(t->rows, row);
    for (int64_t i = 0; i < row; i++)
        check_row(t, i);
    assert_int_equal(t->cols[3].dict.n, 4);
    assert_true(t->cols[0].facts.known && t->cols[0].facts.unique && t->cols[0].facts.min == 0);
    assert_int_equal(t->cols[3].facts.distinct, 4);
    rt_memtable_free(m);
}

static void bad_streams_are_refused(void **state)
{
    struct fx_dir *d = *state;
    heddle_database *db = NULL;
    heddle_error *e = NULL;
    struct ArrowArrayStream s;
    const int32_t v[] = {1, 2};
    const uint8_t valid[] = {1, 0};
    fx_ok(heddle_database_open(d->context, NULL, 0, &db, &e), &e);
    struct fx_batch *b = fx_batch_new(2, 0);
    fx_add(b, "x", "+w:4", v, 4, NULL);
    fx_stream(&b, 1, &s);
    fx_expect(heddle_database_register(db, "m", &s, 0, &e), &e, HEDDLE_ERROR_UNSUPPORTED, "m",
              "Arrow format \"+w:4\" is not accepted");
    b = fx_batch_new(2, 0);
    fx_add(b, "x", "i", v, 4, valid);
    fx_schema(b)->children[0]->flags = 0;
    fx_stream(&b, 1, &s);
    fx_expect(heddle_database_register(db, "m", &s, 0, &e), &e, HEDDLE_ERROR_DATA, "m",
              "row 2: column \"x\" is not nullable, found NULL");
    b = fx_batch_new(2, 0);
    fx_add(b, "x", "i", v, 4, NULL);
    fx_add(b, "x", "i", v, 4, NULL);
    fx_stream(&b, 1, &s);
    fx_expect(heddle_database_register(db, "m", &s, 0, &e), &e, HEDDLE_ERROR_USER, "m", "two columns are called \"x\"");
    heddle_database_free(db);
}

/* Bytes that are no text, of offsets of either width and of one size, with NULLs; many different ones and few. */
static void binary_is_appended(void **state)
{
    enum { N = 5000 };
    static char texts[N][16];
    static const char *many[N], *few[N];
    static uint8_t fixed[N][3], valid[N];
    struct fx_dir *d = *state;
    heddle_writer *w = fx_writer(d, "{\"tables\":[{\"name\":\"t\",\"columns\":["
                                    "{\"name\":\"m\",\"type\":\"binary\",\"nullable\":true},"
                                    "{\"name\":\"f\",\"type\":\"binary\",\"nullable\":true},"
                                    "{\"name\":\"w\",\"type\":\"binary\",\"nullable\":true}]}]}");
    for (int i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "\xff%d", i);
        many[i] = i % 7 ? texts[i] : NULL;
        few[i] = i % 5 ? "\xc3\x28" : i % 2 ? "" : NULL;
        valid[i] = i % 3 != 0;
        memcpy(fixed[i], (const uint8_t[]){0, (uint8_t)(i % 2), 0x80}, 3);
    }
    for (int large = 0; large < 2; large++) {
        struct fx_batch *b = fx_batch_new(N, large);
        fx_add_text(b, "m", many, large);
        fx_add_text(b, "f", few, large);
        fx_add(b, "w", "w:3", fixed, 3, valid);
        for (int c = 0; c < 2; c++)
            fx_schema(b)->children[c]->format = large ? "Z" : "z";
        fx_append(w, "t", large * N, b);
    }
    fx_commit(w);
    struct fx_db db;
    fx_open(&db, d->db);
    const struct fe_table *t = fx_table(&db, "t");
    assert_int_equal(t->rows, 2 * N);
    assert_int_equal(t->cols[0].storage, FE_STORE_TEXT);
    assert_int_equal(t->cols[1].storage, FE_STORE_DICT);
    assert_int_equal(t->cols[2].dict.n, 2);
    for (int64_t i = 0; i < t->rows; i++) {
        int64_t k = i % N;
        const char *want[] = {many[k], few[k]};
        for (int c = 0; c < 2; c++) {
            assert_int_equal(rt_col_valid(&t->cols[c], i), want[c] != NULL);
            assert_true(!want[c] ||
                        rt_str_eq(rt_col_str(&t->cols[c], i), (struct rt_str){want[c], (uint32_t)strlen(want[c])}));
        }
        assert_int_equal(rt_col_valid(&t->cols[2], i), valid[k]);
        assert_true(!valid[k] || rt_str_eq(rt_col_str(&t->cols[2], i), (struct rt_str){(const char *)fixed[k], 3}));
    }
    fx_close(&db);
}

static struct fx_batch *two_rows(void)
{
    const int32_t v[] = {1, 2};
    struct fx_batch *b = fx_batch_new(2, 0);
    fx_add(b, "x", "i", v, 4, NULL);
    return b;
}

static void tables_are_registered_and_dropped(void **state)
{
    struct fx_dir *d = *state;
    heddle_database *db = NULL;
    heddle_error *e = NULL;
    struct ArrowArrayStream s;
    char *json = NULL;
    heddle_writer *w = fx_writer(d, "{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"x\","
                                    "\"type\":\"int32\"}]}]}");
    fx_append(w, "t", 0, two_rows());
    fx_commit(w);
    fx_ok(heddle_database_open(d->context, d->db, 0, &db, &e), &e);
    struct fx_batch *b = two_rows();
    fx_stream(&b, 1, &s);
    fx_ok(heddle_database_register(db, "m", &s, 1, &e), &e);
    for (int k = 0; k < 2; k++) {
        b = two_rows();
        fx_stream(&b, 1, &s);
        fx_expect(heddle_database_register(db, k ? "m" : "t", &s, 0, &e), &e, HEDDLE_ERROR_USER, k ? "m" : "t",
                  "there is a table of this name already");
    }
    fx_ok(heddle_database_catalog(db, &json, &e), &e);
    assert_non_null(strstr(json, "{\"name\": \"t\", \"rows\": 2"));
    assert_non_null(strstr(json, "{\"name\": \"m\", \"rows\": 2"));
    heddle_free(json);
    fx_expect(heddle_database_drop(db, "t", &e), &e, HEDDLE_ERROR_USER, "t", "cannot be dropped");
    fx_expect(heddle_database_drop(db, "x", &e), &e, HEDDLE_ERROR_USER, "x", "no such table");
    fx_ok(heddle_database_drop(db, "m", &e), &e);
    fx_ok(heddle_database_catalog(db, &json, &e), &e);
    assert_null(strstr(json, "\"m\""));
    heddle_free(json);
    b = two_rows();
    fx_stream(&b, 1, &s);
    fx_ok(heddle_database_register(db, "m", &s, 0, &e), &e);
    heddle_database_free(db);
}

struct registrar {
    heddle_database *db;
    int number;
};

static void *register_and_drop(void *arg)
{
    const struct registrar *r = arg;
    char name[16];
    snprintf(name, sizeof name, "m%d", r->number);
    for (int k = 0; k < 20; k++) {
        struct ArrowArrayStream s;
        heddle_error *e = NULL;
        char *json = NULL;
        struct fx_batch *b = two_rows();
        fx_stream(&b, 1, &s);
        assert_int_equal(heddle_database_register(r->db, name, &s, 0, &e), 0);
        assert_int_equal(heddle_database_catalog(r->db, &json, &e), 0);
        assert_non_null(strstr(json, name));
        heddle_free(json);
        assert_int_equal(heddle_database_drop(r->db, name, &e), 0);
    }
    return NULL;
}

static void threads_may_register_at_once(void **state)
{
    enum { THREADS = 4 };
    struct fx_dir *d = *state;
    heddle_database *db = NULL;
    heddle_error *e = NULL;
    pthread_t ids[THREADS];
    struct registrar r[THREADS];
    fx_ok(heddle_database_open(d->context, NULL, 0, &db, &e), &e);
    for (int i = 0; i < THREADS; i++) {
        r[i] = (struct registrar){db, i};
        assert_int_equal(pthread_create(&ids[i], NULL, register_and_drop, &r[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    heddle_database_free(db);
}

/* ---- results -------------------------------------------------------------------------------- */

static const struct rt_out_column out_columns[] = {
    {"b", {HD_BOOL, 0, 0}, true},       {"i", {HD_INT32, 0, 0}, false},   {"l", {HD_INT64, 0, 0}, true},
    {"d", {HD_DECIMAL, 12, 2}, true},   {"f", {HD_FLOAT64, 0, 0}, false}, {"x", {HD_DATE, 0, 0}, false},
    {"t", {HD_TIMESTAMP, 0, 0}, false}, {"s", {HD_STRING, 0, 0}, true},   {"g", {HD_FLOAT32, 0, 0}, true},
};
enum { OUT = HD_COUNT(out_columns) };

/* Writes a batch of three rows as its maker does. valid: of a column with NULLs; text: the bytes of a column of strings,
 * whose values are offsets. */
struct out_value {
    const void *values;
    size_t width; /* 0: bits */
    const uint8_t *valid;
    const char *text;
};

static int write_batch(struct rt_arrow_out *o, int ncols, const struct out_value *v, struct rt_out_buffers *to,
                       struct hd_err *err)
{
    struct rt_out_size sizes[OUT] = {{0}};
    for (int c = 0; c < ncols; c++)
        sizes[c] = (struct rt_out_size){v[c].valid != NULL, v[c].text ? strlen(v[c].text) : 0};
    if (rt_arrow_out_begin(o, 3, sizes, to, err) != 0)
        return -1;
    for (int c = 0; c < ncols; c++) {
        memcpy(to[c].values, v[c].values, v[c].text ? 16 : v[c].width ? 3 * v[c].width : 1);
        if (v[c].text)
            memcpy(to[c].text, v[c].text, strlen(v[c].text));
        if (v[c].valid)
            *to[c].valid = *v[c].valid;
        *to[c].null_count = v[c].valid ? 1 : 0;
    }
    return 0;
}

static struct rt_out_buffers written[OUT]; /* of the last batch */

static void make_stream(struct ArrowArrayStream *s, int batches)
{
    static const uint8_t b = 5, valid = 5;
    static const int32_t i[] = {1, -2, 3};
    static const int64_t l[] = {INT64_MIN, 0, INT64_MAX};
    static const int64_t t[] = {HD_TIMESTAMP_MIN, 0, HD_TIMESTAMP_MAX};
    static const hd_i128 d[] = {-150, 7, 99};
    static const double f[] = {0.5, -1, 2};
    static const float g[] = {0.1f, 0, -0.0f};
    static const int32_t ends[] = {0, 3, 3, 3};
    const struct out_value v[OUT] = {{&b, 0, &valid, NULL}, {i, 4, NULL, NULL},       {l, 8, &valid, NULL},
                                     {d, 16, &valid, NULL}, {f, 8, NULL, NULL},       {i, 4, NULL, NULL},
                                     {t, 8, NULL, NULL},    {ends, 4, &valid, "abc"}, {g, 4, &valid, NULL}};
    struct rt_arrow_out *o;
    assert_int_equal(rt_arrow_out_new(OUT, out_columns, &o, NULL), 0);
    for (int k = 0; k < batches; k++)
        assert_int_equal(write_batch(o, OUT, v, written, NULL), 0);
    assert_true(rt_arrow_out_bytes(o) > 0 || batches == 0);
    rt_arrow_out_finish(o, s);
}

static void results_are_arrow_streams(void **state)
{
    (void)state;
    static const char *const formats[] = {"b", "i", "l", "d:12,2", "g", "tdD", "tsu:", "u", "f"};
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    struct ArrowArray a;
    make_stream(&s, 2);
    for (int k = 0; k < 2; k++) { /* it can be asked again */
        assert_int_equal(s.get_schema(&s, &schema), 0);
        assert_string_equal(schema.format, "+s");
        assert_int_equal(schema.n_children, OUT);
        for (int c = 0; c < (int)OUT; c++) {
            assert_string_equal(schema.children[c]->format, formats[c]);
            assert_string_equal(schema.children[c]->name, out_columns[c].name);
            assert_int_equal(schema.children[c]->flags, out_columns[c].nullable ? 2 : 0);
        }
        schema.release(&schema);
        assert_null(schema.release);
    }
    for (int k = 0; k < 2; k++) {
        assert_int_equal(s.get_next(&s, &a), 0);
        assert_int_equal(a.length, 3);
        assert_int_equal(a.n_children, OUT);
        assert_int_equal(*(const uint8_t *)a.children[0]->buffers[0], 5);
        assert_int_equal(*(const uint8_t *)a.children[0]->buffers[1], 5);
        assert_int_equal(a.children[0]->null_count, 1);
        assert_null(a.children[1]->buffers[0]);
        assert_int_equal(((const int32_t *)a.children[1]->buffers[1])[1], -2);
        assert_true(((const hd_i128 *)a.children[3]->buffers[1])[0] == -150);
        const int32_t offsets[] = {0, 3, 3, 3};
        assert_memory_equal(a.children[7]->buffers[1], offsets, sizeof offsets);
        assert_memory_equal(a.children[7]->buffers[2], "abc", 3);
        const float narrow[] = {0.1f, 0, -0.0f};
        assert_int_equal(*(const uint8_t *)a.children[8]->buffers[0], 5);
        assert_memory_equal(a.children[8]->buffers[1], narrow, sizeof narrow);
        a.release(&a);
        assert_null(a.release);
    }
    assert_int_equal(s.get_next(&s, &a), 0);
    assert_null(a.release);
    s.release(&s);
    assert_null(s.release);
}

/* The consumer gets the very buffers that were written. */
static void values_are_not_copied(void **state)
{
    (void)state;
    struct ArrowArrayStream s;
    struct ArrowArray a;
    make_stream(&s, 1);
    assert_int_equal(s.get_next(&s, &a), 0);
    for (int c = 0; c < (int)OUT; c++) {
        assert_ptr_equal(a.children[c]->buffers[0], written[c].valid);
        assert_ptr_equal(a.children[c]->buffers[1], written[c].values);
        if (a.children[c]->n_buffers == 3)
            assert_ptr_equal(a.children[c]->buffers[2], written[c].text);
    }
    a.release(&a);
    s.release(&s);
}

/* Consumers move children out, release in any order, stop early, or never start. */
static void streams_may_be_taken_apart(void **state)
{
    (void)state;
    struct ArrowArrayStream s;
    struct ArrowSchema schema, moved_schema;
    struct ArrowArray a, moved;
    make_stream(&s, 3);
    assert_int_equal(s.get_schema(&s, &schema), 0);
    assert_int_equal(s.get_next(&s, &a), 0);
    s.release(&s);
    moved = *a.children[7];
    a.children[7]->release = NULL;
    moved_schema = *schema.children[3];
    schema.children[3]->release = NULL;
    a.release(&a);
    schema.release(&schema);
    assert_memory_equal(moved.buffers[2], "abc", 3);
    assert_string_equal(moved_schema.name, "d");
    moved.release(&moved);
    moved_schema.release(&moved_schema);
    make_stream(&s, 0);
    s.release(&s);
}

/* What a result gives can be registered as a table. */
static void results_can_be_registered(void **state)
{
    (void)state;
    struct ArrowArrayStream s;
    struct rt_memtable *m;
    make_stream(&s, 2);
    assert_int_equal(rt_memtable_new("m", &s, true, 1, &m, NULL), 0);
    const struct fe_table *t = rt_memtable_table(m);
    assert_int_equal(t->rows, 6);
    assert_true(rt_col_int(&t->cols[3], 3) == -150);
    assert_false(rt_col_valid(&t->cols[7], 4));
    assert_int_equal(rt_col_str(&t->cols[7], 3).n, 3);
    rt_memtable_free(m);
}

/* A result out and in again, with every allocation failing in turn. */
static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    const int32_t v[] = {1, 2, 3};
    const int32_t ends[] = {0, 1, 1, 3};
    const uint8_t valid = 5;
    const struct rt_out_column cols[] = {{"i", {HD_INT32, 0, 0}, true}, {"s", {HD_STRING, 0, 0}, true}};
    const struct out_value values[] = {{v, 4, &valid, NULL}, {ends, 4, &valid, "xyz"}};
    struct rt_out_buffers to[2];
    uint64_t calls = UINT64_MAX;
    for (uint64_t n = 1; n <= calls; n++) {
        char spec[32];
        struct rt_arrow_out *o = NULL;
        struct rt_memtable *m = NULL;
        struct ArrowArrayStream stream;
        struct hd_err e;
        hd_err_init(&e);
        snprintf(spec, sizeof spec, "alloc:%d", (int)n);
        assert_true(hd_fault_arm(spec));
        int rc = rt_arrow_out_new(2, cols, &o, &e);
        if (rc == 0) {
            rc = write_batch(o, 2, values, to, &e);
            rt_arrow_out_finish(o, &stream);
            if (rc == 0)
                rc = rt_memtable_new("m", &stream, true, 1, &m, &e);
            else
                stream.release(&stream);
        }
        if (rc == 0)
            calls = hd_fault_calls(HD_FAULT_ALLOC);
        hd_fault_arm(NULL);
        assert_int_equal(rc == 0, m != NULL);
        assert_int_equal(rc == 0, e.class == HD_ERR_NONE);
        hd_err_release(&e);
        rt_memtable_free(m);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fx_setup, fx_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_batches_are_not_copied),
        cmocka_unit_test(batches_are_put_together),
        TEST(binary_is_appended),
        TEST(bad_streams_are_refused),
        TEST(tables_are_registered_and_dropped),
        TEST(threads_may_register_at_once),
        cmocka_unit_test(results_are_arrow_streams),
        cmocka_unit_test(values_are_not_copied),
        cmocka_unit_test(streams_may_be_taken_apart),
        cmocka_unit_test(results_can_be_registered),
        cmocka_unit_test(every_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
