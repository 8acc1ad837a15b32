/* Typed expressions for Substrait. */
#include <string.h>

#include "frontend/substrait_produce.h"
#include "frontend/value.h"

struct cJSON *sp_field(struct sp *p, int col)
{
    struct cJSON *out = fe_make_object(p->arena), *selection = fe_make_object(p->arena);
    struct cJSON *direct = fe_make_object(p->arena), *field = fe_make_object(p->arena);
    fe_put(field, "field", fe_make_number(p->arena, col));
    fe_put(direct, "structField", field);
    fe_put(selection, "directReference", direct);
    fe_put(selection, "rootReference", fe_make_object(p->arena));
    fe_put(out, "selection", selection);
    return out;
}

static int parameter(struct sp *p, const struct fe_expr *e, struct cJSON **out)
{
    struct cJSON *body = fe_make_object(p->arena), *type = NULL;
    if (e->param_list)
        return sp_refuse(p, e->path, "a list parameter is not written as Substrait here");
    HD_TRY(sp_type(p, e->type, e->nullable, e->path, &type));
    fe_put(body, "type", type);
    fe_put(body, "parameterReference", fe_make_number(p->arena, e->param));
    *out = fe_make_object(p->arena);
    fe_put(*out, "dynamicParameter", body);
    return 0;
}

static const char RAISES[] = "FAILURE_BEHAVIOR_THROW_EXCEPTION";

static struct cJSON *cast_to(struct sp *p, struct cJSON *type, struct cJSON *x, const char *failure)
{
    struct cJSON *out = fe_make_object(p->arena), *cast = fe_make_object(p->arena);
    fe_put(cast, "type", type);
    fe_put(cast, "input", x);
    fe_put(cast, "failureBehavior", fe_make_string(p->arena, failure));
    fe_put(out, "cast", cast);
    return out;
}

/* One that stops at 10^38 stands in a comparison of decimals: where it might, they are compared as they are. */
static int cast(struct sp *p, const struct fe_expr *e, int first, struct cJSON **out)
{
    struct hd_type from = e->args[0]->type;
    struct cJSON *type = NULL;
    HD_TRY(sp_expr(p, e->args[0], first, out));
    if (e->saturate && from.kind == HD_DECIMAL && e->type.precision - e->type.scale < from.precision - from.scale)
        return 0;
    HD_TRY(sp_type(p, e->type, e->nullable, e->path, &type));
    *out = cast_to(p, type, *out, e->op == FE_CAST ? RAISES : "FAILURE_BEHAVIOR_RETURN_NULL");
    return 0;
}

static int list_of(struct sp *p, const struct fe_expr *e, struct cJSON *options)
{
    const struct fe_param *list = &p->plan->params[e->param];
    if (!list->has_default && !list->bound)
        return sp_refuse(p, e->path, "a list parameter without a default is not written as Substrait: :%s", list->name);
    for (int i = 0; i < list->nlist; i++) {
        struct fe_value v =
            fe_value_key(&list->list[i]); /* the other side is its length already, if it is an interval */
        struct cJSON *x = NULL;
        HD_TRY(sp_literal(p, &v, e->path, &x));
        fe_push(options, x);
    }
    return 0;
}

static int in(struct sp *p, const struct fe_expr *e, int first, struct cJSON **out)
{
    struct cJSON *body = fe_make_object(p->arena), *options = fe_make_list(p->arena), *x = NULL;
    HD_TRY(sp_expr(p, e->args[0], first, &x));
    fe_put(body, "value", x);
    for (int i = 1; i < e->nargs; i++) {
        if (e->args[i]->param_list) {
            HD_TRY(list_of(p, e->args[i], options));
            continue;
        }
        HD_TRY(sp_expr(p, e->args[i], first, &x));
        fe_push(options, x);
    }
    fe_put(body, "options", options);
    *out = fe_make_object(p->arena);
    fe_put(*out, "singularOrList", body);
    return 0;
}

static int choice(struct sp *p, const struct fe_expr *e, int first, struct cJSON **out)
{
    struct cJSON *body = fe_make_object(p->arena), *ifs = fe_make_list(p->arena), *x = NULL;
    struct fe_value none = {.type = e->type, .is_null = true};
    fe_put(body, "ifs", ifs);
    for (int i = 0; i + 1 < e->nargs; i += 2) {
        struct cJSON *clause = fe_make_object(p->arena);
        HD_TRY(sp_expr(p, e->args[i], first, &x));
        fe_put(clause, "if", x);
        HD_TRY(sp_expr(p, e->args[i + 1], first, &x));
        fe_put(clause, "then", x);
        fe_push(ifs, clause);
    }
    HD_TRY(e->nargs % 2 ? sp_expr(p, e->args[e->nargs - 1], first, &x) : sp_literal(p, &none, e->path, &x));
    fe_put(body, "else", x);
    *out = fe_make_object(p->arena);
    fe_put(*out, "ifThen", body);
    return 0;
}

