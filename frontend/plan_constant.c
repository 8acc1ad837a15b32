/* Constants that not every value fits: checked when they are read, and parameters whenever they get a value. */
#include <math.h>
#include <string.h>

#include "frontend/plan_read.h"
#include "frontend/regexp.h"
#include "frontend/value.h"

static const struct {
    const char *what;
    double lo, hi;
} places[] = {
#define T_CONSTANT(id, what, lo, hi) {what, (double)(lo), (double)(hi)},
#include "frontend/constants.def"
};

/* Doubles tell apart what bounds there are. */
static double number_of(const struct fe_value *v)
{
    return hd_type_is_float(v->type) ? v->f
                                     : (double)v->i / (double)hd_pow10(v->type.kind == HD_DECIMAL ? v->type.scale : 0);
}

static bool is_format(const struct fe_value *v, const char *letters)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->s[i] == '%' && (++i == v->n || !strchr(letters, v->s[i])))
            return false;
    return true;
}

bool fe_constant_fits(enum fe_constant place, const struct fe_value *v)
{
    bool format = place == FE_CONSTANT_FORMAT || place == FE_CONSTANT_READING;
    if (v->is_null)
        return format || place == FE_CONSTANT_DIGITS || place == FE_CONSTANT_GROUP;
    if (format)
        return is_format(v, place == FE_CONSTANT_FORMAT ? FE_STRFTIME_LETTERS : FE_STRPTIME_LETTERS);
    if (place == FE_CONSTANT_SEPARATOR)
        return true;
    double x = number_of(v);
    return x >= places[place].lo && x <= places[place].hi && !isinf(x);
}

const char *fe_constant_misfit(const struct fe_param *p, const struct fe_value *v)
{
    for (int i = 0; i < FE_CONSTANTS; i++)
        if ((p->places >> i & 1) && !fe_constant_fits((enum fe_constant)i, v))
            return places[i].what;
    return NULL;
}

int fe_param_stands(struct fe_param *p, enum fe_constant place, struct hd_err *err)
{
    p->places |= 1u << place;
    const char *what = p->has_default ? fe_constant_misfit(p, &p->value) : NULL;
    return what ? HD_FAIL(err, USER, p->path, "parameter :%s: expected %s", p->name, what) : 0;
}

static bool is_parameter(const struct fe_json *v, bool text)
{
    const char *s;
    return fe_json_kind(v) == FE_JSON_OBJECT ||
           (text && fe_json_kind(v) == FE_JSON_STRING && !fe_json_string(v, &s) && *s == ':');
}

static int read_parameter(struct fe_plan_reader *r, const struct fe_json *v, enum fe_constant place,
                          struct fe_expr **out)
{
    const struct fe_scope none = {0};
    char type[HD_TEXT_MAX];
    HD_TRY(fe_read_expr(r, v, &none, NULL, NULL, out));
    const struct fe_expr *e = *out;
    bool kind = place == FE_CONSTANT_SEPARATOR ? e->type.kind == HD_STRING : hd_type_is_int(e->type);
    if (e->op != FE_PARAM || !kind)
        return fe_json_fail(v, "expected %s: a literal or a parameter, found an expression of type %s",
                            places[place].what, hd_type_text(e->type, type));
    if (e->nullable)
        return fe_json_fail(v, "expected %s; the parameter :%s may be null", places[place].what, e->param_name);
    return fe_param_stands(&r->plan->params[e->param], place, r->err);
}

static struct fe_expr *literal(struct fe_plan_reader *r, const struct fe_json *v, struct fe_value value)
{
    struct fe_expr *e = HD_NEW(r->arena, struct fe_expr);
    *e = (struct fe_expr){.op = FE_LIT, .type = value.type, .path = fe_json_path(v), .value = value};
    return e;
}

struct fe_expr *fe_constant_int(struct fe_plan_reader *r, const struct fe_json *v, int64_t i)
{
    return literal(r, v, (struct fe_value){.type = hd_type_of(HD_INT64), .i = i});
}

int fe_read_integer(struct fe_plan_reader *r, const struct fe_json *v, const char *key, enum fe_constant place,
                    struct fe_expr **out)
{
    struct fe_json m;
    int64_t hi = places[place].hi > INT32_MAX ? INT64_MAX : INT32_MAX, i = 0;
    if (!fe_json_get(v, key, &m))
        return 0;
    if (is_parameter(&m, true))
        return read_parameter(r, &m, place, out);
    HD_TRY(fe_json_int(&m, (int64_t)places[place].lo, hi, &i));
    *out = fe_constant_int(r, &m, i);
    return 0;
}

int fe_read_text(struct fe_plan_reader *r, const struct fe_json *v, const char *key, const char *otherwise,
                 enum fe_constant place, struct fe_expr **out)
{
    struct fe_json m;
    const char *s = otherwise;
    bool given = fe_json_get(v, key, &m);
    if (given && is_parameter(&m, false))
        return read_parameter(r, &m, place, out);
    HD_TRY(given ? fe_json_string(&m, &s) : 0);
    *out = literal(r, given ? &m : v, (struct fe_value){.type = hd_type_of(HD_STRING), .s = s, .n = strlen(s)});
    return 0;
}
