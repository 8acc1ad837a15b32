/* Values of Arrow batches. Each check is a predicate over a run of rows, made to be vectorised:
 * it has no exit inside and does not look at validity. Only where a block of rows fails it are
 * its rows that are not NULL tried one by one. */
#include "runtime/io/arrow_check.h"

#include <stdio.h>

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
    hd_i128 limit;       /* decimals: 10^p - 1 */
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
        int64_t x;
        bad |= !rt_arrow_from_unit(v->column->format, v->data, i, &x) || x < v->least || x > v->most;
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

static bool decimals_fit(const struct values *v, int64_t from, int64_t n)
{
    bool bad = false;
    for (int64_t i = from; i < from + n; i++) {
        hd_i128 x;
        bad |= !rt_arrow_decimal(v->column->format, v->data, i, &x) || x > v->limit || x < -v->limit;
    }
    return !bad;
}

static bool intervals_fit(const struct values *v, int64_t from, int64_t n)
{
    bool bad = false;
    for (int64_t i = from; i < from + n; i++) {
        hd_i128 x;
        bad |= !rt_arrow_interval(v->column->format, v->data, i, &x);
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
    case RT_ARROW_DATE:
    case RT_ARROW_TIMESTAMP:
    case RT_ARROW_TIME:
    case RT_ARROW_F16:
    case RT_ARROW_F32:
    case RT_ARROW_F64:
    case RT_ARROW_DEC32:
    case RT_ARROW_DEC64:
    case RT_ARROW_DEC128:
    case RT_ARROW_DEC256:
    case RT_ARROW_SECONDS:
    case RT_ARROW_MILLIS:
    case RT_ARROW_NANOS:
    case RT_ARROW_SECONDS32:
    case RT_ARROW_MILLIS32:
    case RT_ARROW_DATE_MILLIS:
    case RT_ARROW_MONTHS:
    case RT_ARROW_DAY_MILLIS:
    case RT_ARROW_MONTH_DAY_NANOS:
    case RT_ARROW_UTF8:
    case RT_ARROW_LARGE_UTF8:
    case RT_ARROW_VIEW:
    case RT_ARROW_FIXED:
    case RT_ARROW_NOTHING:
    case RT_ARROW_FORMAT_COUNT: HD_BUG("not an index");
    }
    return !bad;
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

/* Which check a format needs; none where every bit pattern is a value. */
static check_fn check_of(const struct rt_arrow_column *c, struct hd_type type)
{
    if (c->dictionary)
        return indices_in_dictionary;
    switch (rt_arrow_layout(c->format)) {
    case RT_ARROW_LAYOUT_INT: break;
    case RT_ARROW_LAYOUT_DECIMAL:
        return c->format == RT_ARROW_DEC128 && type.precision <= 18 ? short_decimals_fit : decimals_fit;
    case RT_ARROW_LAYOUT_UNIT: return units_in_range;
    case RT_ARROW_LAYOUT_INTERVAL: return intervals_fit;
    case RT_ARROW_LAYOUT_FLOAT:
    case RT_ARROW_LAYOUT_STRING:
    case RT_ARROW_LAYOUT_VIEW:
    case RT_ARROW_LAYOUT_FIXED:
    case RT_ARROW_LAYOUT_NOTHING: return NULL;
    }
    return c->format == RT_ARROW_U64         ? unsigned_fit
           : c->format == RT_ARROW_TIME      ? times_in_range
           : c->format == RT_ARROW_DATE      ? dates_in_range
           : c->format == RT_ARROW_TIMESTAMP ? timestamps_in_range
                                             : NULL;
}

static void describe_unit(enum rt_arrow_format f, struct hd_type type, const char *value, char *what, size_t room)
{
    bool seconds = f == RT_ARROW_SECONDS || f == RT_ARROW_SECONDS32;
    long long v = rt_arrow_width(f) == 4 ? rt_arrow_i32(value, 0) : rt_arrow_i64(value, 0);
    const char *unit = seconds ? "second" : f == RT_ARROW_NANOS ? "nanosecond" : "millisecond";
    int64_t ignored;
    if (!rt_arrow_from_unit(f, value, 0, &ignored) && (f == RT_ARROW_NANOS || f == RT_ARROW_DATE_MILLIS))
        snprintf(what, room, "%s %lld is no whole %s", unit, v, f == RT_ARROW_NANOS ? "microsecond" : "day");
    else
        snprintf(what, room, "%s %lld is %s", unit, v,
                 type.kind == HD_TIME ? "not of a day" : "beyond the years 0001 to 9999");
}

static void describe_interval(enum rt_arrow_format f, const char *value, char *what, size_t room)
{
    long long nanos = f == RT_ARROW_MONTH_DAY_NANOS ? rt_arrow_i64(value, 1) : 0;
    if (nanos % 1000)
        snprintf(what, room, "nanosecond %lld of an interval is no whole microsecond", nanos);
    else
        snprintf(what, room, "month %d is beyond those of an interval", (int)rt_arrow_i32(value, 0));
}

static void describe(const struct rt_arrow_column *c, struct hd_type type, const char *value, char *what, size_t room)
{
    char text[HD_TEXT_MAX];
    if (c->dictionary) {
        snprintf(what, room, "index outside the dictionary of %u", c->nentries);
    } else if (rt_arrow_layout(c->format) == RT_ARROW_LAYOUT_DECIMAL) {
        snprintf(what, room, "value does not fit %s", hd_type_text(type, text));
    } else if (c->format == RT_ARROW_U64) {
        snprintf(what, room, "value %llu does not fit int64", (unsigned long long)rt_arrow_u64(value, 0));
    } else if (rt_arrow_layout(c->format) == RT_ARROW_LAYOUT_UNIT) {
        describe_unit(c->format, type, value, what, room);
    } else if (rt_arrow_layout(c->format) == RT_ARROW_LAYOUT_INTERVAL) {
        describe_interval(c->format, value, what, room);
    } else if (c->format == RT_ARROW_TIME) {
        snprintf(what, room, "microsecond %lld is not of a day", (long long)rt_arrow_i64(value, 0));
    } else if (c->format == RT_ARROW_DATE) {
        snprintf(what, room, "day %d is beyond the years 0001 to 9999", (int)rt_arrow_i32(value, 0));
    } else {
        snprintf(what, room, "microsecond %lld is beyond the years 0001 to 9999", (long long)rt_arrow_i64(value, 0));
    }
}

static int check_numbers(const struct rt_arrow_source *s, int column, const struct rt_arrow_column *c, int64_t rows,
                         enum rt_arrow_part part, struct hd_err *err)
{
    struct hd_type type = s->table->cols[column].type;
    struct values v = {.column = c};
    int width = rt_arrow_width(c->format);
    check_fn good = check_of(c, type);
    if (!good || !rows)
        return 0;
    v.data = (const char *)c->data + c->offset * width;
    if (type.kind == HD_DECIMAL)
        v.limit = hd_pow10(type.precision) - 1;
    hd_type_domain(type, &v.least, &v.most);
    int64_t bad = find_bad(&v, rows, good);
    if (bad < 0)
        return 0;
    char what[96];
    describe(c, type, v.data + bad * width, what, sizeof what);
    return rt_arrow_bad_value(s, column, part, bad, what, err);
}

int rt_arrow_check_nulls(const struct rt_arrow_source *s, int column, struct hd_err *err)
{
    const struct rt_arrow_column *c = &s->columns[column];
    int64_t row = 0;
    if (!c->nulls || s->table->cols[column].nullable)
        return 0;
    while (is_valid(c, row))
        row++;
    return rt_arrow_bad_value(s, column, RT_ARROW_ROWS, row, " is not nullable, found NULL", err);
}

int rt_arrow_check_values(const struct rt_arrow_source *s, int column, const struct rt_arrow_column *c, int64_t rows,
                          enum rt_arrow_part part, struct hd_err *err)
{
    if (c->dictionary || !rt_arrow_is_text(c->format))
        return check_numbers(s, column, c, rows, part, err);
    return rt_arrow_check_strings(s, column, c, rows, part, err);
}