static int add_args(struct sp *p, const struct fe_expr *e, int first, struct cJSON *args)
{
    for (int i = 0; i < e->nargs; i++) {
        struct cJSON *x = NULL;
        HD_TRY(sp_expr(p, e->args[i], first, &x));
        sp_add_value(p, args, x);
    }
    return 0;
}

static int call(struct sp *p, int function, const struct fe_expr *e, struct cJSON *args, struct cJSON **out)
{
    return sp_call(p, function, e->type, e->nullable, e->path, args, out);
}

/* Operators with a field: it is an enum in front of the arguments. */
static int of_field(struct sp *p, const struct fe_expr *e, int first, struct cJSON **out)
{
    const char *name, *counts_from;
    struct cJSON *args = fe_make_list(p->arena);
    const char *type = sp_short_name(e->args[0]->type);
    if (e->op != FE_EXTRACT || !type || !sp_component(e->field, &name, &counts_from)) {
        sp_add_enum(p, args, fe_field_name(e->field));
        HD_TRY(add_args(p, e, first, args));
        return call(p, sp_own_call(p, e->op, e->nargs, e->args), e, args, out);
    }
    sp_add_enum(p, args, name);
    if (*counts_from)
        sp_add_enum(p, args, counts_from);
    HD_TRY(add_args(p, e, first, args));
    name = hd_asprintf(p->arena, "extract:req_%s%s", *counts_from ? "req_" : "", type);
    return call(p, sp_function(p, "datetime", name), e, args, out);
}

static struct cJSON *interval(struct sp *p, const struct fe_expr *e)
{
    struct cJSON *out = fe_make_object(p->arena), *literal = fe_make_object(p->arena), *of = fe_make_object(p->arena);
    int64_t n = (int64_t)e->args[1]->value.i, day = INT64_C(86400000000);
    bool months = e->op == FE_ADD_MONTHS, days = e->op == FE_ADD_DAYS;
    if (months) {
        fe_put(of, "years", fe_make_number(p->arena, (double)(n / 12)));
        fe_put(of, "months", fe_make_number(p->arena, (double)(n % 12)));
    } else {
        int64_t micros = days ? 0 : n % day;
        fe_put(of, "days", fe_make_number(p->arena, (double)(days ? n : n / day)));
        fe_put(of, "seconds", fe_make_number(p->arena, (double)(micros / 1000000)));
        fe_put(of, "precision", fe_make_number(p->arena, 6));
        fe_put(of, "subseconds", fe_make_text(p->arena, hd_asprintf(p->arena, "%lld", (long long)(micros % 1000000))));
    }
    fe_put(literal, months ? "intervalYearToMonth" : "intervalDayToSecond", of);
    fe_put(out, "literal", literal);
    return out;
}

/* A date or timestamp moved by a literal: with days, Substrait makes a timestamp of a date. */
static int moved(struct sp *p, const struct fe_expr *e, int first, struct cJSON **out)
{
    struct hd_type t = e->args[0]->type;
    struct cJSON *args = fe_make_list(p->arena), *x = NULL, *type = NULL;
    const struct fe_expr *by = e->args[1];
    bool literal = by->op == FE_LIT && !by->value.is_null && t.kind != HD_TIME;
    int64_t most = INT64_C(2147483647) * (e->op == FE_ADD_MICROS ? INT64_C(1000000) : 1);
    if (!literal || by->value.i > most || by->value.i < -most) {
        HD_TRY(add_args(p, e, first, args));
        return call(p, sp_own_call(p, e->op, e->nargs, e->args), e, args, out);
    }
    bool months = e->op == FE_ADD_MONTHS, widens = !months && t.kind == HD_DATE;
    HD_TRY(sp_expr(p, e->args[0], first, &x));
    sp_add_value(p, args, x);
    sp_add_value(p, args, interval(p, e));
    const char *name = hd_asprintf(p->arena, "add:%s_%s", sp_short_name(t), months ? "iyear" : "iday");
    HD_TRY(sp_call(p, sp_function(p, "datetime", name), widens ? hd_type_of(HD_TIMESTAMP) : e->type, e->nullable,
                   e->path, args, out));
    if (!widens)
        return 0;
    HD_TRY(sp_type(p, e->type, e->nullable, e->path, &type));
    *out = cast_to(p, type, *out, RAISES);
    return 0;
}

