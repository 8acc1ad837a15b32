/* Intervals are equal where their lengths are, so groups have lengths as keys: a group shows the smallest of its intervals,
 * by the integer that holds it (templates/interval_value.cuh), that with the fewest months, then the fewest days. A sum
 * is of months, days and microseconds, each added up exactly, and becomes an interval in the end. */
#include "planner/rewrite_intervals.h"

#include <string.h>

#include "planner/typed.h"

static bool is_interval(const struct fe_expr *e)
{
    return e && e->type.kind == HD_INTERVAL;
}

static bool is_sum(const struct fe_agg *a)
{
    return a->fn == FE_AGG_SUM && is_interval(a->arg);
}

bool rw_has_intervals(const struct fe_node *n)
{
    bool found = false;
    if (n->op != FE_AGGREGATE_OP && n->op != FE_DISTINCT_OP)
        return false;
    for (int i = 0; i < n->u.agg.nkeys; i++)
        found |= is_interval(n->u.agg.keys[i]);
    for (int i = 0; i < n->u.agg.naggs; i++)
        found |= is_sum(&n->u.agg.aggs[i]);
    return found;
}

static void push(struct fe_node *g, struct fe_agg a, const char *name, bool nullable)
{
    g->u.agg.aggs[g->u.agg.naggs++] = a;
    g->cols[g->ncols++] = (struct fe_column){name, a.type, nullable};
}

enum { PARTS = 3 };

static void push_parts(const struct rewriting *w, struct fe_node *g, const struct fe_agg *a, const struct fe_column *c)
{
    static const enum fe_op parts[PARTS] = {FE_INTERVAL_MONTHS, FE_INTERVAL_DAYS, FE_INTERVAL_MICROS};
    for (int i = 0; i < PARTS; i++) {
        struct fe_agg of = *a;
        of.arg = pl_expr_node(w->a, parts[i], hd_type_of(HD_INT64), a->arg->nullable, a->path, 1, a->arg, NULL);
        of.type = hd_decimal(HD_DEC_MAX, 0);
        push(g, of, c->name, c->nullable);
    }
}

/* Keys, then the aggregates, a sum as its parts, then what groups show of keys that are intervals. */
static struct fe_node *groups(const struct rewriting *w, const struct fe_node *n)
{
    int nk = n->u.agg.nkeys, na = n->u.agg.naggs, room = nk + PARTS * na + 1;
    struct fe_node *g = hd_dup(w->a, n, sizeof *n);
    g->op = FE_AGGREGATE_OP;
    g->u.agg.naggs = 0;
    g->u.agg.aggs = HD_NEWN(w->a, struct fe_agg, room);
    g->u.agg.keys = HD_NEWN(w->a, struct fe_expr *, nk + 1);
    g->cols = HD_NEWN(w->a, struct fe_column, nk + room);
    g->ncols = nk;
    for (int i = 0; i < nk; i++) {
        g->u.agg.keys[i] = rw_key(w, n->u.agg.keys[i]);
        g->cols[i] = (struct fe_column){n->cols[i].name, g->u.agg.keys[i]->type, n->cols[i].nullable};
    }
    for (int i = 0; i < na; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        const struct fe_column *c = &n->cols[nk + i];
        if (is_sum(a))
            push_parts(w, g, a, c);
        else
            push(g, *a, c->name, c->nullable);
    }
    for (int i = 0; i < nk; i++) {
        struct fe_expr *key = n->u.agg.keys[i];
        if (is_interval(key))
            push(g, (struct fe_agg){.fn = FE_AGG_MIN, .arg = key, .type = key->type, .path = n->path}, n->cols[i].name,
                 n->cols[i].nullable);
    }
    return g;
}

/* A set that lacks the key has NULL for its length; the smallest interval is of all its rows. */
static struct fe_expr *shown(const struct rewriting *w, const struct fe_node *n, const struct fe_node *g, int key,
                             int at)
{
    struct fe_expr *value = rw_column(w, g, at), *length = rw_column(w, g, key);
    if (!n->u.agg.nsets)
        return value;
    struct fe_expr *lacks = pl_expr_node(w->a, FE_IS_NULL, hd_type_of(HD_BOOL), false, n->path, 1, length, NULL);
    struct fe_expr *has = pl_expr_node(w->a, FE_NOT, lacks->type, false, n->path, 1, lacks, NULL);
    return pl_expr_node(w->a, FE_CASE, value->type, true, n->path, 2, has, value);
}

static struct fe_expr *added_up(const struct rewriting *w, const struct fe_node *g, int at, const char *path)
{
    struct fe_expr *parts[PARTS];
    bool nullable = g->cols[at].nullable;
    for (int i = 0; i < PARTS; i++)
        parts[i] = pl_expr_node(w->a, FE_CAST, hd_type_of(HD_INT64), nullable, path, 1, rw_column(w, g, at + i), NULL);
    struct fe_expr *e = pl_expr_node(w->a, FE_MAKE_INTERVAL, hd_type_of(HD_INTERVAL), nullable, path, 0, NULL, NULL);
    e->nargs = PARTS;
    e->args = hd_dup(w->a, parts, sizeof parts);
    return e;
}

struct fe_node *rw_intervals(const struct rewriting *w, const struct fe_node *n)
{
    int nk = n->u.agg.nkeys, at = nk;
    struct fe_node *g = groups(w, n), *p = rw_node(w, FE_PROJECT_OP, n, 1, g, NULL);
    rw_set_columns(w, p, n);
    p->u.project.exprs = HD_NEWN(w->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        p->u.project.exprs[nk + i] = is_sum(a) ? added_up(w, g, at, a->path) : rw_column(w, g, at);
        at += is_sum(a) ? PARTS : 1;
    }
    for (int i = 0; i < nk; i++)
        p->u.project.exprs[i] = is_interval(n->u.agg.keys[i]) ? shown(w, n, g, i, at++) : rw_column(w, g, i);
    return p;
}
