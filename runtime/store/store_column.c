#include "runtime/store/store_column.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "frontend/zones.h"
#include "runtime/base/interval.h"
#include "runtime/store/store_text.h"

static const uint64_t bias = FE_ORDINAL_BIAS;

int64_t rt_col_stored(const struct fe_table_column *c, int64_t row)
{
    if (c->bits)
        return (int64_t)fe_packed_at(c->at.data, c->bits, row);
    switch (c->width) {
    case 1: return ((const int8_t *)c->at.data)[row];
    case 2: return ((const int16_t *)c->at.data)[row];
    case 4: return ((const int32_t *)c->at.data)[row];
    default: return ((const int64_t *)c->at.data)[row];
    }
}

static uint32_t code_at(const struct fe_table_column *c, int64_t row)
{
    if (c->bits)
        return (uint32_t)fe_packed_at(c->at.data, c->bits, row);
    switch (c->width) {
    case 1: return ((const uint8_t *)c->at.data)[row];
    case 2: return ((const uint16_t *)c->at.data)[row];
    default: return ((const uint32_t *)c->at.data)[row];
    }
}

hd_i128 rt_col_int(const struct fe_table_column *c, int64_t row)
{
    if (c->storage == FE_STORE_DICT)
        return code_at(c, row);
    hd_i128 stored = c->width == 16 ? ((const hd_i128 *)c->at.data)[row] : rt_col_stored(c, row);
    return c->base + c->factor * stored;
}

double rt_col_real(const struct fe_table_column *c, int64_t row)
{
    if (c->storage == FE_STORE_F32)
        return ((const float *)c->at.data)[row];
    return ((const double *)c->at.data)[row];
}

struct rt_str rt_dict_str(const struct fe_dict *d, uint32_t code)
{
    return (struct rt_str){d->bytes + d->offsets[code], d->offsets[code + 1] - d->offsets[code]};
}

struct rt_str rt_col_str(const struct fe_table_column *c, int64_t row)
{
    if (c->storage == FE_STORE_DICT)
        return rt_dict_str(&c->dict, code_at(c, row));
    const uint32_t *ends = c->at.data;
    uint32_t start = row & (RT_BLOCK_ROWS - 1) ? ends[row - 1] : 0;
    return (struct rt_str){c->at.text_bytes + c->at.text_base[row >> RT_BLOCK_SHIFT] + start, ends[row] - start};
}

bool rt_col_has_ordinals(const struct fe_table_column *c)
{
    return c->storage != FE_STORE_TEXT && c->width <= 8;
}

#define WIDEN(T, offset) \
    for (int i = 0; i < n; i++) \
    out[i] = (uint64_t)((const T *)c->at.data)[from + i] + (offset)

static void packed_ordinals(const struct fe_table_column *c, int64_t from, int n, uint64_t offset, uint64_t *out)
{
    for (int i = 0; i < n; i++)
        out[i] = fe_packed_at(c->at.data, c->bits, from + i) + offset;
}

static void int_ordinals(const struct fe_table_column *c, int64_t from, int n, uint64_t *out)
{
    if (c->bits) {
        packed_ordinals(c, from, n, bias, out);
        return;
    }
    switch (c->width) {
    case 1: WIDEN(int8_t, bias); break;
    case 2: WIDEN(int16_t, bias); break;
    case 4: WIDEN(int32_t, bias); break;
    default: WIDEN(int64_t, bias);
    }
}

static void code_ordinals(const struct fe_table_column *c, int64_t from, int n, uint64_t *out)
{
    if (c->bits) {
        packed_ordinals(c, from, n, 0, out);
        return;
    }
    switch (c->width) {
    case 1: WIDEN(uint8_t, 0); break;
    case 2: WIDEN(uint16_t, 0); break;
    default: WIDEN(uint32_t, 0);
    }
}

void rt_col_ordinals(const struct fe_table_column *c, int64_t from, int n, uint64_t *out)
{
    switch (c->storage) {
    case FE_STORE_INT: int_ordinals(c, from, n, out); break;
    case FE_STORE_DICT: code_ordinals(c, from, n, out); break;
    case FE_STORE_F64:
    case FE_STORE_F32:
        for (int i = 0; i < n; i++)
            out[i] = fe_real_ordinal(rt_col_real(c, from + i));
        break;
    case FE_STORE_TEXT: HD_BUG("text has no ordinals");
    }
}

bool rt_col_near(const struct fe_table_column *c, hd_i128 origin)
{
    const hd_i128 limit = (hd_i128)1 << 62;
    if (c->storage != FE_STORE_INT || c->width > 8)
        return false;
    return !c->facts.has_range || (c->facts.min >= origin - limit && c->facts.max <= origin + limit);
}

