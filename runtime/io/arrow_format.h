/* Arrow format strings, and values of their buffers at any address. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_FORMAT_H
#define HEDDLE_RUNTIME_IO_ARROW_FORMAT_H

#include <string.h>

#include "runtime/base/interval.h"
#include "runtime/base/type.h"
#include "templates/arrow_formats.cuh"

enum rt_arrow_format {
#define X(id, bytes, layout, value) RT_ARROW_##id = HDD_ARROW_##id,
    HDD_ARROW_FORMATS(X)
#undef X
        RT_ARROW_FORMAT_COUNT
};

enum rt_arrow_layout {
    RT_ARROW_LAYOUT_INT,
    RT_ARROW_LAYOUT_FLOAT,
    RT_ARROW_LAYOUT_DECIMAL,
    RT_ARROW_LAYOUT_UNIT,
    RT_ARROW_LAYOUT_INTERVAL,
    RT_ARROW_LAYOUT_STRING,
    RT_ARROW_LAYOUT_VIEW,
    RT_ARROW_LAYOUT_FIXED,
    RT_ARROW_LAYOUT_NOTHING
};
enum rt_arrow_layout rt_arrow_layout(enum rt_arrow_format f);
int rt_arrow_width(enum rt_arrow_format f);

/* What the format of a column without its dictionary means; false if it is not accepted. */
bool rt_arrow_format_parse(const char *text, enum rt_arrow_format *out, struct hd_type *type);
/* The same for the indices of a dictionary. */
bool rt_arrow_index_parse(const char *text, enum rt_arrow_format *out);

/* Of strings or binary, in whatever layout. */
static inline bool rt_arrow_is_text(enum rt_arrow_format f)
{
    enum rt_arrow_layout l = rt_arrow_layout(f);
    return l == RT_ARROW_LAYOUT_STRING || l == RT_ARROW_LAYOUT_VIEW || l == RT_ARROW_LAYOUT_FIXED;
}
/* Bytes of a value of the format w:N. */
int64_t rt_arrow_fixed_bytes(const char *format);
/* Runs of equal values: two children, ends of runs and values. */
static inline bool rt_arrow_is_runs(const char *format)
{
    return strcmp(format, "+r") == 0;
}

/* Value i of a buffer of Ts. Arrow recommends alignment, but does not promise it. */
#define RT_ARROW_AT(T, name) \
    static inline T rt_arrow_##name(const void *p, int64_t i) \
    { \
        T v; \
        memcpy(&v, (const char *)p + i * (int64_t)sizeof v, sizeof v); \
        return v; \
    }
RT_ARROW_AT(int8_t, i8)
RT_ARROW_AT(uint8_t, u8)
RT_ARROW_AT(int16_t, i16)
RT_ARROW_AT(uint16_t, u16)
RT_ARROW_AT(int32_t, i32)
RT_ARROW_AT(uint32_t, u32)
RT_ARROW_AT(int64_t, i64)
RT_ARROW_AT(uint64_t, u64)
RT_ARROW_AT(float, f32)
RT_ARROW_AT(hd_i128, i128)
#undef RT_ARROW_AT

static inline bool rt_arrow_bit(const uint8_t *bits, int64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}
/* Value i of a column whose layout is UNIT as Heddle has it: days of a date, else microseconds. False: it is no whole
 * number of them, or too large. */
bool rt_arrow_from_unit(enum rt_arrow_format f, const void *p, int64_t i, int64_t *out);
/* Value i of a decimal column; false: it does not fit 128 bits. */
bool rt_arrow_decimal(enum rt_arrow_format f, const void *p, int64_t i, hd_i128 *out);
/* Value i of a column of intervals; false: its nanoseconds are no whole number of microseconds, or it is too large. */
bool rt_arrow_interval(enum rt_arrow_format f, const void *p, int64_t i, hd_i128 *out);
/* As value i of months, days and nanoseconds. */
void rt_arrow_put_interval(void *p, int64_t i, struct hd_interval v);
/* Value i of a column of half floats; each is a float, too. */
float rt_arrow_f16(const void *p, int64_t i);
/* Offset i of strings of this format. */
static inline int64_t rt_arrow_offset(enum rt_arrow_format f, const void *p, int64_t i)
{
    return f == RT_ARROW_UTF8 ? rt_arrow_i32(p, i) : rt_arrow_i64(p, i);
}

#endif
