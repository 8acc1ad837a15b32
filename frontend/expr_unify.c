/* Conversions between types: which type two values share, and who is cast to reach it. A
 * literal changes rather than a column, because a bare column can be compared in its stored
 * form and pushed down. Told in docs/plan.md 2.2. */
#include "frontend/ast.h"
#include "frontend/value.h"
#include "runtime/base/interval.h"

struct hd_type fe_type_as_decimal(struct hd_type t)
{
    if (t.kind == HD_INT32)
        return hd_decimal(10, 0);
    return t.kind == HD_INT64 ? hd_decimal(19, 0) : t;
}

static struct hd_type rescaled(struct hd_type t, int scale)
{
    struct hd_type d = fe_type_as_decimal(t);
    return hd_decimal(HD_MIN(HD_DEC_MAX, d.precision - d.scale + scale), scale);
}

static bool has_float(struct hd_type a, struct hd_type b)
{
    return hd_type_is_float(a) || hd_type_is_float(b);
}

bool fe_type_unify(struct hd_type a, struct hd_type b, struct hd_type *out)
{
    *out = fe_is_no_type(a) ? b : a;
    if (hd_type_eq(a, b) || fe_is_no_type(a) || fe_is_no_type(b))
        return true;
    if (!hd_type_is_num(a) || !hd_type_is_num(b))
        return false;
    if (has_float(a, b)) {
        *out = hd_type_of(HD_FLOAT64);
    } else if (hd_type_is_int(a) && hd_type_is_int(b)) {
        *out = hd_type_of(HD_INT64);
    } else {
        struct hd_type x = fe_type_as_decimal(a), y = fe_type_as_decimal(b);
        int scale = HD_MAX(x.scale, y.scale);
        int whole = HD_MAX(x.precision - x.scale, y.precision - y.scale);
        *out = hd_decimal(HD_MIN(HD_DEC_MAX, whole + scale), scale);
    }
    return true;
}

static struct fe_expr *literal(struct hd_arena *a, const struct fe_expr *like, struct fe_value v)
{
    struct fe_expr *e = HD_NEW(a, struct fe_expr);
    e->op = FE_LIT;
    e->type = v.type;
    e->nullable = v.is_null;
    e->path = like->path;
    e->value = v;
    return e;
}

static bool is_exact_number(struct hd_type t)
{
    return hd_type_is_int(t) || t.kind == HD_DECIMAL;
}

/* A literal or parameter, maybe with a sign or a cast between exact numbers. */
static bool is_exact_constant(const struct fe_expr *e)
{
    while ((e->op == FE_CAST || e->op == FE_NEG) && is_exact_number(e->type))
        e = e->args[0];
    return (e->op == FE_LIT || (e->op == FE_PARAM && !e->param_list)) && is_exact_number(e->type);
}

bool fe_expr_meet_in_float32(int n, struct fe_expr *const *e)
{
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (e[i]->type.kind == HD_FLOAT32)
            any = true;
        else if (!fe_is_no_type(e[i]->type) && !is_exact_constant(e[i]))
            return false;
    }
    return any;
}

/* Whether every value of one exact type is a value of the other. */
static bool widens(struct hd_type from, struct hd_type to)
{
    if (!is_exact_number(from) || !is_exact_number(to))
        return false;
    struct hd_type f = fe_type_as_decimal(from), t = fe_type_as_decimal(to);
    bool into_int = hd_type_is_int(to) && !hd_type_is_int(from);
    return !into_int && t.scale >= f.scale && t.precision - t.scale >= f.precision - f.scale;
}

