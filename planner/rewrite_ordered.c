/* Aggregates of rows in an order are each computed from the rows that count, and the groups of all are joined. A part is
 * what aggregates of one kind with one filter share: quantiles of one argument; modes of one, which are the values with
 * the largest count of a grouping by keys and value; first ones in one order, which are columns of a top of one row;
 * strings that are joined; and of no order at all, registers of distinct values. */
#include "planner/rewrite_ordered.h"

#include <string.h>

#include "planner/ordered.h"
#include "planner/rewrite_first.h"
#include "planner/rewrite_intervals.h"

bool rw_has_ordered(const struct fe_node *n)
{
    bool found = false;
    for (int i = 0; n->op == FE_AGGREGATE_OP && i < n->u.agg.naggs; i++)
        found |= fe_agg_is_ordered(n->u.agg.aggs[i].fn);
    return found;
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

enum kind { QUANTILES, MODES, ENDS, TEXTS, DISTINCTS };

static enum kind kind_of(enum fe_agg_fn fn)
{
    if (fn == FE_AGG_FIRST || fn == FE_AGG_LAST)
        return ENDS;
    if (fn == FE_AGG_APPROX_COUNT_DISTINCT)
        return DISTINCTS;
    return fn == FE_AGG_MODE ? MODES : fn == FE_AGG_STRING_AGG ? TEXTS : QUANTILES;
}

/* Rows that count: those with an argument that the filter lets through. NULL: all. */
static struct fe_expr *condition(const struct ordering *o, const struct fe_agg *a)
{
    struct fe_expr *there = a->arg->nullable ? ro_is_there(o, a->arg) : NULL;
    return there ? ro_both(o, a->filter, there) : a->filter;
}

static bool same_order(const struct fe_agg *a, const struct fe_agg *b)
{
    bool same = a->norder == b->norder;
    for (int i = 0; same && i < a->norder; i++)
        same = fe_expr_eq(a->order[i].expr, b->order[i].expr) && a->order[i].desc == b->order[i].desc &&
               a->order[i].nulls_first == b->order[i].nulls_first;
    return same;
}

static bool same_part(const struct fe_agg *a, const struct fe_agg *b)
{
    bool filters = a->filter && b->filter ? fe_expr_eq(a->filter, b->filter) : a->filter == b->filter;
    if (!filters || kind_of(a->fn) != kind_of(b->fn))
        return false;
    if (kind_of(a->fn) == ENDS)
        return a->fn == b->fn && same_order(a, b);
    bool texts = kind_of(a->fn) != TEXTS ||
                 (a->distinct == b->distinct && same_order(a, b) && fe_expr_eq(a->separator, b->separator));
    return texts && fe_expr_eq(a->arg, b->arg);
}

static struct ordered_part new_part(const struct ordering *o, int i)
{
    const struct fe_agg *a = &o->n->u.agg.aggs[i];
    bool ends = kind_of(a->fn) == ENDS, keys = o->n->u.agg.nkeys > 0;
    struct ordered_part p = {.first = i, .counts = ends ? a->filter : condition(o, a)};
    p.whole = ends || kind_of(a->fn) == TEXTS ? keys && !p.counts : !keys || !p.counts;
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
        while (p < o->nparts && !same_part(a, &o->n->u.agg.aggs[o->parts[p].first]))
            p++;
        if (p == o->nparts)
            o->parts[o->nparts++] = new_part(o, i);
        o->part[i] = p;
    }
}

/* All groups, with the aggregates that are not of rows in an order. */
static struct fe_node *make_rest(struct ordering *o)
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
    if (!g->ncols)
        ro_add_agg(g, FE_AGG_COUNT_STAR, NULL, "rows");
    return o->rest(o->w, g);
}

/* ---- modes -------------------------------------------------------------------------------------------------- */

/* Of the values with the largest count the smallest one, as arg_max has it. */
static void modes(struct ordering *o, int part)
{
    int nk = o->n->u.agg.nkeys;
    const struct ordered_part *p = &o->parts[part];
    struct fe_node *g = ro_grouped(o, ro_values(o, p, o->n->u.agg.aggs[p->first].arg), nk + 1, 1);
    int count = ro_add_agg(g, FE_AGG_COUNT_STAR, NULL, "count");
    if (rw_has_intervals(g))
        g = rw_intervals(o->w, g);
    struct fe_node *to = ro_grouped(o, g, nk, 1);
    int at = ro_add_agg(to, FE_AGG_ARG_MAX, rw_column(o->w, g, nk), "mode");
    to->u.agg.aggs[0].by = rw_column(o->w, g, count);
    o->parts[part].groups = o->rest(o->w, to);
    for (int i = 0; i < o->n->u.agg.naggs; i++)
        if (o->part[i] == part)
            o->at[i].value = at;
}

/* ---- first, last -------------------------------------------------------------------------------------------------- */

