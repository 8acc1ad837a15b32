#include "runtime/io/arrow_format.h"

#include "templates/arrow_value.cuh"

enum rt_arrow_layout rt_arrow_layout(enum rt_arrow_format f)
{
    static const enum rt_arrow_layout layouts[] = {
#define X(id, bytes, layout, value) RT_ARROW_LAYOUT_##layout,
        HDD_ARROW_FORMATS(X)
#undef X
    };
    return layouts[f];
}

int rt_arrow_width(enum rt_arrow_format f)
{
    static const int widths[] = {
#define X(id, bytes, layout, value) bytes,
        HDD_ARROW_FORMATS(X)
#undef X
    };
    return widths[f];
}

static const struct {
    const char *text;
    enum rt_arrow_format format;
    enum hd_type_kind kind;
} formats[] = {
    {"b", RT_ARROW_BOOL, HD_BOOL},
    {"c", RT_ARROW_I8, HD_INT32},
    {"C", RT_ARROW_U8, HD_INT32},
    {"s", RT_ARROW_I16, HD_INT32},
    {"S", RT_ARROW_U16, HD_INT32},
    {"i", RT_ARROW_I32, HD_INT32},
    {"I", RT_ARROW_U32, HD_INT64},
    {"l", RT_ARROW_I64, HD_INT64},
    {"L", RT_ARROW_U64, HD_INT64},
    {"e", RT_ARROW_F16, HD_FLOAT32},
    {"f", RT_ARROW_F32, HD_FLOAT32},
    {"g", RT_ARROW_F64, HD_FLOAT64},
    {"tdD", RT_ARROW_DATE, HD_DATE},
    {"tdm", RT_ARROW_DATE_MILLIS, HD_DATE},
    {"ttu", RT_ARROW_TIME, HD_TIME},
    {"tts", RT_ARROW_SECONDS32, HD_TIME},
    {"ttm", RT_ARROW_MILLIS32, HD_TIME},
    {"ttn", RT_ARROW_NANOS, HD_TIME},
    {"u", RT_ARROW_UTF8, HD_STRING},
    {"U", RT_ARROW_LARGE_UTF8, HD_STRING},
    {"vu", RT_ARROW_VIEW, HD_STRING},
    {"n", RT_ARROW_NOTHING, HD_INT32},
    {"z", RT_ARROW_UTF8, HD_BINARY},
    {"Z", RT_ARROW_LARGE_UTF8, HD_BINARY},
    {"vz", RT_ARROW_VIEW, HD_BINARY},
    {"tiM", RT_ARROW_MONTHS, HD_INTERVAL},
    {"tiD", RT_ARROW_DAY_MILLIS, HD_INTERVAL},
    {"tin", RT_ARROW_MONTH_DAY_NANOS, HD_INTERVAL},
};

/* One to three digits at *p, which moves behind them; -1 if there are none or more. */
static int small_number(const char **p)
{
    int v = 0, n = 0;
    for (; **p >= '0' && **p <= '9'; (*p)++)
        if (++n <= 3)
            v = v * 10 + (**p - '0');
    return n >= 1 && n <= 3 ? v : -1;
}

/* d:P,S or d:P,S,BITS. Of more digits than Heddle has, values that fit are accepted. */
static bool parse_decimal(const char *text, enum rt_arrow_format *out, struct hd_type *type)
{
    static const struct {
        const char *bits;
        enum rt_arrow_format format;
        int digits;
    } widths[] = {{"", RT_ARROW_DEC128, 38},
                  {",32", RT_ARROW_DEC32, 9},
                  {",64", RT_ARROW_DEC64, 18},
                  {",128", RT_ARROW_DEC128, 38},
                  {",256", RT_ARROW_DEC256, 76}};
    const char *p = text + 2;
    if (strncmp(text, "d:", 2) != 0)
        return false;
    int precision = small_number(&p);
    if (*p++ != ',')
        return false;
    int scale = small_number(&p);
    if (precision < 1 || scale < 0 || scale > HD_DEC_MAX || scale > precision)
        return false;
    *type = hd_decimal(HD_MIN(precision, HD_DEC_MAX), scale);
    for (size_t i = 0; i < HD_COUNT(widths); i++)
        if (strcmp(p, widths[i].bits) == 0) {
            *out = widths[i].format;
            return precision <= widths[i].digits;
        }
    return false;
}

