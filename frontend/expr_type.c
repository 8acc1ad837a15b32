/* Typing: untyped trees become struct fe_expr with every conversion explicit. One function
 * ft_<rule> for each typing rule of ops.def; the rules are told in docs/functions.md and docs/plan.md 2.2.
 * A bare `null` travels as a literal without a type until a sibling gives it one. */
#include "frontend/ast.h"
#include "frontend/expr_date.h"
#include "frontend/expr_interval.h"
#include "frontend/expr_node.h"
#include "frontend/expr_number.h"
#include "frontend/regexp.h"
#include "frontend/value.h"
#include "runtime/base/strbuf.h"
#include "runtime/base/vec.h"

/* args: the typed arguments of x, already without intervals. */
typedef int typing_rule(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **args, struct fe_expr **out);

static int type_node(struct fe_typing *t, const struct fe_ast *x, bool list_allowed, struct fe_expr **out);

/* ---- comparison and logic ------------------------------------------------------------- */

static int ft_COMPARE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(fe_settle_nulls(t, x, a));
    if (!fe_expr_unify_compare(t->arena, &a[0], &a[1]))
        return fe_mismatch(t, x, "two numbers or two values of one type", 2, a);
    *out = fe_make2(t, x, x->op, hd_type_of(HD_BOOL), a[0], a[1]);
    return 0;
}

static int ft_LOGIC(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_VEC(struct fe_expr *) flat = {0};
    for (int i = 0; i < x->nargs; i++) {
        a[i] = fe_settle(t, a[i], HD_BOOL);
        if (a[i]->type.kind != HD_BOOL)
            return fe_mismatch(t, x, x->nargs > 1 ? "conditions" : "a condition", x->nargs, a);
        /* a and (b and c) is one conjunction; the order of evaluation is the same */
        bool merge = a[i]->op == x->op && x->op != FE_NOT;
        for (int k = 0; merge && k < a[i]->nargs; k++)
            hd_vec_push(t->arena, &flat, a[i]->args[k]);
        if (!merge)
            hd_vec_push(t->arena, &flat, a[i]);
    }
    *out = fe_make(t, x, x->op, hd_type_of(HD_BOOL), flat.n, flat.v);
    return 0;
}

static int ft_IS_NULL(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_BOOL);
    *out = fe_make(t, x, FE_IS_NULL, hd_type_of(HD_BOOL), 1, a);
    return 0;
}

static bool is_bare_null(const struct fe_expr *e)
{
    return e->op == FE_LIT && e->value.is_null;
}

/* a = b where it is known; where it is not, one of them is NULL, and the question whether both are. */
static int ft_NOT_DISTINCT(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    const struct hd_type truth = hd_type_of(HD_BOOL);
    struct fe_expr *both = fe_make_literal(t, x, (struct fe_value){.type = truth}), *nulls[2];
    if (is_bare_null(a[0]) || is_bare_null(a[1]))
        return ft_IS_NULL(t, x, is_bare_null(a[0]) ? a + 1 : a, out);
    for (int i = 0; i < 2; i++)
        nulls[i] = fe_make(t, x, FE_IS_NULL, truth, 1, &a[i]);
    if (a[0]->nullable && a[1]->nullable)
        both = fe_make(t, x, FE_AND, truth, 2, nulls);
    if (!fe_expr_unify_compare(t->arena, &a[0], &a[1]))
        return fe_mismatch(t, x, "two numbers or two values of one type", 2, a);
    *out = fe_make2(t, x, FE_EQ, truth, a[0], a[1]);
    if ((*out)->nullable)
        *out = fe_make2(t, x, FE_COALESCE, truth, *out, both);
    return 0;
}

