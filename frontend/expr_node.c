/* Typed nodes, and what typing rules have in common. */
#include "frontend/expr_node.h"

#include <stdio.h>
#include <string.h>

#include "frontend/value.h"

struct fe_expr *fe_make_node(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct hd_type type, int n,
                             struct fe_expr *const *args)
{
    struct fe_expr *e = HD_NEW(t->arena, struct fe_expr);
    e->op = op;
    e->type = type;
    e->path = x->path;
    e->nargs = n;
    e->args = hd_dup(t->arena, args, (size_t)n * sizeof *args);
    return e;
}

struct fe_expr *fe_make(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct hd_type type, int n,
                        struct fe_expr *const *args)
{
    struct fe_expr *e = fe_make_node(t, x, op, type, n, args);
    bool *nullable = HD_NEWN(t->arena, bool, n);
    for (int i = 0; i < n; i++)
        nullable[i] = args[i]->nullable;
    e->nullable = fe_op_nullable(op, n, nullable);
    return e;
}

struct fe_expr *fe_make2(struct fe_typing *t, const struct fe_ast *x, enum fe_op op, struct hd_type type,
                         struct fe_expr *l, struct fe_expr *r)
{
    return fe_make(t, x, op, type, 2, (struct fe_expr *[]){l, r});
}

struct fe_expr *fe_make_literal(struct fe_typing *t, const struct fe_ast *x, struct fe_value v)
{
    struct fe_expr *e = fe_make_node(t, x, FE_LIT, v.type, 0, NULL);
    e->value = v;
    e->nullable = v.is_null;
    return e;
}

struct fe_expr *fe_make_int(struct fe_typing *t, const struct fe_ast *x, int64_t i)
{
    return fe_make_literal(t, x, (struct fe_value){.type = hd_type_of(HD_INT64), .i = i});
}

struct fe_expr *fe_cast_to(struct fe_typing *t, struct fe_expr *e, enum hd_type_kind k)
{
    return fe_expr_cast(t->arena, e, hd_type_of(k));
}

const char *fe_type_name(const struct fe_expr *e, char buf[HD_TEXT_MAX])
{
    return fe_is_no_type(e->type) ? "null" : hd_type_text(e->type, buf);
}

/* "`what`, found <types of the arguments>" */
int fe_mismatch(struct fe_typing *t, const struct fe_ast *x, const char *what, int n, struct fe_expr *const *args)
{
    enum { SHOWN = 8 };
    char list[SHOWN * HD_TEXT_MAX + 16] = "", buf[HD_TEXT_MAX];
    for (int i = 0; i < n && i < SHOWN; i++) {
        const char *sep = !i ? "" : i == n - 1 ? " and " : ", ";
        size_t k = strlen(list);
        snprintf(list + k, sizeof list - k, "%s%s", sep, fe_type_name(args[i], buf));
    }
    if (n > SHOWN)
        strcat(list, ", ...");
    return fe_ast_fail(x, t->err, "\"%s\" expects %s, found %s", fe_op_name(x->op), what, list);
}

/* A bare null takes the other side's type; two of them have none. */
int fe_settle_nulls(struct fe_typing *t, const struct fe_ast *x, struct fe_expr **a)
{
    bool l = fe_is_no_type(a[0]->type), r = fe_is_no_type(a[1]->type);
    if (l && r)
        return fe_ast_fail(x, t->err, "the type of null is not known here; write cast(null as TYPE)");
    if (l)
        a[0] = fe_expr_cast(t->arena, a[0], a[1]->type);
    if (r)
        a[1] = fe_expr_cast(t->arena, a[1], a[0]->type);
    return 0;
}

struct fe_expr *fe_settle(struct fe_typing *t, struct fe_expr *e, enum hd_type_kind k)
{
    return fe_is_no_type(e->type) ? fe_cast_to(t, e, k) : e;
}
