/* string_agg: a window sorts the strings of each group and joins them (lower_window.c); the first row has the result. */
#include <string.h>

#include "planner/ordered.h"
#include "planner/typed.h"

static const struct hd_type text = {HD_STRING, 0, 0};

/* Keys, what rows are ordered by, and the argument, which breaks ties. */
static struct fe_node *strings(const struct ordering *o, const struct ordered_part *part)
{
    const struct fe_agg *a = &o->n->u.agg.aggs[part->first];
    int nk = o->n->u.agg.nkeys;
    if (!a->norder)
        return a->distinct ? ro_grouped(o, ro_values(o, part, a->arg), nk + 1, 0) : ro_values(o, part, a->arg);
    struct fe_node *in = rw_copy(o->w, o->in);
    struct fe_node *p = ro_projected(o, part->counts ? ro_filtered(o, in, part->counts) : in, nk + a->norder + 1);
    for (int i = 0; i < nk; i++)
        ro_add(p, o->n->u.agg.keys[i], o->n->cols[i].name);
    for (int i = 0; i < a->norder; i++)
        ro_add(p, a->order[i].expr, "order");
    ro_add(p, a->arg, "value");
    return p;
}

/* NULLs are left out by now. */
static struct fe_expr *there(const struct ordering *o, struct fe_expr *x)
{
    if (!x->nullable)
        return x;
    struct fe_expr *empty = ro_number(o, text, 0);
    empty->value.s = "";
    return pl_expr_node(o->w->a, FE_COALESCE, text, false, x->path, 2, x, empty);
}

/* The window; its last columns are a row's number and the text. */
static struct fe_node *window_of(const struct ordering *o, const struct fe_agg *a, struct fe_node *in, int at)
{
    int nk = o->n->u.agg.nkeys;
    struct fe_node *n = ro_window(o, in, nk, at + 1, 2);
    for (int i = 0; i < a->norder; i++) {
        n->u.sort.keys[nk + i].desc = a->order[i].desc;
        n->u.sort.keys[nk + i].nulls_first = a->order[i].nulls_first;
    }
    struct fe_window *w = n->u.sort.window;
    struct fe_expr *x = there(o, rw_column(o->w, in, at));
    struct fe_expr *bytes = ro_plus(o, ro_op(o, FE_OCTET_LENGTH, ro_integer, x, NULL), (int64_t)a->separator->value.n);
    w->separator = a->separator;
    w->nvalues = 2;
    w->values[0] = (struct fe_window_value){.fn = FE_AGG_STRING_AGG, .arg = x};
    w->values[1] = (struct fe_window_value){.fn = FE_AGG_SUM, .arg = bytes};
    ro_add_column(n, (struct fe_window_column){.at = {.base = FE_WINDOW_ROW}, .value = -1}, "row");
    n->cols[ro_add_column(n, (struct fe_window_column){.at = {.base = FE_WINDOW_ROW}, .value = 0}, "text")].type = text;
    return n;
}

void ro_texts(struct ordering *o, int part)
{
    struct ordered_part *p = &o->parts[part];
    int nk = o->n->u.agg.nkeys;
    struct fe_node *in = strings(o, p), *n = window_of(o, &o->n->u.agg.aggs[p->first], in, in->ncols - 1);
    struct fe_expr *row = rw_column(o->w, n, n->ncols - 2), *one = ro_number(o, ro_integer, 1);
    n = ro_filtered(o, n, ro_op(o, FE_EQ, ro_truth, row, one));
    p->groups = ro_projected(o, n, nk + 1);
    ro_add_columns(o, p->groups, nk);
    ro_add(p->groups, rw_column(o->w, n, n->ncols - 1), "text");
    for (int i = 0; i < o->n->u.agg.naggs; i++)
        if (o->part[i] == part)
            o->at[i].value = nk;
}
