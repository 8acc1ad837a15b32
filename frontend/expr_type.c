/* Typing: untyped trees become struct fe_expr with every conversion explicit. One function
 * ft_<rule> for each typing rule of ops.def; the rules are told in docs/plan.md 2.2.
 * A bare `null` travels as a literal without a type until a sibling gives it one. */
#include <stdio.h>
#include <string.h>

#include "frontend/ast.h"
#include "frontend/value.h"
#include "runtime/base/strbuf.h"
#include "runtime/base/vec.h"

/* args: the typed arguments of x, already without intervals. */
typedef int typing_rule(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **args, struct fe_expr **out);

static int type_node(struct fe_typing *t, const struct fe_ast *x, bool list_allowed, struct fe_expr **out);

/* ---- nodes ---------------------------------------------------------------------------- */

static struct fe_expr *new_node(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct hd_type type, int n,
                                struct fe_expr *const *args)
{
    struct fe_expr *e = HD_NEW(t->arena, struct fe_expr);
    e->op = op;
    e->type = type;
    e->path = x->path;
    e->nargs = n;
    e->args = hd_dup(t->arena, args, (size_t)n * sizeof *args);
    return e;
}

static struct fe_expr *make(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct hd_type type, int n,
                            struct fe_expr *const *args)
{
    struct fe_expr *e = new_node(t, x, op, type, n, args);
    bool *nullable = HD_NEWN(t->arena, bool, n);
    for (int i = 0; i < n; i++)
        nullable[i] = args[i]->nullable;
    e->nullable = fe_op_nullable(op, n, nullable);
    return e;
}

static struct fe_expr *make2(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct hd_type type,
                             struct fe_expr *l, struct fe_expr *r)
{
    return make(t, x, op, type, 2, (struct fe_expr *[]){l, r});
}

static struct fe_expr *make_literal(struct fe_typing *t, const struct fe_ast *x, struct fe_value v)
{
    struct fe_expr *e = new_node(t, x, FE_LIT, v.type, 0, NULL);
    e->value = v;
    e->nullable = v.is_null;
    return e;
}

static struct fe_expr *int_literal(struct fe_typing *t, const struct fe_ast *x, int64_t i)
{
    return make_literal(t, x, (struct fe_value){.type = hd_type_of(HD_INT64), .i = i});
}

static struct fe_expr *cast(struct fe_typing *t, struct fe_expr *e, enum hd_type_kind k)
{
    return fe_expr_cast(t->arena, e, hd_type_of(k));
}

static const char *type_name(const struct fe_expr *e, char buf[HD_TEXT_MAX])
{
    return fe_is_no_type(e->type) ? "null" : hd_type_text(e->type, buf);
}

/* "`what`, found <types of the arguments>" */
static int mismatch(struct fe_typing *t, const struct fe_ast *x, const char *what, int n, struct fe_expr *const *args)
{
    enum { SHOWN = 8 };
    char list[SHOWN * HD_TEXT_MAX + 16] = "", buf[HD_TEXT_MAX];
    for (int i = 0; i < n && i < SHOWN; i++) {
        const char *sep = !i ? "" : i == n - 1 ? " and " : ", ";
        size_t k = strlen(list);
        snprintf(list + k, sizeof list - k, "%s%s", sep, type_name(args[i], buf));
    }
    if (n > SHOWN)
        strcat(list, ", ...");
    return fe_ast_fail(x, t->err, "\"%s\" expects %s, found %s", fe_op_name(x->op), what, list);
}

/* A bare null takes the other side's type; two of them have none. */
static int settle_nulls(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a)
{
    bool l = fe_is_no_type(a[0]->type), r = fe_is_no_type(a[1]->type);
    if (l && r)
        return fe_ast_fail(x, t->err, "the type of null is not known here; write cast(null as TYPE)");
    if (l)
        a[0] = fe_expr_cast(t->arena, a[0], a[1]->type);
    if (r)
        a[1] = fe_expr_cast(t->arena, a[1], a[0]->type);
    return 0;
}

