/* Arrow data that breaks the C data interface, or holds values that its types do not: refused by
 * one error on every way in, and everything that was handed over is released once. */
#include "tests/store/store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/store/store_stage.h"

enum { ROWS = 4, I, D, X, T, S, L, C, W, COLUMNS };

/* A good batch; rubbish rows stand before its first in every array. */
static struct fx_batch *good(void)
{
    static const int32_t i[] = {1, -2, 3, 4}, x[] = {HD_DATE_MIN, HD_DATE_MAX, 0, 1};
    static const hd_i128 d[] = {99999, -99999, 0, 1};
    static const int64_t t[] = {HD_TIMESTAMP_MIN, HD_TIMESTAMP_MAX, 0, 1};
    static const char *const s[] = {"", "a", "\xc3\xa9t\xc3\xa9", "\xf0\x9f\xa6\x86"};
    static const char *const entries[] = {"red", "gr\xc3\xbcn"};
    static const int8_t c[] = {0, 1, 1, 0};
    hd_i128 w[] = {hd_pow10(38) - 1, 1 - hd_pow10(38), 0, 1};
    struct fx_batch *b = fx_batch_new(ROWS, 3);
    fx_add(b, "i", "i", i, 4, NULL);
    fx_add(b, "d", "d:5,2", d, 16, NULL);
    fx_add(b, "x", "tdD", x, 4, NULL);
    fx_add(b, "t", "tsu:", t, 8, NULL);
    fx_add_text(b, "s", s, false);
    fx_add_text(b, "l", s, true);
    fx_add_dict(b, "c", "c", c, 1, NULL, entries, 2);
    fx_add(b, "w", "d:38,2", w, 16, NULL);
    return b;
}

static const char *const schema = "{\"tables\":[{\"name\":\"m\",\"columns\":["
                                  "{\"name\":\"i\",\"type\":\"int32\",\"nullable\":true},"
                                  "{\"name\":\"d\",\"type\":\"decimal(5,2)\",\"nullable\":true},"
                                  "{\"name\":\"x\",\"type\":\"date\",\"nullable\":true},"
                                  "{\"name\":\"t\",\"type\":\"timestamp\",\"nullable\":true},"
                                  "{\"name\":\"s\",\"type\":\"string\",\"nullable\":true},"
                                  "{\"name\":\"l\",\"type\":\"string\",\"nullable\":true},"
                                  "{\"name\":\"c\",\"type\":\"string\",\"nullable\":true},"
                                  "{\"name\":\"w\",\"type\":\"decimal(38,2)\",\"nullable\":true}]}]}";

/* ---- ways to spoil it: s and a are schema and array of the batch, sk and ak a column's -------- */

struct spoiled {
    struct ArrowSchema *s;
    struct ArrowArray *a;
};
#define SK(column) (v->s->children[(column) - I])
#define AK(column) (v->a->children[(column) - I])

static void drop_buffer(struct ArrowArray *a, int k)
{
    free((void *)(uintptr_t)a->buffers[k]);
    a->buffers[k] = NULL;
}

/* Writes value to row `row` (or offset) of the column, behind its rubbish. */
static void put(struct ArrowArray *a, int buffer, int64_t row, const void *value, size_t width)
{
    char *p = (char *)(uintptr_t)a->buffers[buffer];
    memcpy(p + (size_t)(a->offset + row) * width, value, width);
}
#define PUT(T, a, buffer, row, v) \
    do { \
        T value_ = (v); \
        put(a, buffer, row, &value_, sizeof value_); \
    } while (0)

/* A bitmap in which the row is NULL. */
static void set_null(struct ArrowArray *a, int64_t row, int64_t null_count)
{
    uint8_t *bits = malloc(8);
    memset(bits, 0xff, 8);
    bits[(a->offset + row) / 8] &= (uint8_t)~(1u << (a->offset + row) % 8);
    a->buffers[0] = bits;
    a->null_count = null_count;
}

