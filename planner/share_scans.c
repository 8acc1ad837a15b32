/* A plan may scan a table more than once with conditions in common: for a scalar average and for the rows that are compared with
 * it (TPC-H Q22), for a join and for a semi join that was made of it (JCC-H Q20). Where these conditions are costly, as those that
 * look at bytes of strings are, they are tested once: the rows that they leave are a shared subplan, of which each use tests the
 * rest (Zhou, Larson, Freytag and Lehner, Efficient Exploitation of Similar Subexpressions for Query Processing, SIGMOD 2007).
 *
 * Which tables are scanned, and not looked up by an index, is known once there is a physical plan; so one is made again of what
 * this leaves. Joins and groupings are shared before (share_subplans.c). */
#include "planner/share_scans.h"

#include "planner/cost.h"
#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/need.h"
#include "planner/physical.h"
#include "planner/rewrite_node.h"
#include "planner/typed.h"

enum { USES_MAX = 8 };

typedef HD_VEC(struct fe_node *) nodes;

struct conjuncts {
    const struct fe_expr **v;
    int n;
};

/* Scans with conditions in common. */
struct common {
    struct ctx *c;
    struct rewriting w;
    struct fe_node *uses[USES_MAX];
    int nuses;
    struct conjuncts all;
};

/* ---- scans ---------------------------------------------------------------------------------------------------------------- */

static void mark_scans(const struct pl_node *p, bool *scanned)
{
    if (p->op == PL_NODE_SCAN && p->n)
        scanned[p->n->id] = true;
    for (int i = 0; i < p->ninputs; i++)
        mark_scans(p->inputs[i], scanned);
}

/* Reads bytes of strings for each row. */
static bool is_costly(const struct fe_table *t, const struct fe_expr *e)
{
    if (e->op == FE_COL)
        return t->cols[e->col].storage == FE_STORE_TEXT;
    for (int i = 0; i < e->nargs; i++)
        if (is_costly(t, e->args[i]))
            return true;
    return false;
}

static void find_scans(struct ctx *c, struct fe_node *n, const bool *scanned, nodes *found)
{
    bool filtered = n->op == FE_SCAN_OP && n->u.scan.filter && scanned[n->id];
    if (filtered && is_costly(n->u.scan.table, n->u.scan.filter) && !lx_may_fail(n->u.scan.filter))
        hd_vec_push(c->a, found, n);
    for (int i = 0; i < n->ninputs; i++)
        find_scans(c, n->inputs[i], scanned, found);
}

/* ---- what they have in common --------------------------------------------------------------------------------------------- */

static bool has(const struct conjuncts *all, const struct fe_expr *e)
{
    for (int i = 0; i < all->n; i++)
        if (fe_expr_eq(all->v[i], e))
            return true;
    return false;
}

static struct conjuncts conjuncts_of(struct ctx *c, const struct fe_node *scan)
{
    struct conjuncts to = {0};
    pl_conjuncts(c->a, scan->u.scan.filter, &to.v, &to.n);
    return to;
}

static struct conjuncts in_both(struct ctx *c, const struct conjuncts *x, const struct conjuncts *y)
{
    struct conjuncts to = {HD_NEWN(c->a, const struct fe_expr *, x->n + 1), 0};
    for (int i = 0; i < x->n; i++)
        if (has(y, x->v[i]))
            to.v[to.n++] = x->v[i];
    return to;
}

static bool some_costly(const struct fe_table *t, const struct conjuncts *all)
{
    for (int i = 0; i < all->n; i++)
        if (is_costly(t, all->v[i]))
            return true;
    return false;
}

static struct fe_expr *all_of(struct ctx *c, const struct conjuncts *all)
{
    struct fe_expr *e = NULL;
    for (int i = 0; i < all->n; i++) {
        struct fe_expr *x = hd_dup(c->a, all->v[i], sizeof *x);
        e = e ? pl_expr_node(c->a, FE_AND, hd_type_of(HD_BOOL), e->nullable || x->nullable, x->path, 2, e, x) : x;
    }
    return e;
}

