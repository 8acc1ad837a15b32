/* Parser of the SQL-like expression syntax of docs/plan.md 2.1: one token of look-ahead,
 * recursive descent, one function per level of precedence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/expr_literal.h"
#include "frontend/value.h"
#include "runtime/base/vec.h"

static int parse_or(struct fe_lexer *p, struct fe_ast **out);
static int parse_bits(struct fe_lexer *p, struct fe_ast **out);
static int parse_additive(struct fe_lexer *p, struct fe_ast **out);
static int parse_unary(struct fe_lexer *p, struct fe_ast **out);
static int parse_primary(struct fe_lexer *p, struct fe_ast **out);

/* ---- tokens --------------------------------------------------------------------------- */

static bool is_punct(const struct fe_lexer *p, const char *s)
{
    return p->tok == T_PUNCT && strcmp(p->s, s) == 0;
}

static bool is_word(const struct fe_lexer *p, const char *w)
{
    return p->tok == T_NAME && strcasecmp(p->s, w) == 0;
}

static int expected_spelling(struct fe_lexer *p, const char *s)
{
    char what[16];
    snprintf(what, sizeof what, "\"%s\"", s);
    return fe_lex_expected(p, what);
}

static int need_punct(struct fe_lexer *p, const char *s)
{
    return is_punct(p, s) ? fe_lex_next(p) : expected_spelling(p, s);
}

static int need_word(struct fe_lexer *p, const char *w)
{
    return is_word(p, w) ? fe_lex_next(p) : expected_spelling(p, w);
}

static bool next_char_is(const struct fe_lexer *p, char c)
{
    int i = p->pos + p->len;
    while (p->text[i] && strchr(" \t\r\n", p->text[i]))
        i++;
    return p->text[i] == c;
}

/* ---- nodes ---------------------------------------------------------------------------- */

static int finish(struct fe_lexer *p, struct fe_ast *x, int n, struct fe_ast *const *args, struct fe_ast **out)
{
    fe_ast_set_args(p->arena, x, n, args);
    *out = x;
    return fe_ast_check_size(x, p->err);
}

static int make(struct fe_lexer *p, enum fe_op op, int pos, int n, struct fe_ast *const *args, struct fe_ast **out)
{
    return finish(p, fe_ast_new(p->arena, op, p->path, pos), n, args, out);
}

static int make2(struct fe_lexer *p, enum fe_op op, int pos, struct fe_ast *l, struct fe_ast *r, struct fe_ast **out)
{
    return make(p, op, pos, 2, (struct fe_ast *[]){l, r}, out);
}

/* Each level of parentheses, prefix operators and function arguments passes here. */
static int enter(struct fe_lexer *p)
{
    if (++p->depth > FE_EXPR_MAX_DEPTH)
        return fe_lex_fail(p, p->pos, "the expression is nested too deeply");
    return 0;
}

static int parse_word_literal(struct fe_lexer *p, struct fe_ast **out)
{
    struct fe_value v = {.type = hd_type_of(HD_BOOL), .i = is_word(p, "true")};
    if (is_word(p, "null"))
        v = (struct fe_value){.type = fe_no_type(), .is_null = true};
    *out = fe_parsed_literal(p, p->pos, v);
    return fe_lex_next(p);
}

/* ---- interval ------------------------------------------------------------------------- */

/* An integer, whose unit follows, or a whole interval. */
static int parse_interval_text(struct fe_lexer *p, struct fe_ast **out)
{
    struct fe_value v;
    if (!fe_value_parse(p->arena, hd_type_of(HD_INT64), p->s, p->n, &v) &&
        !fe_value_parse(p->arena, hd_type_of(HD_INTERVAL), p->s, p->n, &v))
        return fe_lex_expected(p, "an interval amount such as '3', or an interval such as '1 year 2 days 04:05:06'");
    *out = fe_parsed_literal(p, p->pos, v);
    return fe_lex_next(p);
}

/* Maybe in the plural. */
static bool is_unit(const struct fe_lexer *p, enum fe_field f)
{
    const char *name = fe_field_name(f);
    const size_t n = strlen(name);
    bool many = p->tok == T_NAME && p->n == n + 1 && (p->s[n] | 32) == 's' && f != FE_CENTURY;
    return fe_field_is_unit(f) && (is_word(p, name) || (many && strncasecmp(p->s, name, n) == 0));
}