#define SPOIL(name, code) \
    static void name(struct spoiled *v) \
    { \
        code; \
    }
SPOIL(schema_released, v->s->release = NULL)
SPOIL(schema_no_format, v->s->format = NULL)
SPOIL(schema_no_struct, v->s->format = "i")
SPOIL(schema_no_children, v->s->children = NULL)
SPOIL(schema_negative_children, v->s->n_children = -1)
SPOIL(schema_flags, v->s->flags = 8)
SPOIL(schema_dictionary, v->s->dictionary = SK(S))
SPOIL(column_null, v->s->children[0] = NULL)
SPOIL(column_released, SK(D)->release = NULL)
SPOIL(column_no_format, SK(D)->format = NULL)
SPOIL(column_no_name, SK(D)->name = NULL)
SPOIL(column_empty_name, SK(D)->name = "")
SPOIL(column_bad_name, SK(D)->name = "\xff")
SPOIL(column_flags, SK(D)->flags = INT64_MIN)
SPOIL(column_children, SK(D)->n_children = 1)
SPOIL(column_format, SK(D)->format = "d:99999999999999999999,2")
SPOIL(column_space, SK(D)->format = "d: 5,2")
SPOIL(column_nested, SK(D)->format = "+l")
SPOIL(index_format, SK(C)->format = "g")
SPOIL(entries_format, SK(C)->dictionary->format = "i")
SPOIL(entries_no_format, SK(C)->dictionary->format = NULL)
SPOIL(entries_released, SK(C)->dictionary->release = NULL)
SPOIL(entries_of_entries, SK(C)->dictionary->dictionary = SK(S))

SPOIL(batch_released, v->a->release = NULL)
SPOIL(batch_negative, v->a->length = -1)
SPOIL(batch_negative_offset, v->a->offset = -3)
SPOIL(batch_far, v->a->offset = INT64_MAX)
SPOIL(batch_long, v->a->length = INT64_MAX)
SPOIL(batch_shifted, v->a->offset = 1)
SPOIL(batch_longer, v->a->length = ROWS + 1)
SPOIL(batch_no_buffers, v->a->buffers = NULL)
SPOIL(batch_buffers, v->a->n_buffers = 2)
SPOIL(batch_fewer_children, v->a->n_children = 2)
SPOIL(batch_no_children, v->a->children = NULL)
SPOIL(batch_dictionary, v->a->dictionary = v->a->children[0])
SPOIL(batch_null_count, v->a->null_count = 1)

SPOIL(array_null, v->a->children[1] = NULL)
SPOIL(array_released, AK(D)->release = NULL)
SPOIL(array_negative, AK(D)->length = INT64_MIN)
SPOIL(array_short, AK(D)->length = ROWS - 1)
SPOIL(array_negative_offset, AK(D)->offset = -1)
SPOIL(array_far, AK(D)->offset = INT64_MAX - 1)
SPOIL(array_null_count, AK(D)->null_count = -2)
SPOIL(array_more_nulls, AK(D)->null_count = ROWS + 1)
SPOIL(array_no_bitmap, AK(D)->null_count = 2)
SPOIL(array_wrong_count, set_null(AK(D), 1, 2))
SPOIL(array_hidden_null, set_null(AK(D), 1, 0))
SPOIL(array_n_buffers, AK(S)->n_buffers = 2)
SPOIL(array_no_buffers, AK(D)->buffers = NULL)
SPOIL(array_no_data, drop_buffer(AK(D), 1))
SPOIL(array_no_offsets, drop_buffer(AK(S), 1))
SPOIL(array_no_bytes, drop_buffer(AK(S), 2))
SPOIL(array_children, AK(D)->n_children = 1)
SPOIL(array_dictionary, AK(D)->dictionary = AK(S))
SPOIL(array_no_dictionary, AK(C)->dictionary = NULL)
SPOIL(entries_negative, AK(C)->dictionary->length = -1)
SPOIL(entries_negative_offset, AK(C)->dictionary->offset = -1)
SPOIL(entries_far, AK(C)->dictionary->offset = INT64_MAX)
SPOIL(entries_buffers, AK(C)->dictionary->n_buffers = 2)
SPOIL(entries_offsets, PUT(int32_t, AK(C)->dictionary, 1, 1, 100))
SPOIL(entries_utf8, memset((void *)(uintptr_t)AK(C)->dictionary->buffers[2], 0xff, 1))

