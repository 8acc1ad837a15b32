#include "runtime/exec/rows_move.h"

#include <string.h>

#include "runtime/io/arrow_format.h"

static bool is_nullable(const struct rt_row_values *v)
{
    return v->f->valid_offset >= 0;
}

static bool is_there(const struct rt_row_values *v, size_t i)
{
    return !is_nullable(v) || v->rows[i * v->stride + (size_t)v->f->valid_offset];
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* NULL rows have 0. What does not change stands outside of loops: the compiler cannot know that values do not lie there. */
#define MOVE(From, To) \
    do { \
        const unsigned char *from = v->rows + v->f->offset; \
        const size_t stride = v->stride, n = v->n; \
        for (size_t i = 0; i < n; i++) { \
            From x; \
            memcpy(&x, from + i * stride, sizeof x); \
            ((To *)to)[i] = (To)x; \
        } \
        for (size_t i = 0; i < n && is_nullable(v); i++) \
            if (!is_there(v, i)) \
                ((To *)to)[i] = 0; \
        return; \
    } while (0)

/* An integer's field is as wide as its values ask for. */
#define MOVE_INTEGERS(To) \
    switch (v->f->phys) { \
    case RT_BOOL: MOVE(uint8_t, To); \
    case RT_I32: MOVE(int32_t, To); \
    case RT_I64: MOVE(int64_t, To); \
    case RT_I128: MOVE(hd_i128, To); \
    case RT_F64: \
    case RT_STR: \
    case RT_F32: break; \
    } \
    HD_BUG("integers of kind %d", (int)v->f->phys)

static void move_i32(const struct rt_row_values *v, int32_t *to)
{
    MOVE_INTEGERS(int32_t);
}

static void move_i64(const struct rt_row_values *v, int64_t *to)
{
    MOVE_INTEGERS(int64_t);
}

static void move_i128(const struct rt_row_values *v, hd_i128 *to)
{
    MOVE_INTEGERS(hd_i128);
}

/* Months, days and nanoseconds in the place of the integer. */
static void move_intervals(const struct rt_row_values *v, hd_i128 *to)
{
    move_i128(v, to);
    for (size_t i = 0; i < v->n; i++)
        if (is_there(v, i))
            rt_arrow_put_interval(to, (int64_t)i, hd_interval_unpack(to[i]));
}

static void move_f32(const struct rt_row_values *v, float *to)
{
    MOVE(float, float);
}

static void move_f64(const struct rt_row_values *v, double *to)
{
    MOVE(double, double);
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Of a wider integer the low half: codes have 32 bits. */
static inline uint32_t read_code(const unsigned char *p, bool narrow)
{
    uint32_t code;
    if (narrow)
        return *p;
    memcpy(&code, p, sizeof code);
    return code;
}

static inline struct rt_row_str read_string(const unsigned char *p)
{
    struct rt_row_str s;
    memcpy(&s, p, sizeof s);
    return s;
}

static const struct fe_dict *dict_of(const struct rt_row_values *v)
{
    return &v->f->dict_table->cols[v->f->dict_column].dict;
}

/* Declares `length` of row i of field `from`, and calls it for rows that are not NULL. */
static inline uint64_t string_length(const struct rt_row_values *v, size_t i)
{
    return is_there(v, i) ? read_string(v->rows + i * v->stride + v->f->offset).n : 0;
}

static inline uint64_t entry_length(const struct rt_row_values *v, const uint32_t *offsets, size_t i)
{
    if (!is_there(v, i))
        return 0;
    uint32_t code = read_code(v->rows + i * v->stride + v->f->offset, v->f->phys == RT_BOOL);
    return offsets[code + 1] - offsets[code];
}

uint64_t rt_row_text_bytes(const struct rt_row_values *values)
{
    const struct rt_row_values copy = *values, *v = &copy;
    uint64_t sum = 0;
    if (v->f->phys == RT_STR) {
        for (size_t i = 0; i < v->n; i++)
            sum += string_length(v, i);
        return sum;
    }
    const uint32_t *offsets = dict_of(v)->offsets;
    for (size_t i = 0; i < v->n; i++)
        sum += entry_length(v, offsets, i);
    return sum;
}

size_t rt_row_text_fit(const struct rt_row_values *v, uint64_t bytes)
{
    const uint32_t *offsets = v->f->phys == RT_STR ? NULL : dict_of(v)->offsets;
    uint64_t sum = 0;
    for (size_t i = 0; i < v->n; i++) {
        sum += offsets ? entry_length(v, offsets, i) : string_length(v, i);
        if (sum > bytes)
            return i;
    }
    return v->n;
}

/* Most texts are short: two words that may overlap take less time than a call. */
static inline void copy_text(char *to, const char *from, size_t n)
{
    if (n >= 32 || n < 4) {
        if (n)
            memcpy(to, from, n);
    } else if (n >= 16) {
        memcpy(to, from, 16);
        memmove(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memmove(to + n - 8, from + n - 8, 8);
    } else {
        memcpy(to, from, 4);
        memmove(to + n - 4, from + n - 4, 4);
    }
}

static void move_strings(const struct rt_row_values *v, int32_t *ends, char *text, int32_t at)
{
    const unsigned char *from = v->rows + v->f->offset;
    const size_t stride = v->stride, n = v->n;
    for (size_t i = 0; i < n; i++) {
        if (is_there(v, i)) {
            struct rt_row_str s = read_string(from + i * stride);
            copy_text(text + at, s.s, s.n);
            at += (int32_t)s.n;
        }
        ends[i] = at;
    }
}

static void move_entries(const struct rt_row_values *v, int32_t *ends, char *text, int32_t at)
{
    const struct fe_dict *d = dict_of(v);
    const uint32_t *offsets = d->offsets;
    const char *bytes = d->bytes;
    const unsigned char *from = v->rows + v->f->offset;
    const size_t stride = v->stride, n = v->n;
    const bool narrow = v->f->phys == RT_BOOL, nullable = is_nullable(v);
    for (size_t i = 0; i < n; i++) {
        if (!nullable || is_there(v, i)) {
            uint32_t code = read_code(from + i * stride, narrow), begin = offsets[code],
                     size = offsets[code + 1] - begin;
            copy_text(text + at, bytes + begin, size);
            at += (int32_t)size;
        }
        ends[i] = at;
    }
}

/* Offsets of rows are where they end: where the first one begins stands before it. */
static void move_texts(const struct rt_row_values *v, const struct rt_out_buffers *to, size_t first, uint64_t text_at)
{
    int32_t *offsets = (int32_t *)to->values + first;
    if (first == 0)
        offsets[0] = 0;
    if (v->f->phys == RT_STR)
        move_strings(v, offsets + 1, to->text, (int32_t)text_at);
    else
        move_entries(v, offsets + 1, to->text, (int32_t)text_at);
}

/* ---- bits ----------------------------------------------------------------------------------- */

/* Of a wider integer the low byte says it. */
static void move_bits(const struct rt_row_values *v, uint8_t *bits)
{
    for (size_t i = 0; i < v->n; i++)
        bits[i >> 3] |= (uint8_t)((is_there(v, i) && v->rows[i * v->stride + (size_t)v->f->offset]) << (i & 7));
}

static int64_t move_valid(const struct rt_row_values *v, uint8_t *bits)
{
    int64_t nulls = 0;
    for (size_t i = 0; i < v->n; i++) {
        bool there = is_there(v, i);
        bits[i >> 3] |= (uint8_t)(there << (i & 7));
        nulls += !there;
    }
    return nulls;
}

static void move_values(const struct rt_row_values *v, struct hd_type type, const struct rt_out_buffers *to,
                        size_t first, uint64_t text_at)
{
    switch ((enum hd_type_kind)type.kind) {
    case HD_BOOL: move_bits(v, (uint8_t *)to->values + first / 8); return;
    case HD_INT32:
    case HD_DATE: move_i32(v, (int32_t *)to->values + first); return;
    case HD_INT64:
    case HD_TIME:
    case HD_TIMESTAMP: move_i64(v, (int64_t *)to->values + first); return;
    case HD_DECIMAL: move_i128(v, (hd_i128 *)to->values + first); return;
    case HD_INTERVAL: move_intervals(v, (hd_i128 *)to->values + first); return;
    case HD_FLOAT32: move_f32(v, (float *)to->values + first); return;
    case HD_FLOAT64: move_f64(v, (double *)to->values + first); return;
    case HD_STRING:
    case HD_BINARY: move_texts(v, to, first, text_at); return;
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("result of type %d", type.kind);
}

int64_t rt_row_values_move(const struct rt_row_values *v, struct hd_type type, const struct rt_out_buffers *to,
                           size_t first, uint64_t text_at)
{
    int64_t nulls = to->valid ? move_valid(v, to->valid + first / 8) : 0;
    move_values(v, type, to, first, text_at);
    return nulls;
}