static int parse_unit(struct fe_lexer *p, enum fe_field *out)
{
    for (int f = 0; f < FE_FIELD_COUNT; f++)
        if (is_unit(p, (enum fe_field)f)) {
            *out = (enum fe_field)f;
            return fe_lex_next(p);
        }
    return fe_lex_expected(p, "a unit such as year, month or day");
}

static int parse_interval(struct fe_lexer *p, struct fe_ast **out)
{
    struct fe_ast *amount, *x = fe_ast_new(p->arena, FE_OP_COUNT, p->path, p->pos);
    x->interval = true;
    HD_TRY(fe_lex_next(p));
    HD_TRY(p->tok == T_TEXT ? parse_interval_text(p, &amount) : parse_unary(p, &amount));
    if (amount->op == FE_LIT && amount->lit.type.kind == HD_INTERVAL) {
        *out = amount;
        return 0;
    }
    HD_TRY(parse_unit(p, &x->field));
    return finish(p, x, 1, &amount, out);
}

/* ---- functions ------------------------------------------------------------------------ */

struct arglist {
    HD_VEC(struct fe_ast *) list;
};

/* expr {, expr} ")" */
/* A literal that is all of an argument: lists have many, and no operator to look for. */
static bool is_lone_literal(const struct fe_lexer *p)
{
    if (p->tok != T_NUMBER && p->tok != T_TEXT)
        return false;
    const char *after = p->text + p->pos + p->len;
    after += strspn(after, " \t\r\n");
    return *after == ',' || *after == ')';
}

static int parse_arguments(struct fe_lexer *p, struct arglist *a)
{
    for (;;) {
        struct fe_ast *x;
        HD_TRY(is_lone_literal(p) ? parse_primary(p, &x) : parse_or(p, &x));
        hd_vec_push(p->arena, &a->list, x);
        if (!is_punct(p, ","))
            return need_punct(p, ")");
        HD_TRY(fe_lex_next(p));
    }
}

static int parse_type_number(struct fe_lexer *p, const char *what, int *out)
{
    if (p->tok != T_NUMBER || p->len > 2)
        return fe_lex_expected(p, what);
    *out = atoi(p->text + p->pos);
    return fe_lex_next(p);
}

static int parse_type(struct fe_lexer *p, struct hd_type *out)
{
    char text[HD_TEXT_MAX];
    int pos = p->pos, precision = 0, scale = 0;
    if (p->tok != T_NAME || p->n >= 16)
        return fe_lex_expected(p, "a type");
    for (size_t i = 0; i <= p->n; i++)
        text[i] = (char)(p->s[i] >= 'A' && p->s[i] <= 'Z' ? p->s[i] | 32 : p->s[i]);
    HD_TRY(fe_lex_next(p));
    if (strcmp(text, "decimal") == 0) {
        HD_TRY(need_punct(p, "("));
        HD_TRY(parse_type_number(p, "a precision from 1 to 38", &precision));
        HD_TRY(need_punct(p, ","));
        HD_TRY(parse_type_number(p, "a scale from 0 to the precision", &scale));
        HD_TRY(need_punct(p, ")"));
        snprintf(text, sizeof text, "decimal(%d,%d)", precision, scale);
    }
    if (fe_type_parse(text, out))
        return 0;
    struct fe_ast at = {.path = p->path, .pos = pos};
    return fe_ast_fail(&at, p->err, "expected %s, found %s", fe_type_list, text);
}

static int parse_cast(struct fe_lexer *p, enum fe_op op, int pos, struct fe_ast **out)
{
    struct fe_ast *arg, *x = fe_ast_new(p->arena, op, p->path, pos);
    HD_TRY(parse_or(p, &arg));
    HD_TRY(need_word(p, "as"));
    HD_TRY(parse_type(p, &x->type));
    HD_TRY(need_punct(p, ")"));
    return finish(p, x, 1, &arg, out);
}