static int type_in_list_param(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct fe_expr *item = a[1];
    char type[HD_TEXT_MAX];
    a[0] = fe_settle(t, a[0], (enum hd_type_kind)item->type.kind);
    const struct hd_type left = a[0]->type;
    if (left.kind == HD_INTERVAL && item->type.kind == HD_INTERVAL) { /* planning takes the lengths of its values */
        *out = fe_make2(t, x, FE_IN, hd_type_of(HD_BOOL), fe_expr_key(t->arena, a[0]), item);
        return 0;
    }
    bool exact = left.kind == HD_FLOAT32 && !hd_type_is_float(item->type); /* rounded, if it were no list */
    if (!fe_expr_unify_compare(t->arena, &a[0], &item))
        return fe_mismatch(t, x, "a list of comparable values", 2, a);
    /* The values of a list are shared by all its uses, so only the left side may change. */
    if (item != a[1])
        return fe_ast_fail(x, t->err, "the list :%s must hold values of the left side's type: declare it as list(%s)",
                           t->params[a[1]->param].name, hd_type_text(exact ? left : a[0]->type, type));
    *out = fe_make2(t, x, FE_IN, hd_type_of(HD_BOOL), a[0], item);
    return 0;
}

/* The type x and all items meet in: x's own as long as the items fit it exactly. */
static int in_type(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct hd_type *out)
{
    struct hd_type type = a[0]->type;
    for (int i = 1; i < x->nargs; i++)
        if (!fe_expr_fits(a[i], type) && !fe_type_compare(type, a[i]->type, &type))
            return fe_mismatch(t, x, "numbers or values of one type", x->nargs, a);
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
    return fe_make_literal(t, x, v);
}

/* An item that is no constant makes the list a chain of comparisons. */
static int in_as_or(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct fe_expr **or = HD_NEWN(t->arena, struct fe_expr *, x->nargs);
    for (int i = 0; i < x->nargs; i++)
        a[i] = as_written(t, x, a[i]);
    for (int i = 1; i < x->nargs; i++)
        or [i - 1] = fe_make2(t, x, FE_EQ, hd_type_of(HD_BOOL), a[0], a[i]);
    *out = or [0];
    if (x->nargs > 2)
        *out = fe_make(t, x, FE_OR, hd_type_of(HD_BOOL), x->nargs - 1, or);
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
        a[i] = fe_expr_key(t->arena, cast_to_compare(t, a[i], type));
        constant &= !i || a[i]->op == FE_LIT || a[i]->op == FE_PARAM;
    }
    if (!constant)
        return in_as_or(t, x, a, out);
    *out = fe_make(t, x, FE_IN, hd_type_of(HD_BOOL), x->nargs, a);
    return 0;
}

/* ---- strings -------------------------------------------------------------------------- */

bool fe_is_text_param(const struct fe_expr *e)
{
    return e->op == FE_PARAM && e->type.kind == HD_STRING && !e->nullable;
}

/* 0: a parameter, whose value planning checks. */
static int like_escape(struct fe_typing *t, const struct fe_ast *x, const struct fe_expr *e, char *out)
{
    if (fe_is_text_param(e))
        return 0;
    if (e->op != FE_LIT || e->type.kind != HD_STRING || e->value.is_null || e->value.n != 1 || e->value.s[0] == '%' ||
        e->value.s[0] == '_')
        return fe_ast_fail(x, t->err, FE_ESCAPE_WANTED);
    *out = e->value.s[0];
    return 0;
}

static int check_pattern(struct fe_typing *t, const struct fe_ast *x, const struct fe_value *v, char escape)
{
    struct fe_regexp_error e;
    size_t size;
    for (size_t i = 0; escape && i < v->n; i++)
        if (v->s[i] == escape && ++i == v->n)
            return fe_ast_fail(x, t->err, "the pattern ends with the escape character '%c'", escape);
    if (x->op == FE_ILIKE && !fe_ilike_compile(t->arena, v->s, v->n, escape, &size, &e))
        return fe_ast_fail(x, t->err, "pattern of ilike, byte %zu: %s", e.at + 1, e.message);
    return 0;
}

