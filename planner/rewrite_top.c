/* `row_number <= k` above a window asks for the first k rows of each partition, which is what the operator top is, and
 * `rank <= k` for these with all that tie with the last. A top keeps few rows while others come, and numbers none. If
 * somebody reads more of the window than the filter does, it stays, of the first rows alone where what is read depends on
 * no others and most rows are others. */
#include "planner/rewrite_top.h"

#include <string.h>

#include "planner/ctx.h"
#include "planner/need.h"
#include "planner/rewrite_first.h"
#include "planner/rewrite_node.h"
#include "planner/typed.h"

/* What conjuncts of a filter say of a number. */
struct numbered {
    const struct fe_node *window;
    int column; /* of the filter, that is the number */
    int of;     /* column of the window */
    int64_t lo, hi;
    int nrest;
    const struct fe_expr **rest; /* the other conjuncts */
};

/* ---- what is asked for ---------------------------------------------------------------------------------- */

static const struct fe_node *window_below(const struct fe_node *n)
{
    while (n->op == FE_PROJECT_OP)
        n = n->inputs[0];
    return n->op == FE_WINDOW_OP && !n->u.sort.window->separator ? n : NULL;
}

/* Column of the window that projections pass on as column i of n; -1: none. */
static int window_column(const struct fe_node *n, int i)
{
    for (; n->op == FE_PROJECT_OP; n = n->inputs[0]) {
        const struct fe_expr *e = n->u.project.exprs[i];
        if (e->op != FE_COL)
            return -1;
        i = e->col;
    }
    return i - n->inputs[0]->ncols;
}

static bool is_number(const struct fe_node *window, int i)
{
    const struct fe_window_column *w = &window->u.sort.window->columns[i];
    bool row = w->at.base == FE_WINDOW_ROW, rank = w->at.base == FE_WINDOW_PEER_BEGIN;
    return w->value < 0 && !w->at.by && (row || rank) && window->u.sort.nstated > window->u.sort.ngroup;
}

/* A parameter has its value by now: what is made of it is planned again with another. */
static bool is_bound(const struct fe_expr *e)
{
    return (e->op == FE_LIT || e->op == FE_PARAM) && e->type.kind == HD_INT64 && !e->value.is_null;
}

/* The comparison with its literal or parameter on the right. */
static bool is_comparison(const struct fe_expr *e, int *column, enum fe_op *o, int64_t *k)
{
    static const enum fe_op ops[][2] = {{FE_LT, FE_GT}, {FE_LE, FE_GE}, {FE_EQ, FE_EQ}, {FE_GE, FE_LE}, {FE_GT, FE_LT}};
    for (size_t i = 0; i < HD_COUNT(ops); i++) {
        if (e->op != ops[i][0])
            continue;
        bool turned = e->args[0]->op != FE_COL;
        const struct fe_expr *x = e->args[turned], *lit = e->args[!turned];
        if (x->op != FE_COL || !is_bound(lit))
            return false;
        *column = x->col;
        *o = ops[i][turned];
        *k = (int64_t)lit->value.i;
        return true;
    }
    return false;
}

static void narrow(struct numbered *a, enum fe_op o, int64_t k)
{
    k = HD_MAX((int64_t)0, HD_MIN(k, (int64_t)INT32_MAX + 1)); /* no number is beyond */
    if (o == FE_LT || o == FE_LE || o == FE_EQ)
        a->hi = HD_MIN(a->hi, k - (o == FE_LT));
    if (o == FE_GT || o == FE_GE || o == FE_EQ)
        a->lo = HD_MAX(a->lo, k + (o == FE_GT));
}

static bool asks_for_numbers(struct hd_arena *arena, const struct fe_node *filter, struct numbered *a)
{
    const struct fe_expr **v = NULL;
    int n = 0, column;
    enum fe_op o;
    int64_t k;
    *a = (struct numbered){.window = window_below(filter->inputs[0]), .column = -1, .lo = 1, .hi = INT64_MAX};
    if (!a->window)
        return false;
    pl_conjuncts(arena, filter->u.filter.pred, &v, &n);
    a->rest = HD_NEWN(arena, const struct fe_expr *, n + 1);
    for (int i = 0; i < n; i++) {
        bool compares = is_comparison(v[i], &column, &o, &k) && (a->column < 0 || column == a->column);
        int of = compares ? window_column(filter->inputs[0], column) : -1;
        if (of < 0 || !is_number(a->window, of)) {
            a->rest[a->nrest++] = v[i];
            continue;
        }
        a->column = column;
        a->of = of;
        narrow(a, o, k);
    }
    bool rank = a->column >= 0 && a->window->u.sort.window->columns[a->of].at.base == FE_WINDOW_PEER_BEGIN;
    return a->hi < INT64_MAX && (a->lo == 1 || !rank);
}

