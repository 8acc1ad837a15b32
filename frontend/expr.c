#include "frontend/expr.h"

#include <stdio.h>
#include <string.h>

#include "frontend/ast.h"
#include "frontend/value.h"
#include "runtime/base/strbuf.h"

static const struct fe_op_form forms[] = {
#define T_OP(id, text, lo, hi, syntax, typing, nulls, fails, cost, entries, types, lowering, device, cuda, lanes, \
             llvm) \
    {text, lo, hi, FE_SYNTAX_##syntax, FE_NULLS_##nulls, FE_FAILS_##fails, FE_COST_##cost, entries, FE_LANES_##lanes, \
     types},
#include "frontend/ops.def"
};

const struct fe_op_form *fe_op_form(enum fe_op op)
{
    return &forms[op];
}

const char *fe_op_name(enum fe_op op)
{
    return forms[op].name;
}

bool fe_op_compares(enum fe_op op)
{
    return forms[op].cost == FE_COST_COMPARE;
}

bool fe_op_takes(enum fe_op op, int n, char what[FE_ARITY_TEXT])
{
    const struct fe_op_form *f = &forms[op];
    char range[32];
    if (n >= f->min && (f->max < 0 || n <= f->max))
        return true;
    snprintf(range, sizeof range, f->max < 0 ? "%d or more" : f->max > f->min ? "%d to %d" : "%d", f->min, f->max);
    snprintf(what, FE_ARITY_TEXT, "expected %s arguments of \"%s\", found %d", range, f->name, n);
    return false;
}

/* ---- nulls ---------------------------------------------------------------------------- */

static int count(int n, const bool *set, int first, int step)
{
    int k = 0;
    for (int i = first; i < n; i += step)
        k += set[i];
    return k;
}

bool fe_op_nullable(enum fe_op op, int n, const bool *nullable)
{
    switch (forms[op].nulls) {
    case FE_NULLS_STRICT:
    case FE_NULLS_KLEENE:
    case FE_NULLS_MEMBER: return count(n, nullable, 0, 1) > 0;
    case FE_NULLS_PARTIAL: return true;
    case FE_NULLS_CASE: return n % 2 == 0 || nullable[n - 1] || count(n, nullable, 1, 2) > 0;
    case FE_NULLS_COALESCE: return count(n, nullable, 0, 1) == n;
    case FE_NULLS_NEVER: return false;
    case FE_NULLS_OWN: break;
    }
    HD_BUG("whether \"%s\" is nullable", forms[op].name);
}

/* ---- equality ------------------------------------------------------------------------- */

static bool leaf_eq(const struct fe_expr *a, const struct fe_expr *b)
{
    if (a->op == FE_COL)
        return a->col == b->col;
    if (a->op == FE_PARAM)
        return a->param == b->param;
    return a->op != FE_LIT || fe_value_eq(&a->value, &b->value);
}

bool fe_expr_eq(const struct fe_expr *a, const struct fe_expr *b)
{
    if (a == b)
        return true;
    if (a->op != b->op || !hd_type_eq(a->type, b->type) || a->nargs != b->nargs || a->field != b->field ||
        a->escape != b->escape || a->saturate != b->saturate || !leaf_eq(a, b))
        return false;
    for (int i = 0; i < a->nargs; i++)
        if (!fe_expr_eq(a->args[i], b->args[i]))
            return false;
    return true;
}

/* ---- text ----------------------------------------------------------------------------- */

static bool is_plain_name(const char *s)
{
    size_t word = 0;
    for (size_t i = 0;; i++) {
        bool letter = (s[i] | 32) >= 'a' && (s[i] | 32) <= 'z';
        bool start = letter || s[i] == '_';
        if (start || (s[i] >= '0' && s[i] <= '9' && i > word))
            continue;
        if (i == word)
            return false;
        if (!s[i])
            return !fe_ast_is_reserved(s, i);
        if (s[i] != '.')
            return false;
        word = i + 1;
    }
}

static void print_quoted(struct hd_strbuf *b, const char *s, size_t n, char quote)
{
    hd_strbuf_addc(b, quote);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == quote)
            hd_strbuf_addc(b, quote);
        hd_strbuf_addc(b, s[i]);
    }
    hd_strbuf_addc(b, quote);
}

void fe_name_print(struct hd_strbuf *out, const char *name)
{
    if (is_plain_name(name))
        hd_strbuf_adds(out, name);
    else
        print_quoted(out, name, strlen(name), '"');
}

enum level { L_OR, L_AND, L_NOT, L_PREDICATE, L_BITS, L_ADD, L_MUL, L_UNARY, L_PRIMARY };

