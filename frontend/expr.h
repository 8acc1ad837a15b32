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

/* How an operator is written (docs/plan.md 2.1). */
enum fe_syntax {
    FE_SYNTAX_NONE, /* only the planner makes it */
    FE_SYNTAX_NAME, /* of a column */
    FE_SYNTAX_LITERAL,
    FE_SYNTAX_PARAMETER,
    FE_SYNTAX_OR, /* between its arguments, which may be many */
    FE_SYNTAX_AND,
    FE_SYNTAX_NOT,
    FE_SYNTAX_COMPARE, /* between two arguments, as those of the next lines */
    FE_SYNTAX_BITS,
    FE_SYNTAX_SUM,
    FE_SYNTAX_PRODUCT,
    FE_SYNTAX_INTERVAL, /* a + interval b day */
    FE_SYNTAX_COMPLEMENT, /* before its argument, as the next one */
    FE_SYNTAX_SIGN,
    FE_SYNTAX_IS_NULL,
    FE_SYNTAX_IN,
    FE_SYNTAX_LIKE,
    FE_SYNTAX_CASE,
    FE_SYNTAX_CALL, /* f(a, b) */
    FE_SYNTAX_CAST, /* calls with words between their arguments */
    FE_SYNTAX_EXTRACT,
    FE_SYNTAX_TRUNC, /* f('field', a) */
    FE_SYNTAX_SHIFT, /* f(a, b, 'field') */
    FE_SYNTAX_UNITS, /* date_diff('field', a, b); without a field it is another operator */
    FE_SYNTAX_POSITION,
    FE_SYNTAX_SUBSTRING
};
/* When the result of an operator is NULL. */
enum fe_null_rule {
    FE_NULLS_STRICT,   /* if any argument is */
    FE_NULLS_PARTIAL,  /* if any argument is, and where the operator has no value for them */
    FE_NULLS_KLEENE,   /* three-valued: if all arguments are, and if one is and the others do not decide */
    FE_NULLS_MEMBER,   /* if the first argument is, and if one of the others is and none is equal to it */
    FE_NULLS_CASE,     /* if the value chosen is, or there is none */
    FE_NULLS_COALESCE, /* if all arguments are */
    FE_NULLS_NEVER,
    FE_NULLS_OWN       /* the node says so */
};
/* When a logical expression may raise, by its operator; planner/estimate.c has the rules. */
enum fe_fail_rule {
    FE_FAILS_NEVER,
    FE_FAILS_ALWAYS, /* whatever its operands */
    FE_FAILS_EXACT,  /* if its type is the widest exact one */
    FE_FAILS_LENGTH, /* unless the last argument is a constant that is no less than 0, or left out */
    FE_FAILS_SHIFT,  /* unless it is of constants, and a date */
    FE_FAILS_CAST,   /* unless the type holds all values of the other */
    FE_FAILS_MARKED  /* physical only: where facts do not exclude it */
};
/* What an operator costs beside its arguments, roughly. */
enum fe_cost {
    FE_COST_LOW,     /* a few instructions */
    FE_COST_COMPARE, /* the same, but of texts a call */
    FE_COST_CHOICE,  /* all of its arguments where one might do */
    FE_COST_LIST,    /* a comparison for each argument */
    FE_COST_LOAD,    /* memory at an address that its argument says */
    FE_COST_CONVERT, /* a dozen instructions, some of them branches */
    FE_COST_DIVIDE,
    FE_COST_TEXT,    /* walks or writes a text */
    FE_COST_SEARCH   /* of a text or a set */
};
/* Whether a CPU works on vectors of rows: ops.def. SMALL: if the set is small. */
enum fe_lanes { FE_LANES_NO, FE_LANES_YES, FE_LANES_SMALL };
/* A row of ops.def. */
struct fe_op_form {
    const char *name;
    int min, max; /* arguments; max -1: any number */
    enum fe_syntax syntax;
    enum fe_null_rule nulls;
    enum fe_fail_rule fails;
    enum fe_cost cost;
    int entries; /* of the args vector: arg, arg2 of physical expressions */
    enum fe_lanes lanes;
    const char *types; /* of physical expressions: the form, letters of planner/verify_expr.c */
};
const struct fe_op_form *fe_op_form(enum fe_op op);
const char *fe_op_name(enum fe_op op);
bool fe_op_compares(enum fe_op op); /* =, <>, <, <=, >, >= */
/* Whether it takes n arguments; if not, `what` says what was expected. */
enum { FE_ARITY_TEXT = 96 };
bool fe_op_takes(enum fe_op op, int n, char what[FE_ARITY_TEXT]);
/* Whether the result may be NULL, by which of the n arguments may be. Not of OWN operators. */
bool fe_op_nullable(enum fe_op op, int n, const bool *nullable);

enum fe_field {
#define T_FIELD(id, ...) FE_##id,
#include "frontend/fields.def"
    FE_FIELD_COUNT
};
const char *fe_field_name(enum fe_field f);
/* Whether a date has it, not only a timestamp. */
bool fe_field_of_date(enum fe_field f);
/* Whether a time can be cut down to it. */
bool fe_field_is_unit(enum fe_field f);

/* A typed value of a literal or parameter. ints, dates, timestamps, bools and decimals sit in
 * `i` (decimals scaled by 10^scale), float32 and float64 in `f`, strings in `s`/`n`. */
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
    enum fe_field field;   /* EXTRACT, DATE_TRUNC, UNITS_BETWEEN */
    bool saturate;         /* CAST made to compare decimals of two scales: beyond 38 digits it stops at
                              10^38 instead of raising, so the comparison stays exact */
    char escape;           /* LIKE: 0 if none; args = {string, pattern (LIT or PARAM)}, escape if that is a PARAM */
};

/* Arguments where ops.def does not tell them:
 * CASE       {condition, value, condition, value, ..., else}; an even count: no else (NULL).
 * IN         {x, item...}: every item is a LIT or a scalar PARAM that compares directly
 *            with x (same kind and scale; a NULL item is possible); an IN with any other
 *            item has become OR of EQ. Or {x, list PARAM}.
 * AND, OR    flat: no AND directly below an AND, no OR below an OR.
 * SUBSTRING  {string, int64 start, int64 length if given}.
 * ADD, SUB, comparisons: both sides are of one kind and, for decimals, of one scale; their
 *            precisions may differ. MUL and DIV: both int64, float32, float64, or decimal.
 * ADD_DAYS, ADD_MONTHS {date or timestamp, int64}; a year interval is 12 months. ADD_MICROS {timestamp, int64}.
 * UNITS_BETWEEN both dates, or both timestamps. */

/* Structural equality, paths ignored. */
bool fe_expr_eq(const struct fe_expr *a, const struct fe_expr *b);
struct hd_strbuf;
/* A column name, in double quotes where the syntax needs them. */
void fe_name_print(struct hd_strbuf *out, const char *name);
/* Text in the syntax of docs/plan.md 2.1; names gives the column names (NULL: $0, $1). */
void fe_expr_print(struct hd_strbuf *out, const struct fe_expr *e, const char *const *names);

#endif
