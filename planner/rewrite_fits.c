/* Windows say variances in two ways where types do not tell whether exact sums are enough (frontend/plan_window_moments.c).
 * Facts do; the other way is dropped here, before anything asks what is needed. */
#include "planner/rewrite_fits.h"

#include "planner/rewrite_ordinals.h"

static const struct fe_window_column *window_column(const struct fe_node *window, int i)
{
    int nin = window->inputs[0]->ncols;
    return i >= nin ? &window->u.sort.window->columns[i - nin] : NULL;
}

bool rw_has_fits(const struct fe_node *n)
{
    bool found = false;
    if (n->op != FE_PROJECT_OP || n->inputs[0]->op != FE_WINDOW_OP)
        return false;
    const struct fe_window *w = n->inputs[0]->u.sort.window;
    for (int i = 0; i < w->ncolumns; i++)
        found |= w->columns[i].at.base == FE_WINDOW_FITS;
    return found;
}

/* 1 or 0; -1: e is none such. */
static int truth(const struct rewriting *w, const struct fe_node *window, const struct fe_expr *e)
{
    if (e->op == FE_AND) {
        int all = 1;
        for (int i = 0; i < e->nargs && all >= 0; i++) {
            int one = truth(w, window, e->args[i]);
            all = one < 0 ? -1 : all & one;
        }
        return all;
    }
    const struct fe_window_column *c = e->op == FE_COL ? window_column(window, e->col) : NULL;
    if (!c || c->at.base != FE_WINDOW_FITS)
        return -1;
    const struct fe_expr *arg = window->u.sort.window->values[c->value].arg;
    struct pl_range r = rw_computed_ordinals(w, window->inputs[0], arg);
    hd_i128 most = hd_pow10((int)c->at.by);
    return r.known && r.lo >= -most && r.hi <= most;
}

static struct fe_expr *chosen(const struct rewriting *w, const struct fe_node *window, const struct fe_expr *e)
{
    int known = e->op == FE_CASE ? truth(w, window, e->args[0]) : -1;
    if (known >= 0)
        return chosen(w, window, e->args[known ? 1 : 2]);
    struct fe_expr *to = hd_dup(w->a, e, sizeof *e);
    to->args = HD_NEWN(w->a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        to->args[i] = chosen(w, window, e->args[i]);
    return to;
}

struct fe_node *rw_fits(const struct rewriting *w, struct fe_node *n)
{
    struct fe_expr **exprs = HD_NEWN(w->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        exprs[i] = chosen(w, n->inputs[0], n->u.project.exprs[i]);
    n->u.project.exprs = exprs;
    return n;
}