static int ft_LIKE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    char escape = 0;
    a[0] = fe_settle(t, a[0], HD_STRING);
    a[1] = fe_settle(t, a[1], HD_STRING);
    if (a[0]->type.kind != HD_STRING || a[1]->type.kind != HD_STRING)
        return fe_mismatch(t, x, "two strings", 2, a);
    if (a[1]->op != FE_LIT && a[1]->op != FE_PARAM)
        return fe_ast_fail(x, t->err, "\"%s\" expects a constant pattern: a text or a parameter", fe_op_name(x->op));
    if (x->nargs == 3)
        HD_TRY(like_escape(t, x, a[2], &escape));
    if (a[1]->op == FE_LIT && !a[1]->value.is_null)
        HD_TRY(check_pattern(t, x, &a[1]->value, escape));
    *out = fe_make(t, x, x->op, hd_type_of(HD_BOOL), x->nargs == 3 && !escape ? 3 : 2, a);
    (*out)->escape = escape;
    return 0;
}

static int ft_SUBSTR(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_STRING);
    bool ok = a[0]->type.kind == HD_STRING;
    for (int i = 1; i < x->nargs; i++) {
        a[i] = fe_settle(t, a[i], HD_INT64);
        ok = ok && hd_type_is_int(a[i]->type);
    }
    if (!ok)
        return fe_mismatch(t, x, "a string and integers", x->nargs, a);
    for (int i = 1; i < x->nargs; i++)
        a[i] = fe_cast_to(t, a[i], HD_INT64);
    *out = fe_make(t, x, FE_SUBSTRING, a[0]->type, x->nargs, a);
    return 0;
}

static const char *text_arguments(const char *form, int n)
{
    if (form[1] == 'w')
        return "an integer";
    return form[n] == 'w' ? "strings, then an integer" : "strings";
}

/* Types are those of the form. */
static int ft_TEXT(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    const char *form = fe_op_form(x->op)->types;
    bool ok = true;
    for (int i = 0; i < x->nargs; i++) {
        bool text = form[i + 1] == 's';
        a[i] = fe_settle(t, a[i], text ? HD_STRING : HD_INT64);
        ok = ok && (text ? a[i]->type.kind == HD_STRING : hd_type_is_int(a[i]->type));
    }
    if (!ok)
        return fe_mismatch(t, x, text_arguments(form, x->nargs), x->nargs, a);
    for (int i = 0; i < x->nargs; i++)
        if (form[i + 1] == 'w')
            a[i] = fe_cast_to(t, a[i], HD_INT64);
    enum hd_type_kind kind = *form == 's' ? HD_STRING : *form == 'b' ? HD_BOOL : HD_INT64;
    *out = fe_make(t, x, x->op, hd_type_of(kind), x->nargs, a);
    return 0;
}

/* Of strings or of binary, whose bytes it works on: a string among binary values is none of them. */
static int ft_BYTES(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    bool binary = false, ok = true;
    for (int i = 0; i < x->nargs; i++)
        binary |= a[i]->type.kind == HD_BINARY;
    if (!binary)
        return ft_TEXT(t, x, a, out);
    for (int i = 0; i < x->nargs; i++) {
        a[i] = fe_settle(t, a[i], HD_BINARY);
        ok &= a[i]->type.kind == HD_BINARY;
    }
    if (!ok)
        return fe_mismatch(t, x, "strings, or binary values", x->nargs, a);
    enum hd_type_kind kind = *fe_op_form(x->op)->types == 's' ? HD_BINARY : HD_INT64;
    *out = fe_make(t, x, x->op, hd_type_of(kind), x->nargs, a);
    return 0;
}

/* The digits of a string's or binary's bytes; and the bytes of digits. */
static int ft_HEX(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_STRING);
    bool digits = x->op == FE_UNHEX;
    if (digits ? a[0]->type.kind != HD_STRING : !hd_type_is_text(a[0]->type))
        return fe_mismatch(t, x, digits ? "a string" : "a string or binary", 1, a);
    *out = fe_make(t, x, x->op, hd_type_of(digits ? HD_BINARY : HD_STRING), 1, a);
    return 0;
}

