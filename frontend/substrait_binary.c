/* The wire format: https://protobuf.dev/programming-guides/encoding; the JSON form: .../json. */
#include "frontend/substrait_binary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "frontend/json.h"
#include "frontend/json_make.h"
#include "frontend/substrait_table.h"
#include "runtime/base/utf8.h"

/* ---- the wire -------------------------------------------------------------------------- */

struct reader {
    const uint8_t *begin, *p, *end; /* end: of the message that is being read */
    struct hd_arena *arena;
    struct hd_err *err;
    int depth;
};

static int fail(const struct reader *r, const char *what, const char *field)
{
    char path[48];
    snprintf(path, sizeof path, "byte %zu", (size_t)(r->p - r->begin));
    return HD_FAIL(r->err, USER, path, "Substrait in binary form: %s%s%s", what, field ? ", in " : "",
                   field ? field : "");
}

static int read_varint(struct reader *r, uint64_t *out)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->p == r->end)
            return fail(r, "expected a number, found the end", NULL);
        uint8_t b = *r->p++;
        if (shift == 63 && b > 1)
            return fail(r, "a number has more than 64 bits", NULL);
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128) {
            *out = v;
            return 0;
        }
    }
    return fail(r, "a number has more than 10 bytes", NULL);
}

static int read_length(struct reader *r, size_t *out)
{
    uint64_t n;
    HD_TRY(read_varint(r, &n));
    if (n > (uint64_t)(r->end - r->p))
        return fail(r, "a value is longer than what holds it", NULL);
    *out = (size_t)n;
    return 0;
}

static int skip_fixed(struct reader *r, size_t n)
{
    if ((size_t)(r->end - r->p) < n)
        return fail(r, "a value is cut", NULL);
    r->p += n;
    return 0;
}

static int skip_value(struct reader *r, unsigned wire)
{
    uint64_t v;
    size_t n = 0;
    switch (wire) {
    case SUB_WIRE_VARINT: return read_varint(r, &v);
    case SUB_WIRE_64: return skip_fixed(r, 8);
    case SUB_WIRE_BYTES: HD_TRY(read_length(r, &n)); return skip_fixed(r, n);
    case SUB_WIRE_32: return skip_fixed(r, 4);
    }
    return fail(r, "a field's tag is none", NULL);
}

/* ---- values ---------------------------------------------------------------------------- */

static struct cJSON *number_text(struct reader *r, const char *format, long long v)
{
    return fe_make_text(r->arena, hd_asprintf(r->arena, format, v));
}

static struct cJSON *real(struct reader *r, double d)
{
    if (isnan(d))
        return fe_make_string(r->arena, "NaN");
    if (isinf(d))
        return fe_make_string(r->arena, d > 0 ? "Infinity" : "-Infinity");
    return fe_make_number(r->arena, d);
}

static int read_real(struct reader *r, bool is_double, struct cJSON **out)
{
    double d;
    float f;
    const uint8_t *p = r->p;
    HD_TRY(skip_fixed(r, is_double ? sizeof d : sizeof f));
    if (is_double)
        memcpy(&d, p, sizeof d);
    else
        memcpy(&f, p, sizeof f);
    *out = real(r, is_double ? d : (double)f);
    return 0;
}

static struct cJSON *varint_value(struct reader *r, const struct sub_message_field *f, uint64_t v)
{
    const char *name;
    if (f->kind == SUB_BOOL)
        return fe_make_bool(r->arena, v != 0);
    if (f->kind == SUB_INT64)
        return number_text(r, "%lld", (long long)v);
    if (f->kind == SUB_ENUM && (name = sub_enum_name(f->type, (int32_t)v)))
        return fe_make_string(r->arena, name);
    return fe_make_number(r->arena, f->kind == SUB_UINT32 ? (double)(uint32_t)v : (double)(int32_t)v);
}

static int digit64(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c ? strchr(digits, c) : NULL;
    return p ? (int)(p - digits) : c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool sub_read_base64(const char *s, uint8_t *out, size_t *n)
{
    uint32_t word = 0;
    *n = 0;
    for (int bits = 0; *s && *s != '='; s++) {
        int d = digit64(*s);
        if (d < 0)
            return false;
        word = word << 6 | (uint32_t)d;
        if ((bits += 6) >= 8)
            out[(*n)++] = (uint8_t)(word >> (bits -= 8));
    }
    return true;
}

char *sub_base64(struct hd_arena *a, const uint8_t *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *s = hd_alloc(a, (n + 2) / 3 * 4 + 1), *to = s;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t w = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);
        *to++ = digits[w >> 18];
        *to++ = digits[w >> 12 & 63];
        *to++ = i + 1 < n ? digits[w >> 6 & 63] : '=';
        *to++ = i + 2 < n ? digits[w & 63] : '=';
    }
    *to = 0;
    return s;
}