struct fe_expr *fe_expr_cast(struct hd_arena *a, struct fe_expr *e, struct hd_type to)
{
    struct fe_value v;
    if (e->op == FE_CAST && is_exact_number(to) && widens(e->args[0]->type, e->type))
        e = e->args[0];
    if (hd_type_eq(e->type, to))
        return e;
    /* The text form of a float is left to the runtime, which owns it. */
    bool fold = e->op == FE_LIT && !(hd_type_is_float(e->type) && to.kind == HD_STRING);
    if (fold && fe_value_cast(a, &e->value, to, &v))
        return literal(a, e, v);
    struct fe_expr *c = HD_NEW(a, struct fe_expr);
    c->op = e->type.kind == HD_BINARY && to.kind == HD_STRING ? FE_DECODE : FE_CAST;
    c->type = to;
    c->nullable = e->nullable;
    c->path = e->path;
    c->nargs = 1;
    c->args = hd_dup(a, &e, sizeof e);
    return c;
}

struct fe_expr *fe_expr_key(struct hd_arena *a, struct fe_expr *e)
{
    const struct hd_type type = hd_decimal(HD_INTERVAL_LENGTH_DIGITS, 0);
    if (e->type.kind != HD_INTERVAL)
        return e;
    if (e->op == FE_LIT)
        return literal(a, e, fe_value_key(&e->value));
    struct fe_expr *k = HD_NEW(a, struct fe_expr);
    k->op = FE_INTERVAL_LENGTH;
    k->type = type;
    k->nullable = e->nullable;
    k->path = e->path;
    k->nargs = 1;
    k->args = hd_dup(a, &e, sizeof e);
    return k;
}

struct fe_expr *fe_expr_column(struct hd_arena *a, int col, const struct fe_column *c, const char *path)
{
    struct fe_expr *e = HD_NEW(a, struct fe_expr);
    e->op = FE_COL;
    e->type = c->type;
    e->nullable = c->nullable;
    e->path = path;
    e->col = col;
    return e;
}

/* A type of the other side's kind and scale that holds the literal without loss: the other
 * side's type itself if it fits, a wider precision otherwise. */
static bool fit_literal(struct hd_arena *a, struct fe_expr **lit, struct hd_type to)
{
    struct fe_value v;
    const struct fe_value *from = &(*lit)->value;
    bool ok = to.kind == HD_FLOAT64 ? fe_value_cast(a, from, to, &v) : fe_value_cast_exact(from, to, &v);
    if (!ok && to.kind == HD_DECIMAL)
        ok = fe_value_cast_exact(from, hd_decimal(HD_DEC_MAX, to.scale), &v);
    if (!ok)
        return false;
    if (to.kind == HD_DECIMAL)
        while (!fe_value_in_range(v.i, hd_decimal(to.precision, to.scale)))
            to.precision++;
    v.type = to;
    *lit = literal(a, *lit, v);
    return true;
}

static void unify_decimals(struct hd_arena *a, struct fe_expr **l, struct fe_expr **r)
{
    struct fe_expr **side[2] = {l, r};
    int scale = HD_MAX((*l)->type.scale, (*r)->type.scale);
    for (int i = 0; i < 2; i++)
        if ((*side[i])->type.kind != HD_DECIMAL || (*side[i])->type.scale != scale) {
            *side[i] = fe_expr_cast(a, *side[i], rescaled((*side[i])->type, scale));
            (*side[i])->saturate = (*side[i])->op == FE_CAST;
        }
}

static bool unify_numbers(struct hd_arena *a, struct fe_expr **l, struct fe_expr **r)
{
    struct hd_type lt = (*l)->type, rt = (*r)->type;
    bool decimals = lt.kind == HD_DECIMAL && rt.kind == HD_DECIMAL;
    if (decimals && lt.scale == rt.scale)
        return true;
    if (fe_expr_meet_in_float32(2, (struct fe_expr *[]){*l, *r})) {
        *l = fe_expr_cast(a, *l, hd_type_of(HD_FLOAT32));
        *r = fe_expr_cast(a, *r, hd_type_of(HD_FLOAT32));
        return true;
    }
    /* An exact literal never turns a column into a float64, but joins one. */
    if ((*l)->op == FE_LIT && (*r)->op != FE_LIT && !hd_type_is_float(lt) && fit_literal(a, l, rt))
        return true;
    if ((*r)->op == FE_LIT && (*l)->op != FE_LIT && !hd_type_is_float(rt) && fit_literal(a, r, lt))
        return true;
    if (!has_float(lt, rt) && !(hd_type_is_int(lt) && hd_type_is_int(rt))) {
        unify_decimals(a, l, r);
        return true;
    }
    struct hd_type to = hd_type_of(has_float(lt, rt) ? HD_FLOAT64 : HD_INT64);
    *l = fe_expr_cast(a, *l, to);
    *r = fe_expr_cast(a, *r, to);
    return true;
}