/* Whether the second argument names the form, and that is the one there is. */
static int is_hex(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *const *a, bool *hex)
{
    *hex = x->nargs == 2;
    if (!*hex || (a[1]->op == FE_LIT && a[1]->type.kind == HD_STRING && !a[1]->value.is_null && a[1]->value.n == 3 &&
                  strncasecmp(a[1]->value.s, "hex", 3) == 0))
        return 0;
    return fe_ast_fail(x, t->err, "\"%s\" expects 'hex' as its second argument", fe_op_name(x->op));
}

/* encode(s): the bytes of a string; encode(b, 'hex'): their digits, small. */
static int ft_ENCODE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    bool hex;
    HD_TRY(is_hex(t, x, a, &hex));
    a[0] = fe_settle(t, a[0], HD_STRING);
    if (hex ? !hd_type_is_text(a[0]->type) : a[0]->type.kind != HD_STRING)
        return fe_mismatch(t, x, hex ? "a string or binary" : "a string", 1, a);
    if (!hex) {
        *out = fe_cast_to(t, a[0], HD_BINARY);
        return 0;
    }
    struct fe_expr *digits = fe_make(t, x, FE_HEX, hd_type_of(HD_STRING), 1, a);
    *out = fe_make(t, x, FE_LOWER, hd_type_of(HD_STRING), 1, &digits);
    return 0;
}

/* decode(b): the string that binary holds; decode(s, 'hex'): the bytes of digits. */
static int ft_DECODE(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    bool hex;
    HD_TRY(is_hex(t, x, a, &hex));
    a[0] = fe_settle(t, a[0], hex ? HD_STRING : HD_BINARY);
    if (a[0]->type.kind != (hex ? HD_STRING : HD_BINARY))
        return fe_mismatch(t, x, hex ? "a string" : "a binary value", 1, a);
    *out = fe_make(t, x, hex ? FE_UNHEX : FE_DECODE, hd_type_of(hex ? HD_BINARY : HD_STRING), 1, a);
    return 0;
}

/* The place of the first string in the second. */
static int ft_POSITION(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    a[0] = fe_settle(t, a[0], HD_STRING);
    a[1] = fe_settle(t, a[1], HD_STRING);
    if (a[0]->type.kind != HD_STRING || a[1]->type.kind != HD_STRING)
        return fe_mismatch(t, x, "two strings", 2, a);
    *out = fe_make2(t, x, FE_STRPOS, hd_type_of(HD_INT64), a[1], a[0]);
    return 0;
}

/* Without characters to trim they are spaces. */
static int ft_TRIM(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct fe_expr *both[2] = {a[0], a[x->nargs - 1]};
    struct fe_ast whole = *x;
    if (x->nargs == 1)
        both[1] = fe_make_literal(t, x, (struct fe_value){.type = hd_type_of(HD_STRING), .s = " ", .n = 1});
    whole.nargs = 2;
    return ft_TEXT(t, &whole, both, out);
}

/* Without characters to fill up with they are spaces. */
static int ft_PAD(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct fe_expr *all[3] = {a[0], a[1], a[x->nargs - 1]};
    struct fe_ast whole = *x;
    if (x->nargs == 2)
        all[2] = fe_make_literal(t, x, (struct fe_value){.type = hd_type_of(HD_STRING), .s = " ", .n = 1});
    whole.nargs = 3;
    return ft_TEXT(t, &whole, all, out);
}

/* ---- hash ----------------------------------------------------------------------------- */

static int ft_HASH(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    for (int i = 0; i < x->nargs; i++)
        a[i] = fe_expr_key(t->arena, fe_settle(t, a[i], HD_INT64)); /* NULLs of all types have one hash */
    *out = fe_make(t, x, FE_HASH_OF, hd_type_of(HD_INT64), x->nargs, a);
    return 0;
}