SPOIL(decimal_large, PUT(hd_i128, AK(D), 1, 2, 100000))
SPOIL(decimal_small, PUT(hd_i128, AK(D), 1, 3, -100000))
SPOIL(decimal_wraps, PUT(hd_i128, AK(D), 1, 0, (hd_i128)1 << 64))
SPOIL(decimal_sign, PUT(hd_i128, AK(D), 1, 0, (hd_i128)UINT64_MAX))
SPOIL(decimal_min, PUT(hd_i128, AK(W), 1, 1, -hd_pow10(38)))
SPOIL(date_early, PUT(int32_t, AK(X), 1, 0, HD_DATE_MIN - 1))
SPOIL(date_late, PUT(int32_t, AK(X), 1, 3, HD_DATE_MAX + 1))
SPOIL(date_min, PUT(int32_t, AK(X), 1, 1, INT32_MIN))
SPOIL(time_early, PUT(int64_t, AK(T), 1, 0, HD_TIMESTAMP_MIN - 1))
SPOIL(time_late, PUT(int64_t, AK(T), 1, 3, HD_TIMESTAMP_MAX + 1))
SPOIL(time_min, PUT(int64_t, AK(T), 1, 2, INT64_MIN))
SPOIL(index_beyond, PUT(int8_t, AK(C), 1, 2, 2))
SPOIL(index_negative, PUT(int8_t, AK(C), 1, 3, -1))
SPOIL(offset_negative, PUT(int32_t, AK(S), 1, 0, -1))
SPOIL(offset_back, PUT(int32_t, AK(S), 1, 2, 100))
SPOIL(wide_offset_negative, PUT(int64_t, AK(L), 1, 1, INT64_MIN))
SPOIL(wide_offset_far, PUT(int64_t, AK(L), 1, ROWS, INT64_MAX))
SPOIL(wide_offset_long, PUT(int64_t, AK(L), 1, ROWS, (int64_t)1 << 33))
SPOIL(null_in_not_nullable, set_null(AK(I), 2, 1); SK(I)->flags = 0)

/* Byte k of the texts: behind the rubbish a, then é of two bytes at 1, t, é, and four of a duck. */
static void put_byte(struct ArrowArray *a, int k, uint8_t byte)
{
    char *p = (char *)(uintptr_t)a->buffers[2];
    p[3 * strlen("rubbish") + (size_t)k] = (char)byte;
}
SPOIL(text_byte, put_byte(AK(S), 0, 0xff))
SPOIL(text_continuation, put_byte(AK(S), 1, 0xa9))
SPOIL(text_shortest, put_byte(AK(L), 1, 0xc0))
SPOIL(text_surrogate, put_byte(AK(L), 6, 0xed); put_byte(AK(L), 7, 0xa0))
/* The whole stays UTF-8, but a string ends inside a character. */
SPOIL(text_split, PUT(int32_t, AK(S), 1, 2, 3 * 7 + 2))