/* Rows that conjuncts leave: all of them, or those that are tested before the costly ones. */
static double rows_left(struct ctx *c, const struct fe_table *t, const struct conjuncts *all, bool cheap)
{
    struct handle **env = HD_NEWN(c->a, struct handle *, t->ncols + 1), *row = h_row(c, 0, t, -1, false);
    double rows = (double)t->rows;
    for (int i = 0; i < t->ncols; i++)
        env[i] = h_column(c, t, i, row);
    for (int i = 0; i < all->n; i++)
        if (!cheap || !is_costly(t, all->v[i]))
            rows *= lx_selectivity(c, env, all->v[i]);
    return rows;
}

static bool is_worth_it(const struct common *m)
{
    const struct fe_table *t = m->uses[0]->u.scan.table;
    double apart = 0;
    for (int i = 0; i < m->nuses; i++) {
        struct conjuncts own = conjuncts_of(m->c, m->uses[i]);
        apart += rows_left(m->c, t, &own, true);
    }
    return pl_worth_sharing(apart, rows_left(m->c, t, &m->all, true), rows_left(m->c, t, &m->all, false), m->nuses);
}

/* The first of `found` from `from` on, and others that have a costly condition in common with it. */
static struct common common_from(struct ctx *c, const nodes *found, int from)
{
    struct common m = {.c = c, .w = {.a = c->a}, .uses = {found->v[from]}, .nuses = 1};
    const struct fe_table *t = found->v[from]->u.scan.table;
    m.all = conjuncts_of(c, found->v[from]);
    for (int i = from + 1; i < found->n && m.nuses < USES_MAX; i++) {
        if (found->v[i]->op != FE_SCAN_OP || found->v[i]->u.scan.table != t)
            continue;
        struct conjuncts own = conjuncts_of(c, found->v[i]), both = in_both(c, &m.all, &own);
        if (!some_costly(t, &both))
            continue;
        m.all = both;
        m.uses[m.nuses++] = found->v[i];
    }
    return m;
}

/* ---- the shared subplan ----------------------------------------------------------------------------------------------------- */

/* Columns that uses give or test; by their number in the table their place, counted from 1, 0: not there. */
static int *columns_of(const struct common *m)
{
    const struct fe_table *t = m->uses[0]->u.scan.table;
    int *place = HD_NEWN(m->c->a, int, t->ncols + 1), n = 0;
    bool *read = HD_NEWN(m->c->a, bool, t->ncols + 1);
    for (int i = 0; i < m->nuses; i++) {
        const struct conjuncts own = conjuncts_of(m->c, m->uses[i]);
        for (int k = 0; k < m->uses[i]->ncols; k++)
            read[m->uses[i]->u.scan.columns[k]] = true;
        for (int k = 0; k < own.n; k++)
            if (!has(&m->all, own.v[k]))
                need_expr(read, own.v[k]);
    }
    for (int i = 0; i < t->ncols; i++)
        place[i] = read[i] ? ++n : 0;
    return place;
}

static struct fe_node *scan_of(const struct common *m, const int *place)
{
    const struct fe_table *t = m->uses[0]->u.scan.table;
    struct fe_node *n = hd_dup(m->c->a, m->uses[0], sizeof *n);
    n->u.scan.filter = all_of(m->c, &m->all);
    n->u.scan.columns = HD_NEWN(m->c->a, int, t->ncols + 1);
    n->cols = HD_NEWN(m->c->a, struct fe_column, t->ncols + 1);
    n->ncols = 0;
    for (int i = 0; i < t->ncols; i++)
        if (place[i]) {
            n->cols[n->ncols] = (struct fe_column){t->cols[i].name, t->cols[i].type, t->cols[i].nullable};
            n->u.scan.columns[n->ncols++] = i;
        }
    return n;
}

