/* Values of Arrow batches. Each check is a predicate over a run of rows, made to be vectorised:
 * it has no exit inside and does not look at validity. Only where a block of rows fails it are
 * its rows that are not NULL tried one by one. */
#include "runtime/io/arrow_check.h"

#include <stdio.h>

#include "runtime/base/utf8.h"

enum { BLOCK = 4096 };

int64_t rt_arrow_count_nulls(const uint8_t *bits, int64_t from, int64_t n)
{
    int64_t valid = 0, i = from, end = from + n;
    if (!bits)
        return 0;
    for (; i < end && i % 8; i++)
        valid += rt_arrow_bit(bits, i);
    for (; end - i >= 64; i += 64)
        valid += __builtin_popcountll(rt_arrow_u64(bits + i / 8, 0));
    for (; i < end; i++)
        valid += rt_arrow_bit(bits, i);
    return n - valid;
}

/* ---- one run of rows ------------------------------------------------------------------------ */

/* A column's values, row 0 the batch's. */
struct values {
    const struct rt_arrow_column *column;
    const char *data; /* buffer 1 from row 0 on; of bits, the whole */
    hd_i128 limit;    /* decimals: 10^p - 1 */
    hd_i128 least, most; /* of other units: the type's */
};
typedef bool (*check_fn)(const struct values *v, int64_t from, int64_t n);

static bool dates_in_range(const struct values *v, int64_t from, int64_t n)
{
    uint32_t bad = 0;
    for (int64_t i = from; i < from + n; i++)
        bad |= (uint32_t)rt_arrow_i32(v->data, i) - (uint32_t)HD_DATE_MIN > (uint32_t)(HD_DATE_MAX - HD_DATE_MIN);
    return !bad;
}

static bool timestamps_in_range(const struct values *v, int64_t from, int64_t n)
{
    uint64_t bad = 0;
    for (int64_t i = from; i < from + n; i++)
        bad |= (uint64_t)rt_arrow_i64(v->data, i) - (uint64_t)HD_TIMESTAMP_MIN >
               (uint64_t)(HD_TIMESTAMP_MAX - HD_TIMESTAMP_MIN);
    return !bad;
}

static bool times_in_range(const struct values *v, int64_t from, int64_t n)
{
    uint64_t bad = 0;
    for (int64_t i = from; i < from + n; i++)
        bad |= rt_arrow_u64(v->data, i) > (uint64_t)HD_TIME_MAX;
    return !bad;
}

static bool units_in_range(const struct values *v, int64_t from, int64_t n)
{
    bool bad = false;
    for (int64_t i = from; i < from + n; i++) {
        int64_t micros;
        bad |= !rt_arrow_micros(v->column->format, v->data, i, &micros) || micros < v->least || micros > v->most;
    }
    return !bad;
}

static bool unsigned_fit(const struct values *v, int64_t from, int64_t n)
{
    uint64_t bad = 0;
    for (int64_t i = from; i < from + n; i++)
        bad |= rt_arrow_u64(v->data, i) >> 63;
    return !bad;
}

/* Of up to 18 digits: the low word holds the value, and the high word its sign alone. */
static bool short_decimals_fit(const struct values *v, int64_t from, int64_t n)
{
    const uint64_t limit = (uint64_t)v->limit;
    uint64_t bad = 0;
    for (int64_t i = from; i < from + n; i++) {
        int64_t low = rt_arrow_i64(v->data, 2 * i), high = rt_arrow_i64(v->data, 2 * i + 1);
        bad |= (uint64_t)high ^ (uint64_t)(low >> 63);
        bad |= (uint64_t)low + limit > 2 * limit;
    }
    return !bad;
}

static bool long_decimals_fit(const struct values *v, int64_t from, int64_t n)
{
    bool bad = false;
    for (int64_t i = from; i < from + n; i++) {
        hd_i128 x = rt_arrow_i128(v->data, i);
        bad |= (x > v->limit) | (x < -v->limit);
    }
    return !bad;
}

/* A negative index is a large one once it is unsigned. */
#define INDICES(T) \
    for (int64_t i = from; i < from + n; i++) \
    bad |= (uint64_t)rt_arrow_##T(v->data, i) >= entries