#define U HEDDLE_ERROR_USER
#define N HEDDLE_ERROR_UNSUPPORTED
#define B HEDDLE_ERROR_DATA
static const struct spoil {
    void (*spoil)(struct spoiled *v);
    heddle_error_class class;
    int row; /* 1-based; 0: about no row */
    const char *message;
} spoils[] = {
    {schema_released, U, 0, "the Arrow schema was released"},
    {schema_no_format, U, 0, "schema without a format"},
    {schema_no_struct, U, 0, "expected a struct array (\"+s\"), found \"i\""},
    {schema_no_children, U, 0, "children are NULL"},
    {schema_negative_children, U, 0, "expected 1 to 32767 columns, found -1"},
    {schema_flags, U, 0, "unknown Arrow flags 0x8"},
    {schema_dictionary, U, 0, "with a dictionary"},
    {column_null, U, 0, "column \"1\": the Arrow schema is NULL"},
    {column_released, U, 0, "column \"2\": the Arrow schema was released"},
    {column_no_format, U, 0, "column \"2\": an Arrow schema without a format"},
    {column_no_name, U, 0, "column 2 has no name"},
    {column_empty_name, U, 0, "column 2 has no name"},
    {column_bad_name, U, 0, "the name of column 2 is not UTF-8"},
    {column_flags, U, 0, "unknown Arrow flags 0x8000000000000000"},
    {column_children, U, 0, "column \"d\": Arrow format \"d:5,2\" has no children, found 1"},
    {column_format, N, 0, "column \"d\": Arrow format \"d:99999999999999999999,2\" is not"},
    {column_space, N, 0, "Arrow format \"d: 5,2\" is not accepted"},
    {column_nested, N, 0, "Arrow format \"+l\" is not accepted"},
    {index_format, U, 0, "column \"c\": Arrow format \"g\" is no index"},
    {entries_format, U, 0, "column \"c\", its dictionary: expected 2 Arrow buffers, found 3"},
    {entries_no_format, U, 0, "column \"c\", its dictionary: an Arrow schema without a format"},
    {entries_released, U, 0, "column \"c\", its dictionary: the Arrow schema was released"},
    {entries_of_entries, U, 0, "a dictionary of a dictionary"},
    {batch_negative, U, 0, "an Arrow array of length -1 at offset 0"},
    {batch_negative_offset, U, 0, "length 4 at offset -3"},
    {batch_far, U, 0, "at offset 9223372036854775807"},
    {batch_long, U, 0, "of length 9223372036854775807"},
    {batch_shifted, U, 0, "column \"i\": Arrow array of 4 rows, shorter than its batch of 5"},
    {batch_longer, U, 0, "column \"i\": Arrow array of 4 rows, shorter than its batch of 5"},
    {batch_no_buffers, U, 0, "the list of Arrow buffers is NULL"},
    {batch_buffers, U, 0, "expected 1 Arrow buffers, found 2"},
    {batch_fewer_children, U, 0, "expected 8 Arrow children, found 2"},
    {batch_no_children, U, 0, "the list of Arrow children is NULL"},
    {batch_dictionary, U, 0, "the array has a dictionary, the schema has none"},
    {batch_null_count, U, 0, "1 NULLs, but no bitmap"},
    {array_null, U, 0, "column \"d\": the Arrow array is NULL"},
    {array_released, U, 0, "column \"d\": the Arrow array was released"},
    {array_negative, U, 0, "column \"d\": an Arrow array of length -9223372036854775808"},
    {array_short, U, 0, "column \"d\": Arrow array of 3 rows, shorter than its batch of 4"},
    {array_negative_offset, U, 0, "column \"d\": an Arrow array of length 4 at offset -1"},
    {array_far, U, 0, "column \"d\": an Arrow array of length 4 at offset 9223372036854775806"},
    {array_null_count, U, 0, "column \"d\": -2 NULLs among 4 rows"},
    {array_more_nulls, U, 0, "column \"d\": 5 NULLs among 4 rows"},
    {array_no_bitmap, U, 0, "column \"d\": 2 NULLs, but no bitmap"},
    {array_wrong_count, U, 0, "column \"d\": 2 NULLs are declared, the bitmap has 1"},
    {array_hidden_null, U, 0, "column \"d\": 0 NULLs are declared, the bitmap has 1"},
    {array_n_buffers, U, 0, "column \"s\": expected 3 Arrow buffers, found 2"},
    {array_no_buffers, U, 0, "column \"d\": the list of Arrow buffers is NULL"},
    {array_no_data, U, 0, "column \"d\": an Arrow array without a data buffer"},
    {array_no_offsets, U, 0, "column \"s\": an Arrow array without a data buffer"},
    {array_no_bytes, U, 0, "column \"s\": an Arrow array of strings without their bytes"},
    {array_children, U, 0, "column \"d\": expected 0 Arrow children, found 1"},
    {array_dictionary, U, 0, "column \"d\": the array has a dictionary, the schema has none"},
    {array_no_dictionary, U, 0, "column \"c\": the schema has a dictionary, the array has none"},
    {entries_negative, U, 0, "column \"c\", its dictionary: an Arrow array of length -1"},
    {entries_negative_offset, U, 0, "its dictionary: an Arrow array of length 2 at offset -1"},
    {entries_far, U, 0, "its dictionary: an Arrow array of length 2 at offset 92233720"},
    {entries_buffers, U, 0, "its dictionary: expected 3 Arrow buffers, found 2"},
    {entries_offsets, B, 0, "entry 2 of its dictionary: bad string offsets: 100 to"},
    {entries_utf8, B, 0, "entry 1 of its dictionary: byte 1 is not UTF-8"},
    {decimal_large, B, 3, "column \"d\": value does not fit decimal(5,2)"},
    {decimal_small, B, 4, "column \"d\": value does not fit decimal(5,2)"},
    {decimal_wraps, B, 1, "column \"d\": value does not fit decimal(5,2)"},
    {decimal_sign, B, 1, "column \"d\": value does not fit decimal(5,2)"},
    {decimal_min, B, 2, "column \"w\": value does not fit decimal(38,2)"},
    {date_early, B, 1, "column \"x\": day -719163 is beyond the years 0001 to 9999"},
    {date_late, B, 4, "column \"x\": day 2932897 is beyond the years 0001 to 9999"},
    {date_min, B, 2, "column \"x\": day -2147483648 is beyond"},
    {time_early, B, 1, "column \"t\": microsecond -62135596800000001 is beyond"},
    {time_late, B, 4, "column \"t\": microsecond 253402300800000000 is beyond"},
    {time_min, B, 3, "column \"t\": microsecond -9223372036854775808 is beyond"},
    {index_beyond, B, 3, "column \"c\": index outside the dictionary of 2"},
    {index_negative, B, 4, "column \"c\": index outside the dictionary of 2"},
    {offset_negative, B, 1, "column \"s\": bad string offsets: -1 to 21"},
    {offset_back, B, 3, "column \"s\": bad string offsets: 100 to 27"},
    {wide_offset_negative, B, 1, "column \"l\": bad string offsets: 21 to -9223"},
    {wide_offset_far, B, 4, "column \"l\": bad string offsets: 27 to 9223"},
    {wide_offset_long, B, 4, "column \"l\": a string of 4 GiB or more"},
    {null_in_not_nullable, B, 3, "column \"i\" is not nullable, found NULL"},
    {text_byte, B, 2, "column \"s\": byte 1 is not UTF-8"},
    {text_continuation, B, 3, "column \"s\": byte 1 is not UTF-8"},
    {text_shortest, B, 3, "column \"l\": byte 1 is not UTF-8"},
    {text_surrogate, B, 4, "column \"l\": byte 1 is not UTF-8"},
    {text_split, B, 2, "column \"s\": byte 2 is not UTF-8"},
    {batch_released, U, 0, "the Arrow array was released"},
};
#undef U
#undef N
#undef B

