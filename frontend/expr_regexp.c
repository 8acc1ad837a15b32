/* Typing of functions of regular expressions: the pattern is a literal, which is checked, or a parameter; flags become
 * part of it (docs/plan.md 2.4). */
#include <string.h>

#include "frontend/constant.h"
#include "frontend/expr_node.h"
#include "frontend/regexp.h"

static bool is_constant_text(const struct fe_expr *e)
{
    bool constant = e->op == FE_PARAM || (e->op == FE_LIT && !e->value.is_null);
    return constant && e->type.kind == HD_STRING;
}

const char *fe_regexp_letters(enum fe_op op)
{
    return op == FE_REGEXP_REPLACE ? "gi" : "i";
}

bool fe_regexp_flags(enum fe_op op, const struct fe_value *flags, bool *fold, bool *all)
{
    for (size_t i = 0; i < flags->n; i++) {
        if (!memchr(fe_regexp_letters(op), flags->s[i], strlen(fe_regexp_letters(op))))
            return false;
        *fold |= flags->s[i] == 'i';
        *all |= flags->s[i] == 'g';
    }
    return true;
}

struct fe_value fe_regexp_folded(struct hd_arena *a, struct fe_value v)
{
    char *s = hd_alloc(a, v.n + 5);
    memcpy(s, "(?i)", 4);
    memcpy(s + 4, v.s, v.n);
    s[v.n + 4] = 0;
    v.s = s;
    v.n += 4;
    return v;
}

/* Letters of the last argument. */
static int read_flags(struct fe_typing *t, const struct fe_ast *x, const struct fe_expr *flags, bool *fold, bool *all)
{
    if (flags->op != FE_LIT || !is_constant_text(flags))
        return fe_ast_fail(x, t->err, "flags are a literal text, or a parameter that may not be null");
    if (!fe_regexp_flags(x->op, &flags->value, fold, all))
        return fe_ast_fail(x, t->err, FE_FLAGS_WANTED, fe_regexp_letters(x->op), flags->value.s);
    return 0;
}

/* The number of a group: a literal or parameter. */
static int read_group(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **group)
{
    *group = fe_settle(t, *group, HD_INT64);
    const struct fe_value *v = &(*group)->value;
    bool integer = hd_type_is_int((*group)->type), later = integer && (*group)->op == FE_PARAM;
    bool fits = integer && (*group)->op == FE_LIT && !v->is_null && v->i >= 0 && v->i <= FE_REGEXP_MAX_NODES;
    if (!later && !fits)
        return fe_ast_fail(x, t->err, "the group is an integer, a literal or a parameter, 0 for the whole match");
    if (later)
        HD_TRY(fe_param_stands(&t->params[(*group)->param], FE_CONSTANT_GROUP, t->err));
    *group = fe_cast_to(t, *group, HD_INT64);
    return 0;
}

/* What the program has to tell, as far as the third argument is known by now. */
static struct fe_regexp_use use_of(enum fe_op op, struct fe_expr *const *a)
{
    if (op == FE_REGEXP_LIKE)
        return (struct fe_regexp_use){0};
    if (a[2]->op != FE_LIT)
        return (struct fe_regexp_use){.span = true};
    if (op == FE_REGEXP_EXTRACT)
        return fe_regexp_extracting((int)a[2]->value.i);
    return fe_regexp_replacing(a[2]->value.is_null ? "" : a[2]->value.s, a[2]->value.n);
}

static int check_pattern(struct fe_typing *t, const struct fe_ast *x, struct fe_expr *const *a)
{
    struct fe_regexp_error e;
    const struct fe_regexp_use use = use_of(x->op, a);
    size_t size;
    const struct fe_expr *pattern = a[1];
    if (pattern->op == FE_PARAM || fe_regexp_compile(t->arena, pattern->value.s, pattern->value.n, &use, &size, &e))
        return 0;
    return fe_ast_fail(x, t->err, "regular expression, byte %zu: %s", e.at + 1, e.message);
}

/* regexp_extract(s, p [, group] [, flags]): without a group it is 0. */
static int find_group(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a, struct fe_expr **flags)
{
    bool number = x->nargs > 2 && hd_type_is_num(a[2]->type);
    if (x->nargs > 3 && !number)
        return fe_mismatch(t, x, "the number of a group before its flags", x->nargs, a);
    *flags = x->nargs > 2 + number ? a[2 + number] : NULL;
    if (!number)
        a[2] = fe_make_literal(t, x, (struct fe_value){.type = hd_type_of(HD_INT64)});
    return read_group(t, x, &a[2]);
}

int ft_REGEXP(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **given, struct fe_expr **out)
{
    bool replaces = x->op == FE_REGEXP_REPLACE || x->op == FE_REGEXP_REPLACE_ALL, fold = false;
    bool all = false, extracts = x->op == FE_REGEXP_EXTRACT;
    int n = replaces || extracts ? 3 : 2;
    struct fe_expr *a[4], *flags = NULL;
    for (int i = 0; i < x->nargs; i++)
        a[i] = extracts && i == 2 ? given[i] : fe_settle(t, given[i], HD_STRING);
    if (extracts)
        HD_TRY(find_group(t, x, a, &flags));
    else if (x->nargs > n)
        flags = a[n];
    for (int i = 0; i < n; i++)
        if (a[i]->type.kind != HD_STRING && !(extracts && i == 2))
            return fe_mismatch(t, x, "strings", n, a);
    if (!is_constant_text(a[1]))
        return fe_ast_fail(x, t->err, "the pattern is a literal text or a parameter");
    bool later = flags && (fe_is_text_param(flags) || a[1]->op == FE_PARAM); /* planning takes them into the pattern */
    if (flags && !fe_is_text_param(flags))
        HD_TRY(read_flags(t, x, flags, &fold, &all));
    HD_TRY(check_pattern(t, x, a));
    if (later)
        a[n++] = flags;
    else if (fold)
        a[1] = fe_make_literal(t, x, fe_regexp_folded(t->arena, a[1]->value));
    all &= !later;
    enum fe_op op = all ? FE_REGEXP_REPLACE_ALL : x->op;
    *out = fe_make(t, x, op, hd_type_of(op == FE_REGEXP_LIKE ? HD_BOOL : HD_STRING), n, a);
    return 0;
}
