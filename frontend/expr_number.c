/* Typing of arithmetic and of functions of numbers: the type in which arguments meet, and that of the result
 * (docs/plan.md 2.2). */
#include "frontend/expr_number.h"

#include "frontend/constant.h"
#include "frontend/expr_interval.h"
#include "frontend/expr_node.h"
#include "frontend/value.h"

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
    return fe_make2(t, x, op, hd_type_of(k), fe_cast_to(t, a[0], k), fe_cast_to(t, a[1], k));
}

static struct fe_expr *add_decimals(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a)
{
    struct hd_type l = fe_type_as_decimal(a[0]->type), r = fe_type_as_decimal(a[1]->type);
    int s = HD_MAX(l.scale, r.scale);
    int whole = HD_MAX(l.precision - l.scale, r.precision - r.scale);
    struct hd_type type = hd_decimal(HD_MIN(HD_DEC_MAX, whole + s + 1), s);
    return fe_make2(t, x, x->op, type, fe_expr_to_scale(t->arena, a[0], s), fe_expr_to_scale(t->arena, a[1], s));
}

int ft_ADDSUB(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(fe_settle_nulls(t, x, a));
    if (x->op == FE_SUB && a[0]->type.kind == HD_DATE && a[1]->type.kind == HD_DATE)
        *out = fe_make2(t, x, FE_DATE_DIFF, hd_type_of(HD_INT64), a[0], a[1]);
    else if (fe_has_interval(a))
        return fe_interval_sum(t, x, a, out);
    else if (!both_numbers(a))
        return fe_mismatch(t, x, "numbers, or a date and an interval", 2, a);
    else if (any_float(a))
        *out = make_in_kind(t, x, x->op, a, float_kind(2, a));
    else if (both_ints(a))
        *out = make_in_kind(t, x, x->op, a, HD_INT64);
    else
        *out = add_decimals(t, x, a);
    return 0;
}

int ft_MUL(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    if (fe_has_interval(a))
        return fe_interval_product(t, x, a, out);
    HD_TRY(fe_settle_nulls(t, x, a));
    if (!both_numbers(a))
        return fe_mismatch(t, x, "numbers", 2, a);
    if (any_float(a) || both_ints(a)) {
        *out = make_in_kind(t, x, x->op, a, any_float(a) ? float_kind(2, a) : HD_INT64);
        return 0;
    }
    struct hd_type l = fe_type_as_decimal(a[0]->type), r = fe_type_as_decimal(a[1]->type);
    if (l.scale + r.scale > HD_DEC_MAX)
        return fe_mismatch(t, x, "decimals whose scales add up to at most 38", 2, a);
    struct hd_type type = hd_decimal(HD_MIN(HD_DEC_MAX, l.precision + r.precision), l.scale + r.scale);
    *out = fe_make2(t, x, x->op, type, fe_expr_cast(t->arena, a[0], l), fe_expr_cast(t->arena, a[1], r));
    return 0;
}

int ft_DIV(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(fe_settle_nulls(t, x, a));
    if (!both_numbers(a))
        return fe_mismatch(t, x, "numbers", 2, a);
    if (any_float(a) || both_ints(a)) {
        *out = make_in_kind(t, x, x->op, a, any_float(a) ? float_kind(2, a) : HD_INT64);
        return 0;
    }
    struct hd_type l = fe_type_as_decimal(a[0]->type), r = fe_type_as_decimal(a[1]->type);
    *out = fe_make2(t, x, x->op, hd_decimal(HD_DEC_MAX, HD_MAX(6, l.scale)), fe_expr_cast(t->arena, a[0], l),
                    fe_expr_cast(t->arena, a[1], r));
    return 0;
}

int ft_MOD(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(fe_settle_nulls(t, x, a));
    if (!both_ints(a))
        return fe_mismatch(t, x, "integers", 2, a);
    *out = make_in_kind(t, x, x->op, a, HD_INT64);
    return 0;
}

/* Of int64, as arithmetic of ints is. */
int ft_BITS(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    bool ints = true;
    for (int i = 0; i < x->nargs; i++) {
        a[i] = fe_settle(t, a[i], HD_INT64);
        ints = ints && hd_type_is_int(a[i]->type);
    }
    if (!ints)
        return fe_mismatch(t, x, x->nargs > 1 ? "integers" : "an integer", x->nargs, a);
    for (int i = 0; i < x->nargs; i++)
        a[i] = fe_cast_to(t, a[i], HD_INT64);
    *out = fe_make(t, x, x->op, hd_type_of(HD_INT64), x->nargs, a);
    return 0;
}