/* tsU:ZONE. Whatever the zone is called, the values are the instants in UTC. */
static bool parse_timestamp(const char *text, enum rt_arrow_format *out)
{
    static const char units[] = "smun";
    static const enum rt_arrow_format formats_of[] = {RT_ARROW_SECONDS, RT_ARROW_MILLIS, RT_ARROW_TIMESTAMP,
                                                      RT_ARROW_NANOS};
    if (strncmp(text, "ts", 2) != 0 || !text[2] || text[3] != ':')
        return false;
    const char *unit = strchr(units, text[2]);
    if (unit)
        *out = formats_of[unit - units];
    return unit != NULL;
}

int64_t rt_arrow_fixed_bytes(const char *format)
{
    int64_t n;
    size_t digits = strlen(format) - 2;
    return hd_int_parse(format + 2, digits, &n) && n >= 0 && n <= INT32_MAX ? n : -1;
}

bool rt_arrow_format_parse(const char *text, enum rt_arrow_format *out, struct hd_type *type)
{
    for (size_t i = 0; i < HD_COUNT(formats); i++)
        if (strcmp(text, formats[i].text) == 0) {
            *out = formats[i].format;
            *type = hd_type_of(formats[i].kind);
            return true;
        }
    if (strncmp(text, "w:", 2) == 0) {
        *out = RT_ARROW_FIXED;
        *type = hd_type_of(HD_BINARY);
        return rt_arrow_fixed_bytes(text) >= 0;
    }
    *type = hd_type_of(HD_TIMESTAMP);
    return parse_timestamp(text, out) || parse_decimal(text, out, type);
}

bool rt_arrow_index_parse(const char *text, enum rt_arrow_format *out)
{
    struct hd_type type;
    return rt_arrow_format_parse(text, out, &type) && hd_type_is_int(type) &&
           rt_arrow_layout(*out) == RT_ARROW_LAYOUT_INT;
}

bool rt_arrow_from_unit(enum rt_arrow_format f, const void *p, int64_t i, int64_t *out)
{
    i64 v = 0;
    bool narrow = f == RT_ARROW_SECONDS32 || f == RT_ARROW_MILLIS32;
    bool whole = hdd_arrow_unit(f, narrow ? rt_arrow_i32(p, i) : rt_arrow_i64(p, i), &v);
    *out = v;
    return whole;
}

bool rt_arrow_decimal(enum rt_arrow_format f, const void *p, int64_t i, hd_i128 *out)
{
    switch (rt_arrow_width(f)) {
    case 4: *out = rt_arrow_i32(p, i); return true;
    case 8: *out = rt_arrow_i64(p, i); return true;
    case 16: *out = rt_arrow_i128(p, i); return true;
    }
    *out = rt_arrow_i128(p, 2 * i);
    return rt_arrow_i128(p, 2 * i + 1) == *out >> 127;
}

bool rt_arrow_interval(enum rt_arrow_format f, const void *p, int64_t i, hd_i128 *out)
{
    if (f == RT_ARROW_MONTHS)
        return hdd_arrow_interval(rt_arrow_i32(p, i), 0, 0, out);
    if (f == RT_ARROW_DAY_MILLIS)
        return hdd_arrow_interval(0, rt_arrow_i32(p, 2 * i), rt_arrow_i32(p, 2 * i + 1) * INT64_C(1000000), out);
    return hdd_arrow_interval(rt_arrow_i32(p, 4 * i), rt_arrow_i32(p, 4 * i + 1), rt_arrow_i64(p, 2 * i + 1), out);
}

void rt_arrow_put_interval(void *p, int64_t i, struct hd_interval v)
{
    int32_t months = (int32_t)v.months, days = (int32_t)v.days;
    int64_t nanos = v.micros * 1000;
    char *out = (char *)p + 16 * i;
    memcpy(out, &months, sizeof months);
    memcpy(out + 4, &days, sizeof days);
    memcpy(out + 8, &nanos, sizeof nanos);
}

float rt_arrow_f16(const void *p, int64_t i)
{
    return hdd_f32_from_bits((i32)hdd_arrow_half(rt_arrow_u16(p, i)));
}