static struct fe_expr *settle(struct fe_typing *t, struct fe_expr *e, enum hd_type_kind k)
{
    return fe_is_no_type(e->type) ? cast(t, e, k) : e;
}

/* ---- arithmetic ----------------------------------------------------------------------- */

static bool both_ints(struct fe_expr *const *a)
{
    return hd_type_is_int(a[0]->type) && hd_type_is_int(a[1]->type);
}

static bool both_numbers(struct fe_expr *const *a)
{
    return hd_type_is_num(a[0]->type) && hd_type_is_num(a[1]->type);
}

static bool any_float(struct fe_expr *const *a)
{
    return hd_type_is_float(a[0]->type) || hd_type_is_float(a[1]->type);
}

/* Of numbers one of which is a float, or which become one. */
static enum hd_type_kind float_kind(int n, struct fe_expr *const *a)
{
    return fe_expr_meet_in_float32(n, a) ? HD_FLOAT32 : HD_FLOAT64;
}

static struct fe_expr *make_in_kind(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct fe_expr **a,
                                    enum hd_type_kind k)
{
    return make2(t, x, op, hd_type_of(k), cast(t, a[0], k), cast(t, a[1], k));
}

static struct fe_expr *add_decimals(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a)
{
    struct hd_type l = fe_type_as_decimal(a[0]->type), r = fe_type_as_decimal(a[1]->type);
    int s = HD_MAX(l.scale, r.scale);
    int whole = HD_MAX(l.precision - l.scale, r.precision - r.scale);
    struct hd_type type = hd_decimal(HD_MIN(HD_DEC_MAX, whole + s + 1), s);
    return make2(t, x, x->op, type, fe_expr_to_scale(t->arena, a[0], s), fe_expr_to_scale(t->arena, a[1], s));
}

static int ft_ADDSUB(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(settle_nulls(t, x, a));
    if (x->op == FE_SUB && a[0]->type.kind == HD_DATE && a[1]->type.kind == HD_DATE)
        *out = make2(t, x, FE_DATE_DIFF, hd_type_of(HD_INT64), a[0], a[1]);
    else if (!both_numbers(a))
        return mismatch(t, x, "numbers, or a date and an interval", 2, a);
    else if (any_float(a))
        *out = make_in_kind(t, x, x->op, a, float_kind(2, a));
    else if (both_ints(a))
        *out = make_in_kind(t, x, x->op, a, HD_INT64);
    else
        *out = add_decimals(t, x, a);
    return 0;
}

static int ft_MUL(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(settle_nulls(t, x, a));
    if (!both_numbers(a))
        return mismatch(t, x, "numbers", 2, a);
    if (any_float(a) || both_ints(a)) {
        *out = make_in_kind(t, x, x->op, a, any_float(a) ? float_kind(2, a) : HD_INT64);
        return 0;
    }
    struct hd_type l = fe_type_as_decimal(a[0]->type), r = fe_type_as_decimal(a[1]->type);
    if (l.scale + r.scale > HD_DEC_MAX)
        return mismatch(t, x, "decimals whose scales add up to at most 38", 2, a);
    struct hd_type type = hd_decimal(HD_MIN(HD_DEC_MAX, l.precision + r.precision), l.scale + r.scale);
    *out = make2(t, x, x->op, type, fe_expr_cast(t->arena, a[0], l), fe_expr_cast(t->arena, a[1], r));
    return 0;
}

static int ft_DIV(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(settle_nulls(t, x, a));
    if (!both_numbers(a))
        return mismatch(t, x, "numbers", 2, a);
    if (any_float(a) || both_ints(a)) {
        *out = make_in_kind(t, x, x->op, a, any_float(a) ? float_kind(2, a) : HD_INT64);
        return 0;
    }
    struct hd_type l = fe_type_as_decimal(a[0]->type), r = fe_type_as_decimal(a[1]->type);
    *out = make2(t, x, x->op, hd_decimal(HD_DEC_MAX, HD_MAX(6, l.scale)), fe_expr_cast(t->arena, a[0], l),
                 fe_expr_cast(t->arena, a[1], r));
    return 0;
}

