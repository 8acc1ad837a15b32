#include "frontend/ast.h"

#include <stdio.h>
#include <string.h>

#include "frontend/json.h"
#include "runtime/base/suggest.h"
#include "runtime/base/strbuf.h"

struct fe_ast *fe_ast_new(struct hd_arena *a, enum fe_op op, const char *path, int pos)
{
    struct fe_ast *x = HD_NEW(a, struct fe_ast);
    x->op = op;
    x->path = path;
    x->pos = pos;
    x->depth = x->size = 1;
    return x;
}

void fe_ast_set_args(struct hd_arena *a, struct fe_ast *x, int n, struct fe_ast *const *args)
{
    x->nargs = n;
    x->args = hd_dup(a, args, (size_t)n * sizeof *args);
    x->depth = x->size = 1;
    for (int i = 0; i < n; i++) {
        x->depth = HD_MAX(x->depth, args[i]->depth + 1);
        x->size = HD_MIN(x->size + args[i]->size, FE_EXPR_MAX_SIZE + 1);
    }
}

int fe_ast_fail(const struct fe_ast *x, struct hd_err *err, const char *fmt, ...)
{
    char msg[sizeof err->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    if (x->pos < 0)
        HD_FAIL(err, USER, x->path, "%s", msg);
    else
        HD_FAIL(err, USER, x->path, "character %d: %s", x->pos + 1, msg);
    return -1;
}

int fe_ast_check_size(const struct fe_ast *x, struct hd_err *err)
{
    if (x->depth > FE_EXPR_MAX_DEPTH)
        return fe_ast_fail(x, err, "the expression is nested deeper than %d levels", FE_EXPR_MAX_DEPTH);
    if (x->size > FE_EXPR_MAX_SIZE)
        return fe_ast_fail(x, err, "the expression has more than %d parts", FE_EXPR_MAX_SIZE);
    return 0;
}

static void list_names(struct hd_strbuf *b, const struct fe_scope *s)
{
    enum { SHOWN = 16 };
    for (int i = 0; i < s->ncols && i < SHOWN; i++)
        if (*s->cols[i].name) /* others are not to be named */
            hd_strbuf_addf(b, "%s%s", i ? ", " : "", s->cols[i].name);
    if (s->ncols > SHOWN)
        hd_strbuf_addf(b, ", ... (%d in all)", s->ncols);
    if (!s->ncols)
        hd_strbuf_adds(b, "none");
}

static const char *without_alias(const struct fe_scope *s, const char *name)
{
    size_t n = s->alias ? strlen(s->alias) : 0;
    bool has = n && strncmp(name, s->alias, n) == 0 && name[n] == '.';
    return has ? name + n + 1 : NULL;
}

int fe_scope_find(const struct fe_scope *s, const char *name, const char *path, int pos, struct hd_err *err, int *out)
{
    struct fe_ast at = {.path = path, .pos = pos};
    const char *bare = without_alias(s, name);
    *out = -1;
    for (int i = 0; i < s->ncols; i++) {
        const char *c = s->cols[i].name;
        if (strcmp(c, name) != 0 && !(bare && strcmp(c, bare) == 0))
            continue;
        if (*out >= 0)
            return fe_ast_fail(&at, err, "column \"%s\" is in both inputs; give one an alias", name);
        *out = i;
    }
    if (*out >= 0)
        return 0;
    struct hd_strbuf b;
    struct hd_suggestion suggestion;
    hd_suggest_init(&suggestion, name);
    for (int i = 0; i < s->ncols; i++)
        hd_suggest_offer(&suggestion, s->cols[i].name);
    hd_strbuf_init(&b);
    list_names(&b, s);
    fe_ast_fail(&at, err, "column \"%.100s\" not found%s; inputs are %s", name, hd_suggest_hint(&suggestion), b.s);
    hd_strbuf_release(&b);
    return -1;
}

int fe_param_find(const struct fe_typing *t, const struct fe_ast *x, int *out)
{
    struct hd_suggestion suggestion;
    for (*out = 0; *out < t->nparams; ++*out)
        if (strcmp(t->params[*out].name, x->name) == 0)
            return 0;
    hd_suggest_init(&suggestion, x->name);
    for (int k = 0; k < t->nparams; k++)
        hd_suggest_offer(&suggestion, t->params[k].name);
    return fe_ast_fail(x, t->err, "parameter :%.100s is not declared in \"params\"%s", x->name,
                       hd_suggest_hint(&suggestion));
}