struct printer {
    struct hd_strbuf *b;
    const char *const *names;
};

static void print_at(struct printer *p, const struct fe_expr *e, enum level min);

static void print_column(struct printer *p, const struct fe_expr *e)
{
    if (!p->names)
        hd_strbuf_addf(p->b, "$%d", e->col);
    else
        fe_name_print(p->b, p->names[e->col]);
}

static void print_double(struct printer *p, double d)
{
    char buf[HD_TEXT_MAX];
    const char *s = fe_real_text(hd_type_of(HD_FLOAT64), d, buf);
    if (s[strspn(s, "-")] == 'n' || s[strspn(s, "-")] == 'i')
        hd_strbuf_addf(p->b, "cast('%s' as float64)", s);
    else
        hd_strbuf_addf(p->b, "%s%s", s, strchr(s, 'e') ? "" : "e0");
}

/* A literal that an operator with a decimal made one: of the precision that integers have as
 * decimals, which its own digits would not give it. Printed as what it was, or it would be read
 * as a narrower one. */
static bool was_integer(const struct fe_value *v, hd_i128 *n)
{
    struct hd_type wide = fe_type_as_decimal(hd_type_of(HD_INT64));
    struct hd_type narrow = hd_decimal(wide.precision - 1, 0);
    hd_i128 one = 1;
    if (v->type.kind != HD_DECIMAL || v->type.precision != wide.precision + v->type.scale)
        return false;
    for (int i = 0; i < v->type.scale; i++)
        one *= 10;
    *n = v->i / one;
    return *n * one == v->i && fe_value_in_range(*n, narrow);
}

static void print_literal(struct printer *p, const struct fe_value *v)
{
    struct fe_value whole = {.type = hd_type_of(HD_INT64)};
    char type[HD_TEXT_MAX];
    if (v->is_null) {
        hd_strbuf_addf(p->b, "cast(null as %s)", hd_type_text(v->type, type));
    } else if (v->type.kind == HD_STRING) {
        print_quoted(p->b, v->s, v->n, '\'');
    } else if (v->type.kind == HD_BINARY) {
        hd_strbuf_adds(p->b, "x'");
        fe_value_hex(p->b, v);
        hd_strbuf_addc(p->b, '\'');
    } else if (v->type.kind == HD_FLOAT32) {
        hd_strbuf_adds(p->b, "cast('");
        fe_value_text(p->b, v);
        hd_strbuf_adds(p->b, "' as float32)");
    } else if (v->type.kind == HD_FLOAT64) {
        print_double(p, v->f);
    } else if (v->type.kind == HD_DATE || v->type.kind == HD_TIMESTAMP || v->type.kind == HD_TIME ||
               v->type.kind == HD_INTERVAL) {
        hd_strbuf_addf(p->b, "%s '", hd_type_text(v->type, type));
        fe_value_text(p->b, v);
        hd_strbuf_addc(p->b, '\'');
    } else if (was_integer(v, &whole.i)) {
        fe_value_text(p->b, &whole);
    } else {
        fe_value_text(p->b, v);
        if (v->type.kind == HD_DECIMAL && !v->type.scale)
            hd_strbuf_addc(p->b, '.'); /* `7` would be an int64 */
    }
}

static void print_list(struct printer *p, int from, const struct fe_expr *e)
{
    hd_strbuf_addc(p->b, '(');
    for (int i = from; i < e->nargs; i++) {
        if (i > from)
            hd_strbuf_adds(p->b, ", ");
        print_at(p, e->args[i], L_OR);
    }
    hd_strbuf_addc(p->b, ')');
}

/* Left associative: the right operand needs one level more. */
static void print_infix(struct printer *p, const struct fe_expr *e, const char *op, enum level left, enum level right)
{
    for (int i = 0; i < e->nargs; i++) {
        if (i)
            hd_strbuf_addf(p->b, " %s ", op);
        print_at(p, e->args[i], i ? right : left);
    }
}

static void print_interval(struct printer *p, const struct fe_expr *e)
{
    enum fe_field unit = e->op == FE_ADD_DAYS ? FE_DAY : e->op == FE_ADD_MONTHS ? FE_MONTH : FE_MICROSECOND;
    const struct fe_expr *n = e->args[1];
    print_at(p, e->args[0], L_ADD);
    hd_strbuf_adds(p->b, " + interval ");
    if (n->op == FE_LIT && !n->value.is_null) {
        hd_strbuf_addc(p->b, '\'');
        print_literal(p, &n->value);
        hd_strbuf_addc(p->b, '\'');
    } else {
        print_at(p, n, L_PRIMARY);
    }
    hd_strbuf_addf(p->b, " %s", fe_field_name(unit));
}