static int ft_MOD(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(settle_nulls(t, x, a));
    if (!both_ints(a))
        return mismatch(t, x, "integers", 2, a);
    *out = make_in_kind(t, x, x->op, a, HD_INT64);
    return 0;
}

/* -literal is a literal, so that the printed form reads back as the same tree. */
static bool fold_negation(struct fe_typing *t, const struct fe_ast *x, const struct fe_expr *e, struct fe_expr **out)
{
    struct fe_value v = e->value;
    if (e->op != FE_LIT || v.is_null)
        return false;
    v.f = -v.f;
    v.i = -v.i;
    if (!hd_type_is_float(v.type) && !fe_value_in_range(v.i, v.type))
        return false;
    *out = make_literal(t, x, v);
    return true;
}

static int ft_NEG(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    if (!hd_type_is_num(a[0]->type))
        return mismatch(t, x, "a number", 1, a);
    if (hd_type_is_int(a[0]->type))
        a[0] = cast(t, a[0], HD_INT64);
    if (!fold_negation(t, x, a[0], out))
        *out = make(t, x, FE_NEG, a[0]->type, 1, a);
    return 0;
}

static int ft_NUMBER(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = settle(t, a[0], HD_INT64);
    if (!hd_type_is_num(a[0]->type))
        return mismatch(t, x, "a number", 1, a);
    if (x->op == FE_ABS && hd_type_is_int(a[0]->type))
        a[0] = cast(t, a[0], HD_INT64);
    *out = make(t, x, x->op, x->op == FE_SIGN ? hd_type_of(HD_INT32) : a[0]->type, 1, a);
    return 0;
}

static int ft_FLOAT(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    bool numbers = true;
    for (int i = 0; i < x->nargs; i++) {
        a[i] = settle(t, a[i], HD_FLOAT64);
        numbers = numbers && hd_type_is_num(a[i]->type);
    }
    if (!numbers)
        return mismatch(t, x, x->nargs > 1 ? "numbers" : "a number", x->nargs, a);
    enum hd_type_kind kind = float_kind(x->nargs, a);
    for (int i = 0; i < x->nargs; i++)
        a[i] = cast(t, a[i], kind);
    *out = make(t, x, x->op, hd_type_of(kind), x->nargs, a);
    return 0;
}

static int rounding_digits(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, int *digits)
{
    bool literal = x->nargs < 2 || (a[1]->op == FE_LIT && !a[1]->value.is_null && hd_type_is_int(a[1]->type));
    *digits = 0;
    if (!hd_type_is_num(a[0]->type) || !literal)
        return mismatch(t, x, x->nargs > 1 ? "a number and digits, a literal" : "a number", x->nargs, a);
    if (x->nargs > 1 && (a[1]->value.i < -18 || a[1]->value.i > HD_DEC_MAX))
        return fe_ast_fail(x, t->err, "\"round\" expects digits from -18 to %d", HD_DEC_MAX);
    *digits = x->nargs > 1 ? (int)a[1]->value.i : 0;
    return 0;
}

/* Exact numbers with no more digits than asked for stay what they are; others get a whole digit for the carry. */
static int ft_ROUNDING(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    int digits;
    a[0] = settle(t, a[0], HD_INT64);
    HD_TRY(rounding_digits(t, x, a, &digits));
    struct hd_type type = a[0]->type;
    int lost = (type.kind == HD_DECIMAL ? type.scale : 0) - digits;
    *out = a[0];
    if (!hd_type_is_float(type) && lost <= 0)
        return 0;
    if (!hd_type_is_float(type) && lost > HD_DEC_MAX)
        return fe_ast_fail(x, t->err, "\"round\" of this number expects digits of %d or more",
                           digits + lost - HD_DEC_MAX);
    if (hd_type_is_int(type))
        a[0] = cast(t, a[0], HD_INT64);
    *out = make(t, x, x->op, fe_type_rounded(a[0]->type, digits), x->nargs, a);
    return 0;
}