static bool indices_in_dictionary(const struct values *v, int64_t from, int64_t n)
{
    const uint64_t entries = v->column->nentries;
    bool bad = false;
    switch (v->column->format) {
    case RT_ARROW_I8: INDICES(i8); break;
    case RT_ARROW_U8: INDICES(u8); break;
    case RT_ARROW_I16: INDICES(i16); break;
    case RT_ARROW_U16: INDICES(u16); break;
    case RT_ARROW_I32: INDICES(i32); break;
    case RT_ARROW_U32: INDICES(u32); break;
    case RT_ARROW_I64:
    case RT_ARROW_U64: INDICES(u64); break;
    case RT_ARROW_BOOL:
    case RT_ARROW_F32:
    case RT_ARROW_F64:
    case RT_ARROW_DEC128:
    case RT_ARROW_DATE:
    case RT_ARROW_TIMESTAMP:
    case RT_ARROW_TIME:
    case RT_ARROW_SECONDS:
    case RT_ARROW_MILLIS:
    case RT_ARROW_NANOS:
    case RT_ARROW_SECONDS32:
    case RT_ARROW_MILLIS32:
    case RT_ARROW_UTF8:
    case RT_ARROW_LARGE_UTF8: HD_BUG("not an index");
    }
    return !bad;
}

/* ---- strings -------------------------------------------------------------------------------- */

/* Strings [first, first + n) of an array, whether rows or the entries of a dictionary. */
struct strings {
    enum rt_arrow_format format;
    const void *offsets;
    const char *bytes;
    const uint8_t *validity; /* NULL: all are valid */
    int64_t first, n;
};

static bool narrow_ascend(const void *p, int64_t first, int64_t n)
{
    int32_t bad = 0;
    for (int64_t i = first; i < first + n; i++) {
        int32_t a = rt_arrow_i32(p, i), b = rt_arrow_i32(p, i + 1);
        bad |= a | b | -(b < a); /* the sign */
    }
    return bad >= 0;
}

/* No string is longer than struct rt_str can say. */
static bool wide_ascend(const void *p, int64_t first, int64_t n)
{
    uint64_t bad = 0;
    for (int64_t i = first; i < first + n; i++) {
        uint64_t a = rt_arrow_u64(p, i), b = rt_arrow_u64(p, i + 1);
        bad |= ((a | b) >> 56) | ((b - a) >> 32);
    }
    return !bad;
}

static bool ascend(const struct strings *s, int64_t from, int64_t n)
{
    return s->format == RT_ARROW_UTF8 ? narrow_ascend(s->offsets, s->first + from, n)
                                      : wide_ascend(s->offsets, s->first + from, n);
}

/* Row of the first string with bad offsets, -1 if there is none. NULL rows count: their
 * neighbours share the offsets. */
static int64_t bad_offsets(const struct strings *s)
{
    for (int64_t from = 0; from < s->n; from += BLOCK) {
        int64_t n = HD_MIN(s->n - from, BLOCK);
        if (ascend(s, from, n))
            continue;
        for (int64_t i = from; i < from + n; i++)
            if (!ascend(s, i, 1))
                return i;
    }
    return -1;
}

static int64_t offset(const struct strings *s, int64_t i)
{
    return rt_arrow_offset(s->format, s->offsets, s->first + i);
}

/* All strings of the run, NULLs too: their bytes lie side by side, so that they are UTF-8 one by
 * one if the whole is and none starts inside a character. */
static bool run_is_utf8(const struct strings *s, int64_t from, int64_t n)
{
    int64_t start = offset(s, from), end = offset(s, from + n);
    if (start == end)
        return true;
    const char *bytes = s->bytes + start;
    size_t size = (size_t)(end - start);
    if (hd_is_ascii(bytes, size))
        return true;
    if (hd_utf8_check(bytes, size) != size)
        return false;
    bool inside = false;
    for (int64_t i = from; i < from + n; i++) {
        int64_t at = offset(s, i);
        inside |= at < end && (s->bytes[at] & 0xC0) == 0x80;
    }
    return !inside;
}

/* The first string that is valid and not UTF-8, or -1. */
static int64_t bad_utf8(const struct strings *s)
{
    for (int64_t from = 0; from < s->n; from += BLOCK) {
        int64_t n = HD_MIN(s->n - from, BLOCK);
        if (run_is_utf8(s, from, n))
            continue;
        for (int64_t i = from; i < from + n; i++)
            if ((!s->validity || rt_arrow_bit(s->validity, s->first + i)) && !run_is_utf8(s, i, 1))
                return i;
    }
    return -1;
}

