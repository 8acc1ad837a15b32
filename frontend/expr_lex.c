#include "frontend/expr_lex.h"

#include <string.h>

#include "runtime/base/suggest.h"

int fe_lex_fail(struct fe_lexer *p, int pos, const char *msg)
{
    struct fe_ast at = {.path = p->path, .pos = pos};
    return fe_ast_fail(&at, p->err, "%s", msg);
}

int fe_lex_expected(struct fe_lexer *p, const char *what)
{
    return fe_lex_expected_word(p, what, NULL, 0);
}

int fe_lex_expected_word(struct fe_lexer *p, const char *what, const char *const *words, int n)
{
    struct fe_ast at = {.path = p->path, .pos = p->pos};
    struct hd_suggestion suggestion;
    if (p->tok == T_END)
        return fe_ast_fail(&at, p->err, "expected %s, found the end of the expression", what);
    const char *quote = p->tok == T_PUNCT || p->tok == T_NAME ? "\"" : "";
    return fe_ast_fail(&at, p->err, "expected %s, found %s%.*s%s%s", what, quote, HD_MIN(p->len, 60), p->text + p->pos,
                       quote, hd_suggest_from(&suggestion, p->tok == T_NAME ? p->s : "", words, n));
}

/* ASCII alone, whatever the locale says; other names are written in double quotes. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
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
static int lex_quoted(struct fe_lexer *p, int i, enum fe_token tok)
{
    const char quote = p->text[i];
    const int end = quoted_end(p->text, i);
    if (end < 0)
        return fe_lex_fail(p, p->pos,
                           quote == '"' ? "a quoted name without its closing \"" : "a text without its closing '");
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
        return fe_lex_fail(p, p->pos, "a quoted name may not be empty");
    return 0;
}

static void lex_name(struct fe_lexer *p, int i, enum fe_token tok)
{
    int start = i;
    while (name_char(p->text[i]) || (tok == T_NAME && p->text[i] == '.' && name_start(p->text[i + 1])))
        i++;
    p->tok = tok;
    p->n = (size_t)(i - start);
    p->s = hd_strndup(p->arena, p->text + start, p->n);
    p->len = i - p->pos;
}

static int lex_number(struct fe_lexer *p)
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
            return fe_lex_fail(p, p->pos, "a number whose exponent has no digits");
        while (is_digit(t[i]))
            i++;
    }
    if (name_char(t[i]) || t[i] == '.')
        return fe_lex_fail(p, p->pos, "a number followed directly by a letter, digit or point");
    p->tok = T_NUMBER;
    p->len = i - p->pos;
    return 0;
}

/* Operators of other languages, longer ones before their beginnings, and what stands for them
 * here; none is the beginning of anything valid. */
static const struct {
    const char *spelling, *instead;
} foreign[] = {
    {"===", "write \"=\""},
    {"!==", "write \"<>\""},
    {"<=>", "write \"=\", or \"is null\" where both may be NULL"},
    {"->>", NULL},
    {"==", "write \"=\""},
    {"=>", "write \">=\""},
    {"=<", "write \"<=\""},
    {"&&", "write \"and\""},
    {"::", "write \"cast(x as TYPE)\""},
    {":=", "write \"=\""},
    {"**", NULL},
    {"//", NULL},
    {"->", NULL},
    {"/*", "there are no comments in an expression"},
    {"!~", "write \"not regexp_like(s, 'pattern')\""},
    {"^", "write \"power(x, y)\", or \"xor(x, y)\" of bits"},
    {"#", "write \"xor(x, y)\""},
};

/* Fails if an operator stands here that there is none of. */
static int check_foreign(struct fe_lexer *p)
{
    const struct fe_ast at = {.path = p->path, .pos = p->pos};
    const char *text = p->text + p->pos;
    for (size_t i = 0; i < HD_COUNT(foreign); i++)
        if (text[0] == foreign[i].spelling[0] && strncmp(text, foreign[i].spelling, strlen(foreign[i].spelling)) == 0)
            return fe_ast_fail(&at, p->err, "unknown operator \"%s\"%s%s", foreign[i].spelling,
                               foreign[i].instead ? "; " : "", foreign[i].instead ? foreign[i].instead : "");
    if (text[0] == '!' && text[1] != '=')
        return fe_ast_fail(&at, p->err, "unknown operator \"!\"; write \"not\"");
    return 0;
}

/* Bytes of the character at s, of valid UTF-8. */
static int character_length(const char *s)
{
    int n = 1;
    while (((unsigned char)s[n] & 0xc0) == 0x80)
        n++;
    return n;
}

static int lex_punct(struct fe_lexer *p)
{
    static const char *const spellings[] = {"<>", "<=", ">=", "!=", "||", "<<", ">>", "<", ">", "=", "+",
                                            "-",  "*",  "/",  "%",  "&",  "|",  "~",  "(", ")", ","};
    for (size_t i = 0; i < HD_COUNT(spellings); i++) {
        if (p->text[p->pos] != spellings[i][0])
            continue;
        size_t n = strlen(spellings[i]);
        if (strncmp(p->text + p->pos, spellings[i], n) != 0)
            continue;
        p->tok = T_PUNCT;
        p->s = spellings[i];
        p->n = n;
        p->len = (int)n;
        return 0;
    }
    const struct fe_ast at = {.path = p->path, .pos = p->pos};
    return fe_ast_fail(&at, p->err, "expected a part of an expression, found \"%.*s\"",
                       character_length(p->text + p->pos), p->text + p->pos);
}

int fe_lex_next(struct fe_lexer *p)
{
    p->pos += p->len;
    p->len = 0;
    while (is_blank(p->text[p->pos]))
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
    HD_TRY(check_foreign(p));
    if (c == ':') {
        if (!name_start(d))
            return fe_lex_fail(p, p->pos, "expected a parameter name after ':'");
        lex_name(p, p->pos + 1, T_PARAM);
        return 0;
    }
    return lex_punct(p);
}

bool fe_ast_is_reserved(const char *s, size_t n)
{
    static const char *const words[] = {"and",    "between", "case",      "cast", "coalesce",  "date", "else", "end",
                                        "escape", "extract", "false",     "in",   "interval",  "is",   "like", "not",
                                        "null",   "or",      "substring", "then", "timestamp", "true", "when"};
    for (size_t i = 0; i < HD_COUNT(words); i++)
        if (strlen(words[i]) == n && strncasecmp(words[i], s, n) == 0)
            return true;
    return false;
}