static void print_suffix(struct printer *p, const struct fe_expr *e, const char *text)
{
    print_at(p, e->args[0], L_ADD);
    hd_strbuf_adds(p->b, text);
}

static void print_in(struct printer *p, const struct fe_expr *e, const char *op)
{
    print_at(p, e->args[0], L_ADD);
    hd_strbuf_addf(p->b, " %s ", op);
    if (e->args[1]->param_list)
        print_at(p, e->args[1], L_PRIMARY);
    else
        print_list(p, 1, e);
}

static void print_like(struct printer *p, const struct fe_expr *e, const char * not)
{
    char op[16];
    snprintf(op, sizeof op, "%s%s", not, fe_op_name(e->op));
    struct fe_expr two = *e;
    two.nargs = 2;
    print_infix(p, &two, op, L_ADD, L_ADD);
    if (e->escape) {
        hd_strbuf_adds(p->b, " escape ");
        print_quoted(p->b, &e->escape, 1, '\'');
    }
    if (e->nargs == 3)
        hd_strbuf_addf(p->b, " escape :%s", e->args[2]->param_name);
}

static void print_not(struct printer *p, const struct fe_expr *e)
{
    const struct fe_expr *x = e->args[0];
    if (x->op == FE_IS_NULL) {
        print_suffix(p, x, " is not null");
    } else if (x->op == FE_IN) {
        print_in(p, x, "not in");
    } else if (forms[x->op].syntax == FE_SYNTAX_LIKE) {
        print_like(p, x, "not ");
    } else {
        hd_strbuf_adds(p->b, "not ");
        print_at(p, x, L_NOT);
    }
}

static void print_case(struct printer *p, const struct fe_expr *e)
{
    hd_strbuf_adds(p->b, "case");
    for (int i = 0; i + 1 < e->nargs; i += 2) {
        hd_strbuf_adds(p->b, " when ");
        print_at(p, e->args[i], L_OR);
        hd_strbuf_adds(p->b, " then ");
        print_at(p, e->args[i + 1], L_OR);
    }
    if (e->nargs % 2) {
        hd_strbuf_adds(p->b, " else ");
        print_at(p, e->args[e->nargs - 1], L_OR);
    }
    hd_strbuf_adds(p->b, " end");
}

static void print_cast(struct printer *p, const struct fe_expr *e)
{
    char type[HD_TEXT_MAX];
    hd_strbuf_addf(p->b, "%s(", fe_op_name(e->op));
    print_at(p, e->args[0], L_OR);
    hd_strbuf_addf(p->b, " as %s)", hd_type_text(e->type, type));
}

static const struct {
    const char *name;
    bool of_date, unit;
} fields[] = {
#define T_FIELD(id, name, of_date, unit, range) {name, of_date, unit},
#include "frontend/fields.def"
};

const char *fe_field_name(enum fe_field f)
{
    return fields[f].name;
}

bool fe_field_of_date(enum fe_field f)
{
    return fields[f].of_date;
}

bool fe_field_is_unit(enum fe_field f)
{
    return fields[f].unit;
}

static void print_trunc(struct printer *p, const struct fe_expr *e)
{
    hd_strbuf_addf(p->b, "date_trunc('%s', ", fe_field_name(e->field));
    print_at(p, e->args[0], L_OR);
    hd_strbuf_addc(p->b, ')');
}

static void print_extract(struct printer *p, const struct fe_expr *e)
{
    hd_strbuf_addf(p->b, "extract(%s from ", fe_field_name(e->field));
    print_at(p, e->args[0], L_OR);
    hd_strbuf_addc(p->b, ')');
}

static void print_units(struct printer *p, const struct fe_expr *e)
{
    hd_strbuf_addf(p->b, "date_diff('%s', ", fe_field_name(e->field));
    print_at(p, e->args[0], L_OR);
    hd_strbuf_adds(p->b, ", ");
    print_at(p, e->args[1], L_OR);
    hd_strbuf_addc(p->b, ')');
}

static void print_call(struct printer *p, const struct fe_expr *e)
{
    hd_strbuf_adds(p->b, fe_op_name(e->op));
    print_list(p, 0, e);
}

