/* Tokens of the SQL-like expression syntax of docs/plan.md 2.1. */
#ifndef HEDDLE_FRONTEND_EXPR_LEX_H
#define HEDDLE_FRONTEND_EXPR_LEX_H

#include "frontend/ast.h"

enum fe_token { T_END, T_NAME, T_QUOTED, T_NUMBER, T_TEXT, T_PARAM, T_PUNCT };

struct fe_lexer {
    struct hd_arena *arena;
    struct hd_err *err;
    const char *text, *path;
    int depth; /* of the parser */
    /* the current token */
    enum fe_token tok;
    int pos, len;  /* in the text */
    const char *s; /* NAME, QUOTED, TEXT, PARAM: content; PUNCT: spelling */
    size_t n;
};

/* Steps to the next token; len and pos 0 before the first. */
int fe_lex_next(struct fe_lexer *p);
/* Both report at a place in the text and return -1: a message, or "expected `what`, found ..."
 * at the current token. */
int fe_lex_fail(struct fe_lexer *p, int pos, const char *msg);
int fe_lex_expected(struct fe_lexer *p, const char *what);
/* The same where one of some words may have been meant. */
int fe_lex_expected_word(struct fe_lexer *p, const char *what, const char *const *words, int n);

#endif
