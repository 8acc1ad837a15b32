/* Choosing: the physical plan of a typed plan, bottom up. */
#include <stdlib.h>

#include "planner/physical.h"

#include "planner/cost.h"
#include "planner/estimate.h"
#include "planner/lower_pairs.h"
#include "planner/physical_agg.h"
#include "planner/physical_join.h"
#include "planner/physical_ranges.h"
#include "planner/physical_tree.h"
#include "planner/typed.h"

static struct pl_node *leaf(struct ctx *c, enum pl_node_op op, const struct fe_node *n)
{
    return pl_node_new(c, op, n, 0, NULL);
}

static struct pl_node *scan(struct ctx *c, const struct fe_node *n)
{
    struct pl_node *p = leaf(c, PL_NODE_SCAN, n);
    if (n->u.scan.filter)
        pl_order_conjuncts(c->a, n->u.scan.filter, &p->u.filter.v, &p->u.filter.n);
    return p;
}

enum { VALUES_LOOKED_AT = 65536 };

static int compare_values(const void *x, const void *y, void *type)
{
    const struct fe_value *a = x, *b = y;
    if (!hd_type_is_text(*(const struct hd_type *)type))
        return (a->i > b->i) - (a->i < b->i);
    int r = memcmp(a->s, b->s, HD_MIN(a->n, b->n));
    return r ? r : (a->n > b->n) - (a->n < b->n);
}

/* No two rows have one value in the column, and none has NULL. */
static bool is_unique_column(struct ctx *c, const struct fe_node *n, int col)
{
    int rows = (int)fe_values_count(n);
    struct hd_type type = n->cols[col].type;
    struct fe_value *v = HD_NEWN(c->a, struct fe_value, rows + 1);
    for (int i = 0; i < rows; i++) {
        v[i] = fe_values_rows(n)[(int64_t)i * n->ncols + col];
        if (v[i].is_null)
            return false;
    }
    qsort_r(v, (size_t)rows, sizeof *v, compare_values, &type);
    for (int i = 1; i < rows; i++)
        if (compare_values(&v[i - 1], &v[i], &type) == 0)
            return false;
    return true;
}

/* The first column whose values identify a row: a key that a table would have facts of. -1: none. */
static int unique_value(struct ctx *c, const struct fe_node *n)
{
    for (int i = 0; i < n->ncols && (i + 1) * fe_values_count(n) <= VALUES_LOOKED_AT; i++)
        if (!hd_type_is_float(n->cols[i].type) && is_unique_column(c, n, i))
            return i;
    return -1;
}

static struct pl_node *values(struct ctx *c, const struct fe_node *n)
{
    struct pl_node *p = leaf(c, PL_NODE_VALUES, n);
    p->u.values.unique = unique_value(c, n);
    return p;
}

static struct pl_node *filter(struct ctx *c, const struct fe_node *n, struct pl_node *in)
{
    const struct fe_expr **v = NULL;
    int count = 0;
    pl_order_conjuncts(c->a, n->u.filter.pred, &v, &count);
    struct pl_node *p = pl_node_new(c, PL_NODE_FILTER, n, 1, &in);
    p->u.filter.v = v;
    p->u.filter.n = count;
    return p;
}

static int physical_node(struct ctx *c, const struct fe_node *n, struct pl_node **out);

/* A limit over a sort is a top-k: one node. */
static bool is_top_k(const struct fe_node *n)
{
    return n->op == FE_LIMIT_OP && n->inputs[0]->op == FE_SORT_OP && fe_limit(n->inputs[0]) < 0 &&
           fe_offset(n->inputs[0]) == 0;
}

static void tell_order(struct ctx *c, struct pl_node *p)
{
    struct pl_decision *d = pl_decide(c, p, "order");
    if (p->u.sort.dropped)
        pl_decide_way(c, d, "none", -1, "nobody can see it");
    if (!p->u.sort.keys)
        pl_decide_way(c, d, "as it comes", -1, "a limit alone");
    else if (fe_limit(p->n) >= 0)
        pl_decide_way(c, d, "top k", -1, NULL);
    else
        pl_decide_way(c, d, "sort", -1, NULL);
    d->taken = 0;
}

static int sort(struct ctx *c, const struct fe_node *n, struct pl_node **out)
{
    const struct fe_node *keys = is_top_k(n) ? n->inputs[0] : n;
    struct pl_node *in, *p;
    HD_TRY(physical_node(c, keys->inputs[0], &in));
    *out = p = pl_node_new(c, PL_NODE_SORT, n, 1, &in);
    p->u.sort.keys = keys->op == FE_SORT_OP ? keys : NULL;
    p->u.sort.dropped = n->op == FE_SORT_OP && fe_limit(n) < 0 && fe_offset(n) == 0 && !p->ordered;
    tell_order(c, p);
    return 0;
}

/* The first rows of all are those of a sort with a limit; of groups, or with ties, they are chosen once rows lie in
 * order, group by group. */
