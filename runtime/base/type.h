/* Logical types and their text form, dates, decimals.
 * date = days since 1970-01-01 (int32); timestamp = microseconds since then (int64); time = those since midnight (int64);
 * decimal(p,s) = exact integer scaled by 10^s, 1 <= p <= 38, 0 <= s <= p; binary = any bytes; interval = months, days and
 * microseconds in 128 bits (interval.h). */
#ifndef HEDDLE_BASE_TYPE_H
#define HEDDLE_BASE_TYPE_H

#include <stddef.h>

#include "runtime/base/util.h"

enum hd_type_kind {
#define T_TYPE(id, name, ps) HD_##id,
#include "runtime/base/types.def"
    HD_TYPE_COUNT
};

struct hd_type {
    unsigned char kind;      /* enum hd_type_kind */
    unsigned char precision; /* decimal only, else 0 */
    unsigned char scale;     /* decimal only, else 0 */
};

enum { HD_DEC_MAX = 38 };
/* Dates and timestamps lie in the years 0001 to 9999. */
#define HD_DATE_MIN      (-719162)
#define HD_DATE_MAX      2932896
#define HD_TIMESTAMP_MIN (HD_DATE_MIN * INT64_C(86400000000))
#define HD_TIMESTAMP_MAX ((HD_DATE_MAX + 1) * INT64_C(86400000000) - 1)
#define HD_TIME_MAX      INT64_C(86399999999)
/* Longest text that hd_type_text, hd_date_text, hd_dec_text write, NUL included. */
enum { HD_TEXT_MAX = 48 };

static inline struct hd_type hd_type_of(enum hd_type_kind k)
{
    return (struct hd_type){(unsigned char)k, 0, 0};
}
static inline struct hd_type hd_decimal(int p, int s)
{
    return (struct hd_type){HD_DECIMAL, (unsigned char)p, (unsigned char)s};
}
static inline bool hd_type_eq(struct hd_type a, struct hd_type b)
{
    return a.kind == b.kind && a.precision == b.precision && a.scale == b.scale;
}
static inline bool hd_type_is_int(struct hd_type t)
{
    return t.kind == HD_INT32 || t.kind == HD_INT64;
}
static inline bool hd_type_is_float(struct hd_type t)
{
    return t.kind == HD_FLOAT32 || t.kind == HD_FLOAT64;
}
/* Bytes of a value in a column without a narrow form; of a text its end. */
int hd_type_width(struct hd_type t);
/* Strings of bytes: string, which is UTF-8, and binary. They are stored, moved and compared alike. */
static inline bool hd_type_is_text(struct hd_type t)
{
    return t.kind == HD_STRING || t.kind == HD_BINARY;
}
static inline bool hd_type_is_num(struct hd_type t)
{
    return hd_type_is_int(t) || t.kind == HD_DECIMAL || hd_type_is_float(t);
}

/* Writes "decimal(12,2)" or "date" into buf and returns it. */
const char *hd_type_text(struct hd_type t, char buf[HD_TEXT_MAX]);
/* Parses the same text. False if it names no type. */
bool hd_type_parse(const char *s, struct hd_type *out);

/* The smallest and largest value that a stored column of the type may hold; days and microseconds
 * of the years 1 to 9999. False for floats and string. */
bool hd_type_domain(struct hd_type t, hd_i128 *lo, hd_i128 *hi);

/* 10^k, 0 <= k <= 38. */
hd_i128 hd_pow10(int k);
/* Civil date of the proleptic Gregorian calendar <-> days. */
int32_t hd_date_from_civil(int y, int m, int d);
void hd_date_to_civil(int32_t days, int *y, int *m, int *d);
bool hd_date_parse(const char *s, size_t n, int32_t *days); /* exactly YYYY-MM-DD, checked */
const char *hd_date_text(int32_t days, char buf[HD_TEXT_MAX]);
/* Adds months, the day clipped to the month's last (SQL's date + interval). */
int32_t hd_date_add_months(int32_t days, int64_t months);
/* YYYY-MM-DD[ HH:MM:SS[.ffffff]] or with a T. */
bool hd_timestamp_parse(const char *s, size_t n, int64_t *micros);
const char *hd_timestamp_text(int64_t micros, char buf[HD_TEXT_MAX]);
/* HH:MM:SS[.ffffff], before 24:00:00. */
bool hd_time_parse(const char *s, size_t n, int64_t *micros);
const char *hd_time_text(int64_t micros, char buf[HD_TEXT_MAX]);

/* Decimal text [+-]ddd[.ddd] with at most `scale` fraction digits (trailing zeros beyond
 * are allowed) into the scaled integer. False on bad text, too many digits or > 10^38-1. */
bool hd_dec_parse(const char *s, size_t n, int scale, hd_i128 *out);
const char *hd_dec_text(hd_i128 v, int scale, char buf[HD_TEXT_MAX]);
/* \x and an even number of hexadecimal digits, the \x may be missing: the text form of binary. Writes n / 2 bytes at
 * most, and may write over what it reads; -1 if it is none. */
int64_t hd_hex_parse(const char *s, size_t n, char *out);
bool hd_int_parse(const char *s, size_t n, int64_t *out);

#endif
