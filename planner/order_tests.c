/* Conjuncts commute, and producers write them in any order. What is tested first reads its columns of all rows, what comes later
 * only of those that are left, so they are ordered by what share of the rows they drop for what they cost (rank, of Hellerstein
 * and Stonebraker, Predicate Migration, SIGMOD 1993). Columns that were read before cost nothing, and both bounds of a range are
 * one test. Classes of cost (planner/cost.h) still come before that: pl_order_conjuncts. */
#include "planner/order_tests.h"

#include "planner/cost.h"
#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/need.h"
#include "planner/typed.h"

/* What a comparison costs of what a column does that is read for it. */
static const double compared = 0.3;
enum { TESTS_MAX = 32 /* that are ordered */ };

/* One conjunct, or two that bound a column. */
struct test {
    const struct fe_expr *v[2];
    int n, class;
    double share; /* of the rows that is left */
    bool *reads; /* [column] */
};

struct tests {
    struct ctx *c;
    const struct fe_table *table;
    struct handle **env;
    struct test v[TESTS_MAX];
    int n;
};

static struct fe_expr *both(struct ctx *c, const struct fe_expr *x, const struct fe_expr *y)
{
    return pl_expr_node(c->a, FE_AND, hd_type_of(HD_BOOL), x->nullable || y->nullable, x->path, 2,
                        hd_dup(c->a, x, sizeof *x), hd_dup(c->a, y, sizeof *y));
}

/* The test that bounds the same column from the other end. */
static struct test *other_bound(struct tests *t, const struct fe_expr *e)
{
    for (int i = 0; i < t->n; i++)
        if (t->v[i].n == 1 && lx_bounds_range(t->v[i].v[0], e))
            return &t->v[i];
    return NULL;
}

static void add(struct tests *t, const struct fe_expr *e)
{
    struct test *x = other_bound(t, e);
    if (x) {
        x->v[x->n++] = e;
        x->share = lx_selectivity(t->c, t->env, both(t->c, x->v[0], e));
        return;
    }
    x = &t->v[t->n++];
    *x = (struct test){.v = {e}, .n = 1, .class = pl_cost_class(e), .share = lx_selectivity(t->c, t->env, e)};
    x->reads = HD_NEWN(t->c->a, bool, t->table->ncols + 1);
    need_expr(x->reads, e);
}

static double rank(const struct tests *t, const struct test *x, const bool *there)
{
    double cost = compared * x->n;
    for (int i = 0; i < t->table->ncols; i++)
        cost += x->reads[i] && !there[i];
    return (1 - x->share) / cost;
}

/* Takes the best one out; what is as good comes as it is written. */
static struct test next(struct tests *t, bool *there)
{
    int best = 0;
    for (int i = 1; i < t->n; i++)
        if (t->v[i].class < t->v[best].class ||
            (t->v[i].class == t->v[best].class && rank(t, &t->v[i], there) > rank(t, &t->v[best], there)))
            best = i;
    struct test x = t->v[best];
    t->n--;
    memmove(&t->v[best], &t->v[best + 1], sizeof x * (size_t)(t->n - best));
    for (int i = 0; i < t->table->ncols; i++)
        there[i] |= x.reads[i];
    return x;
}

static void order(struct ctx *c, struct fe_node *scan)
{
    const struct fe_table *table = scan->u.scan.table;
    struct tests t = {.c = c, .table = table, .env = HD_NEWN(c->a, struct handle *, table->ncols + 1)};
    const struct fe_expr **v = NULL;
    int n = 0;
    pl_conjuncts(c->a, scan->u.scan.filter, &v, &n);
    if (n < 2 || n > TESTS_MAX || lx_may_fail(scan->u.scan.filter))
        return;
    struct handle *row = h_row(c, 0, table, -1, false);
    for (int i = 0; i < table->ncols; i++)
        t.env[i] = h_column(c, table, i, row);
    for (int i = 0; i < n; i++)
        add(&t, v[i]);
    struct fe_expr *to = hd_dup(c->a, scan->u.scan.filter, sizeof *to);
    bool *there = HD_NEWN(c->a, bool, table->ncols + 1);
    to->args = HD_NEWN(c->a, struct fe_expr *, n);
    to->nargs = 0;
    while (t.n > 0) {
        const struct test x = next(&t, there);
        for (int i = 0; i < x.n; i++)
            to->args[to->nargs++] = hd_dup(c->a, x.v[i], sizeof *x.v[i]);
    }
    scan->u.scan.filter = to;
}

void order_tests(struct ctx *c, struct fe_node *n)
{
    if (n->op == FE_SCAN_OP && n->u.scan.filter)
        order(c, n);
    for (int i = 0; i < n->ninputs; i++)
        order_tests(c, n->inputs[i]);
}
