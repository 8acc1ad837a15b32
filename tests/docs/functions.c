/* Writes docs/functions.md: rows of frontend/docs.def, with what frontend/ops.def says of NULL and of failures. It does not
 * compile where an operator, a function or an aggregate has no row. */
#include <stdio.h>
#include <string.h>

#include "frontend/expr.h"

/* ---- complete --------------------------------------------------------------------------------- */

enum {
#define T_DOC(id, ...)     DOCUMENTED_##id,
#define T_DOC_AGG(id, ...) DOCUMENTED_AGG_##id,
#define T_DOC_NONE(id)     DOCUMENTED_AGG_##id,
#include "frontend/docs.def"
};

#define WANTED(id) _Static_assert(DOCUMENTED_##id >= 0, "a row of frontend/docs.def");
#define WANTED_NONE(id)
#define WANTED_NAME(id)
#define WANTED_LITERAL(id)
#define WANTED_PARAMETER(id)
#define WANTED_OR                           WANTED
#define WANTED_AND                          WANTED
#define WANTED_NOT                          WANTED
#define WANTED_COMPARE                      WANTED
#define WANTED_BITS                         WANTED
#define WANTED_COMPLEMENT                   WANTED
#define WANTED_SUM                          WANTED
#define WANTED_PRODUCT                      WANTED
#define WANTED_INTERVAL                     WANTED
#define WANTED_SIGN                         WANTED
#define WANTED_IS_NULL                      WANTED
#define WANTED_IN                           WANTED
#define WANTED_LIKE                         WANTED
#define WANTED_CASE                         WANTED
#define WANTED_CALL                         WANTED
#define WANTED_CAST                         WANTED
#define WANTED_EXTRACT                      WANTED
#define WANTED_TRUNC                        WANTED
#define WANTED_SHIFT                        WANTED
#define WANTED_UNITS                        WANTED
#define WANTED_POSITION                     WANTED
#define WANTED_SUBSTRING                    WANTED
#define T_OP(id, text, lo, hi, syntax, ...) WANTED_##syntax(id)
#include "frontend/ops.def"
#define T_AGG(id, ...) WANTED(AGG_##id)
#include "frontend/aggs.def"

/* ---- rules ------------------------------------------------------------------------------------ */

static const struct {
    enum fe_null_rule nulls;
    enum fe_fail_rule fails;
} ops[] = {
#define T_OP(id, text, lo, hi, syntax, typing, nulls, fails, ...) {FE_NULLS_##nulls, FE_FAILS_##fails},
#include "frontend/ops.def"
};

static const char *null_text(enum fe_null_rule rule)
{
    switch (rule) {
    case FE_NULLS_STRICT: return "if an argument is";
    case FE_NULLS_PARTIAL: return "if the argument is, and where it has no value of the type";
    case FE_NULLS_KLEENE: return "three-valued: if one is and the others do not decide";
    case FE_NULLS_MEMBER: return "three-valued: if a is, or an item is and none equals a";
    case FE_NULLS_CASE: return "if the value chosen is, or there is none";
    case FE_NULLS_COALESCE: return "if all arguments are";
    case FE_NULLS_NEVER: return "never";
    case FE_NULLS_OWN: break;
    }
    return NULL;
}

/* What a row leaves to the table; NULL: it must not, or must leave it. */
static const char *failure_text(enum fe_fail_rule rule, bool own_nulls, const char *said)
{
    bool words = *said != 0;
    switch (rule) {
    case FE_FAILS_NEVER: return words && !own_nulls ? NULL : said;
    case FE_FAILS_EXACT: return words ? NULL : "overflow of exact types";
    case FE_FAILS_ALWAYS:
    case FE_FAILS_LENGTH:
    case FE_FAILS_SHIFT:
    case FE_FAILS_CAST: return words ? said : NULL;
    case FE_FAILS_MARKED: break;
    }
    return NULL;
}

/* ---- writing ---------------------------------------------------------------------------------- */

static int wrong;

/* A cell of a table: bars would end it. */
static void put(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

static void put_cell(const char *text)
{
    put(*text ? text : "–");
    printf(" | ");
}

static void put_row(const char *usage, const char *arguments, const char *result, const char *nulls, const char *fails,
                    const char *example, const char *value)
{
    printf("| `");
    put(usage);
    printf("` | ");
    put_cell(arguments);
    put_cell(result);
    put_cell(nulls);
    put_cell(fails);
    if (*example) {
        printf("`");
        put(example);
        printf("` → `%s` |\n", value);
    } else {
        printf("– |\n");
    }
}

static void put_operator(enum fe_op op, const char *usage, const char *arguments, const char *result, const char *nulls,
                         const char *fails, const char *example, const char *value)
{
    const char *by_rule = null_text(ops[op].nulls), *raises = failure_text(ops[op].fails, !by_rule, fails);
    if ((by_rule != NULL) == (*nulls != 0) || !raises || !*example) {
        fprintf(stderr, "frontend/docs.def: the row of %s says what its rules say, or lacks what they do not\n", usage);
        wrong = 1;
        return;
    }
    put_row(usage, arguments, result, by_rule ? by_rule : nulls, raises, example, value);
}

static void put_part(const char *title, const char *text, const char *nulls)
{
    printf("\n## %s\n\n%s\n\n| | arguments and meaning | result | %s | raises | example |\n|---|---|---|---|---|---|\n",
           title, text, nulls);
}

static const char *of_part(const char *title)
{
    return strcmp(title, "Aggregates") == 0 ? "of no values" : "NULL";
}

int main(void)
{
    printf("# Operators and functions\n\n"
           "<!-- Written by tests/docs/functions.c from frontend/docs.def; HEDDLE_UPDATE=1 ctest -R functions_written "
           "-->\n\n"
           "What a plan can compute, with the types of the result, when it is NULL and when a row that reaches it "
           "raises an\n"
           "error. General rules, of floats that meet, conversions, errors and text forms, are in [plan.md](plan.md), "
           "2.2. Each\n"
           "example is a test.\n");
#define T_DOC_PART(title, text) put_part(title, text, of_part(title));
#define T_DOC(id, usage, arguments, result, nulls, fails, example, value) \
    put_operator(FE_##id, usage, arguments, result, nulls, fails, example, value);
#define T_DOC_AGG(id, usage, arguments, result, none, fails, example, value) \
    put_row(usage, arguments, result, none, fails, example, value);
#include "frontend/docs.def"
    return wrong;
}