static int parse_any_field(struct fe_lexer *p, bool quoted, enum fe_field *out)
{
    for (int f = 0; f < FE_FIELD_COUNT; f++) {
        const char *name = fe_field_name((enum fe_field)f);
        bool text = p->tok == T_TEXT && (size_t)p->len == strlen(name) + 2 &&
                    strncasecmp(p->text + p->pos + 1, name, strlen(name)) == 0;
        if (quoted ? text : is_word(p, name)) {
            *out = (enum fe_field)f;
            return fe_lex_next(p);
        }
    }
    return fe_lex_expected(p, quoted ? "a field such as 'year' or 'month'" : "a field such as year or month");
}

/* f('field', x) */
static int parse_trunc(struct fe_lexer *p, enum fe_op op, int pos, struct fe_ast **out)
{
    struct fe_ast *arg, *x = fe_ast_new(p->arena, op, p->path, pos);
    HD_TRY(parse_any_field(p, true, &x->field));
    HD_TRY(need_punct(p, ","));
    HD_TRY(parse_or(p, &arg));
    HD_TRY(need_punct(p, ")"));
    return finish(p, x, 1, &arg, out);
}

/* f(x, n, 'field') */
static int parse_shift(struct fe_lexer *p, enum fe_op op, int pos, struct fe_ast **out)
{
    struct fe_ast *args[2], *x = fe_ast_new(p->arena, op, p->path, pos);
    for (int i = 0; i < 2; i++) {
        HD_TRY(parse_or(p, &args[i]));
        HD_TRY(need_punct(p, ","));
    }
    HD_TRY(parse_any_field(p, true, &x->field));
    HD_TRY(need_punct(p, ")"));
    return finish(p, x, 2, args, out);
}

/* f('field', a, b) */
static int parse_units(struct fe_lexer *p, int pos, struct fe_ast **out)
{
    struct fe_ast *args[2], *x = fe_ast_new(p->arena, FE_UNITS_BETWEEN, p->path, pos);
    HD_TRY(parse_any_field(p, true, &x->field));
    for (int i = 0; i < 2; i++) {
        HD_TRY(need_punct(p, ","));
        HD_TRY(parse_or(p, &args[i]));
    }
    HD_TRY(need_punct(p, ")"));
    return finish(p, x, 2, args, out);
}

/* f(t in s) */
static int parse_position(struct fe_lexer *p, enum fe_op op, int pos, struct fe_ast **out)
{
    struct fe_ast *args[2];
    HD_TRY(parse_bits(p, &args[0]));
    HD_TRY(need_word(p, "in"));
    HD_TRY(parse_or(p, &args[1]));
    HD_TRY(need_punct(p, ")"));
    return make(p, op, pos, 2, args, out);
}

static int parse_extract(struct fe_lexer *p, int pos, struct fe_ast **out)
{
    struct fe_ast *arg, *x = fe_ast_new(p->arena, FE_EXTRACT, p->path, pos);
    HD_TRY(parse_any_field(p, false, &x->field));
    HD_TRY(need_word(p, "from"));
    HD_TRY(parse_or(p, &arg));
    HD_TRY(need_punct(p, ")"));
    return finish(p, x, 1, &arg, out);
}

static int parse_substring(struct fe_lexer *p, int pos, struct fe_ast **out)
{
    struct fe_ast *args[3];
    int n = 2;
    HD_TRY(parse_or(p, &args[0]));
    bool words = is_word(p, "from");
    HD_TRY(words ? fe_lex_next(p) : need_punct(p, ","));
    HD_TRY(parse_or(p, &args[1]));
    if (words ? is_word(p, "for") : is_punct(p, ",")) {
        HD_TRY(fe_lex_next(p));
        HD_TRY(parse_or(p, &args[2]));
        n = 3;
    }
    HD_TRY(need_punct(p, ")"));
    return make(p, FE_SUBSTRING, pos, n, args, out);
}

static int parse_function(struct fe_lexer *p, enum fe_op op, int pos, struct fe_ast **out)
{
    struct arglist a = {{0}};
    char what[FE_ARITY_TEXT];
    HD_TRY(parse_arguments(p, &a));
    if (!fe_op_takes(op, a.list.n, what))
        return fe_lex_fail(p, pos, what);
    return make(p, op, pos, a.list.n, a.list.v, out);
}