static int read_text(struct reader *r, const struct sub_message_field *f, size_t n, struct cJSON **out)
{
    const char *s = (const char *)r->p;
    if (memchr(s, 0, n) || hd_utf8_check(s, n) != n)
        return fail(r, "a text is not UTF-8 without NUL", f->name);
    *out = fe_make_text(r->arena, hd_strndup(r->arena, s, n));
    return skip_fixed(r, n);
}

static int read_message(struct reader *r, int m, struct cJSON **out);

static int read_nested(struct reader *r, const struct sub_message_field *f, size_t n, struct cJSON **out)
{
    const uint8_t *end = r->end;
    if (r->depth >= SUB_MAX_DEPTH)
        return fail(r, "messages are nested too deep", f->name);
    r->depth++;
    r->end = r->p + n;
    HD_TRY(read_message(r, f->type, out));
    r->depth--;
    r->end = end;
    return 0;
}

static int read_value(struct reader *r, const struct sub_message_field *f, struct cJSON **out)
{
    size_t n = 0;
    uint64_t v;
    switch (sub_wire_of(f)) {
    case SUB_WIRE_VARINT:
        HD_TRY(read_varint(r, &v));
        *out = varint_value(r, f, v);
        return 0;
    case SUB_WIRE_32:
    case SUB_WIRE_64: return read_real(r, f->kind == SUB_DOUBLE, out);
    case SUB_WIRE_BYTES: break;
    }
    HD_TRY(read_length(r, &n));
    if (f->kind == SUB_MESSAGE)
        return read_nested(r, f, n, out);
    if (f->kind == SUB_STRING)
        return read_text(r, f, n, out);
    *out = fe_make_text(r->arena, sub_base64(r->arena, r->p, n));
    return skip_fixed(r, n);
}

/* Repeated numbers in one value. */
static int read_packed(struct reader *r, const struct sub_message_field *f, struct cJSON *list)
{
    size_t n = 0;
    const uint8_t *end = r->end;
    HD_TRY(read_length(r, &n));
    r->end = r->p + n;
    while (r->p < r->end) {
        struct cJSON *v;
        HD_TRY(read_value(r, f, &v));
        fe_push(list, v);
    }
    r->end = end;
    return 0;
}

static int read_field(struct reader *r, const struct sub_message_field *f, unsigned wire, struct cJSON *object)
{
    struct cJSON *v, *there = fe_member(object, f->name);
    if (!f->many) {
        if (wire != sub_wire_of(f))
            return fail(r, "a value is of another kind than its field", f->name);
        if (there)
            return fail(r, "a field is there twice", f->name);
        HD_TRY(read_value(r, f, &v));
        fe_put(object, f->name, v);
        return 0;
    }
    if (!there)
        fe_put(object, f->name, there = fe_make_list(r->arena));
    if (wire == SUB_WIRE_BYTES && sub_wire_of(f) != SUB_WIRE_BYTES)
        return read_packed(r, f, there);
    if (wire != sub_wire_of(f))
        return fail(r, "a value is of another kind than its field", f->name);
    HD_TRY(read_value(r, f, &v));
    fe_push(there, v);
    return 0;
}

/* Up to r->end. */
static int read_message(struct reader *r, int m, struct cJSON **out)
{
    struct cJSON *object = fe_make_object(r->arena);
    while (r->p < r->end) {
        uint64_t tag;
        HD_TRY(read_varint(r, &tag));
        const struct sub_message_field *f = sub_find_field(m, tag >> 3);
        if (f)
            HD_TRY(read_field(r, f, tag & 7, object));
        else
            HD_TRY(skip_value(r, tag & 7));
    }
    *out = object;
    return 0;
}

/* ---- plans ----------------------------------------------------------------------------- */

/* Begins with a field of Plan that has a length, and is not what a text is: tags and lengths are control characters. */
bool sub_is_binary(const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    if (size < 2 || (p[0] & 7) != SUB_WIRE_BYTES || !sub_find_field(SUB_PLAN_MESSAGE, p[0] >> 3))
        return false;
    for (size_t i = 0; i < size && i < 256; i++)
        if (p[i] < 32 && p[i] != '\t' && p[i] != '\n' && p[i] != '\r')
            return true;
    return false;
}

int sub_read_binary(struct hd_arena *a, const void *bytes, size_t size, struct cJSON **out, struct hd_err *err)
{
    struct reader r = {bytes, bytes, (const uint8_t *)bytes + size, a, err, 0};
    if (size > FE_JSON_MAX_BYTES)
        return HD_FAIL(err, USER, "byte 0", "expected at most %d bytes of Substrait, found %zu", FE_JSON_MAX_BYTES,
                       size);
    return read_message(&r, SUB_PLAN_MESSAGE, out);
}
