/* Typing of functions of regular expressions: the pattern is a literal, which is checked, or a parameter; flags become
 * part of it (docs/plan.md 2.4). */
#include <string.h>

#include "frontend/expr_node.h"
#include "frontend/regexp.h"

static bool is_constant_text(const struct fe_expr *e)
{
    bool constant = e->op == FE_PARAM || (e->op == FE_LIT && !e->value.is_null);
    return constant && e->type.kind == HD_STRING;
}

/* Letters of the last argument. */
static int read_flags(struct fe_typing *t, const struct fe_ast *x, const struct fe_expr *flags, bool *fold, bool *all)
{
    bool replaces = x->op == FE_REGEXP_REPLACE;
    if (flags->op != FE_LIT || !is_constant_text(flags))
        return fe_ast_fail(x, t->err, "flags are a literal text");
    for (size_t i = 0; i < flags->value.n; i++) {
        char c = flags->value.s[i];
        if (c != 'i' && !(c == 'g' && replaces))
            return fe_ast_fail(x, t->err, "flags are letters of \"%s\", found \"%.20s\"", replaces ? "gi" : "i",
                               flags->value.s);
        *fold |= c == 'i';
        *all |= c == 'g';
    }
    return 0;
}

static int check_pattern(struct fe_typing *t, const struct fe_ast *x, const struct fe_expr *pattern)
{
    struct fe_regexp_error e;
    size_t size;
    bool span = x->op != FE_REGEXP_LIKE;
    if (pattern->op == FE_PARAM)
        return 0;
    if (fe_regexp_compile(t->arena, pattern->value.s, pattern->value.n, span ? FE_REGEXP_SPAN : FE_REGEXP_SEARCH, &size,
                          &e))
        return 0;
    return fe_ast_fail(x, t->err, "regular expression, byte %zu: %s", e.at + 1, e.message);
}

static int fold_case(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **pattern)
{
    struct fe_value v = (*pattern)->value;
    if ((*pattern)->op != FE_LIT)
        return fe_ast_fail(x, t->err, "flags go with a literal pattern; of a parameter let the text begin with (?i)");
    char *s = hd_alloc(t->arena, v.n + 5);
    memcpy(s, "(?i)", 4);
    memcpy(s + 4, v.s, v.n);
    s[v.n + 4] = 0;
    v.s = s;
    v.n += 4;
    *pattern = fe_make_literal(t, x, v);
    return 0;
}

int ft_REGEXP(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **out)
{
    bool replaces = x->op == FE_REGEXP_REPLACE || x->op == FE_REGEXP_REPLACE_ALL, fold = false;
    bool all = x->op == FE_REGEXP_REPLACE_ALL;
    int n = replaces ? 3 : 2;
    for (int i = 0; i < x->nargs; i++)
        a[i] = fe_settle(t, a[i], HD_STRING);
    for (int i = 0; i < x->nargs; i++)
        if (a[i]->type.kind != HD_STRING)
            return fe_mismatch(t, x, "strings", x->nargs, a);
    if (!is_constant_text(a[1]))
        return fe_ast_fail(x, t->err, "the pattern is a literal text or a parameter");
    if (x->nargs > n)
        HD_TRY(read_flags(t, x, a[n], &fold, &all));
    HD_TRY(check_pattern(t, x, a[1]));
    if (fold)
        HD_TRY(fold_case(t, x, &a[1]));
    enum fe_op op = replaces && all ? FE_REGEXP_REPLACE_ALL : x->op;
    *out = fe_make(t, x, op, hd_type_of(op == FE_REGEXP_LIKE ? HD_BOOL : HD_STRING), n, a);
    return 0;
}