/* A top of one row, in the order, or in the opposite one. */
static struct fe_node *top(const struct ordering *o, const struct fe_agg *a, struct fe_node *in)
{
    int nk = o->n->u.agg.nkeys;
    bool last = a->fn == FE_AGG_LAST;
    struct fe_node *n = rw_node(o->w, FE_TOP_OP, o->n, 1, in, NULL);
    rw_set_columns(o->w, n, in);
    n->u.sort.ngroup = nk;
    n->u.sort.nstated = nk + a->nstated;
    n->u.sort.nkeys = nk + a->norder;
    n->u.sort.limit = ro_number(o, ro_integer, 1);
    n->u.sort.keys = HD_NEWN(o->w->a, struct fe_sort_key, n->u.sort.nkeys + 1);
    for (int i = 0; i < nk; i++)
        n->u.sort.keys[i] = (struct fe_sort_key){o->n->u.agg.keys[i], false, false};
    for (int i = 0; i < a->norder; i++)
        n->u.sort.keys[nk + i] =
            (struct fe_sort_key){a->order[i].expr, a->order[i].desc != last, a->order[i].nulls_first != last};
    return rw_is_first(o->w, n) ? rw_first(o->w, n) : n;
}

static void ends(struct ordering *o, int part)
{
    struct ordered_part *p = &o->parts[part];
    int nk = o->n->u.agg.nkeys, na = o->n->u.agg.naggs;
    struct fe_node *in = rw_copy(o->w, o->in);
    in = top(o, &o->n->u.agg.aggs[p->first], p->counts ? ro_filtered(o, in, p->counts) : in);
    p->groups = ro_projected(o, in, nk + na);
    for (int i = 0; i < nk; i++)
        ro_add(p->groups, o->n->u.agg.keys[i], o->n->cols[i].name);
    for (int i = 0; i < na; i++)
        if (o->part[i] == part) {
            o->at[i].value = p->groups->ncols;
            ro_add(p->groups, o->n->u.agg.aggs[i].arg, "value");
        }
}

/* ---- all parts ---------------------------------------------------------------------------------------------------- */

static void make_part(struct ordering *o, int part)
{
    switch (kind_of(o->n->u.agg.aggs[o->parts[part].first].fn)) {
    case QUANTILES: ro_quantiles(o, part); break;
    case MODES: modes(o, part); break;
    case ENDS: ends(o, part); break;
    case TEXTS: ro_texts(o, part); break;
    case DISTINCTS: ro_distincts(o, part); break;
    }
}

/* Groups of `all`, which has every one, beside those of a part. */
static struct fe_node *joined(struct ordering *o, struct fe_node *all, struct ordered_part *p)
{
    int nk = o->n->u.agg.nkeys;
    p->base = all->ncols;
    all = rw_join(o->w, !p->whole ? FE_LEFT : FE_INNER, all, p->groups, nk, rw_columns(o->w, all), NULL, 0);
    all->u.join.single = nk == 0;
    return all;
}

static struct fe_expr *result(const struct ordering *o, const struct fe_node *all, int i)
{
    const struct fe_agg *a = &o->n->u.agg.aggs[i];
    if (o->part[i] < 0)
        return rw_column(o->w, all, o->at[i].value);
    if (kind_of(a->fn) == QUANTILES)
        return ro_quantile(o, all, i);
    struct fe_expr *e = rw_column(o->w, all, o->parts[o->part[i]].base + o->at[i].value);
    if (kind_of(a->fn) == DISTINCTS)
        return ro_distinct(o, e);
    return hd_type_eq(e->type, a->type) ? e : ro_op(o, FE_OF_ORDINAL, a->type, e, NULL);
}

static struct fe_node *results(const struct ordering *o, struct fe_node *all)
{
    const struct fe_node *n = o->n;
    int nk = n->u.agg.nkeys;
    struct fe_node *p = rw_node(o->w, FE_PROJECT_OP, n, 1, all, NULL);
    rw_set_columns(o->w, p, n);
    p->u.project.exprs = HD_NEWN(o->w->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < nk; i++)
        p->u.project.exprs[i] = rw_column(o->w, all, i);
    for (int i = 0; i < n->u.agg.naggs; i++)
        p->u.project.exprs[nk + i] = result(o, all, i);
    return p;
}

struct fe_node *rw_ordered(struct rewriting *w, struct fe_node *n,
                           struct fe_node *(*rest)(struct rewriting *w, struct fe_node *n))
{
    struct ordering o = {.w = w, .n = n, .rest = rest};
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
        readers += kind_of(n->u.agg.aggs[o.parts[p].first].fn) == QUANTILES && ro_reads_twice(&o, &o.parts[p]);
    o.in = readers > 1 ? rw_share(w, n->inputs[0], "input") : n->inputs[0];
    struct fe_node *all = plain ? make_rest(&o) : NULL;
    for (int p = 0; p < o.nparts; p++)
        make_part(&o, p);
    if (!all)
        all = o.parts[whole].groups;
    for (int p = 0; p < o.nparts; p++)
        if (plain || p != whole)
            all = joined(&o, all, &o.parts[p]);
    return results(&o, all);
}