static bool is_time(struct hd_type t)
{
    return t.kind == HD_DATE || t.kind == HD_TIMESTAMP;
}

static bool unify_times(struct hd_arena *a, struct fe_expr **l, struct fe_expr **r)
{
    if ((*l)->op == FE_LIT && (*r)->op != FE_LIT && fit_literal(a, l, (*r)->type))
        return true;
    if ((*r)->op == FE_LIT && (*l)->op != FE_LIT && fit_literal(a, r, (*l)->type))
        return true;
    *l = fe_expr_cast(a, *l, hd_type_of(HD_TIMESTAMP));
    *r = fe_expr_cast(a, *r, hd_type_of(HD_TIMESTAMP));
    return true;
}

static bool unify(struct hd_arena *a, struct fe_expr **l, struct fe_expr **r)
{
    struct hd_type lt = (*l)->type, rt = (*r)->type;
    if (fe_is_no_type(lt) && fe_is_no_type(rt))
        return false;
    if (fe_is_no_type(lt))
        *l = fe_expr_cast(a, *l, rt);
    else if (fe_is_no_type(rt))
        *r = fe_expr_cast(a, *r, lt);
    else if (hd_type_eq(lt, rt))
        return true;
    else if (hd_type_is_num(lt) && hd_type_is_num(rt))
        return unify_numbers(a, l, r);
    else if (is_time(lt) && is_time(rt))
        return unify_times(a, l, r);
    else
        return false;
    return true;
}

bool fe_expr_unify_compare(struct hd_arena *a, struct fe_expr **l, struct fe_expr **r)
{
    if (!unify(a, l, r))
        return false;
    *l = fe_expr_key(a, *l);
    *r = fe_expr_key(a, *r);
    return true;
}

/* The type in which values of both types are compared. */
bool fe_type_compare(struct hd_type l, struct hd_type r, struct hd_type *out)
{
    bool times = (l.kind == HD_DATE && r.kind == HD_TIMESTAMP) || (l.kind == HD_TIMESTAMP && r.kind == HD_DATE);
    *out = hd_type_of(HD_TIMESTAMP);
    return times || fe_type_unify(l, r, out);
}

bool fe_expr_fits(const struct fe_expr *e, struct hd_type type)
{
    struct fe_value v;
    if (e->op != FE_LIT || fe_is_no_type(type))
        return false;
    if (hd_type_is_float(e->type)) /* compared as float64, as with `=`, or both are float32 */
        return type.kind == HD_FLOAT64 || hd_type_eq(type, e->type);
    return e->value.is_null ? fe_is_no_type(e->type) : fe_value_cast_exact(&e->value, type, &v);
}

struct hd_type fe_type_rounded(struct hd_type t, int digits)
{
    int kept = HD_MAX(digits, 0);
    return t.kind == HD_DECIMAL ? hd_decimal(HD_MIN(HD_DEC_MAX, t.precision - t.scale + kept + 1), kept) : t;
}

struct fe_expr *fe_expr_to_scale(struct hd_arena *arena, struct fe_expr *e, int scale)
{
    struct hd_type d = fe_type_as_decimal(e->type);
    if (e->type.kind == HD_DECIMAL && d.scale == scale)
        return e;
    int p = HD_MIN(HD_DEC_MAX, d.precision - d.scale + scale);
    return fe_expr_cast(arena, e, hd_decimal(p, scale));
}