/* ---- errors --------------------------------------------------------------------------------- */

static int bad_row(const struct rt_arrow_source *s, int column, int64_t row, const char *what, struct hd_err *err)
{
    return HD_FAIL(err, DATA, s->table->name, "row %lld: column \"%s\"%s%s", (long long)(s->first_row + row + 1),
                   s->table->cols[column].name, *what == ' ' ? "" : ": ", what);
}

static int bad_entry(const struct rt_arrow_source *s, int column, int64_t entry, const char *what, struct hd_err *err)
{
    return HD_FAIL(err, DATA, s->table->name, "column \"%s\": entry %lld of its dictionary: %s",
                   s->table->cols[column].name, (long long)entry + 1, what);
}

static void describe_offsets(int64_t from, int64_t to, char *what, size_t room)
{
    if (from >= 0 && to > from && to <= INT64_MAX >> 8)
        snprintf(what, room, "a string of 4 GiB or more");
    else
        snprintf(what, room, "bad string offsets: %lld to %lld", (long long)from, (long long)to);
}

typedef int (*report_fn)(const struct rt_arrow_source *s, int column, int64_t row, const char *what,
                         struct hd_err *err);

static int check_strings(const struct rt_arrow_source *s, int column, const struct strings *v, report_fn report,
                         struct hd_err *err)
{
    char what[96];
    int64_t i = bad_offsets(v);
    if (i >= 0) {
        describe_offsets(offset(v, i), offset(v, i + 1), what, sizeof what);
        return report(s, column, i, what, err);
    }
    if (!v->n)
        return 0;
    if (!v->bytes && offset(v, v->n) > offset(v, 0))
        return HD_FAIL(err, USER, s->table->name, "column \"%s\": an Arrow array of strings without their bytes",
                       s->table->cols[column].name);
    i = bad_utf8(v);
    if (i < 0)
        return 0;
    int64_t at = offset(v, i);
    snprintf(what, sizeof what, "byte %zu is not UTF-8",
             hd_utf8_check(v->bytes + at, (size_t)(offset(v, i + 1) - at)) + 1);
    return report(s, column, i, what, err);
}

int rt_arrow_check_entries(const struct rt_arrow_source *s, int column, struct hd_err *err)
{
    const struct rt_arrow_column *c = &s->columns[column];
    const struct ArrowArray *d = c->array->dictionary;
    const struct strings v = {.format = c->entry_format,
                              .offsets = d->buffers[1],
                              .bytes = d->buffers[2],
                              .first = d->offset,
                              .n = d->length};
    return check_strings(s, column, &v, bad_entry, err);
}

/* ---- columns -------------------------------------------------------------------------------- */

static bool is_valid(const struct rt_arrow_column *c, int64_t row)
{
    return !c->validity || rt_arrow_bit(c->validity, c->offset + row);
}

/* The first row that is not NULL and fails, -1 if there is none. */
static int64_t find_bad(const struct values *v, int64_t rows, check_fn good)
{
    for (int64_t from = 0; from < rows; from += BLOCK) {
        int64_t n = HD_MIN(rows - from, BLOCK);
        if (good(v, from, n))
            continue;
        for (int64_t i = from; i < from + n; i++)
            if (is_valid(v->column, i) && !good(v, i, 1))
                return i;
    }
    return -1;
}

/* Which check a format needs, and its values' size; none where every bit pattern is a value. */
static check_fn check_of(const struct rt_arrow_column *c, struct hd_type type, int *width)
{
    static const int widths[] = {
        [RT_ARROW_I8] = 1,       [RT_ARROW_U8] = 1,        [RT_ARROW_I16] = 2,       [RT_ARROW_U16] = 2,
        [RT_ARROW_I32] = 4,      [RT_ARROW_U32] = 4,       [RT_ARROW_I64] = 8,       [RT_ARROW_U64] = 8,
        [RT_ARROW_DEC128] = 16,  [RT_ARROW_DATE] = 4,      [RT_ARROW_TIMESTAMP] = 8, [RT_ARROW_TIME] = 8,
        [RT_ARROW_SECONDS] = 8,  [RT_ARROW_MILLIS] = 8,    [RT_ARROW_NANOS] = 8,     [RT_ARROW_SECONDS32] = 4,
        [RT_ARROW_MILLIS32] = 4, [RT_ARROW_LARGE_UTF8] = 0};
    *width = widths[c->format];
    if (c->dictionary)
        return indices_in_dictionary;
    if (c->format == RT_ARROW_DEC128)
        return type.precision <= 18 ? short_decimals_fit : long_decimals_fit;
    if (c->format == RT_ARROW_U64)
        return unsigned_fit;
    if (c->format == RT_ARROW_TIME)
        return times_in_range;
    if (rt_arrow_has_unit(c->format))
        return units_in_range;
    return c->format == RT_ARROW_DATE ? dates_in_range : c->format == RT_ARROW_TIMESTAMP ? timestamps_in_range : NULL;
}