/* ---- the ways in ----------------------------------------------------------------------------- */

static void expect(int rc, heddle_error **e, const struct spoil *x, int64_t rows_before)
{
    char message[160];
    snprintf(message, sizeof message, "%s", x->message);
    if (x->row)
        snprintf(message, sizeof message, "row %d: %s", (int)rows_before + x->row, x->message);
    fx_expect(rc, e, x->class, "m", message);
}

static struct fx_batch *spoil(const struct spoil *x)
{
    struct fx_batch *b = good();
    x->spoil(&(struct spoiled){fx_schema(b), fx_array(b)});
    return b;
}

static void batches_are_refused_by_append(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    for (size_t k = 0; k < HD_COUNT(spoils); k++) {
        if (spoils[k].spoil == null_in_not_nullable)
            continue; /* the writer's schema decides */
        heddle_writer *w = fx_writer(d, schema);
        struct fx_batch *b = spoil(&spoils[k]);
        expect(heddle_writer_append(w, "m", 7, fx_schema(b), fx_array(b), &e), &e, &spoils[k], 7);
        fx_batch_free(b);
        heddle_writer_free(w);
    }
    heddle_writer *w = fx_writer(d, schema);
    fx_append(w, "m", 0, good());
    fx_commit(w);
}

/* As the first of a stream, which alone is kept in place, and as the second. */
static void batches_are_refused_by_register(void **state)
{
    struct fx_dir *d = *state;
    heddle_database *db = NULL;
    heddle_error *e = NULL;
    struct ArrowArrayStream s;
    fx_ok(heddle_database_open(d->context, NULL, 0, &db, &e), &e);
    for (size_t k = 0; k < HD_COUNT(spoils); k++)
        for (int before = 0; before < 2; before++) {
            if (spoils[k].spoil == batch_released)
                continue; /* it ends a stream */
            bool of_schema = spoils[k].row == 0 && k < 23;
            struct fx_batch *b[] = {good(), good()};
            fx_batch_free(b[before]);
            b[before] = spoil(&spoils[k]);
            if (before && (of_schema || spoils[k].spoil == null_in_not_nullable)) {
                fx_batch_free(b[0]); /* a stream's schema is its first batch's */
                fx_batch_free(b[1]);
                continue;
            }
            fx_stream(b, before + 1, &s);
            if (!before)
                fx_batch_free(b[1]);
            expect(heddle_database_register(db, "m", &s, 1, &e), &e, &spoils[k], before * ROWS);
            assert_null(s.release);
        }
    struct fx_batch *b = good();
    fx_stream(&b, 1, &s);
    fx_ok(heddle_database_register(db, "m", &s, 1, &e), &e);
    heddle_database_free(db);
}

