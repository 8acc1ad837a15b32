/* Literals of the syntax of docs/plan.md 2.1. */
#ifndef HEDDLE_FRONTEND_EXPR_LITERAL_H
#define HEDDLE_FRONTEND_EXPR_LITERAL_H

#include "frontend/expr_lex.h"

struct fe_ast *fe_parsed_literal(struct fe_lexer *p, int pos, struct fe_value v);
/* Each reads the current token and steps behind it. A minus that stood before it, at pos, belongs to the literal, so
 * that the smallest int64 can be written. */
int fe_parse_number(struct fe_lexer *p, bool negative, int pos, struct fe_ast **out);
/* Of `date '...'` and `timestamp '...'` the text. */
int fe_parse_typed_text(struct fe_lexer *p, enum hd_type_kind k, int pos, struct fe_ast **out);
int fe_parse_text(struct fe_lexer *p, struct fe_ast **out);

#endif
