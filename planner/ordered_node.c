#include <string.h>

#include "planner/ordered.h"
#include "planner/typed.h"

/* ---- expressions ------------------------------------------------------------------------------------------- */

const struct hd_type ro_integer = {HD_INT64, 0, 0}, ro_real = {HD_FLOAT64, 0, 0}, ro_truth = {HD_BOOL, 0, 0},
                     ro_wide = {HD_DECIMAL, HD_DEC_MAX, 0};

struct fe_expr *ro_op(const struct ordering *o, enum fe_op e, struct hd_type t, struct fe_expr *x, struct fe_expr *y)
{
    return pl_expr_node(o->w->a, e, t, x->nullable || (y && y->nullable), x->path, y ? 2 : 1, x, y);
}

struct fe_expr *ro_number(const struct ordering *o, struct hd_type t, hd_i128 v)
{
    struct fe_expr *e = pl_expr_node(o->w->a, FE_LIT, t, false, o->n->path, 0, NULL, NULL);
    e->value = (struct fe_value){.type = t, .i = v, .f = hd_type_is_float(t) ? (double)v : 0};
    return e;
}

struct fe_expr *ro_plus(const struct ordering *o, struct fe_expr *x, int64_t v)
{
    return v ? ro_op(o, v < 0 ? FE_SUB : FE_ADD, x->type, x, ro_number(o, x->type, v < 0 ? -v : v)) : x;
}

struct fe_expr *ro_when(const struct ordering *o, struct fe_expr *condition, struct fe_expr *x, struct fe_expr *other)
{
    bool nullable = !other || x->nullable || other->nullable;
    struct fe_expr *e = pl_expr_node(o->w->a, FE_CASE, x->type, nullable, x->path, 2, condition, x);
    if (!other)
        return e;
    e->args = HD_NEWN(o->w->a, struct fe_expr *, 3);
    e->args[0] = condition;
    e->args[1] = x;
    e->args[2] = other;
    e->nargs = 3;
    return e;
}

struct fe_expr *ro_either(const struct ordering *o, struct fe_expr *x, struct fe_expr *y)
{
    return x ? ro_op(o, FE_OR, ro_truth, x, y) : y;
}

struct fe_expr *ro_both(const struct ordering *o, struct fe_expr *x, struct fe_expr *y)
{
    return x ? ro_op(o, FE_AND, ro_truth, x, y) : y;
}

struct fe_expr *ro_is_there(const struct ordering *o, struct fe_expr *x)
{
    struct fe_expr *null = pl_expr_node(o->w->a, FE_IS_NULL, ro_truth, false, x->path, 1, x, NULL);
    return ro_op(o, FE_NOT, ro_truth, null, NULL);
}

struct fe_expr *ro_cast(const struct ordering *o, struct fe_expr *e, struct hd_type t)
{
    return hd_type_eq(e->type, t) ? e : ro_op(o, FE_CAST, t, e, NULL);
}

/* What rows are ordered and found by: -0 and 0 are one value, and max takes no bool. */
static struct fe_expr *orderly(const struct ordering *o, struct fe_expr *x)
{
    if (x->type.kind == HD_BOOL)
        return ro_op(o, FE_ORDINAL, ro_wide, x, NULL);
    return hd_type_is_float(x->type) ? ro_op(o, FE_ADD, x->type, x, ro_number(o, x->type, 0)) : x;
}

/* ---- nodes --------------------------------------------------------------------------------------------------- */

struct fe_node *ro_filtered(const struct ordering *o, struct fe_node *in, struct fe_expr *pred)
{
    struct fe_node *f = rw_node(o->w, FE_FILTER_OP, o->n, 1, in, NULL);
    rw_set_columns(o->w, f, in);
    f->u.filter.pred = pred;
    return f;
}

struct fe_node *ro_projected(const struct ordering *o, struct fe_node *in, int room)
{
    struct fe_node *p = rw_node(o->w, FE_PROJECT_OP, o->n, 1, in, NULL);
    p->cols = HD_NEWN(o->w->a, struct fe_column, room + 1);
    p->u.project.exprs = HD_NEWN(o->w->a, struct fe_expr *, room + 1);
    return p;
}