/* Functions that are called by name; what stands in their parentheses is a matter of syntax. */
static bool is_function(enum fe_op op)
{
    enum fe_syntax s = fe_op_form(op)->syntax;
    return s == FE_SYNTAX_CALL || s == FE_SYNTAX_CAST || s == FE_SYNTAX_EXTRACT || s == FE_SYNTAX_TRUNC ||
           s == FE_SYNTAX_SHIFT || s == FE_SYNTAX_POSITION || s == FE_SYNTAX_SUBSTRING;
}

static int no_function(struct fe_lexer *p)
{
    static const char *const aggs[] = {
#define T_AGG(id, name, ...) name,
#include "frontend/aggs.def"
    };
    const char *names[FE_OP_COUNT];
    int n = 0;
    for (int i = 0; i < FE_AGG_COUNT_OF; i++)
        if (is_word(p, aggs[i]))
            return fe_lex_expected(p, "an expression of single rows (sums and the like are "
                                      "\"aggs\" of an operator aggregate)");
    for (int i = 0; i < FE_OP_COUNT; i++)
        if (is_function((enum fe_op)i))
            names[n++] = fe_op_name((enum fe_op)i);
    return fe_lex_expected_word(p, "a function (docs/functions.md lists them)", names, n);
}

/* What follows the opening parenthesis. */
static int parse_call_of(struct fe_lexer *p, enum fe_op op, int pos, struct fe_ast **out)
{
    enum fe_syntax s = fe_op_form(op)->syntax;
    if (s == FE_SYNTAX_CAST)
        return parse_cast(p, op, pos, out);
    if (s == FE_SYNTAX_EXTRACT)
        return parse_extract(p, pos, out);
    if (s == FE_SYNTAX_TRUNC)
        return parse_trunc(p, op, pos, out);
    if (s == FE_SYNTAX_SHIFT)
        return parse_shift(p, op, pos, out);
    if (s == FE_SYNTAX_POSITION)
        return parse_position(p, op, pos, out);
    if (op == FE_DATE_DIFF && p->tok == T_TEXT)
        return parse_units(p, pos, out);
    return s == FE_SYNTAX_SUBSTRING ? parse_substring(p, pos, out) : parse_function(p, op, pos, out);
}

static int parse_call(struct fe_lexer *p, struct fe_ast **out)
{
    int op = 0, pos = p->pos;
    while (op < FE_OP_COUNT && !(is_function((enum fe_op)op) && is_word(p, fe_op_name((enum fe_op)op))))
        op++;
    if (op == FE_OP_COUNT)
        return no_function(p);
    HD_TRY(fe_lex_next(p));
    HD_TRY(need_punct(p, "("));
    return parse_call_of(p, (enum fe_op)op, pos, out);
}

/* ---- case ----------------------------------------------------------------------------- */

/* `case x when v ...` compares x with each v. */
static int parse_when(struct fe_lexer *p, struct fe_ast *subject, struct arglist *a)
{
    struct fe_ast *cond, *value;
    int pos = p->pos;
    HD_TRY(need_word(p, "when"));
    HD_TRY(parse_or(p, &cond));
    if (subject)
        HD_TRY(make2(p, FE_EQ, pos, subject, cond, &cond));
    HD_TRY(need_word(p, "then"));
    HD_TRY(parse_or(p, &value));
    hd_vec_push(p->arena, &a->list, cond);
    hd_vec_push(p->arena, &a->list, value);
    return 0;
}

static int parse_case(struct fe_lexer *p, struct fe_ast **out)
{
    struct arglist a = {{0}};
    struct fe_ast *subject = NULL, *other;
    int pos = p->pos;
    HD_TRY(fe_lex_next(p));
    if (!is_word(p, "when"))
        HD_TRY(parse_or(p, &subject));
    do
        HD_TRY(parse_when(p, subject, &a));
    while (is_word(p, "when"));
    if (is_word(p, "else")) {
        HD_TRY(fe_lex_next(p));
        HD_TRY(parse_or(p, &other));
        hd_vec_push(p->arena, &a.list, other);
    }
    if (!is_word(p, "end"))
        return fe_lex_expected(p, "when, else or end");
    HD_TRY(fe_lex_next(p));
    return make(p, FE_CASE, pos, a.list.n, a.list.v, out);
}