static void describe_unit(enum rt_arrow_format f, struct hd_type type, const char *value, char *what, size_t room)
{
    bool narrow = f == RT_ARROW_SECONDS32 || f == RT_ARROW_MILLIS32;
    bool seconds = f == RT_ARROW_SECONDS || f == RT_ARROW_SECONDS32;
    long long v = narrow ? rt_arrow_i32(value, 0) : rt_arrow_i64(value, 0);
    if (f == RT_ARROW_NANOS && v % 1000)
        snprintf(what, room, "nanosecond %lld is no whole microsecond", v);
    else
        snprintf(what, room, "%s %lld is %s",
                 seconds               ? "second"
                 : f == RT_ARROW_NANOS ? "nanosecond"
                                       : "millisecond",
                 v, type.kind == HD_TIME ? "not of a day" : "beyond the years 0001 to 9999");
}

static void describe(const struct rt_arrow_column *c, struct hd_type type, const char *value, char *what, size_t room)
{
    char text[HD_TEXT_MAX];
    if (c->dictionary) {
        snprintf(what, room, "index outside the dictionary of %u", c->nentries);
    } else if (c->format == RT_ARROW_DEC128) {
        snprintf(what, room, "value does not fit %s", hd_type_text(type, text));
    } else if (c->format == RT_ARROW_U64) {
        snprintf(what, room, "value %llu does not fit int64", (unsigned long long)rt_arrow_u64(value, 0));
    } else if (rt_arrow_has_unit(c->format)) {
        describe_unit(c->format, type, value, what, room);
    } else if (c->format == RT_ARROW_TIME) {
        snprintf(what, room, "microsecond %lld is not of a day", (long long)rt_arrow_i64(value, 0));
    } else if (c->format == RT_ARROW_DATE) {
        snprintf(what, room, "day %d is beyond the years 0001 to 9999", (int)rt_arrow_i32(value, 0));
    } else {
        snprintf(what, room, "microsecond %lld is beyond the years 0001 to 9999", (long long)rt_arrow_i64(value, 0));
    }
}

static int check_numbers(const struct rt_arrow_source *s, int column, struct hd_err *err)
{
    const struct rt_arrow_column *c = &s->columns[column];
    struct hd_type type = s->table->cols[column].type;
    struct values v = {.column = c};
    int width;
    check_fn good = check_of(c, type, &width);
    if (!good || !s->rows)
        return 0;
    v.data = (const char *)c->array->buffers[1] + c->offset * width;
    if (type.kind == HD_DECIMAL)
        v.limit = hd_pow10(type.precision) - 1;
    hd_type_domain(type, &v.least, &v.most);
    int64_t bad = find_bad(&v, s->rows, good);
    if (bad < 0)
        return 0;
    char what[96];
    describe(c, type, v.data + bad * width, what, sizeof what);
    return bad_row(s, column, bad, what, err);
}

static int check_nulls(const struct rt_arrow_source *s, int column, struct hd_err *err)
{
    const struct rt_arrow_column *c = &s->columns[column];
    int64_t row = 0;
    if (!c->nulls || s->table->cols[column].nullable)
        return 0;
    while (is_valid(c, row))
        row++;
    return bad_row(s, column, row, " is not nullable, found NULL", err);
}

int rt_arrow_check_values(const struct rt_arrow_source *s, int column, struct hd_err *err)
{
    const struct rt_arrow_column *c = &s->columns[column];
    HD_TRY(check_nulls(s, column, err));
    if (c->dictionary || !rt_arrow_is_text(c->format))
        return check_numbers(s, column, err);
    const struct strings v = {.format = c->format,
                              .offsets = c->array->buffers[1],
                              .bytes = c->array->buffers[2],
                              .validity = c->validity,
                              .first = c->offset,
                              .n = s->rows};
    return check_strings(s, column, &v, bad_row, err);
}