/* A negative int32 has 32 bits: those of the int64 that it becomes. */
int ft_BITS_SET(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_INT64);
    if (!hd_type_is_int(a[0]->type))
        return fe_mismatch(t, x, "an integer", 1, a);
    struct fe_expr *word = fe_cast_to(t, a[0], HD_INT64);
    if (a[0]->type.kind == HD_INT32)
        word = fe_make2(t, x, FE_BIT_AND, hd_type_of(HD_INT64), word, fe_make_int(t, x, UINT32_MAX));
    *out = fe_make(t, x, FE_BIT_COUNT, hd_type_of(HD_INT32), 1, &word);
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
    *out = fe_make_literal(t, x, v);
    return true;
}

int ft_NEG(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    if (a[0]->type.kind == HD_INTERVAL)
        return fe_interval_negative(t, x, a[0], out);
    if (!hd_type_is_num(a[0]->type))
        return fe_mismatch(t, x, "a number", 1, a);
    if (hd_type_is_int(a[0]->type))
        a[0] = fe_cast_to(t, a[0], HD_INT64);
    if (!fold_negation(t, x, a[0], out))
        *out = fe_make(t, x, FE_NEG, a[0]->type, 1, a);
    return 0;
}

int ft_NUMBER(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_INT64);
    if (!hd_type_is_num(a[0]->type))
        return fe_mismatch(t, x, "a number", 1, a);
    if (x->op == FE_ABS && hd_type_is_int(a[0]->type))
        a[0] = fe_cast_to(t, a[0], HD_INT64);
    *out = fe_make(t, x, x->op, x->op == FE_SIGN ? hd_type_of(HD_INT32) : a[0]->type, 1, a);
    return 0;
}

int ft_FLOAT(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    bool numbers = true;
    for (int i = 0; i < x->nargs; i++) {
        a[i] = fe_settle(t, a[i], HD_FLOAT64);
        numbers = numbers && hd_type_is_num(a[i]->type);
    }
    if (!numbers)
        return fe_mismatch(t, x, x->nargs > 1 ? "numbers" : "a number", x->nargs, a);
    enum hd_type_kind kind = float_kind(x->nargs, a);
    for (int i = 0; i < x->nargs; i++)
        a[i] = fe_cast_to(t, a[i], kind);
    *out = fe_make(t, x, x->op, hd_type_of(kind), x->nargs, a);
    return 0;
}

static int rounding_digits(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, int *digits)
{
    bool constant = x->nargs < 2 || (hd_type_is_int(a[1]->type) &&
                                     (a[1]->op == FE_PARAM || (a[1]->op == FE_LIT && !a[1]->value.is_null)));
    *digits = 0;
    if (!hd_type_is_num(a[0]->type) || !constant)
        return fe_mismatch(t, x, x->nargs > 1 ? "a number and digits, a literal or parameter" : "a number", x->nargs,
                           a);
    if (x->nargs > 1 && a[1]->op == FE_PARAM)
        return fe_param_stands(&t->params[a[1]->param], FE_CONSTANT_DIGITS, t->err);
    if (x->nargs > 1 && (a[1]->value.i < -18 || a[1]->value.i > HD_DEC_MAX))
        return fe_ast_fail(x, t->err, "\"round\" expects digits from -18 to %d", HD_DEC_MAX);
    *digits = x->nargs > 1 ? (int)a[1]->value.i : 0;
    return 0;
}

/* The digits are not known yet: an exact number keeps its own, with a whole one for the carry. */
static struct hd_type rounded_somewhere(struct hd_type t)
{
    return t.kind == HD_DECIMAL ? hd_decimal(HD_MIN(HD_DEC_MAX, t.precision + 1), t.scale) : t;
}

/* Exact numbers with no more digits than asked for stay what they are; others get a whole digit for the carry. */
int ft_ROUNDING(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    int digits;
    a[0] = fe_settle(t, a[0], HD_INT64);
    HD_TRY(rounding_digits(t, x, a, &digits));
    if (hd_type_is_int(a[0]->type) && x->nargs > 1 && a[1]->op == FE_PARAM)
        a[0] = fe_cast_to(t, a[0], HD_INT64);
    struct hd_type type = a[0]->type;
    if (x->nargs > 1 && a[1]->op == FE_PARAM) {
        *out = fe_make(t, x, x->op, rounded_somewhere(type), x->nargs, a);
        return 0;
    }
    int lost = (type.kind == HD_DECIMAL ? type.scale : 0) - digits;
    *out = a[0];
    if (!hd_type_is_float(type) && lost <= 0)
        return 0;
    if (!hd_type_is_float(type) && lost > HD_DEC_MAX)
        return fe_ast_fail(x, t->err, "\"round\" of this number expects digits of %d or more",
                           digits + lost - HD_DEC_MAX);
    if (hd_type_is_int(type))
        a[0] = fe_cast_to(t, a[0], HD_INT64);
    *out = fe_make(t, x, x->op, fe_type_rounded(a[0]->type, digits), x->nargs, a);
    return 0;
}