void ro_add(struct fe_node *p, struct fe_expr *e, const char *name)
{
    p->u.project.exprs[p->ncols] = e;
    p->cols[p->ncols++] = (struct fe_column){name, e->type, e->nullable};
}

void ro_add_columns(const struct ordering *o, struct fe_node *p, int n)
{
    for (int i = 0; i < n; i++)
        ro_add(p, rw_column(o->w, p->inputs[0], i), p->inputs[0]->cols[i].name);
}

struct fe_node *ro_values(const struct ordering *o, const struct ordered_part *part, struct fe_expr *value)
{
    int nk = o->n->u.agg.nkeys;
    struct fe_node *in = rw_copy(o->w, o->in);
    struct fe_node *p = ro_projected(o, part->counts ? ro_filtered(o, in, part->counts) : in, nk + 1);
    for (int i = 0; i < nk; i++)
        ro_add(p, o->n->u.agg.keys[i], o->n->cols[i].name);
    ro_add(p, orderly(o, value), "value");
    return p;
}

struct fe_node *ro_window(const struct ordering *o, struct fe_node *in, int ngroup, int nkeys, int room)
{
    struct fe_node *n = rw_node(o->w, FE_WINDOW_OP, o->n, 1, in, NULL);
    struct fe_window *window = n->u.sort.window = HD_NEW(o->w->a, struct fe_window);
    n->u.sort.ngroup = ngroup;
    n->u.sort.nkeys = n->u.sort.nstated = nkeys;
    n->u.sort.keys = HD_NEWN(o->w->a, struct fe_sort_key, nkeys + 1);
    for (int i = 0; i < nkeys; i++)
        n->u.sort.keys[i] = (struct fe_sort_key){rw_column(o->w, in, i), false, false};
    window->columns = HD_NEWN(o->w->a, struct fe_window_column, room + 1);
    window->values = HD_NEWN(o->w->a, struct fe_window_value, room + 1);
    n->ncols = in->ncols;
    n->cols = HD_NEWN(o->w->a, struct fe_column, in->ncols + room + 1);
    memcpy(n->cols, in->cols, sizeof *n->cols * (size_t)in->ncols);
    return n;
}

int ro_add_column(struct fe_node *n, struct fe_window_column c, const char *name)
{
    struct fe_window *w = n->u.sort.window;
    w->columns[w->ncolumns++] = c;
    n->cols[n->ncols] = (struct fe_column){name, ro_integer, false};
    return n->ncols++;
}

struct fe_node *ro_grouped(const struct ordering *o, struct fe_node *in, int nk, int room)
{
    struct fe_node *g = rw_node(o->w, FE_AGGREGATE_OP, o->n, 1, in, NULL);
    g->u.agg.nkeys = g->ncols = nk;
    g->u.agg.keys = rw_columns(o->w, in);
    g->u.agg.aggs = HD_NEWN(o->w->a, struct fe_agg, room + 1);
    g->cols = HD_NEWN(o->w->a, struct fe_column, nk + room + 1);
    memcpy(g->cols, in->cols, sizeof *g->cols * (size_t)nk);
    return g;
}

int ro_add_agg(struct fe_node *g, enum fe_agg_fn fn, struct fe_expr *arg, const char *name)
{
    for (int i = 0; i < g->u.agg.naggs; i++)
        if (g->u.agg.aggs[i].fn == fn && (!arg || fe_expr_eq(g->u.agg.aggs[i].arg, arg)))
            return g->u.agg.nkeys + i;
    struct hd_type t = arg ? arg->type : ro_integer;
    g->u.agg.aggs[g->u.agg.naggs++] = (struct fe_agg){.fn = fn, .arg = arg, .type = t, .path = g->path};
    g->cols[g->ncols] = (struct fe_column){name, t, arg != NULL};
    return g->ncols++;
}