/* Nobody reads more of the window; the number itself may be read where it is one. */
static bool is_enough(struct ctx *c, const struct fe_node *filter, const struct numbered *a)
{
    bool *need = hd_dup(c->a, c->need[filter->id], sizeof *need * (size_t)(filter->ncols + 1));
    for (int i = 0; i < a->nrest; i++)
        need_expr(need, a->rest[i]);
    for (const struct fe_node *n = filter->inputs[0]; n != a->window; n = n->inputs[0]) {
        bool *below = HD_NEWN(c->a, bool, n->inputs[0]->ncols + 1);
        for (int i = 0; i < n->ncols; i++)
            if (need[i])
                need_expr(below, n->u.project.exprs[i]);
        need = below;
    }
    int nin = a->window->inputs[0]->ncols;
    for (int i = 0; i < a->window->u.sort.window->ncolumns; i++)
        if (need[nin + i] && (i != a->of || a->lo != a->hi))
            return false;
    return true;
}

/* The first rows of a partition have it whatever comes behind them. */
static bool looks_back(const struct fe_node *window, int i)
{
    const struct fe_window_column *w = &window->u.sort.window->columns[i];
    bool framed = w->value >= 0 && window->u.sort.window->values[w->value].framed;
    bool places = w->value >= 0 && window->u.sort.window->values[w->value].places;
    bool back = w->at.base == FE_WINDOW_ROW || w->at.base == FE_WINDOW_PEER_BEGIN || w->at.base == FE_WINDOW_DENSE;
    return w->at.base == FE_WINDOW_FITS || (back && w->at.by <= 0 && !framed && !places);
}

/* Row numbers of which the largest is known, and nothing else that depends on rows behind them: those need not be
 * there. Of a rank the top would keep columns that the window does not look at. */
static bool leaves_out(const struct numbered *a)
{
    bool all = a->window->u.sort.window->columns[a->of].at.base == FE_WINDOW_ROW;
    for (int i = 0; i < a->window->u.sort.window->ncolumns; i++)
        all &= looks_back(a->window, i);
    return all;
}

/* ---- the top -------------------------------------------------------------------------------------------- */

static struct fe_expr *rows_literal(const struct rewriting *w, const struct numbered *a, int64_t v)
{
    struct fe_expr *e = pl_expr_node(w->a, FE_LIT, hd_type_of(HD_INT64), false, a->window->path, 0, NULL, NULL);
    e->value = (struct fe_value){.type = e->type, .i = v};
    return e;
}

static struct fe_node *top_of(const struct rewriting *w, const struct numbered *a, struct fe_node *in)
{
    struct fe_node *n = rw_node(w, FE_TOP_OP, a->window, 1, in, NULL);
    rw_set_columns(w, n, in);
    n->u.sort = a->window->u.sort;
    n->u.sort.limit = rows_literal(w, a, HD_MAX(a->hi - a->lo + 1, (int64_t)0));
    n->u.sort.offset = a->lo > 1 ? rows_literal(w, a, a->lo - 1) : NULL;
    n->u.sort.keep = a->window->u.sort.window->columns[a->of].at.base == FE_WINDOW_PEER_BEGIN;
    n->u.sort.window = NULL;
    n->u.sort.numbered = true;
    return n;
}