void rt_col_differences(const struct fe_table_column *c, hd_i128 origin, int64_t from, int n, uint64_t *out)
{
    uint64_t factor = (uint64_t)c->factor;
    uint64_t add = (uint64_t)(c->base - origin) - factor * bias;
    int_ordinals(c, from, n, out);
    for (int i = 0; i < n; i++)
        out[i] = out[i] * factor + add;
}

hd_i128 rt_ordinal_value(const struct fe_table_column *c, uint64_t ordinal)
{
    if (c->storage == FE_STORE_DICT)
        return ordinal;
    return c->base + c->factor * (int64_t)(ordinal - bias);
}

int rt_col_cmp(const struct fe_table_column *c, int64_t a, int64_t b)
{
    switch (c->storage) {
    case FE_STORE_INT:
    case FE_STORE_DICT: {
        hd_i128 x = rt_col_int(c, a), y = rt_col_int(c, b);
        return (x > y) - (x < y);
    }
    case FE_STORE_F64:
    case FE_STORE_F32: {
        uint64_t x = fe_real_ordinal(rt_col_real(c, a)), y = fe_real_ordinal(rt_col_real(c, b));
        return (x > y) - (x < y);
    }
    case FE_STORE_TEXT: return rt_str_cmp(rt_col_str(c, a), rt_col_str(c, b));
    }
    return 0;
}

/* The finaliser of MurmurHash3: a bijection that mixes every bit. */
uint64_t rt_hash64(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

uint64_t rt_col_hash(const struct fe_table_column *c, int64_t row)
{
    switch (c->storage) {
    case FE_STORE_INT: {
        hd_i128 v = rt_col_int(c, row);
        uint64_t high = (uint64_t)(v >> 64);
        uint64_t sign = (uint64_t)((int64_t)v >> 63); /* high of a value that fits 64 bits */
        return rt_hash64((uint64_t)v ^ rt_hash64(high ^ sign));
    }
    case FE_STORE_F64:
    case FE_STORE_F32: return rt_hash64(fe_real_ordinal(rt_col_real(c, row)));
    case FE_STORE_DICT:
    case FE_STORE_TEXT: break;
    }
    struct rt_str s = rt_col_str(c, row);
    return XXH3_64bits(s.p, s.n);
}

bool rt_col_equal(const struct fe_table_column *a, int64_t i, const struct fe_table_column *b, int64_t j)
{
    switch (a->storage) {
    case FE_STORE_INT: return rt_col_int(a, i) == rt_col_int(b, j);
    case FE_STORE_F64:
    case FE_STORE_F32: return fe_real_ordinal(rt_col_real(a, i)) == fe_real_ordinal(rt_col_real(b, j));
    case FE_STORE_DICT:
    case FE_STORE_TEXT: break;
    }
    return rt_str_eq(rt_col_str(a, i), rt_col_str(b, j));
}

static const char *int_text(struct hd_type t, hd_i128 v, char buf[RT_COL_TEXT_MAX])
{
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return v ? "true" : "false";
    case HD_DATE: return hd_date_text((int32_t)v, buf);
    case HD_TIME: return hd_time_text((int64_t)v, buf);
    case HD_TIMESTAMP: return hd_timestamp_text((int64_t)v, buf);
    case HD_INTERVAL: return hd_interval_text(v, buf);
    case HD_INT32:
    case HD_INT64:
    case HD_DECIMAL:
    case HD_FLOAT32:
    case HD_FLOAT64:
    case HD_STRING:
    case HD_BINARY:
    case HD_TYPE_COUNT: break;
    }
    return hd_dec_text(v, t.scale, buf);
}

const char *rt_col_text(const struct fe_table_column *c, int64_t row, char buf[RT_COL_TEXT_MAX])
{
    if (!rt_col_valid(c, row))
        return "NULL";
    if (c->storage == FE_STORE_INT)
        return int_text(c->type, rt_col_int(c, row), buf);
    if (hd_type_is_float(c->type)) {
        snprintf(buf, 64, c->storage == FE_STORE_F32 ? "%.9g" : "%.17g", rt_col_real(c, row));
        return buf;
    }
    struct rt_str s = rt_col_str(c, row);
    if (c->type.kind == HD_BINARY) {
        size_t at = (size_t)snprintf(buf, 64, "\\x");
        for (uint32_t i = 0; i < s.n && i < 28; i++)
            at += (size_t)snprintf(buf + at, 64 - at, "%02x", (unsigned char)s.p[i]);
        snprintf(buf + at, 64 - at, s.n > 28 ? "..." : "");
        return buf;
    }
    if (s.n <= 60)
        snprintf(buf, 64, "\"%.*s\"", (int)s.n, s.p);
    else
        snprintf(buf, 64, "\"%.*s...\"", 57, s.p);
    return buf;
}
