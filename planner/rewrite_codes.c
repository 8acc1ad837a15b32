/* Aggregates over frames by ranks ask for numbers that tell the values of a partition apart and order them
 * (frontend/plan_window_ranked.c). Where facts leave values a small range they are such numbers themselves, counted from the
 * smallest one, and nothing is sorted for them. They may have some bits more than ranks, each of which is a level of the
 * matrix that finishing walks down (architecture.md, "Framed fields by ranks"), and costs about a third of the sort. */
#include "planner/rewrite_codes.h"

#include "planner/rewrite_ordinals.h"
#include "planner/typed.h"

enum { MORE_BITS = 2, CODE_BITS = 30 };

bool rw_has_codes(const struct fe_node *n)
{
    return n->op == FE_WINDOW_OP && n->u.sort.window->codes;
}

static const struct fe_expr *value_of(const struct fe_node *n)
{
    return n->u.sort.keys[n->u.sort.ngroup].expr;
}

/* Different values in a partition, about. */
static double ranks(const struct rewriting *w, const struct fe_node *n)
{
    const struct fe_node *in = n->inputs[0];
    double rows = rw_rows(w, in, value_of(n)), values = rw_distinct(w, in, value_of(n)), parts = 1;
    for (int i = 0; i < n->u.sort.ngroup; i++) {
        double d = rw_distinct(w, in, n->u.sort.keys[i].expr);
        parts *= d < 0 ? rows : HD_MAX(d, 1.0);
    }
    rows /= HD_MAX(1.0, HD_MIN(parts, rows));
    return values < 0 ? rows : HD_MIN(values, rows);
}

static bool is_small(const struct rewriting *w, const struct fe_node *n, struct pl_range *r)
{
    const struct fe_expr *x = value_of(n);
    if (hd_type_is_float(x->type) || hd_type_is_text(x->type) || x->type.kind == HD_INTERVAL)
        return false;
    *r = rw_computed_ordinals(w, n->inputs[0], x);
    double span = (double)r->hi - (double)r->lo + 1; /* 38 digits of either sign have no 128-bit width */
    return r->known && span <= (double)(1 << CODE_BITS) && span <= ranks(w, n) * (1 << MORE_BITS);
}

/* From 1 on; where there is no value, which whoever asks has looked at, any. */
static struct fe_expr *code(const struct rewriting *w, struct fe_expr *x, struct pl_range r)
{
    const struct hd_type wide = hd_decimal(HD_DEC_MAX, 0);
    struct fe_expr *less = pl_expr_node(w->a, FE_LIT, wide, false, x->path, 0, NULL, NULL);
    struct fe_expr *one = pl_expr_node(w->a, FE_LIT, wide, false, x->path, 0, NULL, NULL);
    less->value = (struct fe_value){.type = wide, .i = r.lo - 1};
    one->value = (struct fe_value){.type = wide, .i = 1};
    struct fe_expr *e = pl_expr_node(w->a, FE_ORDINAL, wide, x->nullable, x->path, 1, x, NULL);
    e = pl_expr_node(w->a, FE_SUB, wide, x->nullable, x->path, 2, e, less);
    if (x->nullable)
        e = pl_expr_node(w->a, FE_COALESCE, wide, false, x->path, 2, e, one);
    return pl_expr_node(w->a, FE_CAST, hd_type_of(HD_INT64), false, x->path, 1, e, NULL);
}

struct fe_node *rw_codes(const struct rewriting *w, struct fe_node *n)
{
    struct pl_range r;
    struct fe_node *in = n->inputs[0];
    if (!is_small(w, n, &r))
        return n;
    struct fe_node *p = rw_node(w, FE_PROJECT_OP, n, 1, in, NULL);
    rw_set_columns(w, p, n);
    p->u.project.exprs = HD_NEWN(w->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < in->ncols; i++)
        p->u.project.exprs[i] = rw_column(w, in, i);
    p->u.project.exprs[in->ncols] = code(w, (struct fe_expr *)(uintptr_t)value_of(n), r);
    return p;
}
