/* Keys that a join's condition has in other words: `l is not distinct from r`, or `l = r or l is null and r is null`, of one
 * side each are a pair of keys with which NULL matches NULL. So a join without pairs finds rows by them and not by a loop.
 * A join that has pairs keeps them: an index or a unique key may serve these alone. */
#include "planner/rewrite_keys.h"

#include "planner/estimate.h"
#include "planner/typed.h"

struct pair {
    struct fe_expr *left, *right;
    bool null_equal;
};

/* x itself, or brought to a type in which it compares; NULL where x is. */
static bool is_of(const struct fe_expr *e, const struct fe_expr *x)
{
    return fe_expr_eq(e, x) || (e->op == FE_CAST && fe_expr_eq(e->args[0], x));
}

static bool is_test_of(const struct fe_expr *e, const struct fe_expr *x)
{
    return e->op == FE_IS_NULL && is_of(x, e->args[0]);
}

/* Both sides of the comparison are NULL. */
static bool are_nulls(const struct fe_expr *e, const struct fe_expr *equal)
{
    const struct fe_expr *x = equal->args[0], *y = equal->args[1];
    return e->op == FE_AND && e->nargs == 2 &&
           ((is_test_of(e->args[0], x) && is_test_of(e->args[1], y)) ||
            (is_test_of(e->args[0], y) && is_test_of(e->args[1], x)));
}

static bool is_false(const struct fe_expr *e)
{
    return e->op == FE_LIT && !e->value.is_null && !e->value.i;
}

/* The comparison in it; a coalesce has no NULL for one, which no condition tells from false. */
static const struct fe_expr *null_safe(const struct fe_expr *e, bool *null_equal)
{
    if ((e->op != FE_COALESCE && e->op != FE_OR) || e->nargs != 2 || e->args[0]->op != FE_EQ)
        return NULL;
    *null_equal = are_nulls(e->args[1], e->args[0]);
    return *null_equal || is_false(e->args[1]) ? e->args[0] : NULL;
}

/* Whether the conjunct is a pair; what may raise stays where conjuncts in front of it guard it. */
static bool pair_of(const struct fe_node *n, const struct fe_expr *e, struct pair *p)
{
    int nl = n->inputs[0]->ncols, end = nl + n->inputs[1]->ncols;
    const struct fe_expr *equal = null_safe(e, &p->null_equal);
    if (!equal || lx_may_fail(equal))
        return false;
    bool swapped = pl_expr_uses(equal->args[0], nl, end);
    p->left = equal->args[swapped];
    p->right = equal->args[!swapped];
    return pl_expr_uses(p->left, 0, nl) && !pl_expr_uses(p->left, nl, end) && pl_expr_uses(p->right, nl, end) &&
           !pl_expr_uses(p->right, 0, nl);
}

static bool may_have(const struct fe_node *n)
{
    return n->op == FE_JOIN_OP && !n->u.join.nkeys && n->u.join.residual && n->u.join.strategy == FE_AUTO &&
           !n->u.join.asof[0] && !n->u.join.single;
}

bool rw_has_hidden_keys(const struct fe_node *n)
{
    struct pair p;
    const struct fe_expr *e = may_have(n) ? n->u.join.residual : NULL;
    bool found = e && pair_of(n, e, &p);
    for (int i = 0; e && e->op == FE_AND && i < e->nargs; i++)
        found |= pair_of(n, e->args[i], &p);
    return found;
}

/* Decimals that compare differ in precision at most. */
static struct fe_expr *of_type(const struct rewriting *w, struct fe_expr *e, struct hd_type t)
{
    return hd_type_eq(e->type, t) ? e : pl_expr_node(w->a, FE_CAST, t, e->nullable, e->path, 1, e, NULL);
}

static void add_pair(const struct rewriting *w, struct fe_node *n, const struct pair *p)
{
    struct hd_type t = p->left->type;
    int k = n->u.join.nkeys++;
    t.precision = HD_MAX(t.precision, p->right->type.precision);
    n->u.join.lkeys[k] = of_type(w, p->left, t);
    n->u.join.rkeys[k] = of_type(w, pl_expr_shifted(w->a, p->right, -n->inputs[0]->ncols), t);
    n->u.join.null_equal[k] = p->null_equal;
}

static struct fe_expr *all_of(const struct rewriting *w, const struct fe_expr *whole, int n, struct fe_expr **v)
{
    struct fe_expr *e = NULL;
    if (n < 2)
        return n ? v[0] : NULL;
    e = hd_dup(w->a, whole, sizeof *whole);
    e->nargs = n;
    e->args = v;
    e->nullable = false;
    for (int i = 0; i < n; i++)
        e->nullable |= v[i]->nullable;
    return e;
}

struct fe_node *rw_hidden_keys(const struct rewriting *w, struct fe_node *n)
{
    const struct fe_expr **all = NULL, *whole = n->u.join.residual;
    int count = 0, nrest = 0;
    pl_conjuncts(w->a, whole, &all, &count);
    struct fe_expr **rest = HD_NEWN(w->a, struct fe_expr *, count);
    n->u.join.lkeys = HD_NEWN(w->a, struct fe_expr *, count);
    n->u.join.rkeys = HD_NEWN(w->a, struct fe_expr *, count);
    n->u.join.null_equal = HD_NEWN(w->a, bool, count);
    for (int i = 0; i < count; i++) {
        struct pair p;
        if (pair_of(n, all[i], &p))
            add_pair(w, n, &p);
        else
            rest[nrest++] = hd_dup(w->a, all[i], sizeof *all[i]);
    }
    n->u.join.residual = all_of(w, whole, nrest, rest);
    return n;
}