/* ---- choice and cast ------------------------------------------------------------------ */

static bool is_value_of_case(int i, int n)
{
    return i % 2 == 1 || (i == n - 1 && n % 2 == 1);
}

static int unify_branches(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct hd_type *type)
{
    bool all = x->op != FE_CASE && x->op != FE_IIF;
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
                               fe_op_name(x->op), hd_type_text(*type, l), fe_type_name(a[i], r));
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
        a[i] = fe_settle(t, a[i], HD_BOOL);
        if (a[i]->type.kind != HD_BOOL)
            return fe_mismatch(t, x, x->op == FE_IIF ? "a condition first" : "conditions after when", 1, &a[i]);
    }
    HD_TRY(unify_branches(t, x, a, &type));
    *out = fe_make(t, x, FE_CASE, type, x->nargs, a);
    return 0;
}

/* The first value, of its type, unless it equals the second. */
static int ft_NULLIF(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    HD_TRY(fe_settle_nulls(t, x, a));
    struct fe_expr *value = a[0];
    if (!fe_expr_unify_compare(t->arena, &a[0], &a[1]))
        return fe_mismatch(t, x, "two numbers or two values of one type", 2, a);
    struct fe_expr *all[3] = {fe_make2(t, x, FE_EQ, hd_type_of(HD_BOOL), a[0], a[1]),
                              fe_make_literal(t, x, (struct fe_value){.type = value->type, .is_null = true}), value};
    *out = fe_make(t, x, FE_CASE, value->type, 3, all);
    return 0;
}

static int ft_COALESC(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct hd_type type;
    HD_TRY(unify_branches(t, x, a, &type));
    *out = x->nargs == 1 ? a[0] : fe_make(t, x, FE_COALESCE, type, x->nargs, a);
    return 0;
}

/* Of the first n values, by halves: each node has two arguments, and many do not nest deeply. */
static struct fe_expr *extreme_of(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, int n)
{
    if (n == 1)
        return a[0];
    struct fe_expr *l = extreme_of(t, x, a, n / 2), *r = extreme_of(t, x, a + n / 2, n - n / 2);
    return fe_make2(t, x, x->op, l->type, l, r);
}

static int ft_EXTREME(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct hd_type type;
    HD_TRY(unify_branches(t, x, a, &type));
    *out = extreme_of(t, x, a, x->nargs);
    return 0;
}

/* Whether a number is not 0. */
static int truth_of(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *number, struct fe_expr **out)
{
    const struct fe_value *v = &number->value;
    struct fe_expr *zero = fe_make_int(t, x, 0);
    struct fe_value truth = {.type = hd_type_of(HD_BOOL), .is_null = v->is_null};
    if (number->op == FE_LIT) {
        truth.i = hd_type_is_float(v->type) ? v->f != 0 : v->i != 0;
        *out = fe_make_literal(t, x, truth);
        return 0;
    }
    if (!fe_expr_unify_compare(t->arena, &number, &zero))
        HD_BUG("a number that does not compare with 0");
    *out = fe_make2(t, x, FE_NE, truth.type, number, zero);
    return 0;
}

/* 1 for true, 0 for false. */
static int number_of(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *truth, struct fe_expr **out)
{
    struct fe_expr *one = fe_expr_cast(t->arena, fe_make_int(t, x, 1), x->type);
    struct fe_expr *zero = fe_expr_cast(t->arena, fe_make_int(t, x, 0), x->type);
    struct fe_expr *null = fe_make_literal(t, x, (struct fe_value){.type = x->type, .is_null = true});
    struct fe_expr *unknown = fe_make(t, x, FE_IS_NULL, hd_type_of(HD_BOOL), 1, &truth);
    if (x->op == FE_TRY_CAST && one->op != FE_LIT) /* decimals without a digit in front of the point */
        one = null;
    struct fe_expr *branches[] = {truth, one, unknown, null, zero};
    if (truth->op == FE_LIT) {
        *out = truth->value.is_null ? null : truth->value.i ? one : zero;
        return 0;
    }
    branches[2] = truth->nullable ? unknown : zero;
    *out = fe_make(t, x, FE_CASE, x->type, truth->nullable ? 5 : 3, branches);
    return 0;
}

