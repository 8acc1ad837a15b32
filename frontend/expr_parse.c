/* Parser of the SQL-like expression syntax of docs/plan.md 2.1: one token of look-ahead,
 * recursive descent, one function per level of precedence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/ast.h"
#include "frontend/value.h"
#include "runtime/base/vec.h"

enum token { T_END, T_NAME, T_QUOTED, T_NUMBER, T_TEXT, T_PARAM, T_PUNCT };

struct parser {
    struct hd_arena *arena;
    struct hd_err *err;
    const char *text, *path;
    int depth;
    /* the current token */
    enum token tok;
    int pos, len;  /* in the text */
    const char *s; /* NAME, QUOTED, TEXT, PARAM: content; PUNCT: spelling */
    size_t n;
};

static int parse_or(struct parser *p, struct fe_ast **out);
static int parse_additive(struct parser *p, struct fe_ast **out);
static int parse_unary(struct parser *p, struct fe_ast **out);

/* ---- tokens --------------------------------------------------------------------------- */

static int fail_at(struct parser *p, int pos, const char *msg)
{
    struct fe_ast at = {.path = p->path, .pos = pos};
    return fe_ast_fail(&at, p->err, "%s", msg);
}

static int expected(struct parser *p, const char *what)
{
    struct fe_ast at = {.path = p->path, .pos = p->pos};
    if (p->tok == T_END)
        return fe_ast_fail(&at, p->err, "expected %s, found the end of the expression", what);
    const char *quote = p->tok == T_PUNCT || p->tok == T_NAME ? "\"" : "";
    return fe_ast_fail(&at, p->err, "expected %s, found %s%.*s%s", what, quote,
                       HD_MIN(p->len, 60), p->text + p->pos, quote);
}

/* ASCII alone, whatever the locale says; other names are written in double quotes. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool name_start(char c)
{
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}
static bool name_char(char c)
{
    return name_start(c) || is_digit(c);
}

/* Position behind the closing quote of the run that opens at i, -1 if there is none. */
static int quoted_end(const char *text, int i)
{
    const char quote = text[i++];
    for (; text[i]; i++)
        if (text[i] == quote) {
            if (text[i + 1] != quote)
                return i + 1;
            i++;
        }
    return -1;
}

/* A quoted run from position i (at the quote); a doubled quote stands for itself. */
static int lex_quoted(struct parser *p, int i, enum token tok)
{
    const char quote = p->text[i];
    const int end = quoted_end(p->text, i);
    if (end < 0)
        return fail_at(p, p->pos,
                       quote == '"' ? "a quoted name without its closing \""
                                    : "a text without its closing '");
    char *buf = hd_alloc(p->arena, (size_t)(end - i));
    size_t n = 0;
    for (i++; i < end - 1; i += p->text[i] == quote ? 2 : 1)
        buf[n++] = p->text[i];
    buf[n] = 0;
    p->tok = tok;
    p->s = buf;
    p->n = n;
    p->len = end - p->pos;
    if (tok == T_QUOTED && !n)
        return fail_at(p, p->pos, "a quoted name may not be empty");
    return 0;
}

static void lex_name(struct parser *p, int i, enum token tok)
{
    int start = i;
    while (name_char(p->text[i]) ||
           (tok == T_NAME && p->text[i] == '.' && name_start(p->text[i + 1])))
        i++;
    p->tok = tok;
    p->n = (size_t)(i - start);
    p->s = hd_strndup(p->arena, p->text + start, p->n);
    p->len = i - p->pos;
}

static int lex_number(struct parser *p)
{
    int i = p->pos;
    const char *t = p->text;
    while (is_digit(t[i]))
        i++;
    if (t[i] == '.')
        for (i++; is_digit(t[i]);)
            i++;
    if ((t[i] | 32) == 'e') {
        i += t[i + 1] == '+' || t[i + 1] == '-' ? 2 : 1;
        if (!is_digit(t[i]))
            return fail_at(p, p->pos, "a number whose exponent has no digits");
        while (is_digit(t[i]))
            i++;
    }
    if (name_char(t[i]) || t[i] == '.')
        return fail_at(p, p->pos, "a number followed directly by a letter, digit or point");
    p->tok = T_NUMBER;
    p->len = i - p->pos;
    return 0;
}

