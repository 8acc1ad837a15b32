/* Arrow format strings, and values of their buffers at any address. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_FORMAT_H
#define HEDDLE_RUNTIME_IO_ARROW_FORMAT_H

#include <string.h>

#include "runtime/base/type.h"

enum rt_arrow_format {
    RT_ARROW_BOOL,
    RT_ARROW_I8,
    RT_ARROW_U8,
    RT_ARROW_I16,
    RT_ARROW_U16,
    RT_ARROW_I32,
    RT_ARROW_U32,
    RT_ARROW_I64,
    RT_ARROW_U64,
    RT_ARROW_F32,
    RT_ARROW_F64,
    RT_ARROW_DEC128,
    RT_ARROW_DATE,
    RT_ARROW_TIMESTAMP,
    RT_ARROW_TIME,
    RT_ARROW_SECONDS, /* timestamps and times that are not stored in microseconds */
    RT_ARROW_MILLIS,
    RT_ARROW_NANOS,
    RT_ARROW_SECONDS32,
    RT_ARROW_MILLIS32,
    RT_ARROW_UTF8,
    RT_ARROW_LARGE_UTF8
};

/* What the format of a column without its dictionary means; false if it is not accepted. */
bool rt_arrow_format_parse(const char *text, enum rt_arrow_format *out, struct hd_type *type);
/* The same for the indices of a dictionary. */
bool rt_arrow_index_parse(const char *text, enum rt_arrow_format *out);

static inline bool rt_arrow_is_text(enum rt_arrow_format f)
{
    return f == RT_ARROW_UTF8 || f == RT_ARROW_LARGE_UTF8;
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
static inline bool rt_arrow_has_unit(enum rt_arrow_format f)
{
    return f == RT_ARROW_SECONDS || f == RT_ARROW_MILLIS || f == RT_ARROW_NANOS || f == RT_ARROW_SECONDS32 ||
           f == RT_ARROW_MILLIS32;
}
/* Value i in microseconds, of a buffer with such a unit; false: it is not a whole number of them, or too large. */
bool rt_arrow_micros(enum rt_arrow_format f, const void *p, int64_t i, int64_t *out);
/* Offset i of strings of this format. */
static inline int64_t rt_arrow_offset(enum rt_arrow_format f, const void *p, int64_t i)
{
    return f == RT_ARROW_UTF8 ? rt_arrow_i32(p, i) : rt_arrow_i64(p, i);
}

#endif
