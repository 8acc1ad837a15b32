/* Intervals are equal where their lengths are, so groups have lengths as keys: a group shows the smallest of its intervals,
 * by the integer that holds it (templates/interval_value.cuh), that with the fewest months, then the fewest days. A sum
 * is of months, days and microseconds, each added up exactly, and becomes an interval in the end; an average is of such
 * sums and a count. */
#include "planner/rewrite_intervals.h"

#include <string.h>

#include "planner/typed.h"

static bool is_interval(const struct fe_expr *e)
{
    return e && e->type.kind == HD_INTERVAL;
}

enum { PARTS = 3 };

static const struct hd_type wide = {HD_DECIMAL, HD_DEC_MAX, 0};

/* Aggregates that one is computed from, if it is a sum or an average; else 0. */
static int sums_of(const struct fe_agg *a)
{
    bool sum = a->fn == FE_AGG_SUM, mean = a->fn == FE_AGG_AVG;
    return (sum || mean) && is_interval(a->arg) ? PARTS + mean : 0;
}

bool rw_has_intervals(const struct fe_node *n)
{
    bool found = false;
    if (n->op != FE_AGGREGATE_OP && n->op != FE_DISTINCT_OP)
        return false;
    for (int i = 0; i < n->u.agg.nkeys; i++)
        found |= is_interval(n->u.agg.keys[i]);
    for (int i = 0; i < n->u.agg.naggs; i++)
        found |= sums_of(&n->u.agg.aggs[i]) > 0;
    return found;
}

static void push(struct fe_node *g, struct fe_agg a, const char *name, bool nullable)
{
    g->u.agg.aggs[g->u.agg.naggs++] = a;
    g->cols[g->ncols++] = (struct fe_column){name, a.type, nullable};
}

static void push_parts(const struct rewriting *w, struct fe_node *g, const struct fe_agg *a, const struct fe_column *c)
{
    static const enum fe_op parts[PARTS] = {FE_INTERVAL_MONTHS, FE_INTERVAL_DAYS, FE_INTERVAL_MICROS};
    for (int i = 0; i < PARTS; i++) {
        struct fe_agg of = *a;
        of.arg = pl_expr_node(w->a, parts[i], hd_type_of(HD_INT64), a->arg->nullable, a->path, 1, a->arg, NULL);
        of.fn = FE_AGG_SUM;
        of.type = wide;
        push(g, of, c->name, c->nullable);
    }
    if (a->fn != FE_AGG_AVG)
        return;
    struct fe_agg n = *a;
    n.fn = FE_AGG_COUNT;
    n.type = hd_type_of(HD_INT64);
    push(g, n, c->name, false);
}

/* Keys, then the aggregates, a sum or average as its parts, then what groups show of keys that are intervals. */
static struct fe_node *groups(const struct rewriting *w, const struct fe_node *n)
{
    int nk = n->u.agg.nkeys, na = n->u.agg.naggs, room = nk + (PARTS + 1) * na + 1;
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
        if (sums_of(a))
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

static struct fe_expr *op(const struct rewriting *w, enum fe_op o, struct fe_expr *x, struct fe_expr *y)
{
    return pl_expr_node(w->a, o, wide, x->nullable || y->nullable, x->path, 2, x, y);
}

static struct fe_expr *times(const struct rewriting *w, struct fe_expr *x, int64_t n)
{
    struct fe_expr *e = pl_expr_node(w->a, FE_LIT, wide, false, x->path, 0, NULL, NULL);
    e->value = (struct fe_value){.type = wide, .i = n};
    return op(w, FE_MUL, x, e);
}

/* Sums become averages: whole months, then days and what whole months leave, then the rest, which is rounded. No step
 * leaves 38 digits, for what remains is less than n of a unit. frontend/plan_window_aggs.c says it likewise. */
static void carry_down(const struct rewriting *w, struct fe_expr *parts[PARTS], struct fe_expr *n)
{
    static const int64_t below[PARTS - 1] = {30, INT64_C(86400000000)}; /* days of a month, microseconds of a day */
    for (int i = 0; i < PARTS - 1; i++) {
        struct fe_expr *rest = op(w, FE_MOD, parts[i], n);
        parts[i] = op(w, FE_DIV, op(w, FE_SUB, parts[i], rest), n);
        parts[i + 1] = op(w, FE_ADD, parts[i + 1], times(w, rest, below[i]));
    }
    parts[PARTS - 1] = op(w, FE_DIV, parts[PARTS - 1], n);
}

/* The sum or average whose parts are at the column `at`. */
static struct fe_expr *put_together(const struct rewriting *w, const struct fe_agg *a, const struct fe_node *g, int at)
{
    struct fe_expr *parts[PARTS];
    bool nullable = g->cols[at].nullable;
    for (int i = 0; i < PARTS; i++)
        parts[i] = rw_column(w, g, at + i);
    if (a->fn == FE_AGG_AVG)
        carry_down(w, parts, pl_expr_node(w->a, FE_CAST, wide, false, a->path, 1, rw_column(w, g, at + PARTS), NULL));
    for (int i = 0; i < PARTS; i++)
        parts[i] = pl_expr_node(w->a, FE_CAST, hd_type_of(HD_INT64), nullable, a->path, 1, parts[i], NULL);
    struct fe_expr *e = pl_expr_node(w->a, FE_MAKE_INTERVAL, a->type, nullable, a->path, 0, NULL, NULL);
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
        p->u.project.exprs[nk + i] = sums_of(a) ? put_together(w, a, g, at) : rw_column(w, g, at);
        at += HD_MAX(sums_of(a), 1);
    }
    for (int i = 0; i < nk; i++)
        p->u.project.exprs[i] = is_interval(n->u.agg.keys[i]) ? shown(w, n, g, i, at++) : rw_column(w, g, i);
    return p;
}