/* ---- primary and arithmetic ----------------------------------------------------------- */

static int parse_reference(struct fe_lexer *p, enum fe_op op, struct fe_ast **out)
{
    struct fe_ast *x = fe_ast_new(p->arena, op, p->path, p->pos);
    x->name = p->s;
    *out = x;
    return fe_lex_next(p);
}

static int parse_name(struct fe_lexer *p, struct fe_ast **out)
{
    int pos = p->pos;
    if (is_word(p, "case"))
        return parse_case(p, out);
    if (is_word(p, "true") || is_word(p, "false") || is_word(p, "null"))
        return parse_word_literal(p, out);
    if (is_word(p, "interval"))
        return parse_interval(p, out);
    bool contextual = is_word(p, "date") || is_word(p, "timestamp") || is_word(p, "time");
    if (contextual && next_char_is(p, '\'')) {
        enum hd_type_kind k = is_word(p, "date") ? HD_DATE : is_word(p, "time") ? HD_TIME : HD_TIMESTAMP;
        HD_TRY(fe_lex_next(p));
        return fe_parse_typed_text(p, k, pos, out);
    }
    if (is_word(p, "x") && next_char_is(p, '\'')) {
        HD_TRY(fe_lex_next(p));
        return fe_parse_typed_text(p, HD_BINARY, pos, out);
    }
    if (next_char_is(p, '('))
        return parse_call(p, out);
    if (!contextual && fe_ast_is_reserved(p->s, p->n))
        return fe_lex_expected(p, "a value");
    return parse_reference(p, FE_COL, out);
}

static int parse_primary(struct fe_lexer *p, struct fe_ast **out)
{
    switch (p->tok) {
    case T_NAME: return parse_name(p, out);
    case T_QUOTED: return parse_reference(p, FE_COL, out);
    case T_PARAM: return parse_reference(p, FE_PARAM, out);
    case T_NUMBER: return fe_parse_number(p, false, p->pos, out);
    case T_TEXT: return fe_parse_text(p, out);
    case T_PUNCT:
        if (!is_punct(p, "("))
            break;
        HD_TRY(fe_lex_next(p));
        HD_TRY(parse_or(p, out));
        return need_punct(p, ")");
    case T_END: break;
    }
    return fe_lex_expected(p, "a value");
}

/* The operand of `~` goes as far as a sum does, as in DuckDB and PostgreSQL. */
static int parse_unary(struct fe_lexer *p, struct fe_ast **out)
{
    int pos = p->pos;
    HD_TRY(enter(p));
    if (is_punct(p, "~")) {
        HD_TRY(fe_lex_next(p));
        HD_TRY(parse_additive(p, out));
        HD_TRY(make(p, FE_BIT_NOT, pos, 1, out, out));
    } else if (is_punct(p, "-")) {
        HD_TRY(fe_lex_next(p));
        if (p->tok == T_NUMBER) {
            HD_TRY(fe_parse_number(p, true, pos, out));
        } else {
            HD_TRY(parse_unary(p, out));
            HD_TRY(make(p, FE_NEG, pos, 1, out, out));
        }
    } else {
        HD_TRY(parse_primary(p, out));
    }
    p->depth--;
    return 0;
}

static int parse_binary(struct fe_lexer *p, const char *const *spellings, const enum fe_op *ops, int n,
                        int (*operand)(struct fe_lexer *, struct fe_ast **), struct fe_ast **out)
{
    HD_TRY(operand(p, out));
    for (;;) {
        int k = 0, pos = p->pos;
        struct fe_ast *right;
        while (k < n && !is_punct(p, spellings[k]))
            k++;
        if (k == n)
            return 0;
        HD_TRY(fe_lex_next(p));
        HD_TRY(operand(p, &right));
        HD_TRY(make2(p, ops[k], pos, *out, right, out));
    }
}

static int parse_term(struct fe_lexer *p, struct fe_ast **out)
{
    static const char *const s[] = {"*", "/", "%"};
    static const enum fe_op ops[] = {FE_MUL, FE_DIV, FE_MOD};
    return parse_binary(p, s, ops, 3, parse_unary, out);
}

