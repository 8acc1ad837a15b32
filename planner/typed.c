/* Typed expressions: taking them apart, making new ones. */
#include "planner/typed.h"

#include "planner/cost.h"
#include "planner/estimate.h"
#include "runtime/base/vec.h"

struct fe_expr *pl_expr_node(struct hd_arena *a, enum fe_op op, struct hd_type t, bool nullable, const char *path,
                             int n, struct fe_expr *x, struct fe_expr *y)
{
    struct fe_expr *e = HD_NEW(a, struct fe_expr);
    *e = (struct fe_expr){.op = op, .type = t, .nullable = nullable, .nargs = n, .path = path};
    e->args = HD_NEWN(a, struct fe_expr *, 2);
    e->args[0] = x;
    e->args[1] = y;
    return e;
}

struct fe_expr *pl_col_node(struct hd_arena *a, int col, struct hd_type t, bool nullable, const char *path)
{
    struct fe_expr *e = pl_expr_node(a, FE_COL, t, nullable, path, 0, NULL, NULL);
    e->col = col;
    return e;
}

struct fe_expr *pl_key_equal(struct hd_arena *a, struct fe_expr *x, struct fe_expr *y, const char *path,
                             bool null_equal)
{
    const struct hd_type b = hd_type_of(HD_BOOL);
    struct fe_expr *equal = pl_expr_node(a, FE_EQ, b, x->nullable || y->nullable, path, 2, x, y);
    if (!null_equal || !x->nullable || !y->nullable)
        return equal;
    struct fe_expr *both =
        pl_expr_node(a, FE_AND, b, false, path, 2, pl_expr_node(a, FE_IS_NULL, b, false, path, 1, x, NULL),
                     pl_expr_node(a, FE_IS_NULL, b, false, path, 1, y, NULL));
    return pl_expr_node(a, FE_OR, b, true, path, 2, equal, both);
}

struct fe_expr *pl_expr_shifted(struct hd_arena *a, const struct fe_expr *e, int by)
{
    struct fe_expr *to = hd_dup(a, e, sizeof *e);
    to->args = HD_NEWN(a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        to->args[i] = pl_expr_shifted(a, e->args[i], by);
    to->col += e->op == FE_COL ? by : 0;
    return to;
}

static void push(struct hd_arena *a, const struct fe_expr ***v, int *n, const struct fe_expr *e)
{
    hd_grow1(a, *v, *n);
    (*v)[(*n)++] = e;
}

void pl_conjuncts(struct hd_arena *a, const struct fe_expr *e, const struct fe_expr ***v, int *n)
{
    if (e->op == FE_AND) {
        for (int i = 0; i < e->nargs; i++)
            pl_conjuncts(a, e->args[i], v, n);
        return;
    }
    push(a, v, n, e);
}

void pl_order_conjuncts(struct hd_arena *a, const struct fe_expr *e, const struct fe_expr ***v, int *n)
{
    const struct fe_expr **all = NULL;
    int count = 0;
    bool fails = false;
    pl_conjuncts(a, e, &all, &count);
    for (int i = 0; i < count; i++)
        fails |= lx_may_fail(all[i]);
    for (int class = 0; class < PL_COST_CLASSES; class ++)
        for (int i = 0; i < count; i++)
            if (fails ? class == 0 : pl_cost_class(all[i]) == class) /* what may raise stays in plan order */
                push(a, v, n, all[i]);
}

bool pl_expr_uses(const struct fe_expr *e, int lo, int hi)
{
    if (e->op == FE_COL)
        return e->col >= lo && e->col < hi;
    for (int i = 0; i < e->nargs; i++)
        if (pl_expr_uses(e->args[i], lo, hi))
            return true;
    return false;
}

bool pl_is_inequality(enum fe_op op)
{
    return fe_op_compares(op) && op != FE_EQ;
}
