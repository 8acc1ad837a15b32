/* Aggregates: how many groupings they take. */
#include "planner/physical_agg.h"

#include "planner/physical_tree.h"

/* The distinct arguments that differ; returns how many. */
static int distinct_args(const struct fe_node *n, const bool *need, const struct fe_expr **args)
{
    int k = 0;
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        bool seen = !a->distinct || !need[n->u.agg.nkeys + i];
        for (int q = 0; q < k && !seen; q++)
            seen = fe_expr_eq(args[q], a->arg);
        if (!seen)
            args[k++] = a->arg;
    }
    return k;
}

static struct pl_node *grouping(struct ctx *c, const struct fe_node *n, struct pl_node *in,
                                const struct fe_expr *distinct, bool plain, bool part)
{
    struct pl_node *p = pl_node_new(c, PL_NODE_AGGREGATE, n, 1, &in);
    p->u.agg.distinct = distinct;
    p->u.agg.plain = plain;
    p->u.agg.part = part;
    return p;
}

static void tell(struct ctx *c, struct pl_node *p, int distinct)
{
    static const char *const names[] = {"one grouping", "two groupings", "two for each distinct argument"};
    struct pl_decision *d = pl_decide(c, p, "groupings");
    pl_decide_way(c, d, names[0], -1, distinct ? "an argument is distinct" : NULL);
    pl_decide_way(c, d, names[1], -1, distinct > 1 ? "several arguments are distinct" : NULL);
    if (distinct > 1)
        pl_decide_way(c, d, names[2], -1, NULL);
    pl_decide_take(d, names[HD_MIN(distinct, 2)]);
}

/* Rows that are groups of a finer grouping. */
static const struct pl_weighted *merging(struct ctx *c, const struct fe_node *n)
{
    struct pl_weighted *w = HD_NEW(c->a, struct pl_weighted);
    w->keys = n->u.agg.keys;
    w->aggs = HD_NEWN(c->a, struct pl_weighted_agg, n->u.agg.naggs + 1);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        w->aggs[i] =
            (struct pl_weighted_agg){.value = a->arg, .count = a->rows, .type = a->arg ? a->arg->type : a->type};
    }
    return w;
}

/* One distinct argument takes two groupings: by keys and argument, then by keys. For several the input is kept
 * and grouped for each, and the groups are joined by key. */
struct pl_node *pl_physical_aggregate(struct ctx *c, const struct fe_node *n, struct pl_node *in)
{
    const struct fe_expr **args = HD_NEWN(c->a, const struct fe_expr *, n->u.agg.naggs + 1);
    int k = distinct_args(n, c->need[n->id], args);
    if (k <= 1) {
        struct pl_node *p = grouping(c, n, in, k ? args[0] : NULL, true, false);
        p->u.agg.weighted = n->u.agg.merges ? merging(c, n) : NULL;
        if (k)
            tell(c, p, k);
        return p;
    }
    struct pl_node **passes = HD_NEWN(c->a, struct pl_node *, k);
    struct pl_node *keep = pl_node_keep(c, in, "input", c->need[n->inputs[0]->id], n->path);
    for (int i = 0; i < k; i++)
        passes[i] = grouping(c, n, pl_node_read(c, keep, n->path), args[i], i == 0, true);
    struct pl_node *p = pl_node_new(c, PL_NODE_MERGE, n, k, passes);
    p->u.merge.joins = HD_NEWN(c->a, struct pl_join, k);
    tell(c, p, k);
    return p;
}