/* ---- dates ---------------------------------------------------------------------------- */

static bool fold_date(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct fe_expr **a,
                      struct fe_expr **out)
{
    enum { FAR = 400 * 1000 }; /* beyond any date, and far from overflow */
    if (a[0]->op != FE_LIT || a[1]->op != FE_LIT || a[0]->value.is_null || a[1]->value.is_null)
        return false;
    struct fe_value v = a[0]->value;
    hd_i128 n = a[1]->value.i;
    if (op == FE_ADD_MONTHS && (n < -FAR || n > FAR))
        return false;
    if (op == FE_ADD_MONTHS)
        v.i = hd_date_add_months((int32_t)v.i, (int64_t)n);
    else
        v.i += n;
    if (!fe_value_in_range(v.i, v.type))
        return false;
    *out = make_literal(t, x, v);
    return true;
}

static int ft_ADDDATE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = settle(t, a[0], HD_DATE);
    a[1] = settle(t, a[1], HD_INT64);
    if (a[0]->type.kind != HD_DATE || !hd_type_is_int(a[1]->type))
        return mismatch(t, x, "a date and an integer", 2, a);
    a[1] = cast(t, a[1], HD_INT64);
    if (!fold_date(t, x, x->op, a, out))
        *out = make2(t, x, x->op, hd_type_of(HD_DATE), a[0], a[1]);
    return 0;
}

/* The amount in days or months; a year is 12 months. */
static int interval_amount(struct fe_typing *t, const struct fe_ast *iv, bool negative, struct fe_expr **out)
{
    struct fe_expr *n;
    int factor = (iv->field == FE_YEAR ? 12 : 1) * (negative ? -1 : 1);
    HD_TRY(type_node(t, iv->args[0], false, &n));
    n = settle(t, n, HD_INT64);
    if (!hd_type_is_int(n->type)) {
        char buf[HD_TEXT_MAX];
        return fe_ast_fail(iv, t->err, "an interval expects an integer amount, found %s", type_name(n, buf));
    }
    n = cast(t, n, HD_INT64);
    bool literal = n->op == FE_LIT && !n->value.is_null;
    if (literal && fe_value_in_range(n->value.i * factor, n->type))
        n = int_literal(t, iv, (int64_t)(n->value.i * factor));
    else if (factor == -1)
        n = make(t, iv, FE_NEG, n->type, 1, &n);
    else if (factor != 1)
        n = make2(t, iv, FE_MUL, n->type, n, int_literal(t, iv, factor));
    *out = n;
    return 0;
}

/* date + interval, interval + date, date - interval. */
static int type_date_interval(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **out)
{
    bool swapped = x->op == FE_ADD && x->args[0]->interval;
    const struct fe_ast *iv = x->args[swapped ? 0 : 1], *date = x->args[swapped ? 1 : 0];
    struct fe_expr *a[2];
    if (!iv->interval || date->interval)
        return fe_ast_fail(x, t->err, "\"%s\" expects a date beside an interval", fe_op_name(x->op));
    HD_TRY(type_node(t, date, false, &a[0]));
    a[0] = settle(t, a[0], HD_DATE);
    if (a[0]->type.kind != HD_DATE) {
        char buf[HD_TEXT_MAX];
        return fe_ast_fail(x, t->err, "\"%s\" expects a date beside an interval, found %s", fe_op_name(x->op),
                           type_name(a[0], buf));
    }
    HD_TRY(interval_amount(t, iv, x->op == FE_SUB, &a[1]));
    enum fe_op op = iv->field == FE_DAY ? FE_ADD_DAYS : FE_ADD_MONTHS;
    if (!fold_date(t, x, op, a, out))
        *out = make2(t, x, op, hd_type_of(HD_DATE), a[0], a[1]);
    return 0;
}

static int ft_DATEDIF(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = settle(t, a[0], HD_DATE);
    a[1] = settle(t, a[1], HD_DATE);
    if (a[0]->type.kind != HD_DATE || a[1]->type.kind != HD_DATE)
        return mismatch(t, x, "two dates", 2, a);
    *out = make2(t, x, FE_DATE_DIFF, hd_type_of(HD_INT64), a[0], a[1]);
    return 0;
}