static int lex_punct(struct parser *p)
{
    static const char *const spellings[] = {"<>", "<=", ">=", "!=", "<", ">", "=", "+",
                                            "-",  "*",  "/",  "%",  "(", ")", ","};
    for (size_t i = 0; i < HD_COUNT(spellings); i++) {
        size_t n = strlen(spellings[i]);
        if (strncmp(p->text + p->pos, spellings[i], n) != 0)
            continue;
        p->tok = T_PUNCT;
        p->s = spellings[i];
        p->n = n;
        p->len = (int)n;
        return 0;
    }
    return fail_at(p, p->pos, "a character that starts no part of an expression");
}

static int next(struct parser *p)
{
    p->pos += p->len;
    p->len = 0;
    while (p->text[p->pos] && strchr(" \t\r\n", p->text[p->pos]))
        p->pos++;
    char c = p->text[p->pos], d = c ? p->text[p->pos + 1] : 0;
    if (!c) {
        p->tok = T_END;
        return 0;
    }
    if (c == '\'' || c == '"')
        return lex_quoted(p, p->pos, c == '"' ? T_QUOTED : T_TEXT);
    if (is_digit(c) || (c == '.' && is_digit(d)))
        return lex_number(p);
    if (name_start(c)) {
        lex_name(p, p->pos, T_NAME);
        return 0;
    }
    if (c == ':') {
        if (!name_start(d))
            return fail_at(p, p->pos, "expected a parameter name after ':'");
        lex_name(p, p->pos + 1, T_PARAM);
        return 0;
    }
    return lex_punct(p);
}

static bool is_punct(const struct parser *p, const char *s)
{
    return p->tok == T_PUNCT && strcmp(p->s, s) == 0;
}

static bool is_word(const struct parser *p, const char *w)
{
    return p->tok == T_NAME && strcasecmp(p->s, w) == 0;
}

static int expected_spelling(struct parser *p, const char *s)
{
    char what[16];
    snprintf(what, sizeof what, "\"%s\"", s);
    return expected(p, what);
}

static int need_punct(struct parser *p, const char *s)
{
    return is_punct(p, s) ? next(p) : expected_spelling(p, s);
}

static int need_word(struct parser *p, const char *w)
{
    return is_word(p, w) ? next(p) : expected_spelling(p, w);
}

static bool next_char_is(const struct parser *p, char c)
{
    int i = p->pos + p->len;
    while (p->text[i] && strchr(" \t\r\n", p->text[i]))
        i++;
    return p->text[i] == c;
}

bool fe_ast_is_reserved(const char *s, size_t n)
{
    static const char *const words[] = {
        "and",    "between", "case",      "cast", "coalesce",  "date", "else", "end",
        "escape", "extract", "false",     "in",   "interval",  "is",   "like", "not",
        "null",   "or",      "substring", "then", "timestamp", "true", "when"};
    for (size_t i = 0; i < HD_COUNT(words); i++)
        if (strlen(words[i]) == n && strncasecmp(words[i], s, n) == 0)
            return true;
    return false;
}

/* ---- nodes ---------------------------------------------------------------------------- */

static int finish(struct parser *p, struct fe_ast *x, int n, struct fe_ast *const *args,
                  struct fe_ast **out)
{
    fe_ast_set_args(p->arena, x, n, args);
    *out = x;
    return fe_ast_check_size(x, p->err);
}

static int make(struct parser *p, enum fe_op op, int pos, int n, struct fe_ast *const *args,
                struct fe_ast **out)
{
    return finish(p, fe_ast_new(p->arena, op, p->path, pos), n, args, out);
}

