#include "frontend/expr.h"

#include <string.h>

#include "frontend/ast.h"
#include "frontend/value.h"
#include "runtime/base/strbuf.h"

static const struct fe_op_form forms[] = {
#define T_OP(id, text, lo, hi, typing, nulls, fails, cost, entries, ...) \
    {text, FE_NULLS_##nulls, FE_FAILS_##fails, FE_COST_##cost, entries},
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
        a->escape != b->escape || !leaf_eq(a, b))
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

enum level { L_OR, L_AND, L_NOT, L_PREDICATE, L_ADD, L_MUL, L_UNARY, L_PRIMARY };

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
    const char *s = fe_double_text(d, buf);
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
    } else if (v->type.kind == HD_FLOAT64) {
        print_double(p, v->f);
    } else if (v->type.kind == HD_DATE || v->type.kind == HD_TIMESTAMP) {
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

static void print_interval(struct printer *p, const struct fe_expr *e, const char *unit)
{
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
    hd_strbuf_addf(p->b, " %s", unit);
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

static void print_like(struct printer *p, const struct fe_expr *e, const char *op)
{
    print_infix(p, e, op, L_ADD, L_ADD);
    if (e->escape) {
        hd_strbuf_adds(p->b, " escape ");
        print_quoted(p->b, &e->escape, 1, '\'');
    }
}

static void print_not(struct printer *p, const struct fe_expr *e)
{
    const struct fe_expr *x = e->args[0];
    if (x->op == FE_IS_NULL) {
        print_at(p, x->args[0], L_ADD);
        hd_strbuf_adds(p->b, " is not null");
    } else if (x->op == FE_IN) {
        print_in(p, x, "not in");
    } else if (x->op == FE_LIKE) {
        print_like(p, x, "not like");
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

static void print_call(struct printer *p, const struct fe_expr *e)
{
    static const char *const fields[] = {"year", "month", "day"};
    char type[HD_TEXT_MAX];
    hd_strbuf_adds(p->b, fe_op_name(e->op));
    if (e->op != FE_CAST && e->op != FE_EXTRACT) {
        print_list(p, 0, e);
        return;
    }
    hd_strbuf_addc(p->b, '(');
    if (e->op == FE_EXTRACT)
        hd_strbuf_addf(p->b, "%s from ", fields[e->field]);
    print_at(p, e->args[0], L_OR);
    if (e->op == FE_CAST)
        hd_strbuf_addf(p->b, " as %s", hd_type_text(e->type, type));
    hd_strbuf_addc(p->b, ')');
}

static enum level level_of(const struct fe_expr *e)
{
    switch (e->op) {
    case FE_OR: return L_OR;
    case FE_AND: return L_AND;
    case FE_NOT: {
        enum fe_op below = e->args[0]->op;
        bool suffix = below == FE_IS_NULL || below == FE_IN || below == FE_LIKE;
        return suffix ? L_PREDICATE : L_NOT;
    }
    case FE_EQ:
    case FE_NE:
    case FE_LT:
    case FE_LE:
    case FE_GT:
    case FE_GE:
    case FE_IS_NULL:
    case FE_IN:
    case FE_LIKE: return L_PREDICATE;
    case FE_ADD:
    case FE_SUB:
    case FE_ADD_DAYS:
    case FE_ADD_MONTHS:
    case FE_DATE_DIFF: return L_ADD;
    case FE_MUL:
    case FE_DIV:
    case FE_MOD: return L_MUL;
    case FE_NEG: return L_UNARY;
    case FE_COL:
    case FE_LIT:
    case FE_PARAM:
    case FE_SUBSTRING:
    case FE_EXTRACT:
    case FE_CASE:
    case FE_COALESCE:
    case FE_CAST:
    case FE_WIDEN:
    case FE_NARROW:
    case FE_RESCALE:
    case FE_DIVROUND:
    case FE_TO_F64:
    case FE_FROM_F64:
    case FE_TO_STRING:
    case FE_FROM_STRING:
    case FE_DICT_STRING:
    case FE_LOOKUP:
    case FE_IN_SET:
    case FE_LOW_WORD:
    case FE_HIGH_WORD:
    case FE_OF_PARTS:
    case FE_OP_COUNT: break;
    }
    return L_PRIMARY;
}

static void print_operator(struct printer *p, const struct fe_expr *e)
{
    switch (level_of(e)) {
    case L_OR: print_infix(p, e, "or", L_AND, L_AND); return;
    case L_AND: print_infix(p, e, "and", L_NOT, L_NOT); return;
    case L_NOT: print_not(p, e); return;
    case L_PREDICATE: print_infix(p, e, fe_op_name(e->op), L_ADD, L_ADD); return;
    case L_ADD: print_infix(p, e, fe_op_name(e->op), L_ADD, L_MUL); return;
    case L_MUL: print_infix(p, e, fe_op_name(e->op), L_MUL, L_UNARY); return;
    case L_UNARY:
        hd_strbuf_adds(p->b, "- ");
        print_at(p, e->args[0], L_UNARY);
        return;
    case L_PRIMARY: print_call(p, e); return;
    }
}

static void print_node(struct printer *p, const struct fe_expr *e)
{
    if (e->op == FE_COL) {
        print_column(p, e);
    } else if (e->op == FE_LIT) {
        print_literal(p, &e->value);
    } else if (e->op == FE_PARAM) {
        hd_strbuf_addf(p->b, ":%s", e->param_name ? e->param_name : "?");
    } else if (e->op == FE_NOT) {
        print_not(p, e);
    } else if (e->op == FE_IS_NULL) {
        print_at(p, e->args[0], L_ADD);
        hd_strbuf_adds(p->b, " is null");
    } else if (e->op == FE_IN) {
        print_in(p, e, "in");
    } else if (e->op == FE_LIKE) {
        print_like(p, e, "like");
    } else if (e->op == FE_ADD_DAYS || e->op == FE_ADD_MONTHS) {
        print_interval(p, e, e->op == FE_ADD_DAYS ? "day" : "month");
    } else if (e->op == FE_DATE_DIFF) {
        print_infix(p, e, "-", L_ADD, L_MUL);
    } else if (e->op == FE_CASE) {
        print_case(p, e);
    } else {
        print_operator(p, e);
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