/* ---- what is fine ---------------------------------------------------------------------------- */

static void rows_that_are_null_hold_anything(void **state)
{
    struct fx_dir *d = *state;
    heddle_database *db = NULL;
    heddle_error *e = NULL;
    struct ArrowArrayStream s;
    fx_ok(heddle_database_open(d->context, NULL, 0, &db, &e), &e);
    heddle_writer *w = fx_writer(d, schema);
    int64_t row = 0;
    for (size_t k = 0; k < HD_COUNT(spoils); k++) {
        const struct spoil *x = &spoils[k];
        bool shared = x->spoil == text_split || strstr(x->message, "offsets") ||
                      strstr(x->message, "4 GiB"); /* with neighbours that are not NULL */
        if (!x->row || shared || x->spoil == null_in_not_nullable)
            continue;
        struct fx_batch *b[] = {spoil(x), spoil(x)};
        for (int i = 0; i < 2; i++)
            for (int c = 0; c < COLUMNS - I; c++)
                set_null(fx_array(b[i])->children[c], x->row - 1, i ? 1 : -1);
        fx_append(w, "m", row, b[1]);
        row += ROWS;
        fx_stream(b, 1, &s);
        fx_ok(heddle_database_register(db, "m", &s, 1, &e), &e);
        fx_ok(heddle_database_drop(db, "m", &e), &e);
    }
    fx_commit(w);
    heddle_database_free(db);
}