static int parse_additive(struct fe_lexer *p, struct fe_ast **out)
{
    static const char *const s[] = {"+", "-", "||"};
    static const enum fe_op ops[] = {FE_ADD, FE_SUB, FE_CONCAT};
    return parse_binary(p, s, ops, 3, parse_term, out);
}

static int parse_bits(struct fe_lexer *p, struct fe_ast **out)
{
    static const char *const s[] = {"&", "|", "<<", ">>"};
    static const enum fe_op ops[] = {FE_BIT_AND, FE_BIT_OR, FE_SHIFT_LEFT, FE_SHIFT_RIGHT};
    return parse_binary(p, s, ops, 4, parse_additive, out);
}

/* ---- predicates ----------------------------------------------------------------------- */

static int parse_between(struct fe_lexer *p, struct fe_ast *x, int pos, struct fe_ast **out)
{
    struct fe_ast *lo, *hi;
    HD_TRY(parse_bits(p, &lo));
    HD_TRY(need_word(p, "and"));
    HD_TRY(parse_bits(p, &hi));
    HD_TRY(make2(p, FE_GE, pos, x, lo, &lo));
    HD_TRY(make2(p, FE_LE, pos, x, hi, &hi));
    return make2(p, FE_AND, pos, lo, hi, out);
}

static int parse_in(struct fe_lexer *p, struct fe_ast *x, int pos, struct fe_ast **out)
{
    struct arglist a = {{0}};
    hd_vec_push(p->arena, &a.list, x);
    if (p->tok == T_PARAM) {
        struct fe_ast *list;
        HD_TRY(parse_reference(p, FE_PARAM, &list));
        hd_vec_push(p->arena, &a.list, list);
    } else {
        if (!is_punct(p, "("))
            return fe_lex_expected(p, "\"(\" or a list parameter");
        HD_TRY(fe_lex_next(p));
        HD_TRY(parse_arguments(p, &a));
    }
    return make(p, FE_IN, pos, a.list.n, a.list.v, out);
}

static int parse_like(struct fe_lexer *p, enum fe_op op, struct fe_ast *x, int pos, struct fe_ast **out)
{
    struct fe_ast *args[3] = {x};
    int n = 2;
    HD_TRY(parse_bits(p, &args[1]));
    if (is_word(p, "escape")) {
        HD_TRY(fe_lex_next(p));
        if (p->tok != T_TEXT && p->tok != T_PARAM)
            return fe_lex_expected(p, "a text of one character after escape");
        HD_TRY(parse_primary(p, &args[2]));
        n = 3;
    }
    return make(p, op, pos, n, args, out);
}

static int parse_is(struct fe_lexer *p, struct fe_ast *x, int pos, struct fe_ast **out)
{
    bool not = is_word(p, "not");
    if (not)
        HD_TRY(fe_lex_next(p));
    if (is_word(p, "distinct")) {
        struct fe_ast *right;
        HD_TRY(fe_lex_next(p));
        HD_TRY(need_word(p, "from"));
        HD_TRY(parse_bits(p, &right));
        HD_TRY(make2(p, FE_NOT_DISTINCT, pos, x, right, out));
        return not ? 0 : make(p, FE_NOT, pos, 1, out, out);
    }
    if (!is_word(p, "null"))
        return fe_lex_expected(p, not? "null or distinct from" : "null, not null or distinct from");
    HD_TRY(fe_lex_next(p));
    HD_TRY(make(p, FE_IS_NULL, pos, 1, &x, out));
    return not ? make(p, FE_NOT, pos, 1, out, out) : 0;
}

static int parse_negatable(struct fe_lexer *p, struct fe_ast *x, struct fe_ast **out)
{
    int pos = p->pos;
    bool not = is_word(p, "not");
    if (not)
        HD_TRY(fe_lex_next(p));
    if (is_word(p, "between")) {
        HD_TRY(fe_lex_next(p));
        HD_TRY(parse_between(p, x, pos, out));
    } else if (is_word(p, "in")) {
        HD_TRY(fe_lex_next(p));
        HD_TRY(parse_in(p, x, pos, out));
    } else if (is_word(p, "like") || is_word(p, "ilike")) {
        enum fe_op op = is_word(p, "like") ? FE_LIKE : FE_ILIKE;
        HD_TRY(fe_lex_next(p));
        HD_TRY(parse_like(p, op, x, pos, out));
    } else {
        return fe_lex_expected(p, "between, in, like or ilike");
    }
    return not ? make(p, FE_NOT, pos, 1, out, out) : 0;
}