static int make2(struct parser *p, enum fe_op op, int pos, struct fe_ast *l, struct fe_ast *r,
                 struct fe_ast **out)
{
    return make(p, op, pos, 2, (struct fe_ast *[]){l, r}, out);
}

static struct fe_ast *make_lit(struct parser *p, int pos, struct fe_value v)
{
    struct fe_ast *x = fe_ast_new(p->arena, FE_LIT, p->path, pos);
    x->lit = v;
    return x;
}

/* Each level of parentheses, prefix operators and function arguments passes here. */
static int enter(struct parser *p)
{
    if (++p->depth > FE_EXPR_MAX_DEPTH)
        return fail_at(p, p->pos, "the expression is nested too deeply");
    return 0;
}

/* ---- literals ------------------------------------------------------------------------- */

static int parse_double_literal(struct parser *p, int pos, const char *s, struct fe_ast **out)
{
    struct fe_value v;
    if (!fe_value_parse(hd_type_of(HD_FLOAT64), s, strlen(s), &v))
        return fail_at(p, pos, "a number beyond the range of float64");
    *out = make_lit(p, pos, v);
    return 0;
}

/* Digits and maybe a point: int64, or the decimal type that just holds them. */
static int parse_exact_literal(struct parser *p, int pos, const char *s, struct fe_ast **out)
{
    struct fe_value v;
    const char *point = strchr(s, '.');
    if (!point && fe_value_parse(hd_type_of(HD_INT64), s, strlen(s), &v)) {
        *out = make_lit(p, pos, v);
        return 0;
    }
    const char *d = s + (*s == '-');
    while (*d == '0')
        d++;
    int whole = (int)strspn(d, "0123456789");
    int scale = point ? (int)strlen(point + 1) : 0;
    int digits = HD_MAX(whole + scale, 1);
    if (digits > HD_DEC_MAX)
        return fail_at(p, pos, "a number with more than 38 digits");
    if (!fe_value_parse(hd_decimal(digits, scale), s, strlen(s), &v))
        return fail_at(p, pos, "a number that is not a decimal");
    *out = make_lit(p, pos, v);
    return 0;
}

/* The minus belongs to the literal, so that the smallest int64 can be written. */
static int parse_number(struct parser *p, bool negative, int pos, struct fe_ast **out)
{
    const char *s =
        hd_asprintf(p->arena, "%s%.*s", negative ? "-" : "", p->len, p->text + p->pos);
    HD_TRY(strpbrk(s, "eE") ? parse_double_literal(p, pos, s, out)
                            : parse_exact_literal(p, pos, s, out));
    return next(p);
}

/* `date '...'` and `timestamp '...'`: the current token is the text. */
static int parse_typed_text(struct parser *p, enum hd_type_kind k, int pos,
                            struct fe_ast **out)
{
    struct fe_value v;
    char form[HD_TEXT_MAX * 2], what[HD_TEXT_MAX * 3];
    if (!fe_value_parse(hd_type_of(k), p->s, p->n, &v)) {
        snprintf(what, sizeof what, "%s", fe_value_form(hd_type_of(k), form));
        return expected(p, what);
    }
    *out = make_lit(p, pos, v);
    return next(p);
}

static int parse_text(struct parser *p, struct fe_ast **out)
{
    struct fe_value v = {.type = hd_type_of(HD_STRING), .s = p->s, .n = p->n};
    *out = make_lit(p, p->pos, v);
    return next(p);
}

static int parse_word_literal(struct parser *p, struct fe_ast **out)
{
    struct fe_value v = {.type = hd_type_of(HD_BOOL), .i = is_word(p, "true")};
    if (is_word(p, "null"))
        v = (struct fe_value){.type = fe_no_type(), .is_null = true};
    *out = make_lit(p, p->pos, v);
    return next(p);
}

/* ---- interval ------------------------------------------------------------------------- */

