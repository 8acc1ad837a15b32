#include "runtime/io/arrow_format.h"

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
    {"f", RT_ARROW_F32, HD_FLOAT32},
    {"g", RT_ARROW_F64, HD_FLOAT64},
    {"tdD", RT_ARROW_DATE, HD_DATE},
    {"tsu:", RT_ARROW_TIMESTAMP, HD_TIMESTAMP},
    {"tsu:UTC", RT_ARROW_TIMESTAMP, HD_TIMESTAMP},
    {"tss:", RT_ARROW_SECONDS, HD_TIMESTAMP},
    {"tss:UTC", RT_ARROW_SECONDS, HD_TIMESTAMP},
    {"tsm:", RT_ARROW_MILLIS, HD_TIMESTAMP},
    {"tsm:UTC", RT_ARROW_MILLIS, HD_TIMESTAMP},
    {"tsn:", RT_ARROW_NANOS, HD_TIMESTAMP},
    {"tsn:UTC", RT_ARROW_NANOS, HD_TIMESTAMP},
    {"ttu", RT_ARROW_TIME, HD_TIME},
    {"tts", RT_ARROW_SECONDS32, HD_TIME},
    {"ttm", RT_ARROW_MILLIS32, HD_TIME},
    {"ttn", RT_ARROW_NANOS, HD_TIME},
    {"u", RT_ARROW_UTF8, HD_STRING},
    {"U", RT_ARROW_LARGE_UTF8, HD_STRING},
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

/* d:P,S or d:P,S,128 */
static bool parse_decimal(const char *text, struct hd_type *type)
{
    const char *p = text + 2;
    if (strncmp(text, "d:", 2) != 0)
        return false;
    int precision = small_number(&p);
    if (*p++ != ',')
        return false;
    int scale = small_number(&p);
    if ((*p && strcmp(p, ",128") != 0) || precision < 1 || precision > HD_DEC_MAX || scale < 0 || scale > precision)
        return false;
    *type = hd_decimal(precision, scale);
    return true;
}

bool rt_arrow_format_parse(const char *text, enum rt_arrow_format *out, struct hd_type *type)
{
    for (size_t i = 0; i < HD_COUNT(formats); i++)
        if (strcmp(text, formats[i].text) == 0) {
            *out = formats[i].format;
            *type = hd_type_of(formats[i].kind);
            return true;
        }
    *out = RT_ARROW_DEC128;
    return parse_decimal(text, type);
}

bool rt_arrow_index_parse(const char *text, enum rt_arrow_format *out)
{
    struct hd_type type;
    return rt_arrow_format_parse(text, out, &type) && hd_type_is_int(type);
}

bool rt_arrow_micros(enum rt_arrow_format f, const void *p, int64_t i, int64_t *out)
{
    bool narrow = f == RT_ARROW_SECONDS32 || f == RT_ARROW_MILLIS32;
    int64_t v = narrow ? rt_arrow_i32(p, i) : rt_arrow_i64(p, i);
    *out = v / 1000;
    if (f == RT_ARROW_NANOS)
        return v % 1000 == 0;
    return !__builtin_mul_overflow(v, f == RT_ARROW_MILLIS || f == RT_ARROW_MILLIS32 ? 1000 : 1000000, out);
}
