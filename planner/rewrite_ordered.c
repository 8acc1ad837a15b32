/* Aggregates of rows in an order are each computed from the rows that count, and the groups of all are joined. A part is
 * what aggregates with one argument and one filter share. */
#include "planner/rewrite_ordered.h"

#include <string.h>

#include "planner/ordered.h"

bool rw_has_ordered(const struct fe_node *n)
{
    bool found = false;
    for (int i = 0; n->op == FE_AGGREGATE_OP && i < n->u.agg.naggs; i++)
        found |= fe_agg_is_ordered(n->u.agg.aggs[i].fn);
    return found;
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

/* Rows that count: those with an argument that the filter lets through. NULL: all. */
static struct fe_expr *condition(const struct ordering *o, const struct fe_agg *a)
{
    struct fe_expr *there = a->arg->nullable ? ro_is_there(o, a->arg) : NULL;
    return there ? ro_both(o, a->filter, there) : a->filter;
}

static bool same_rows(const struct fe_agg *a, const struct fe_agg *b)
{
    bool filters = a->filter && b->filter ? fe_expr_eq(a->filter, b->filter) : a->filter == b->filter;
    return filters && fe_expr_eq(a->arg, b->arg);
}

static struct ordered_part new_part(const struct ordering *o, int i)
{
    struct ordered_part p = {.first = i, .counts = condition(o, &o->n->u.agg.aggs[i])};
    p.whole = !o->n->u.agg.nkeys || !p.counts;
    return p;
}

static void find_parts(struct ordering *o)
{
    int na = o->n->u.agg.naggs;
    o->part = HD_NEWN(o->w->a, int, na + 1);
    o->at = HD_NEWN(o->w->a, struct ordered_columns, na + 1);
    o->parts = HD_NEWN(o->w->a, struct ordered_part, na + 1);
    for (int i = 0; i < na; i++) {
        const struct fe_agg *a = &o->n->u.agg.aggs[i];
        o->part[i] = -1;
        if (!fe_agg_is_ordered(a->fn))
            continue;
        int p = 0;
        while (p < o->nparts && !same_rows(a, &o->n->u.agg.aggs[o->parts[p].first]))
            p++;
        if (p == o->nparts)
            o->parts[o->nparts++] = new_part(o, i);
        o->part[i] = p;
    }
}

/* All groups, with the aggregates that are not of rows in an order. */
static struct fe_node *make_rest(struct ordering *o, struct fe_node *(*rest)(struct rewriting *w, struct fe_node *n))
{
    const struct fe_node *n = o->n;
    int nk = n->u.agg.nkeys, na = n->u.agg.naggs;
    struct fe_node *g = rw_node(o->w, FE_AGGREGATE_OP, n, 1, rw_copy(o->w, o->in), NULL);
    g->u.agg.nkeys = g->ncols = nk;
    g->u.agg.keys = n->u.agg.keys;
    g->u.agg.aggs = HD_NEWN(o->w->a, struct fe_agg, na + 1);
    g->cols = HD_NEWN(o->w->a, struct fe_column, nk + na + 1);
    memcpy(g->cols, n->cols, sizeof *g->cols * (size_t)nk);
    for (int i = 0; i < na; i++) {
        if (o->part[i] >= 0)
            continue;
        g->u.agg.aggs[g->u.agg.naggs++] = n->u.agg.aggs[i];
        g->cols[g->ncols] = n->cols[nk + i];
        o->at[i].value = g->ncols++;
    }
    return rest(o->w, g);
}

/* Groups of `all`, which has every one, beside those of a part. */
static struct fe_node *joined(struct ordering *o, struct fe_node *all, struct ordered_part *p)
{
    int nk = o->n->u.agg.nkeys;
    p->base = all->ncols;
    all = rw_join(o->w, nk && !p->whole ? FE_LEFT : FE_INNER, all, p->groups, nk, rw_columns(o->w, all), NULL, 0);
    all->u.join.single = nk == 0;
    return all;
}

static struct fe_node *results(const struct ordering *o, struct fe_node *all)
{
    const struct fe_node *n = o->n;
    int nk = n->u.agg.nkeys;
    struct fe_node *p = rw_node(o->w, FE_PROJECT_OP, n, 1, all, NULL);
    rw_set_columns(o->w, p, n);
    p->u.project.exprs = rw_columns(o->w, all);
    for (int i = 0; i < n->u.agg.naggs; i++)
        p->u.project.exprs[nk + i] = o->part[i] < 0 ? rw_column(o->w, all, o->at[i].value) : ro_quantile(o, all, i);
    return p;
}

struct fe_node *rw_ordered(struct rewriting *w, struct fe_node *n,
                           struct fe_node *(*rest)(struct rewriting *w, struct fe_node *n))
{
    struct ordering o = {.w = w, .n = n};
    find_parts(&o);
    int whole = 0;
    while (whole < o.nparts && !o.parts[whole].whole)
        whole++;
    bool plain = whole == o.nparts;
    for (int i = 0; i < n->u.agg.naggs; i++)
        plain |= o.part[i] < 0;
    int readers = plain + o.nparts;
    o.in = n->inputs[0];
    for (int p = 0; p < o.nparts; p++)
        readers += ro_reads_twice(&o, &o.parts[p]);
    o.in = readers > 1 ? rw_share(w, n->inputs[0], "input") : n->inputs[0];
    struct fe_node *all = plain ? make_rest(&o, rest) : NULL;
    for (int p = 0; p < o.nparts; p++)
        ro_quantiles(&o, p);
    if (!all)
        all = o.parts[whole].groups;
    for (int p = 0; p < o.nparts; p++)
        if (plain || p != whole)
            all = joined(&o, all, &o.parts[p]);
    return results(&o, all);
}