static int parse_interval_amount(struct parser *p, struct fe_ast **out)
{
    if (p->tok != T_TEXT)
        return parse_unary(p, out);
    struct fe_value v;
    if (!fe_value_parse(hd_type_of(HD_INT64), p->s, p->n, &v))
        return expected(p, "an interval amount such as '3'");
    *out = make_lit(p, p->pos, v);
    return next(p);
}

static int parse_field(struct parser *p, bool plural, enum fe_field *out)
{
    static const char *const names[] = {"year", "month", "day"};
    static const char *const many[] = {"years", "months", "days"};
    for (int f = FE_YEAR; f <= FE_DAY; f++)
        if (is_word(p, names[f]) || (plural && is_word(p, many[f]))) {
            *out = (enum fe_field)f;
            return next(p);
        }
    return expected(p, "year, month or day");
}

static int parse_interval(struct parser *p, struct fe_ast **out)
{
    struct fe_ast *amount, *x = fe_ast_new(p->arena, FE_OP_COUNT, p->path, p->pos);
    x->interval = true;
    HD_TRY(next(p));
    HD_TRY(parse_interval_amount(p, &amount));
    HD_TRY(parse_field(p, true, &x->field));
    return finish(p, x, 1, &amount, out);
}

/* ---- functions ------------------------------------------------------------------------ */

struct arglist {
    HD_VEC(struct fe_ast *) list;
};

/* expr {, expr} ")" */
static int parse_arguments(struct parser *p, struct arglist *a)
{
    for (;;) {
        struct fe_ast *x;
        HD_TRY(parse_or(p, &x));
        hd_vec_push(p->arena, &a->list, x);
        if (!is_punct(p, ","))
            return need_punct(p, ")");
        HD_TRY(next(p));
    }
}

static int parse_type_number(struct parser *p, const char *what, int *out)
{
    if (p->tok != T_NUMBER || p->len > 2)
        return expected(p, what);
    *out = atoi(p->text + p->pos);
    return next(p);
}