static int comparison(const struct fe_lexer *p)
{
    static const struct {
        const char *s;
        enum fe_op op;
    } ops[] = {{"=", FE_EQ}, {"<>", FE_NE}, {"!=", FE_NE}, {"<", FE_LT}, {"<=", FE_LE}, {">", FE_GT}, {">=", FE_GE}};
    for (size_t i = 0; i < HD_COUNT(ops); i++)
        if (is_punct(p, ops[i].s))
            return (int)ops[i].op;
    return -1;
}

/* Comparisons do not chain: `a < b < c` is refused rather than guessed at. */
static int parse_predicate(struct fe_lexer *p, struct fe_ast **out)
{
    struct fe_ast *x, *right;
    HD_TRY(parse_bits(p, &x));
    *out = x;
    int pos = p->pos, op = comparison(p);
    if (op >= 0) {
        HD_TRY(fe_lex_next(p));
        HD_TRY(parse_bits(p, &right));
        HD_TRY(make2(p, (enum fe_op)op, pos, x, right, out));
    } else if (is_word(p, "is")) {
        HD_TRY(fe_lex_next(p));
        HD_TRY(parse_is(p, x, pos, out));
    } else if (is_word(p, "not") || is_word(p, "between") || is_word(p, "in") || is_word(p, "like") ||
               is_word(p, "ilike")) {
        HD_TRY(parse_negatable(p, x, out));
    } else {
        return 0;
    }
    return comparison(p) < 0 ? 0 : fe_lex_expected(p, "and, or or the end (comparisons do not chain)");
}

static int parse_not(struct fe_lexer *p, struct fe_ast **out)
{
    int pos = p->pos;
    if (!is_word(p, "not"))
        return parse_predicate(p, out);
    HD_TRY(enter(p));
    HD_TRY(fe_lex_next(p));
    HD_TRY(parse_not(p, out));
    p->depth--;
    return make(p, FE_NOT, pos, 1, out, out);
}

/* One flat node for a whole chain, so that conjuncts need no digging. */
static int parse_chain(struct fe_lexer *p, const char *word, enum fe_op op,
                       int (*operand)(struct fe_lexer *, struct fe_ast **), struct fe_ast **out)
{
    struct arglist a = {{0}};
    int pos = -1;
    HD_TRY(operand(p, out));
    hd_vec_push(p->arena, &a.list, *out);
    while (is_word(p, word)) {
        if (pos < 0)
            pos = p->pos;
        HD_TRY(fe_lex_next(p));
        HD_TRY(operand(p, out));
        hd_vec_push(p->arena, &a.list, *out);
    }
    return a.list.n == 1 ? 0 : make(p, op, pos, a.list.n, a.list.v, out);
}

static int parse_and(struct fe_lexer *p, struct fe_ast **out)
{
    return parse_chain(p, "and", FE_AND, parse_not, out);
}

static int parse_or(struct fe_lexer *p, struct fe_ast **out)
{
    return parse_chain(p, "or", FE_OR, parse_and, out);
}

int fe_ast_parse(struct hd_arena *a, const char *text, const char *path, struct fe_ast **out, struct hd_err *err)
{
    enum { MAX_TEXT = 1 << 20 };
    struct fe_lexer p = {.arena = a, .err = err, .text = text, .path = path};
    if (strlen(text) > MAX_TEXT)
        return HD_FAIL(err, USER, path, "expected an expression of at most %d bytes", MAX_TEXT);
    HD_TRY(fe_lex_next(&p));
    HD_TRY(parse_or(&p, out));
    static const char *const words[] = {"and", "or", "not", "in", "like", "ilike", "between", "is"};
    if (p.tok != T_END)
        return fe_lex_expected_word(&p, "an operator or the end of the expression", words, HD_COUNT(words));
    return 0;
}
