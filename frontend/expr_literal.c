/* Literals of the syntax of docs/plan.md 2.1. */
#include "frontend/expr_literal.h"

#include <stdio.h>
#include <string.h>

#include "frontend/value.h"

struct fe_ast *fe_parsed_literal(struct fe_lexer *p, int pos, struct fe_value v)
{
    struct fe_ast *x = fe_ast_new(p->arena, FE_LIT, p->path, pos);
    x->lit = v;
    return x;
}

static int parse_double_literal(struct fe_lexer *p, int pos, const char *s, struct fe_ast **out)
{
    struct fe_value v;
    if (!fe_value_parse(p->arena, hd_type_of(HD_FLOAT64), s, strlen(s), &v))
        return fe_lex_fail(p, pos, "a number beyond the range of float64");
    *out = fe_parsed_literal(p, pos, v);
    return 0;
}

/* Digits and maybe a point: int64, or the decimal type that just holds them. */
static int parse_exact_literal(struct fe_lexer *p, int pos, const char *s, struct fe_ast **out)
{
    struct fe_value v;
    const char *point = strchr(s, '.');
    if (!point && fe_value_parse(p->arena, hd_type_of(HD_INT64), s, strlen(s), &v)) {
        *out = fe_parsed_literal(p, pos, v);
        return 0;
    }
    const char *d = s + (*s == '-');
    while (*d == '0')
        d++;
    int whole = (int)strspn(d, "0123456789");
    int scale = point ? (int)strlen(point + 1) : 0;
    int digits = HD_MAX(whole + scale, 1);
    if (digits > HD_DEC_MAX)
        return fe_lex_fail(p, pos, "a number with more than 38 digits");
    if (!fe_value_parse(p->arena, hd_decimal(digits, scale), s, strlen(s), &v))
        return fe_lex_fail(p, pos, "a number that is not a decimal");
    *out = fe_parsed_literal(p, pos, v);
    return 0;
}

int fe_parse_number(struct fe_lexer *p, bool negative, int pos, struct fe_ast **out)
{
    char *s = hd_alloc(p->arena, (size_t)p->len + 2);
    s[0] = '-';
    memcpy(s + negative, p->text + p->pos, (size_t)p->len);
    s[negative + p->len] = 0;
    HD_TRY(strpbrk(s, "eE") ? parse_double_literal(p, pos, s, out) : parse_exact_literal(p, pos, s, out));
    return fe_lex_next(p);
}

int fe_parse_typed_text(struct fe_lexer *p, enum hd_type_kind k, int pos, struct fe_ast **out)
{
    struct fe_value v;
    char form[HD_TEXT_MAX * 2], what[HD_TEXT_MAX * 3];
    if (!fe_value_parse(p->arena, hd_type_of(k), p->s, p->n, &v)) {
        snprintf(what, sizeof what, "%s", fe_value_form(hd_type_of(k), form));
        return fe_lex_expected(p, what);
    }
    *out = fe_parsed_literal(p, pos, v);
    return fe_lex_next(p);
}

int fe_parse_text(struct fe_lexer *p, struct fe_ast **out)
{
    struct fe_value v = {.type = hd_type_of(HD_STRING), .s = p->s, .n = p->n};
    *out = fe_parsed_literal(p, p->pos, v);
    return fe_lex_next(p);
}