/* e, over the window's columns, over the top's: the number is a literal, and of the others nobody reads one. */
static struct fe_expr *without_window(const struct rewriting *w, const struct numbered *a, const struct fe_expr *e)
{
    int nin = a->window->inputs[0]->ncols;
    struct fe_expr *to = hd_dup(w->a, e, sizeof *e);
    if (e->op == FE_COL && e->col >= nin) {
        bool number = e->col == nin + a->of;
        to->op = FE_LIT;
        to->value = (struct fe_value){.type = e->type, .is_null = !number, .i = number ? a->lo : 0};
    }
    to->args = HD_NEWN(w->a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        to->args[i] = without_window(w, a, e->args[i]);
    return to;
}

static struct fe_node *projections(const struct rewriting *w, const struct numbered *a, const struct fe_node *n,
                                   struct fe_node *top)
{
    if (n == a->window)
        return top;
    struct fe_node *to = hd_dup(w->a, n, sizeof *n);
    to->inputs = HD_NEWN(w->a, struct fe_node *, 1);
    to->inputs[0] = projections(w, a, n->inputs[0], top);
    if (n->inputs[0] != a->window)
        return to;
    to->u.project.exprs = HD_NEWN(w->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        to->u.project.exprs[i] = without_window(w, a, n->u.project.exprs[i]);
    return to;
}

static struct fe_node *filtered(const struct rewriting *w, const struct fe_node *filter, const struct numbered *a,
                                struct fe_node *in)
{
    struct fe_expr *pred = NULL;
    for (int i = 0; i < a->nrest; i++) {
        struct fe_expr *e = hd_dup(w->a, a->rest[i], sizeof *e);
        pred = pred ? pl_expr_node(w->a, FE_AND, e->type, pred->nullable || e->nullable, e->path, 2, pred, e) : e;
    }
    if (!pred)
        return in;
    struct fe_node *n = rw_node(w, FE_FILTER_OP, filter, 1, in, NULL);
    rw_set_columns(w, n, filter);
    n->u.filter.pred = pred;
    return n;
}

/* The window of the first rows alone, below what is above it. */
static struct fe_node *over_top(const struct rewriting *w, const struct numbered *a, const struct fe_node *n,
                                struct fe_node *in)
{
    struct fe_node *to = hd_dup(w->a, n, sizeof *n);
    to->inputs = HD_NEWN(w->a, struct fe_node *, 1);
    if (n != a->window) {
        to->inputs[0] = over_top(w, a, n->inputs[0], in);
        return to;
    }
    struct fe_node *top = to->inputs[0] = top_of(w, a, in);
    top->u.sort.limit = rows_literal(w, a, HD_MAX(a->hi, (int64_t)0));
    top->u.sort.offset = NULL;
    top->u.sort.spare = true;
    return to;
}

/* ---- plans ---------------------------------------------------------------------------------------------- */

static bool has_candidate(struct hd_arena *a, const struct fe_node *n)
{
    struct numbered x;
    bool found = n->op == FE_FILTER_OP && asks_for_numbers(a, n, &x);
    for (int i = 0; i < n->ninputs; i++)
        found |= has_candidate(a, n->inputs[i]);
    return found;
}

static struct fe_node *rewritten(struct ctx *c, const struct rewriting *w, const struct fe_node *n)
{
    struct numbered a;
    bool asks = n->op == FE_FILTER_OP && asks_for_numbers(c->a, n, &a);
    if (asks && !is_enough(c, n, &a) && leaves_out(&a))
        return over_top(w, &a, n, rewritten(c, w, a.window->inputs[0]));
    if (asks && is_enough(c, n, &a)) {
        struct fe_node *top = top_of(w, &a, rewritten(c, w, a.window->inputs[0]));
        top = rw_is_first(w, top) ? rw_first(w, top) : top;
        return filtered(w, n, &a, projections(w, &a, n->inputs[0], top));
    }
    struct fe_node *to = hd_dup(w->a, n, sizeof *n);
    to->inputs = HD_NEWN(w->a, struct fe_node *, n->ninputs + 1);
    for (int i = 0; i < n->ninputs; i++)
        to->inputs[i] = rewritten(c, w, n->inputs[i]);
    return to;
}

void pl_rewrite_tops(struct ctx *c)
{
    bool found = has_candidate(c->a, c->plan->root);
    for (int i = 0; i < c->plan->nshared; i++)
        found |= has_candidate(c->a, c->plan->shared[i]);
    if (!found)
        return;
    c->shared = HD_NEWN(c->a, struct shared_state, c->plan->nshared + 1);
    pl_need_columns(c, c->plan->root);
    struct rewriting w = {.a = c->a, .plan = hd_dup(c->a, c->plan, sizeof *c->plan)};
    w.plan->shared = HD_NEWN(c->a, struct fe_node *, c->plan->nshared + 1);
    for (int i = 0; i < c->plan->nshared; i++)
        w.plan->shared[i] = rewritten(c, &w, c->plan->shared[i]);
    w.plan->root = rewritten(c, &w, c->plan->root);
    rw_renumber(w.plan);
    c->plan = w.plan;
    c->need = NULL;
}