static int ft_CAST(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    char from[HD_TEXT_MAX], to[HD_TEXT_MAX];
    if (a[0]->type.kind == HD_BOOL && hd_type_is_num(x->type))
        return number_of(t, x, a[0], out);
    if (hd_type_is_num(a[0]->type) && x->type.kind == HD_BOOL)
        return truth_of(t, x, a[0], out);
    if (!fe_is_no_type(a[0]->type) && !fe_type_castable(a[0]->type, x->type))
        return fe_ast_fail(x, t->err, "there is no cast from %s to %s", hd_type_text(a[0]->type, from),
                           hd_type_text(x->type, to));
    *out = fe_expr_cast(t->arena, a[0], x->type);
    return 0;
}

/* NULL where the cast fails. */
static int ft_TRY_CAST(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    struct fe_expr *cast;
    struct fe_value none = {.type = x->type, .is_null = true};
    HD_TRY(ft_CAST(t, x, a, &cast));
    *out = cast;
    if ((cast->op != FE_CAST && cast->op != FE_DECODE) || !fe_type_cast_may_fail(a[0]->type, x->type))
        return 0;
    *out = a[0]->op == FE_LIT ? fe_make_literal(t, x, none) : fe_make(t, x, FE_TRY_CAST, x->type, 1, a);
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
        return fe_ast_fail(x, t->err,
                           "the list parameter :%s can only stand on the right side of in, and as the rows of values",
                           x->name);
    struct fe_expr *e = fe_make_node(t, x, FE_PARAM, p->type, 0, NULL);
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
        *out = fe_make_literal(t, x, x->lit);
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

/* date + interval, interval + date, date - interval; and sums of intervals one of which is written with its unit. */
static int type_with_interval(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **out)
{
    bool swapped = x->op == FE_ADD && x->args[0]->interval;
    const struct fe_ast *interval = x->args[swapped ? 0 : 1], *date = x->args[swapped ? 1 : 0];
    struct fe_expr *a[2];
    if (interval->interval && !date->interval) {
        HD_TRY(type_node(t, date, false, &a[0]));
        HD_TRY(type_node(t, interval->args[0], false, &a[1]));
        if (a[0]->type.kind != HD_INTERVAL)
            return fe_type_interval(t, x, interval, a, out);
    }
    HD_TRY(type_node(t, x->args[0], false, &a[0]));
    HD_TRY(type_node(t, x->args[1], false, &a[1]));
    return ft_ADDSUB(t, x, a, out);
}

static int type_node(struct fe_typing *t, const struct fe_ast *x, bool list_allowed, struct fe_expr **out)
{
    static typing_rule *const rules[] = {
#define T_OP(id, text, min, max, syntax, typing, ...) ft_##typing,
#include "frontend/ops.def"
    };
    if (x->interval) {
        struct fe_expr *n;
        HD_TRY(type_node(t, x->args[0], false, &n));
        return fe_interval_value(t, x, n, out);
    }
    if (x->op == FE_COL || x->op == FE_LIT || x->op == FE_PARAM)
        return type_leaf(t, x, list_allowed, out);
    if ((x->op == FE_ADD || x->op == FE_SUB) && has_interval(x))
        return type_with_interval(t, x, out);
    struct fe_expr **args = HD_NEWN(t->arena, struct fe_expr *, x->nargs);
    for (int i = 0; i < x->nargs; i++)
        HD_TRY(type_node(t, x->args[i], x->op == FE_IN && i == 1 && x->nargs == 2, &args[i]));
    if (x->op == FE_ADD && fe_is_date_and_time(args)) {
        fe_type_date_and_time(t, x, args, out);
        return 0;
    }
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
