/* Casts between strings and the other types. A type code is kind | precision << 8 | scale << 16;
 * a value image is 128 bits: integers, dates, bools and decimals sign-extended, the bits of a
 * float in the low word. */
#include <string.h>

#include "runtime/cpu/helpers.h"
#include "templates/forms.cuh"
#include "templates/interval_form.cuh"
#include "templates/strptime.cuh"

static struct hd_type type_of(int32_t code)
{
    return (struct hd_type){(unsigned char)code, (unsigned char)(code >> 8), (unsigned char)(code >> 16)};
}

static i32 put_value(u8 *out, hd_i128 v, struct hd_type type)
{
    switch ((enum hd_type_kind)type.kind) {
    case HD_BOOL: return hdd_put_bool(out, v != 0);
    case HD_INT32:
    case HD_INT64: return hdd_put_decimal(out, v, 0);
    case HD_DECIMAL: return hdd_put_decimal(out, v, type.scale);
    case HD_FLOAT32: return hdd_put_f32(out, hdd_f32_from_bits((int32_t)v));
    case HD_FLOAT64: return hdd_put_f64(out, hdd_f64_from_bits((int64_t)v));
    case HD_DATE: return hdd_put_date(out, (int32_t)v);
    case HD_TIME: return hdd_put_clock(out, (int64_t)v);
    case HD_TIMESTAMP: return hdd_put_timestamp(out, (int64_t)v);
    case HD_INTERVAL: return hdd_put_interval(out, v);
    case HD_STRING:
    case HD_BINARY:
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("no text form of type %d", type.kind);
}

int32_t hdr_to_string(struct hdd_thread *t, int64_t lo, int64_t hi, int32_t code, void *out)
{
    u8 buf[HD_MAX(HDD_FORM_MAX, HDD_INTERVAL_FORM_MAX)];
    struct hdr_string *o = out;
    i32 n = put_value(buf, hdr_i128(lo, hi), type_of(code));
    char *p = hdr_string_alloc(t, (size_t)n);
    if (!p)
        return 1;
    memcpy(p, buf, (size_t)n);
    o->s = p;
    o->n = n;
    return 0;
}

static bool read_int(const u8 *s, i32 n, i64 min, i64 max, hd_i128 *v)
{
    i64 r = 0;
    bool ok = hdd_read_int(s, n, min, max, &r);
    *v = r;
    return ok;
}

static bool read_date(const u8 *s, i32 n, hd_i128 *v)
{
    i32 day = 0;
    bool ok = hdd_read_date(s, n, &day);
    *v = day;
    return ok;
}

static bool read_micros(const u8 *s, i32 n, bool clock, hd_i128 *v)
{
    i64 micros = 0;
    bool ok = clock ? hdd_read_clock(s, n, &micros) : hdd_read_timestamp(s, n, &micros);
    *v = micros;
    return ok;
}

static bool read_value(const u8 *s, i32 n, struct hd_type type, hd_i128 *v)
{
    bool truth = false, ok;
    f64 real = 0;
    f32 single = 0;
    switch ((enum hd_type_kind)type.kind) {
    case HD_BOOL:
        ok = hdd_read_bool(s, n, &truth);
        *v = truth;
        return ok;
    case HD_INT32: return read_int(s, n, INT32_MIN, INT32_MAX, v);
    case HD_INT64: return read_int(s, n, INT64_MIN, INT64_MAX, v);
    case HD_DECIMAL: return hdd_read_scaled(s, n, type.scale, type.precision, v);
    case HD_FLOAT32:
        ok = hdd_read_f32(s, n, &single);
        *v = hdd_f32_bits(single);
        return ok;
    case HD_FLOAT64:
        ok = hdd_read_f64(s, n, &real);
        *v = hdd_f64_bits(real);
        return ok;
    case HD_DATE: return read_date(s, n, v);
    case HD_TIME:
    case HD_TIMESTAMP: return read_micros(s, n, type.kind == HD_TIME, v);
    case HD_INTERVAL: return hdd_read_interval(s, n, v);
    case HD_STRING:
    case HD_BINARY:
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("no values of type %d in text", type.kind);
}

int32_t hdr_from_string(struct hdd_thread *t, void *s, int32_t n, int32_t code, int32_t path, void *out)
{
    hd_i128 v = 0;
    if (!read_value(s, n, type_of(code), &v))
        return hdr_fail_value(t, RT_FAIL_CAST_STRING, path, (int64_t)(intptr_t)s, n, 0, 0);
    memcpy(out, &v, sizeof v);
    return 0;
}

int32_t hdr_try_from_string(void *s, int32_t n, int32_t code, void *out)
{
    hd_i128 v = 0;
    bool ok = read_value(s, n, type_of(code), &v);
    v = ok ? v : 0;
    memcpy(out, &v, sizeof v);
    return ok;
}

int32_t hdr_strptime(struct hdd_thread *t, void *s, int32_t n, void *format, int32_t m, int32_t path, void *out)
{
    i64 v = 0;
    if (!hdd_read_time(s, n, format, m, &v))
        return hdr_fail_value(t, RT_FAIL_CAST_STRING, path, (int64_t)(intptr_t)s, n, 0, 0);
    *(int64_t *)out = v;
    return 0;
}