static int ft_EXTRACT(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = settle(t, a[0], HD_DATE);
    if (a[0]->type.kind != HD_DATE && a[0]->type.kind != HD_TIMESTAMP)
        return mismatch(t, x, "a date or timestamp", 1, a);
    *out = make(t, x, FE_EXTRACT, hd_type_of(HD_INT64), 1, a);
    (*out)->field = x->field;
    return 0;
}

/* ---- comparison and logic ------------------------------------------------------------- */

static int ft_COMPARE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(settle_nulls(t, x, a));
    if (!fe_expr_unify_compare(t->arena, &a[0], &a[1]))
        return mismatch(t, x, "two numbers or two values of one type", 2, a);
    *out = make2(t, x, x->op, hd_type_of(HD_BOOL), a[0], a[1]);
    return 0;
}

static int ft_LOGIC(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_VEC(struct fe_expr *) flat = {0};
    for (int i = 0; i < x->nargs; i++) {
        a[i] = settle(t, a[i], HD_BOOL);
        if (a[i]->type.kind != HD_BOOL)
            return mismatch(t, x, x->nargs > 1 ? "conditions" : "a condition", x->nargs, a);
        /* a and (b and c) is one conjunction; the order of evaluation is the same */
        bool merge = a[i]->op == x->op && x->op != FE_NOT;
        for (int k = 0; merge && k < a[i]->nargs; k++)
            hd_vec_push(t->arena, &flat, a[i]->args[k]);
        if (!merge)
            hd_vec_push(t->arena, &flat, a[i]);
    }
    *out = make(t, x, x->op, hd_type_of(HD_BOOL), flat.n, flat.v);
    return 0;
}

static int ft_IS_NULL(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = settle(t, a[0], HD_BOOL);
    *out = make(t, x, FE_IS_NULL, hd_type_of(HD_BOOL), 1, a);
    return 0;
}

static int type_in_list_param(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct fe_expr *item = a[1];
    char type[HD_TEXT_MAX];
    a[0] = settle(t, a[0], (enum hd_type_kind)item->type.kind);
    if (!fe_expr_unify_compare(t->arena, &a[0], &item))
        return mismatch(t, x, "a list of comparable values", 2, a);
    /* The values of a list are shared by all its uses, so only the left side may change. */
    if (item != a[1])
        return fe_ast_fail(x, t->err, "the list :%s must hold values of the left side's type: declare it as list(%s)",
                           t->params[a[1]->param].name, hd_type_text(a[0]->type, type));
    *out = make2(t, x, FE_IN, hd_type_of(HD_BOOL), a[0], item);
    return 0;
}

/* The type x and all items meet in: x's own as long as the items fit it exactly. */
static int in_type(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct hd_type *out)
{
    struct hd_type type = a[0]->type;
    for (int i = 1; i < x->nargs; i++)
        if (!fe_expr_fits(a[i], type) && !fe_type_compare(type, a[i]->type, &type))
            return mismatch(t, x, "numbers or values of one type", x->nargs, a);
    if (fe_expr_meet_in_float32(x->nargs, a))
        type = hd_type_of(HD_FLOAT32);
    if (fe_is_no_type(type))
        return fe_ast_fail(x, t->err, "the type of null is not known here; write cast(null as TYPE)");
    *out = type;
    return 0;
}

/* Decimals of one scale compare directly whatever their precision. */
static struct fe_expr *cast_to_compare(struct fe_typing *t, struct fe_expr *e, struct hd_type type)
{
    bool same = e->type.kind == type.kind && e->type.scale == type.scale && e->op != FE_LIT;
    return same ? e : fe_expr_cast(t->arena, e, type);
}

/* A decimal literal with the precision that its digits give it. One that was an integer would be printed as
 * such, and would be another literal where it is compared with `=`. */