/* A pattern's _ is a byte in Heddle, and nothing escapes unless it is said. */
static int like(struct sp *p, const struct fe_expr *e, int first, struct cJSON **out)
{
    struct cJSON *args = fe_make_list(p->arena);
    const struct fe_expr *pattern = e->args[1];
    bool plain =
        !e->escape &&
        (pattern->op != FE_LIT || pattern->value.is_null ||
         (!memchr(pattern->value.s, '_', pattern->value.n) && !memchr(pattern->value.s, '\\', pattern->value.n)));
    HD_TRY(add_args(p, e, first, args));
    if (e->escape) {
        char escape[2] = {e->escape};
        struct fe_value v = {.type = hd_type_of(HD_STRING), .s = escape, .n = 1};
        struct cJSON *x = NULL;
        HD_TRY(sp_literal(p, &v, e->path, &x));
        sp_add_value(p, args, x);
    }
    int f = plain ? sp_find_call(p, e->op, e->nargs, e->args) : sp_own_call(p, e->op, e->nargs, e->args);
    return call(p, f, e, args, out);
}

static int is_not_null(struct sp *p, const struct fe_expr *e, int first, struct cJSON **out)
{
    struct cJSON *args = fe_make_list(p->arena);
    HD_TRY(add_args(p, e, first, args));
    return sp_bool_call(p, "comparison", "is_not_null:any", false, args, out);
}

int sp_expr(struct sp *p, const struct fe_expr *e, int first, struct cJSON **out)
{
    struct cJSON *args;
    if (e->op == FE_COL) {
        *out = sp_field(p, first + e->col);
        return 0;
    }
    if (e->op == FE_LIT)
        return sp_literal(p, &e->value, e->path, out);
    if (e->op == FE_PARAM)
        return parameter(p, e, out);
    if (e->op == FE_CAST || e->op == FE_TRY_CAST)
        return cast(p, e, first, out);
    if (e->op == FE_IN)
        return in(p, e, first, out);
    if (e->op == FE_CASE)
        return choice(p, e, first, out);
    if (e->op == FE_EXTRACT || e->op == FE_DATE_TRUNC || e->op == FE_UNITS_BETWEEN)
        return of_field(p, e, first, out);
    if (e->op == FE_ADD_DAYS || e->op == FE_ADD_MONTHS || e->op == FE_ADD_MICROS)
        return moved(p, e, first, out);
    if (e->op == FE_LIKE)
        return like(p, e, first, out);
    if (e->op == FE_NOT && e->args[0]->op == FE_IS_NULL)
        return is_not_null(p, e->args[0], first, out);
    args = fe_make_list(p->arena);
    HD_TRY(add_args(p, e, first, args));
    return call(p, sp_find_call(p, e->op, e->nargs, e->args), e, args, out);
}

/* ---- conditions -------------------------------------------------------------------------- */

int sp_bool_call(struct sp *p, const char *extension, const char *name, bool nullable, struct cJSON *args,
                 struct cJSON **out)
{
    return sp_call(p, sp_function(p, extension, name), hd_type_of(HD_BOOL), nullable, "$", args, out);
}

int sp_equal(struct sp *p, const struct fe_expr *a, const struct fe_expr *b, int first_b, bool null_equal,
             struct cJSON **out)
{
    struct cJSON *args = fe_make_list(p->arena), *x = NULL;
    HD_TRY(sp_expr(p, a, 0, &x));
    sp_add_value(p, args, x);
    HD_TRY(sp_expr(p, b, first_b, &x));
    sp_add_value(p, args, x);
    return sp_bool_call(p, "comparison", null_equal ? "is_not_distinct_from:any_any" : "equal:any_any",
                        !null_equal && (a->nullable || b->nullable), args, out);
}

int sp_and(struct sp *p, int n, struct cJSON *const *conditions, struct cJSON **out)
{
    struct cJSON *args = fe_make_list(p->arena);
    *out = n ? conditions[0] : NULL;
    if (n < 2)
        return 0;
    for (int i = 0; i < n; i++)
        sp_add_value(p, args, conditions[i]);
    return sp_bool_call(p, "boolean", "and:bool", true, args, out);
}
