/* Types and values for Substrait. */
#include <inttypes.h>
#include <math.h>

#include "frontend/substrait_binary.h"
#include "frontend/substrait_produce.h"
#include "runtime/base/interval.h"

typedef struct cJSON *literal_rule(struct sp *p, const struct fe_value *v);

static struct cJSON *number_text(struct sp *p, int64_t n)
{
    return fe_make_text(p->arena, hd_asprintf(p->arena, "%" PRId64, n));
}

static struct cJSON *boolean(struct sp *p, const struct fe_value *v)
{
    return fe_make_bool(p->arena, v->i != 0);
}

static struct cJSON *number(struct sp *p, const struct fe_value *v)
{
    return fe_make_number(p->arena, (double)v->i);
}

/* Integers of 64 bits are texts in protobuf's JSON. */
static struct cJSON *digits(struct sp *p, const struct fe_value *v)
{
    return number_text(p, (int64_t)v->i);
}

static struct cJSON *real(struct sp *p, const struct fe_value *v)
{
    if (isnan(v->f))
        return fe_make_string(p->arena, "NaN");
    if (isinf(v->f))
        return fe_make_string(p->arena, v->f < 0 ? "-Infinity" : "Infinity");
    return fe_make_number(p->arena, v->f);
}

static struct cJSON *text(struct sp *p, const struct fe_value *v)
{
    return fe_make_text(p->arena, hd_strndup(p->arena, v->s, v->n));
}

static struct cJSON *bytes(struct sp *p, const struct fe_value *v)
{
    return fe_make_text(p->arena, sub_base64(p->arena, (const uint8_t *)v->s, v->n));
}

/* 16 bytes, the lowest first. */
static struct cJSON *decimal(struct sp *p, const struct fe_value *v)
{
    uint8_t b[16];
    struct cJSON *out = fe_make_object(p->arena);
    for (int i = 0; i < 16; i++)
        b[i] = (uint8_t)((hd_u128)v->i >> 8 * i);
    fe_put(out, "value", fe_make_text(p->arena, sub_base64(p->arena, b, sizeof b)));
    fe_put(out, "precision", fe_make_number(p->arena, v->type.precision));
    fe_put(out, "scale", fe_make_number(p->arena, v->type.scale));
    return out;
}

static struct cJSON *micros(struct sp *p, const struct fe_value *v)
{
    struct cJSON *out = fe_make_object(p->arena);
    fe_put(out, "precision", fe_make_number(p->arena, 6));
    fe_put(out, "value", number_text(p, (int64_t)v->i));
    return out;
}

/* Months, days and microseconds, as they are kept. Seconds beyond 32 bits are left to the other number. */
static struct cJSON *interval(struct sp *p, const struct fe_value *v)
{
    const struct hd_interval i = hd_interval_unpack(v->i);
    struct cJSON *out = fe_make_object(p->arena), *months = fe_make_object(p->arena), *days = fe_make_object(p->arena);
    fe_put(months, "months", fe_make_number(p->arena, (double)i.months));
    fe_put(days, "days", fe_make_number(p->arena, (double)i.days));
    fe_put(days, "precision", fe_make_number(p->arena, 6));
    const int64_t second = 1000000, seconds = i.micros / second;
    bool fits = seconds >= INT32_MIN && seconds <= INT32_MAX;
    fe_put(days, "seconds", fe_make_number(p->arena, fits ? (double)seconds : 0));
    fe_put(days, "subseconds", number_text(p, fits ? i.micros % second : i.micros));
    fe_put(out, "intervalYearToMonth", months);
    fe_put(out, "intervalDayToSecond", days);
    return out;
}

static const struct kind {
    const char *type, *short_name, *literal;
    literal_rule *rule;
} kinds[HD_TYPE_COUNT] = {
#define T_KIND(id, type, short_name, literal, rule) [HD_##id] = {type, short_name, literal, rule},
#include "frontend/substrait_kinds.def"
};

const char *sp_short_name(struct hd_type t)
{
    return kinds[t.kind].short_name;
}

int sp_type(struct sp *p, struct hd_type t, bool nullable, const char *path, struct cJSON **out)
{
    const struct kind *k = &kinds[t.kind];
    struct cJSON *of = fe_make_object(p->arena);
    char name[HD_TEXT_MAX];
    if (!k->type)
        return sp_refuse(p, path, "the type %s is not written as Substrait", hd_type_text(t, name));
    if (t.kind == HD_DECIMAL) {
        fe_put(of, "precision", fe_make_number(p->arena, t.precision));
        fe_put(of, "scale", fe_make_number(p->arena, t.scale));
    } else if (k->rule == micros || k->rule == interval) {
        fe_put(of, "precision", fe_make_number(p->arena, 6));
    }
    fe_put(of, "nullability", fe_make_string(p->arena, nullable ? "NULLABILITY_NULLABLE" : "NULLABILITY_REQUIRED"));
    *out = fe_make_object(p->arena);
    fe_put(*out, k->type, of);
    return 0;
}

static struct cJSON *literal_of(struct sp *p, const char *kind, struct cJSON *value)
{
    struct cJSON *out = fe_make_object(p->arena), *literal = fe_make_object(p->arena);
    fe_put(literal, kind, value);
    fe_put(out, "literal", literal);
    return out;
}

int sp_literal(struct sp *p, const struct fe_value *v, const char *path, struct cJSON **out)
{
    struct cJSON *type = NULL;
    HD_TRY(sp_type(p, v->type, true, path, &type));
    *out = v->is_null ? literal_of(p, "null", type)
                      : literal_of(p, kinds[v->type.kind].literal, kinds[v->type.kind].rule(p, v));
    return 0;
}

struct cJSON *sp_int_literal(struct sp *p, const char *kind, int64_t v)
{
    return literal_of(p, kind,
                      *kind == 'i' && kind[1] == '3' ? fe_make_number(p->arena, (double)v) : number_text(p, v));
}

struct cJSON *sp_bool_literal(struct sp *p, bool b)
{
    return literal_of(p, "boolean", fe_make_bool(p->arena, b));
}