static struct fe_expr *as_written(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *e)
{
    struct fe_value v = e->value;
    if (e->op != FE_LIT || v.is_null || v.type.kind != HD_DECIMAL)
        return e;
    v.type.precision = (unsigned char)HD_MAX(v.type.scale, 1);
    while (!fe_value_in_range(v.i, v.type))
        v.type.precision++;
    return make_literal(t, x, v);
}

/* An item that is no constant makes the list a chain of comparisons. */
static int in_as_or(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct fe_expr **or = HD_NEWN(t->arena, struct fe_expr *, x->nargs);
    for (int i = 0; i < x->nargs; i++)
        a[i] = as_written(t, x, a[i]);
    for (int i = 1; i < x->nargs; i++)
        or [i - 1] = make2(t, x, FE_EQ, hd_type_of(HD_BOOL), a[0], a[i]);
    *out = or [0];
    if (x->nargs > 2)
        *out = make(t, x, FE_OR, hd_type_of(HD_BOOL), x->nargs - 1, or);
    return 0;
}

static int ft_IN(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct hd_type type;
    bool constant = true;
    if (a[1]->op == FE_PARAM && t->params[a[1]->param].is_list)
        return type_in_list_param(t, x, a, out);
    HD_TRY(in_type(t, x, a, &type));
    for (int i = 0; i < x->nargs; i++) {
        a[i] = cast_to_compare(t, a[i], type);
        constant &= !i || a[i]->op == FE_LIT || a[i]->op == FE_PARAM;
    }
    if (!constant)
        return in_as_or(t, x, a, out);
    *out = make(t, x, FE_IN, hd_type_of(HD_BOOL), x->nargs, a);
    return 0;
}

/* ---- strings -------------------------------------------------------------------------- */

static int like_escape(struct fe_typing *t, const struct fe_ast *x, const struct fe_expr *e, char *out)
{
    if (e->op != FE_LIT || e->type.kind != HD_STRING || e->value.is_null || e->value.n != 1 || e->value.s[0] == '%' ||
        e->value.s[0] == '_')
        return fe_ast_fail(x, t->err, "escape expects a text of one byte that is neither %% nor _");
    *out = e->value.s[0];
    return 0;
}

static int check_pattern(struct fe_typing *t, const struct fe_ast *x, const struct fe_value *v, char escape)
{
    for (size_t i = 0; escape && i < v->n; i++)
        if (v->s[i] == escape && ++i == v->n)
            return fe_ast_fail(x, t->err, "the pattern ends with the escape character '%c'", escape);
    return 0;
}

static int ft_LIKE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    char escape = 0;
    a[0] = settle(t, a[0], HD_STRING);
    a[1] = settle(t, a[1], HD_STRING);
    if (a[0]->type.kind != HD_STRING || a[1]->type.kind != HD_STRING)
        return mismatch(t, x, "two strings", 2, a);
    if (a[1]->op != FE_LIT && a[1]->op != FE_PARAM)
        return fe_ast_fail(x, t->err, "\"like\" expects a constant pattern: a text or a parameter");
    if (x->nargs == 3)
        HD_TRY(like_escape(t, x, a[2], &escape));
    if (a[1]->op == FE_LIT && !a[1]->value.is_null)
        HD_TRY(check_pattern(t, x, &a[1]->value, escape));
    *out = make(t, x, FE_LIKE, hd_type_of(HD_BOOL), 2, a);
    (*out)->escape = escape;
    return 0;
}

static int ft_SUBSTR(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = settle(t, a[0], HD_STRING);
    bool ok = a[0]->type.kind == HD_STRING;
    for (int i = 1; i < x->nargs; i++) {
        a[i] = settle(t, a[i], HD_INT64);
        ok = ok && hd_type_is_int(a[i]->type);
    }
    if (!ok)
        return mismatch(t, x, "a string and integers", x->nargs, a);
    for (int i = 1; i < x->nargs; i++)
        a[i] = cast(t, a[i], HD_INT64);
    *out = make(t, x, FE_SUBSTRING, a[0]->type, x->nargs, a);
    return 0;
}