static int parse_type(struct parser *p, struct hd_type *out)
{
    char text[HD_TEXT_MAX];
    int pos = p->pos, precision = 0, scale = 0;
    if (p->tok != T_NAME || p->n >= 16)
        return expected(p, "a type");
    for (size_t i = 0; i <= p->n; i++)
        text[i] = (char)(p->s[i] >= 'A' && p->s[i] <= 'Z' ? p->s[i] | 32 : p->s[i]);
    HD_TRY(next(p));
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

static int parse_cast(struct parser *p, int pos, struct fe_ast **out)
{
    struct fe_ast *arg, *x = fe_ast_new(p->arena, FE_CAST, p->path, pos);
    HD_TRY(parse_or(p, &arg));
    HD_TRY(need_word(p, "as"));
    HD_TRY(parse_type(p, &x->type));
    HD_TRY(need_punct(p, ")"));
    return finish(p, x, 1, &arg, out);
}

static int parse_extract(struct parser *p, int pos, struct fe_ast **out)
{
    struct fe_ast *arg, *x = fe_ast_new(p->arena, FE_EXTRACT, p->path, pos);
    HD_TRY(parse_field(p, false, &x->field));
    HD_TRY(need_word(p, "from"));
    HD_TRY(parse_or(p, &arg));
    HD_TRY(need_punct(p, ")"));
    return finish(p, x, 1, &arg, out);
}

static int parse_substring(struct parser *p, int pos, struct fe_ast **out)
{
    struct fe_ast *args[3];
    int n = 2;
    HD_TRY(parse_or(p, &args[0]));
    bool words = is_word(p, "from");
    HD_TRY(words ? next(p) : need_punct(p, ","));
    HD_TRY(parse_or(p, &args[1]));
    if (words ? is_word(p, "for") : is_punct(p, ",")) {
        HD_TRY(next(p));
        HD_TRY(parse_or(p, &args[2]));
        n = 3;
    }
    HD_TRY(need_punct(p, ")"));
    return make(p, FE_SUBSTRING, pos, n, args, out);
}

static int parse_coalesce(struct parser *p, int pos, struct fe_ast **out)
{
    struct arglist a = {{0}};
    HD_TRY(parse_arguments(p, &a));
    return make(p, FE_COALESCE, pos, a.list.n, a.list.v, out);
}

static int parse_call(struct parser *p, struct fe_ast **out)
{
    static const struct {
        const char *name;
        int (*parse)(struct parser *, int, struct fe_ast **);
    } calls[] = {{"cast", parse_cast},
                 {"extract", parse_extract},
                 {"substring", parse_substring},
                 {"coalesce", parse_coalesce}};
    int pos = p->pos;
    for (size_t i = 0; i < HD_COUNT(calls); i++)
        if (is_word(p, calls[i].name)) {
            HD_TRY(next(p));
            HD_TRY(need_punct(p, "("));
            return calls[i].parse(p, pos, out);
        }
    return expected(p, "one of the functions cast, coalesce, extract, substring");
}

/* ---- case ----------------------------------------------------------------------------- */

/* `case x when v ...` compares x with each v. */
static int parse_when(struct parser *p, struct fe_ast *subject, struct arglist *a)
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

static int parse_case(struct parser *p, struct fe_ast **out)
{
    struct arglist a = {{0}};
    struct fe_ast *subject = NULL, *other;
    int pos = p->pos;
    HD_TRY(next(p));
    if (!is_word(p, "when"))
        HD_TRY(parse_or(p, &subject));
    do
        HD_TRY(parse_when(p, subject, &a));
    while (is_word(p, "when"));
    if (is_word(p, "else")) {
        HD_TRY(next(p));
        HD_TRY(parse_or(p, &other));
        hd_vec_push(p->arena, &a.list, other);
    }
    if (!is_word(p, "end"))
        return expected(p, "when, else or end");
    HD_TRY(next(p));
    return make(p, FE_CASE, pos, a.list.n, a.list.v, out);
}

/* ---- primary and arithmetic ----------------------------------------------------------- */

static int parse_reference(struct parser *p, enum fe_op op, struct fe_ast **out)
{
    struct fe_ast *x = fe_ast_new(p->arena, op, p->path, p->pos);
    x->name = p->s;
    *out = x;
    return next(p);
}

static int parse_name(struct parser *p, struct fe_ast **out)
{
    int pos = p->pos;
    if (is_word(p, "case"))
        return parse_case(p, out);
    if (is_word(p, "true") || is_word(p, "false") || is_word(p, "null"))
        return parse_word_literal(p, out);
    if (is_word(p, "interval"))
        return parse_interval(p, out);
    if ((is_word(p, "date") || is_word(p, "timestamp")) && next_char_is(p, '\'')) {
        enum hd_type_kind k = is_word(p, "date") ? HD_DATE : HD_TIMESTAMP;
        HD_TRY(next(p));
        return parse_typed_text(p, k, pos, out);
    }
    if (next_char_is(p, '('))
        return parse_call(p, out);
    bool contextual = is_word(p, "date") || is_word(p, "timestamp");
    if (!contextual && fe_ast_is_reserved(p->s, p->n))
        return expected(p, "a value");
    return parse_reference(p, FE_COL, out);
}

static int parse_primary(struct parser *p, struct fe_ast **out)
{
    switch (p->tok) {
    case T_NAME: return parse_name(p, out);
    case T_QUOTED: return parse_reference(p, FE_COL, out);
    case T_PARAM: return parse_reference(p, FE_PARAM, out);
    case T_NUMBER: return parse_number(p, false, p->pos, out);
    case T_TEXT: return parse_text(p, out);
    case T_PUNCT:
        if (!is_punct(p, "("))
            break;
        HD_TRY(next(p));
        HD_TRY(parse_or(p, out));
        return need_punct(p, ")");
    case T_END: break;
    }
    return expected(p, "a value");
}

static int parse_unary(struct parser *p, struct fe_ast **out)
{
    int pos = p->pos;
    HD_TRY(enter(p));
    if (is_punct(p, "-")) {
        HD_TRY(next(p));
        if (p->tok == T_NUMBER) {
            HD_TRY(parse_number(p, true, pos, out));
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

static int parse_binary(struct parser *p, const char *const *spellings, const enum fe_op *ops,
                        int n, int (*operand)(struct parser *, struct fe_ast **),
                        struct fe_ast **out)
{
    HD_TRY(operand(p, out));
    for (;;) {
        int k = 0, pos = p->pos;
        struct fe_ast *right;
        while (k < n && !is_punct(p, spellings[k]))
            k++;
        if (k == n)
            return 0;
        HD_TRY(next(p));
        HD_TRY(operand(p, &right));
        HD_TRY(make2(p, ops[k], pos, *out, right, out));
    }
}

static int parse_term(struct parser *p, struct fe_ast **out)
{
    static const char *const s[] = {"*", "/", "%"};
    static const enum fe_op ops[] = {FE_MUL, FE_DIV, FE_MOD};
    return parse_binary(p, s, ops, 3, parse_unary, out);
}

static int parse_additive(struct parser *p, struct fe_ast **out)
{
    static const char *const s[] = {"+", "-"};
    static const enum fe_op ops[] = {FE_ADD, FE_SUB};
    return parse_binary(p, s, ops, 2, parse_term, out);
}

/* ---- predicates ----------------------------------------------------------------------- */

static int parse_between(struct parser *p, struct fe_ast *x, int pos, struct fe_ast **out)
{
    struct fe_ast *lo, *hi;
    HD_TRY(parse_additive(p, &lo));
    HD_TRY(need_word(p, "and"));
    HD_TRY(parse_additive(p, &hi));
    HD_TRY(make2(p, FE_GE, pos, x, lo, &lo));
    HD_TRY(make2(p, FE_LE, pos, x, hi, &hi));
    return make2(p, FE_AND, pos, lo, hi, out);
}

static int parse_in(struct parser *p, struct fe_ast *x, int pos, struct fe_ast **out)
{
    struct arglist a = {{0}};
    hd_vec_push(p->arena, &a.list, x);
    if (p->tok == T_PARAM) {
        struct fe_ast *list;
        HD_TRY(parse_reference(p, FE_PARAM, &list));
        hd_vec_push(p->arena, &a.list, list);
    } else {
        if (!is_punct(p, "("))
            return expected(p, "\"(\" or a list parameter");
        HD_TRY(next(p));
        HD_TRY(parse_arguments(p, &a));
    }
    return make(p, FE_IN, pos, a.list.n, a.list.v, out);
}

static int parse_like(struct parser *p, struct fe_ast *x, int pos, struct fe_ast **out)
{
    struct fe_ast *args[3] = {x};
    int n = 2;
    HD_TRY(parse_additive(p, &args[1]));
    if (is_word(p, "escape")) {
        HD_TRY(next(p));
        if (p->tok != T_TEXT)
            return expected(p, "a text of one character after escape");
        HD_TRY(parse_text(p, &args[2]));
        n = 3;
    }
    return make(p, FE_LIKE, pos, n, args, out);
}

static int parse_is(struct parser *p, struct fe_ast *x, int pos, struct fe_ast **out)
{
    bool not = is_word(p, "not");
    if (not )
        HD_TRY(next(p));
    HD_TRY(need_word(p, "null"));
    HD_TRY(make(p, FE_IS_NULL, pos, 1, &x, out));
    return not ? make(p, FE_NOT, pos, 1, out, out) : 0;
}

static int parse_negatable(struct parser *p, struct fe_ast *x, struct fe_ast **out)
{
    int pos = p->pos;
    bool not = is_word(p, "not");
    if (not )
        HD_TRY(next(p));
    if (is_word(p, "between")) {
        HD_TRY(next(p));
        HD_TRY(parse_between(p, x, pos, out));
    } else if (is_word(p, "in")) {
        HD_TRY(next(p));
        HD_TRY(parse_in(p, x, pos, out));
    } else if (is_word(p, "like")) {
        HD_TRY(next(p));
        HD_TRY(parse_like(p, x, pos, out));
    } else {
        return expected(p, "between, in or like");
    }
    return not ? make(p, FE_NOT, pos, 1, out, out) : 0;
}

static int comparison(const struct parser *p)
{
    static const struct {
        const char *s;
        enum fe_op op;
    } ops[] = {{"=", FE_EQ},  {"<>", FE_NE}, {"!=", FE_NE}, {"<", FE_LT},
               {"<=", FE_LE}, {">", FE_GT},  {">=", FE_GE}};
    for (size_t i = 0; i < HD_COUNT(ops); i++)
        if (is_punct(p, ops[i].s))
            return (int)ops[i].op;
    return -1;
}

/* Comparisons do not chain: `a < b < c` is refused rather than guessed at. */
static int parse_predicate(struct parser *p, struct fe_ast **out)
{
    struct fe_ast *x, *right;
    HD_TRY(parse_additive(p, &x));
    *out = x;
    int pos = p->pos, op = comparison(p);
    if (op >= 0) {
        HD_TRY(next(p));
        HD_TRY(parse_additive(p, &right));
        HD_TRY(make2(p, (enum fe_op)op, pos, x, right, out));
    } else if (is_word(p, "is")) {
        HD_TRY(next(p));
        HD_TRY(parse_is(p, x, pos, out));
    } else if (is_word(p, "not") || is_word(p, "between") || is_word(p, "in") ||
               is_word(p, "like")) {
        HD_TRY(parse_negatable(p, x, out));
    } else {
        return 0;
    }
    return comparison(p) < 0 ? 0
                             : expected(p, "and, or or the end (comparisons do not chain)");
}

static int parse_not(struct parser *p, struct fe_ast **out)
{
    int pos = p->pos;
    if (!is_word(p, "not"))
        return parse_predicate(p, out);
    HD_TRY(enter(p));
    HD_TRY(next(p));
    HD_TRY(parse_not(p, out));
    p->depth--;
    return make(p, FE_NOT, pos, 1, out, out);
}

/* One flat node for a whole chain, so that conjuncts need no digging. */
static int parse_chain(struct parser *p, const char *word, enum fe_op op,
                       int (*operand)(struct parser *, struct fe_ast **), struct fe_ast **out)
{
    struct arglist a = {{0}};
    int pos = -1;
    HD_TRY(operand(p, out));
    hd_vec_push(p->arena, &a.list, *out);
    while (is_word(p, word)) {
        if (pos < 0)
            pos = p->pos;
        HD_TRY(next(p));
        HD_TRY(operand(p, out));
        hd_vec_push(p->arena, &a.list, *out);
    }
    return a.list.n == 1 ? 0 : make(p, op, pos, a.list.n, a.list.v, out);
}

static int parse_and(struct parser *p, struct fe_ast **out)
{
    return parse_chain(p, "and", FE_AND, parse_not, out);
}

static int parse_or(struct parser *p, struct fe_ast **out)
{
    return parse_chain(p, "or", FE_OR, parse_and, out);
}

int fe_ast_parse(struct hd_arena *a, const char *text, const char *path, struct fe_ast **out,
                 struct hd_err *err)
{
    enum { MAX_TEXT = 1 << 20 };
    struct parser p = {.arena = a, .err = err, .text = text, .path = path};
    if (strlen(text) > MAX_TEXT)
        return HD_FAIL(err, USER, path, "expected an expression of at most %d bytes",
                       MAX_TEXT);
    HD_TRY(next(&p));
    HD_TRY(parse_or(&p, out));
    if (p.tok != T_END)
        return expected(&p, "an operator or the end of the expression");
    return 0;
}