static int top(struct ctx *c, const struct fe_node *n, struct pl_node **out)
{
    struct pl_node *in;
    bool one = n->u.sort.ngroup == 0 && !n->u.sort.keep;
    double wanted = (double)fe_limit(n) + (double)fe_offset(n);
    if (n->u.sort.spare && !pl_worth_pruning(est_rows(c, n->inputs[0]), wanted, est_rows(c, n)))
        return physical_node(c, n->inputs[0], out);
    HD_TRY(physical_node(c, n->inputs[0], &in));
    struct pl_node *p = *out = pl_node_new(c, one ? PL_NODE_SORT : PL_NODE_TOP, n, 1, &in);
    p->u.sort.keys = n;
    struct pl_decision *d = pl_decide(c, p, "order");
    pl_decide_way(c, d, "top k", -1, one ? NULL : n->u.sort.keep ? "ties stay" : "there are groups");
    pl_decide_way(c, d, "sort, then the first rows of each group", -1, NULL);
    d->taken = !one;
    if (n->u.sort.numbered) {
        d = pl_decide(c, p, "window");
        pl_decide_way(c, d, "numbers for all rows", -1,
                      n->u.sort.spare ? "a filter drops most of them" : "nobody reads them but a filter");
        pl_decide_way(c, d, "the first rows alone", -1, NULL);
        d->taken = 1;
    }
    return 0;
}

static int window(struct ctx *c, const struct fe_node *n, struct pl_node **out)
{
    struct pl_node *in;
    HD_TRY(physical_node(c, n->inputs[0], &in));
    *out = pl_node_new(c, PL_NODE_WINDOW, n, 1, &in);
    (*out)->u.sort.keys = n;
    return 0;
}

static void tell_sharing(struct ctx *c, struct pl_node *keep, const struct fe_node *sub)
{
    for (int i = 0; i < c->shared_told.n; i++) {
        const struct shared_told *t = &c->shared_told.v[i];
        if (t->n != sub)
            continue;
        struct pl_decision *d = pl_decide(c, keep, "computed");
        pl_decide_way(c, d, "once", t->together, NULL);
        pl_decide_way(c, d, "at each use", t->at_each, NULL);
    }
}

/* Used once it is part of the plan around it; used more often it is computed once and kept. */
static int shared(struct ctx *c, const struct fe_node *n, struct pl_node **out)
{
    int k = n->u.ref.shared;
    struct shared_state *sh = &c->shared[k];
    const struct fe_node *sub = c->plan->shared[k];
    struct pl_node *in;
    if (sh->uses == 1) {
        HD_TRY(physical_node(c, sub, out));
        (*out)->label = fe_relop_name(n->op);
        return 0;
    }
    if (!sh->keep) {
        HD_TRY(physical_node(c, sub, &in));
        sh->keep = pl_node_keep(c, in, c->plan->shared_names[k], c->need[sub->id], n->path);
        sh->keep->u.keep.uses = sh->uses;
        tell_sharing(c, sh->keep, sub);
    }
    *out = pl_node_read(c, sh->keep, n->path);
    (*out)->label = fe_relop_name(n->op);
    return 0;
}

/* Pairs of a join of which an aggregate is all that is asked may need no visit. */
static int aggregate(struct ctx *c, const struct fe_node *n, struct pl_node **out)
{
    struct pl_over_pairs pairs;
    struct pl_node *in[2];
    pl_look_at_pairs(c, n, &pairs);
    bool ranges = pairs.join && !pairs.why_not;
    const struct fe_node *from = ranges ? pairs.join : n;
    for (int i = 0; i < from->ninputs; i++)
        HD_TRY(physical_node(c, from->inputs[i], &in[i]));
    *out = ranges ? pl_aggregate_ranges(c, n, &pairs, in) : pl_physical_aggregate(c, n, in[0]);
    if (pairs.join)
        pl_tell_pairs(c, *out, &pairs);
    return 0;
}

static int inner_node(struct ctx *c, const struct fe_node *n, struct pl_node **out)
{
    struct pl_node **in = HD_NEWN(c->a, struct pl_node *, n->ninputs + 1);
    for (int i = 0; i < n->ninputs; i++)
        HD_TRY(physical_node(c, n->inputs[i], &in[i]));
    switch (n->op) {
    case FE_FILTER_OP: *out = filter(c, n, in[0]); return 0;
    case FE_REPEAT_OP: *out = pl_node_new(c, PL_NODE_REPEAT, n, 1, in); return 0;
    case FE_PROJECT_OP: *out = pl_node_new(c, PL_NODE_PROJECT, n, 1, in); return 0;
    case FE_JOIN_OP: return pl_physical_join(c, n, in, out);
    case FE_PAIRS_OP: *out = pl_physical_pairs(c, n, in[0]); return 0;
    case FE_UNION_ALL_OP: *out = pl_node_new(c, PL_NODE_UNION, n, n->ninputs, in); return 0;
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP:
    case FE_SCAN_OP:
    case FE_REF_OP:
    case FE_VALUES_OP:
    case FE_SORT_OP:
    case FE_LIMIT_OP:
    case FE_TOP_OP:
    case FE_WINDOW_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    HD_BUG("operator %d", (int)n->op);
}

static int physical_node(struct ctx *c, const struct fe_node *n, struct pl_node **out)
{
    switch (n->op) {
    case FE_SCAN_OP: *out = scan(c, n); return 0;
    case FE_VALUES_OP: *out = values(c, n); return 0;
    case FE_REF_OP: return shared(c, n, out);
    case FE_SORT_OP:
    case FE_LIMIT_OP: return sort(c, n, out);
    case FE_TOP_OP: return top(c, n, out);
    case FE_WINDOW_OP: return window(c, n, out);
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP: return aggregate(c, n, out);
    case FE_FILTER_OP:
    case FE_REPEAT_OP:
    case FE_PROJECT_OP:
    case FE_JOIN_OP:
    case FE_PAIRS_OP:
    case FE_UNION_ALL_OP: return inner_node(c, n, out);
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    HD_BUG("operator %d", (int)n->op);
}

int pl_physical(struct ctx *c, const struct fe_node *root, struct pl_node **out)
{
    return physical_node(c, root, out);
}