/* Types are those of the form. */
static int ft_TEXT(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    const char *form = fe_op_form(x->op)->types;
    bool ok = true;
    for (int i = 0; i < x->nargs; i++) {
        bool text = form[i + 1] == 's';
        a[i] = settle(t, a[i], text ? HD_STRING : HD_INT64);
        ok = ok && (text ? a[i]->type.kind == HD_STRING : hd_type_is_int(a[i]->type));
    }
    if (!ok)
        return mismatch(t, x, form[x->nargs] == 'w' ? "strings, then an integer" : "strings", x->nargs, a);
    for (int i = 0; i < x->nargs; i++)
        if (form[i + 1] == 'w')
            a[i] = cast(t, a[i], HD_INT64);
    enum hd_type_kind kind = *form == 's' ? HD_STRING : *form == 'b' ? HD_BOOL : HD_INT64;
    *out = make(t, x, x->op, hd_type_of(kind), x->nargs, a);
    return 0;
}

/* Without characters to trim they are spaces. */
static int ft_TRIM(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct fe_expr *both[2] = {a[0], a[x->nargs - 1]};
    struct fe_ast whole = *x;
    if (x->nargs == 1)
        both[1] = make_literal(t, x, (struct fe_value){.type = hd_type_of(HD_STRING), .s = " ", .n = 1});
    whole.nargs = 2;
    return ft_TEXT(t, &whole, both, out);
}

/* ---- choice and cast ------------------------------------------------------------------ */

static bool is_value_of_case(int i, int n)
{
    return i % 2 == 1 || (i == n - 1 && n % 2 == 1);
}

static int unify_branches(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct hd_type *type)
{
    bool all = x->op != FE_CASE;
    struct fe_expr **values = HD_NEWN(t->arena, struct fe_expr *, x->nargs);
    int n = 0;
    *type = fe_no_type();
    for (int i = 0; i < x->nargs; i++) {
        if (!all && !is_value_of_case(i, x->nargs))
            continue;
        values[n++] = a[i];
        if (!fe_type_unify(*type, a[i]->type, type)) {
            char l[HD_TEXT_MAX], r[HD_TEXT_MAX];
            return fe_ast_fail(x, t->err, "the results of \"%s\" must have one type, found %s and %s",
                               fe_op_name(x->op), hd_type_text(*type, l), type_name(a[i], r));
        }
    }
    if (fe_expr_meet_in_float32(n, values))
        *type = hd_type_of(HD_FLOAT32);
    if (fe_is_no_type(*type))
        return fe_ast_fail(x, t->err, "all results of \"%s\" are null; give one a type with cast(null as TYPE)",
                           fe_op_name(x->op));
    for (int i = 0; i < x->nargs; i++)
        if (all || is_value_of_case(i, x->nargs))
            a[i] = fe_expr_cast(t->arena, a[i], *type);
    return 0;
}

static int ft_CASE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct hd_type type;
    for (int i = 0; i + 1 < x->nargs; i += 2) {
        a[i] = settle(t, a[i], HD_BOOL);
        if (a[i]->type.kind != HD_BOOL)
            return mismatch(t, x, "conditions after when", 1, &a[i]);
    }
    HD_TRY(unify_branches(t, x, a, &type));
    *out = make(t, x, FE_CASE, type, x->nargs, a);
    return 0;
}

static int ft_COALESC(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct hd_type type;
    HD_TRY(unify_branches(t, x, a, &type));
    *out = x->nargs == 1 ? a[0] : make(t, x, FE_COALESCE, type, x->nargs, a);
    return 0;
}

/* Of the first n values, by halves: each node has two arguments, and many do not nest deeply. */
static struct fe_expr *extreme_of(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, int n)
{
    if (n == 1)
        return a[0];
    struct fe_expr *l = extreme_of(t, x, a, n / 2), *r = extreme_of(t, x, a + n / 2, n - n / 2);
    return make2(t, x, x->op, l->type, l, r);
}

static int ft_EXTREME(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct hd_type type;
    HD_TRY(unify_branches(t, x, a, &type));
    *out = extreme_of(t, x, a, x->nargs);
    return 0;
}