/* Arrays longer than the batch, at odd offsets and addresses, and of no rows with no buffers. */
static void slices_are_fine(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    heddle_writer *w = fx_writer(d, schema);
    struct fx_batch *b = good();
    fx_array(b)->offset = 1;
    fx_array(b)->length = 2;
    for (int c = 0; c < COLUMNS - I; c++)
        set_null(fx_array(b)->children[c], 3, 1); /* outside the batch */
    fx_append(w, "m", 0, b);
    b = good();
    char *odd = malloc(7 * 4 + 1);
    memcpy(odd + 1, fx_array(b)->children[0]->buffers[1], 7 * 4);
    const void *aligned = fx_array(b)->children[0]->buffers[1];
    fx_array(b)->children[0]->buffers[1] = odd + 1;
    fx_ok(heddle_writer_append(w, "m", 2, fx_schema(b), fx_array(b), &e), &e);
    fx_array(b)->children[0]->buffers[1] = aligned;
    fx_array(b)->length = 0;
    for (int c = 0; c < COLUMNS - I; c++) {
        struct ArrowArray *a = fx_array(b)->children[c];
        a->length = a->offset = 0;
        for (int k = 0; k < a->n_buffers; k++)
            drop_buffer(a, k);
    }
    fx_append(w, "m", 6, b);
    free(odd);
    fx_commit(w);
}

/* ---- streams --------------------------------------------------------------------------------- */

static int released;

static void release_stream(struct ArrowArrayStream *s)
{
    released++;
    s->release = NULL;
}
/* As a producer may leave it that failed half-way: nobody may release this. */
static int fail_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    memset(out, 0x5a, sizeof *out);
    return s ? 5 : 0;
}
static int no_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    memset(out, 0, sizeof *out);
    return s ? 0 : 5;
}
static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}
static int one_int(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    static struct ArrowSchema child, *children[] = {&child};
    child = (struct ArrowSchema){.format = "i", .name = "x", .release = release_schema};
    *out = (struct ArrowSchema){.format = "+s", .n_children = 1, .children = children, .release = release_schema};
    return s ? 0 : 5;
}
static int fail_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    memset(out, 0x5a, sizeof *out);
    return s ? 5 : 0;
}
static const char *no_message(struct ArrowArrayStream *s)
{
    (void)s;
    return NULL;
}
static const char *some_message(struct ArrowArrayStream *s)
{
    return s ? "the disk is on fire" : NULL;
}

static void streams_that_fail_are_released_once(void **state)
{
    struct fx_dir *d = *state;
    heddle_database *db = NULL;
    heddle_error *e = NULL;
    const struct {
        struct ArrowArrayStream s;
        heddle_error_class class;
        const char *message;
    } bad[] = {
        {{fail_schema, fail_next, no_message, release_stream, NULL},
         HEDDLE_ERROR_DATA,
         "the Arrow stream failed: no message"},
        {{one_int, fail_next, some_message, release_stream, NULL},
         HEDDLE_ERROR_DATA,
         "the Arrow stream failed: the disk is on fire"},
        {{no_schema, fail_next, no_message, release_stream, NULL}, HEDDLE_ERROR_USER, "the Arrow schema was released"},
        {{NULL, fail_next, no_message, release_stream, NULL}, HEDDLE_ERROR_USER, "without its functions"},
        {{one_int, NULL, no_message, release_stream, NULL}, HEDDLE_ERROR_USER, "without its functions"},
        {{one_int, fail_next, NULL, release_stream, NULL}, HEDDLE_ERROR_USER, "without its functions"},
    };
    fx_ok(heddle_database_open(d->context, NULL, 0, &db, &e), &e);
    for (size_t k = 0; k < HD_COUNT(bad); k++) {
        struct ArrowArrayStream s = bad[k].s;
        released = 0;
        fx_expect(heddle_database_register(db, "m", &s, 1, &e), &e, bad[k].class, "m", bad[k].message);
        assert_int_equal(released, 1);
        fx_expect(heddle_database_register(db, "m", &s, 1, &e), &e, HEDDLE_ERROR_USER, "m",
                  "the Arrow stream was released");
        assert_int_equal(released, 1);
    }
    heddle_database_free(db);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fx_setup, fx_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(batches_are_refused_by_append),       TEST(batches_are_refused_by_register),
        TEST(rows_that_are_null_hold_anything),    TEST(slices_are_fine),
        TEST(streams_that_fail_are_released_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
