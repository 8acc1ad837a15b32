/* Typed expression trees over the output columns of an operator's input(s).
 * Immutable once typed: rewrites build new nodes. After typing every conversion is an
 * explicit CAST, BETWEEN has become AND, `is not null` NOT(IS_NULL), and argument types are
 * exactly those the operator computes with (see docs/plan.md 2.2). */
#ifndef HEDDLE_FRONTEND_EXPR_H
#define HEDDLE_FRONTEND_EXPR_H

#include "runtime/base/arena.h"
#include "runtime/base/type.h"

enum fe_op {
#define T_OP(id, ...) FE_##id,
#include "frontend/ops.def"
    FE_OP_COUNT
};

enum fe_field { FE_YEAR, FE_MONTH, FE_DAY };

/* A typed value of a literal or parameter. ints, dates, timestamps, bools and decimals sit in
 * `i` (decimals scaled by 10^scale), float64 in `f`, strings in `s`/`n`. */
struct fe_value {
    struct hd_type type;
    bool is_null;
    hd_i128 i;
    double f;
    const char *s;
    size_t n;
};

struct fe_expr {
    enum fe_op op;
    struct hd_type type;
    bool nullable;
    int nargs;
    struct fe_expr **args;
    const char *path; /* JSON path it came from, for errors at any later stage */
    /* by operator: */
    int col;               /* COL: index into the input columns; for the expressions of a join
                              the left columns come first, then the right ones */
    struct fe_value value; /* LIT; PARAM: the bound value once bound */
    int param;             /* PARAM: index into fe_plan.params. An IN over a list parameter has
                              args = {x, PARAM} and the values in params[param].list */
    const char *param_name;
    bool param_list;       /* PARAM: of a list parameter */
    enum fe_field field;   /* EXTRACT */
    bool saturate;         /* CAST made to compare decimals of two scales: beyond 38 digits it stops at
                              10^38 instead of raising, so the comparison stays exact */
    char escape;           /* LIKE: 0 if none; args = {string, pattern (LIT or PARAM)} */
};

/* Arguments where ops.def does not tell them:
 * CASE       {condition, value, condition, value, ..., else}; an even count: no else (NULL).
 * IN         {x, item...}: every item is a LIT or a scalar PARAM that compares directly
 *            with x (same kind and scale; a NULL item is possible); an IN with any other
 *            item has become OR of EQ. Or {x, list PARAM}.
 * AND, OR    flat: no AND directly below an AND, no OR below an OR.
 * SUBSTRING  {string, int64 start, int64 length if given}.
 * ADD, SUB, comparisons: both sides are of one kind and, for decimals, of one scale; their
 *            precisions may differ. MUL and DIV: both int64, both float64, or both decimal.
 * ADD_DAYS, ADD_MONTHS {date, int64}; a year interval is 12 months. */

const char *fe_op_name(enum fe_op op);
/* Structural equality, paths ignored. */
bool fe_expr_eq(const struct fe_expr *a, const struct fe_expr *b);
struct hd_strbuf;
/* A column name, in double quotes where the syntax needs them. */
void fe_name_print(struct hd_strbuf *out, const char *name);
/* Text in the syntax of docs/plan.md 2.1; names gives the column names (NULL: $0, $1). */
void fe_expr_print(struct hd_strbuf *out, const struct fe_expr *e, const char *const *names);

#endif