static enum level level_of(const struct fe_expr *e)
{
    switch (forms[e->op].syntax) {
    case FE_SYNTAX_OR: return L_OR;
    case FE_SYNTAX_AND: return L_AND;
    case FE_SYNTAX_NOT: {
        enum fe_syntax below = forms[e->args[0]->op].syntax;
        bool suffix = below == FE_SYNTAX_IS_NULL || below == FE_SYNTAX_IN || below == FE_SYNTAX_LIKE;
        return suffix ? L_PREDICATE : L_NOT;
    }
    case FE_SYNTAX_COMPARE:
    case FE_SYNTAX_IS_NULL:
    case FE_SYNTAX_IN:
    case FE_SYNTAX_LIKE: return L_PREDICATE;
    case FE_SYNTAX_BITS:
    case FE_SYNTAX_COMPLEMENT: return L_BITS;
    case FE_SYNTAX_SUM:
    case FE_SYNTAX_INTERVAL: return L_ADD;
    case FE_SYNTAX_PRODUCT: return L_MUL;
    case FE_SYNTAX_SIGN: return L_UNARY;
    case FE_SYNTAX_NONE:
    case FE_SYNTAX_NAME:
    case FE_SYNTAX_LITERAL:
    case FE_SYNTAX_PARAMETER:
    case FE_SYNTAX_CASE:
    case FE_SYNTAX_CALL:
    case FE_SYNTAX_CAST:
    case FE_SYNTAX_EXTRACT:
    case FE_SYNTAX_TRUNC:
    case FE_SYNTAX_SHIFT:
    case FE_SYNTAX_UNITS:
    case FE_SYNTAX_POSITION:
    case FE_SYNTAX_SUBSTRING: break;
    }
    return L_PRIMARY;
}

static void print_prefix(struct printer *p, const struct fe_expr *e, const char *text, enum level argument)
{
    hd_strbuf_adds(p->b, text);
    print_at(p, e->args[0], argument);
}

static void print_node(struct printer *p, const struct fe_expr *e)
{
    switch (forms[e->op].syntax) {
    case FE_SYNTAX_NAME: print_column(p, e); return;
    case FE_SYNTAX_LITERAL: print_literal(p, &e->value); return;
    case FE_SYNTAX_PARAMETER: hd_strbuf_addf(p->b, ":%s", e->param_name ? e->param_name : "?"); return;
    case FE_SYNTAX_OR: print_infix(p, e, fe_op_name(e->op), L_AND, L_AND); return;
    case FE_SYNTAX_AND: print_infix(p, e, fe_op_name(e->op), L_NOT, L_NOT); return;
    case FE_SYNTAX_NOT: print_not(p, e); return;
    case FE_SYNTAX_COMPARE: print_infix(p, e, fe_op_name(e->op), L_ADD, L_ADD); return;
    case FE_SYNTAX_BITS: print_infix(p, e, fe_op_name(e->op), L_BITS, L_ADD); return;
    case FE_SYNTAX_SUM: print_infix(p, e, fe_op_name(e->op), L_ADD, L_MUL); return;
    case FE_SYNTAX_PRODUCT: print_infix(p, e, fe_op_name(e->op), L_MUL, L_UNARY); return;
    case FE_SYNTAX_INTERVAL: print_interval(p, e); return;
    case FE_SYNTAX_SIGN: print_prefix(p, e, "- ", L_UNARY); return;
    case FE_SYNTAX_COMPLEMENT: print_prefix(p, e, "~", L_ADD); return;
    case FE_SYNTAX_IS_NULL: print_suffix(p, e, " is null"); return;
    case FE_SYNTAX_IN: print_in(p, e, "in"); return;
    case FE_SYNTAX_LIKE: print_like(p, e, ""); return;
    case FE_SYNTAX_CASE: print_case(p, e); return;
    case FE_SYNTAX_CAST: print_cast(p, e); return;
    case FE_SYNTAX_EXTRACT: print_extract(p, e); return;
    case FE_SYNTAX_TRUNC: print_trunc(p, e); return;
    case FE_SYNTAX_UNITS: print_units(p, e); return;
    case FE_SYNTAX_NONE:
    case FE_SYNTAX_SHIFT:
    case FE_SYNTAX_POSITION:
    case FE_SYNTAX_CALL:
    case FE_SYNTAX_SUBSTRING: print_call(p, e); return;
    }
}

static void print_at(struct printer *p, const struct fe_expr *e, enum level min)
{
    bool parens = level_of(e) < min;
    if (parens)
        hd_strbuf_addc(p->b, '(');
    print_node(p, e);
    if (parens)
        hd_strbuf_addc(p->b, ')');
}

void fe_expr_print(struct hd_strbuf *out, const struct fe_expr *e, const char *const *names)
{
    struct printer p = {out, names};
    print_at(&p, e, L_OR);
}