static int ft_CAST(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    char from[HD_TEXT_MAX], to[HD_TEXT_MAX];
    if (!fe_is_no_type(a[0]->type) && !fe_type_castable(a[0]->type, x->type))
        return fe_ast_fail(x, t->err, "there is no cast from %s to %s", hd_type_text(a[0]->type, from),
                           hd_type_text(x->type, to));
    *out = fe_expr_cast(t->arena, a[0], x->type);
    return 0;
}

static int ft_X(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    (void)t, (void)a, (void)out;
    HD_BUG("typing of the physical operator %s", fe_op_name(x->op));
}

/* ---- leaves and the walk -------------------------------------------------------------- */

static int type_param(struct fe_typing *t, const struct fe_ast *x, bool list_allowed, struct fe_expr **out)
{
    int k;
    HD_TRY(fe_param_find(t, x, &k));
    struct fe_param *p = &t->params[k];
    if (p->is_list && !list_allowed)
        return fe_ast_fail(x, t->err, "the list parameter :%s can only stand on the right side of in", x->name);
    struct fe_expr *e = new_node(t, x, FE_PARAM, p->type, 0, NULL);
    e->param = k;
    e->param_name = p->name;
    e->param_list = p->is_list;
    e->nullable = p->nullable;
    e->value = p->value;
    e->value.type = p->type;
    struct fe_param_use *use = HD_NEW(t->arena, struct fe_param_use);
    use->expr = e;
    use->next = p->uses;
    p->uses = use;
    *out = e;
    return 0;
}

static int type_leaf(struct fe_typing *t, const struct fe_ast *x, bool list_allowed, struct fe_expr **out)
{
    int col;
    if (x->op == FE_PARAM)
        return type_param(t, x, list_allowed, out);
    if (x->op == FE_LIT) {
        *out = make_literal(t, x, x->lit);
        return 0;
    }
    HD_TRY(fe_scope_find(t->scope, x->name, x->path, x->pos, t->err, &col));
    *out = fe_expr_column(t->arena, col, &t->scope->cols[col], x->path);
    return 0;
}

static bool has_interval(const struct fe_ast *x)
{
    for (int i = 0; i < x->nargs; i++)
        if (x->args[i]->interval)
            return true;
    return false;
}

static int type_node(struct fe_typing *t, const struct fe_ast *x, bool list_allowed, struct fe_expr **out)
{
    static typing_rule *const rules[] = {
#define T_OP(id, text, min, max, syntax, typing, ...) ft_##typing,
#include "frontend/ops.def"
    };
    if (x->interval)
        return fe_ast_fail(x, t->err, "an interval can only be added to or subtracted from a date");
    if (x->op == FE_COL || x->op == FE_LIT || x->op == FE_PARAM)
        return type_leaf(t, x, list_allowed, out);
    if ((x->op == FE_ADD || x->op == FE_SUB) && has_interval(x))
        return type_date_interval(t, x, out);
    struct fe_expr **args = HD_NEWN(t->arena, struct fe_expr *, x->nargs);
    for (int i = 0; i < x->nargs; i++)
        HD_TRY(type_node(t, x->args[i], x->op == FE_IN && i == 1 && x->nargs == 2, &args[i]));
    return rules[x->op](t, x, args, out);
}

int fe_ast_type(struct fe_typing *t, const struct fe_ast *x, const struct hd_type *want, const char *what,
                struct fe_expr **out)
{
    char found[HD_TEXT_MAX];
    HD_TRY(type_node(t, x, false, out));
    if (want && fe_is_no_type((*out)->type))
        *out = fe_expr_cast(t->arena, *out, *want);
    if (fe_is_no_type((*out)->type))
        return fe_ast_fail(x, t->err, "the type of null is not known here; write cast(null as TYPE)");
    if (want && !hd_type_eq(*want, (*out)->type))
        return HD_FAIL(t->err, USER, x->path, "expected %s, found an expression of type %s", what,
                       hd_type_text((*out)->type, found));
    return 0;
}