static struct fe_expr *over(const struct common *m, const struct fe_expr *e, const int *place)
{
    struct fe_expr *to = hd_dup(m->c->a, e, sizeof *e);
    to->args = HD_NEWN(m->c->a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        to->args[i] = over(m, e->args[i], place);
    if (e->op == FE_COL)
        to->col = place[e->col] - 1;
    return to;
}

/* A use becomes what is left of it, of the shared rows; est: rows, as they were estimated. */
static void replace(const struct common *m, struct fe_node *n, const struct fe_node *scan, const int *place)
{
    const double rows = est_rows(m->c, n);
    struct conjuncts own = conjuncts_of(m->c, n), rest = {HD_NEWN(m->c->a, const struct fe_expr *, own.n + 1), 0};
    struct fe_node *in = rw_node(&m->w, FE_REF_OP, n, 0, NULL, NULL);
    rw_set_columns(&m->w, in, scan);
    in->u.ref.shared = 0;
    for (int i = 0; i < own.n; i++)
        if (!has(&m->all, own.v[i]))
            rest.v[rest.n++] = over(m, own.v[i], place);
    if (rest.n) {
        struct fe_node *filter = rw_node(&m->w, FE_FILTER_OP, n, 1, in, NULL);
        rw_set_columns(&m->w, filter, in);
        filter->u.filter.pred = all_of(m->c, &rest);
        hd_vec_push(m->c->a, &m->c->counted, (struct order_counted){.n = filter, .rows = rows});
        in = filter;
    }
    struct fe_expr **exprs = HD_NEWN(m->c->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        exprs[i] = pl_col_node(m->c->a, place[n->u.scan.columns[i]] - 1, n->cols[i].type, n->cols[i].nullable, n->path);
    struct fe_node *project = rw_node(&m->w, FE_PROJECT_OP, n, 1, in, NULL);
    project->ncols = n->ncols;
    project->cols = n->cols;
    project->u.project.exprs = exprs;
    hd_vec_push(m->c->a, &m->c->counted, (struct order_counted){.n = n, .rows = rows});
    *n = *project;
}

static void move_references(struct fe_node *n)
{
    n->u.ref.shared += n->op == FE_REF_OP;
    for (int i = 0; i < n->ninputs; i++)
        move_references(n->inputs[i]);
}

/* In front of all others, which may refer to it. */
static void add_shared(struct ctx *c, struct fe_node *scan)
{
    struct fe_plan *to = hd_dup(c->a, c->plan, sizeof *to);
    to->shared = HD_NEWN(c->a, struct fe_node *, c->plan->nshared + 1);
    to->shared_names = HD_NEWN(c->a, const char *, c->plan->nshared + 1);
    move_references(to->root);
    for (int i = 0; i < c->plan->nshared; i++) {
        move_references(c->plan->shared[i]);
        to->shared[i + 1] = c->plan->shared[i];
        to->shared_names[i + 1] = c->plan->shared_names[i];
    }
    to->shared[0] = scan;
    to->shared_names[0] = scan->u.scan.table->name;
    to->nshared++;
    c->plan = to;
}

static void share(const struct common *m)
{
    const int *place = columns_of(m);
    struct fe_node *scan = scan_of(m, place);
    add_shared(m->c, scan);
    for (int i = 0; i < m->nuses; i++)
        replace(m, m->uses[i], scan, place);
}

bool pl_share_scans(struct ctx *c)
{
    bool changed = false;
    if (!c->plan->order_auto)
        return false;
    bool *scanned = HD_NEWN(c->a, bool, c->plan->nnodes + 1);
    nodes found = {0};
    mark_scans(c->physical, scanned);
    find_scans(c, c->plan->root, scanned, &found);
    for (int i = 0; i < c->plan->nshared; i++)
        find_scans(c, c->plan->shared[i], scanned, &found);
    for (int i = 0; i < found.n; i++) {
        const struct common m = found.v[i]->op == FE_SCAN_OP ? common_from(c, &found, i) : (struct common){.nuses = 0};
        if (m.nuses < 2 || !is_worth_it(&m))
            continue;
        share(&m);
        changed = true;
    }
    if (changed) {
        struct fe_plan *to = hd_dup(c->a, c->plan, sizeof *to);
        rw_renumber(to);
        c->plan = to;
    }
    return changed;
}
