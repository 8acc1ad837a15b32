/* Writes the binary form from the JSON form, by the same table. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "frontend/json_make.h"
#include "frontend/substrait_binary.h"
#include "frontend/substrait_table.h"
#include "runtime/base/type.h"

struct writer {
    struct hd_strbuf *out;
    struct hd_arena *arena;
    struct hd_err *err;
};

static int fail(const struct writer *w, const struct cJSON *v, const char *what)
{
    return HD_FAIL(w->err, USER, "$", "Substrait: expected %s in \"%.60s\"", what, v->string ? v->string : "a list");
}

static void put_varint(struct hd_strbuf *b, uint64_t v)
{
    for (; v > 127; v >>= 7)
        hd_strbuf_addc(b, (char)(v | 128));
    hd_strbuf_addc(b, (char)v);
}

static int write_message(struct writer *w, int message, const struct cJSON *v);

/* ---- numbers ----------------------------------------------------------------------------- */

static int read_integer(const struct writer *w, const struct cJSON *v, enum sub_value_kind kind, int64_t *out)
{
    bool whole = false;
    int64_t low = kind == SUB_INT64 ? INT64_MIN : kind == SUB_UINT32 ? 0 : INT32_MIN;
    int64_t high = kind == SUB_INT64 ? INT64_MAX : kind == SUB_UINT32 ? UINT32_MAX : INT32_MAX;
    if (cJSON_IsNumber(v) && fabs(v->valuedouble) < 9007199254740992.0) {
        *out = (int64_t)v->valuedouble;
        whole = (double)*out == v->valuedouble;
    } else if (cJSON_IsString(v)) {
        whole = hd_int_parse(v->valuestring, strlen(v->valuestring), out);
    }
    return whole && *out >= low && *out <= high ? 0 : fail(w, v, "an integer of the field's width");
}

static int write_enum(struct writer *w, const struct sub_message_field *f, const struct cJSON *v)
{
    int64_t n = 0;
    if (cJSON_IsNumber(v)) {
        HD_TRY(read_integer(w, v, (enum sub_value_kind)f->kind, &n));
    } else {
        int found = cJSON_IsString(v) ? sub_enum_number(f->type, v->valuestring) : -1;
        if (found < 0 && !(cJSON_IsString(v) && strstr(v->valuestring, "_UNSPECIFIED")))
            return fail(w, v, "a value of the enum");
        n = found < 0 ? 0 : found;
    }
    put_varint(w->out, (uint64_t)n);
    return 0;
}

static int write_real(struct writer *w, const struct sub_message_field *f, const struct cJSON *v)
{
    double d = NAN;
    if (cJSON_IsNumber(v))
        d = v->valuedouble;
    else if (cJSON_IsString(v) && strstr(v->valuestring, "Infinity"))
        d = *v->valuestring == '-' ? -INFINITY : INFINITY;
    else if (!cJSON_IsString(v) || strcmp(v->valuestring, "NaN") != 0)
        return fail(w, v, "a number");
    float single = (float)d;
    if (f->kind == SUB_DOUBLE)
        hd_strbuf_add(w->out, (const char *)&d, sizeof d);
    else
        hd_strbuf_add(w->out, (const char *)&single, sizeof single);
    return 0;
}

/* ---- bytes ------------------------------------------------------------------------------- */

static void put_bytes(struct hd_strbuf *b, const char *s, size_t n)
{
    put_varint(b, n);
    hd_strbuf_add(b, s, n);
}

static int write_base64(struct writer *w, const struct cJSON *v)
{
    uint8_t *bytes = hd_alloc(w->arena, strlen(v->valuestring) + 1);
    size_t n;
    if (!sub_read_base64(v->valuestring, bytes, &n))
        return fail(w, v, "base64");
    put_bytes(w->out, (const char *)bytes, n);
    return 0;
}

static int write_nested(struct writer *w, const struct sub_message_field *f, const struct cJSON *v)
{
    struct hd_strbuf inner, *outer = w->out;
    hd_strbuf_init(&inner);
    w->out = &inner;
    int rc = write_message(w, f->type, v);
    w->out = outer;
    if (rc == 0)
        put_bytes(outer, inner.s, inner.n);
    hd_strbuf_release(&inner);
    return rc;
}

/* ---- fields ------------------------------------------------------------------------------ */

static int write_value(struct writer *w, const struct sub_message_field *f, const struct cJSON *v)
{
    int64_t n = 0;
    put_varint(w->out, (uint64_t)f->number << 3 | sub_wire_of(f));
    switch ((enum sub_value_kind)f->kind) {
    case SUB_BOOL: put_varint(w->out, cJSON_IsTrue(v)); return cJSON_IsBool(v) ? 0 : fail(w, v, "true or false");
    case SUB_INT32:
    case SUB_INT64:
    case SUB_UINT32:
        HD_TRY(read_integer(w, v, (enum sub_value_kind)f->kind, &n));
        put_varint(w->out, (uint64_t)n);
        return 0;
    case SUB_ENUM: return write_enum(w, f, v);
    case SUB_FLOAT:
    case SUB_DOUBLE: return write_real(w, f, v);
    case SUB_MESSAGE: return cJSON_IsObject(v) ? write_nested(w, f, v) : fail(w, v, "an object");
    case SUB_STRING:
    case SUB_BYTES: break;
    }
    if (!cJSON_IsString(v))
        return fail(w, v, "a string");
    if (f->kind == SUB_BYTES)
        return write_base64(w, v);
    put_bytes(w->out, v->valuestring, strlen(v->valuestring));
    return 0;
}

static int write_message(struct writer *w, int message, const struct cJSON *v)
{
    for (const struct cJSON *m = v->child; m; m = m->next) {
        const struct sub_message_field *f = sub_find_field_named(message, m->string);
        if (!f)
            return fail(w, m, "a field that is known");
        if (!f->many) {
            HD_TRY(write_value(w, f, m));
            continue;
        }
        if (!cJSON_IsArray(m))
            return fail(w, m, "a list");
        for (const struct cJSON *e = m->child; e; e = e->next)
            HD_TRY(write_value(w, f, e));
    }
    return 0;
}

int sub_write_binary(struct hd_arena *a, const struct cJSON *plan, struct hd_strbuf *out, struct hd_err *err)
{
    struct writer w = {out, a, err};
    return write_message(&w, SUB_PLAN_MESSAGE, plan);
}
