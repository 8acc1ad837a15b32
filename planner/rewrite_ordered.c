/* Aggregates of rows in an order are each computed from the rows that count, and the groups of all are joined. A part is
 * what aggregates with one argument and one filter share.
 *
 * Quantiles: a window numbers the rows of each group by the argument, a filter leaves those with the numbers that are
 * asked for, one or two of a group, and an aggregate has their values. */
#include "planner/rewrite_ordered.h"

#include <string.h>

#include "planner/typed.h"

/* A number by q: (rows - 1) * q = rows * num / den. */
struct fraction {
    int64_t num, den;
};

/* Of the groups of a part, or of the rest, whose first one is `value`. */
struct columns {
    int value, next, rows; /* the value, the one behind it, how many values there are */
};

struct part {
    int first; /* aggregate; others of the part have its argument and filter */
    bool whole; /* it has all groups */
    struct fe_node *groups;
    int base; /* its first column in the rows joined */
};

struct ordering {
    struct rewriting *w;
    const struct fe_node *n; /* the aggregate */
    struct fe_node *in; /* its input, in a form that can be copied */
    int nparts;
    struct part *parts;
    int *part; /* [aggregate]: its part; -1: it is not of rows in an order */
    struct columns *at; /* [aggregate] */
};

bool rw_has_ordered(const struct fe_node *n)
{
    bool found = false;
    for (int i = 0; n->op == FE_AGGREGATE_OP && i < n->u.agg.naggs; i++)
        found |= fe_agg_is_ordered(n->u.agg.aggs[i].fn);
    return found;
}

/* ---- expressions ------------------------------------------------------------------------------------------- */

static const struct hd_type integer = {HD_INT64, 0, 0}, real = {HD_FLOAT64, 0, 0}, truth = {HD_BOOL, 0, 0},
                            wide = {HD_DECIMAL, HD_DEC_MAX, 0};

static struct fe_expr *op(const struct ordering *o, enum fe_op e, struct hd_type t, struct fe_expr *x,
                          struct fe_expr *y)
{
    return pl_expr_node(o->w->a, e, t, x->nullable || (y && y->nullable), x->path, y ? 2 : 1, x, y);
}

static struct fe_expr *number(const struct ordering *o, struct hd_type t, int64_t v)
{
    struct fe_expr *e = pl_expr_node(o->w->a, FE_LIT, t, false, o->n->path, 0, NULL, NULL);
    e->value = (struct fe_value){.type = t, .i = v, .f = hd_type_is_float(t) ? (double)v : 0};
    return e;
}

static struct fe_expr *plus(const struct ordering *o, struct fe_expr *x, int64_t v)
{
    return v ? op(o, v < 0 ? FE_SUB : FE_ADD, x->type, x, number(o, x->type, v < 0 ? -v : v)) : x;
}

static struct fe_expr *when(const struct ordering *o, struct fe_expr *condition, struct fe_expr *x,
                            struct fe_expr *other)
{
    bool nullable = !other || x->nullable || other->nullable;
    struct fe_expr *e = pl_expr_node(o->w->a, FE_CASE, x->type, nullable, x->path, 2, condition, x);
    if (!other)
        return e;
    e->args = HD_NEWN(o->w->a, struct fe_expr *, 3);
    e->args[0] = condition;
    e->args[1] = x;
    e->args[2] = other;
    e->nargs = 3;
    return e;
}

static struct fe_expr *either(const struct ordering *o, struct fe_expr *x, struct fe_expr *y)
{
    return x ? op(o, FE_OR, truth, x, y) : y;
}

static struct fe_expr *is_there(const struct ordering *o, struct fe_expr *x)
{
    struct fe_expr *null = pl_expr_node(o->w->a, FE_IS_NULL, truth, false, x->path, 1, x, NULL);
    return op(o, FE_NOT, truth, null, NULL);
}

static struct fe_expr *cast(const struct ordering *o, struct fe_expr *e, struct hd_type t)
{
    return hd_type_eq(e->type, t) ? e : op(o, FE_CAST, t, e, NULL);
}

/* What rows are ordered and found by: -0 and 0 are one value, and max takes no bool. */
static struct fe_expr *orderly(const struct ordering *o, struct fe_expr *x)
{
    if (x->type.kind == HD_BOOL)
        return op(o, FE_ORDINAL, wide, x, NULL);
    return hd_type_is_float(x->type) ? op(o, FE_ADD, x->type, x, number(o, x->type, 0)) : x;
}

/* ---- nodes --------------------------------------------------------------------------------------------------- */

static struct fe_node *filtered(const struct ordering *o, struct fe_node *in, struct fe_expr *pred)
{
    struct fe_node *f = rw_node(o->w, FE_FILTER_OP, o->n, 1, in, NULL);
    rw_set_columns(o->w, f, in);
    f->u.filter.pred = pred;
    return f;
}

/* Keys, then one expression. */
static struct fe_node *projected(const struct ordering *o, struct fe_node *in, struct fe_expr *x)
{
    int nk = o->n->u.agg.nkeys;
    struct fe_node *p = rw_node(o->w, FE_PROJECT_OP, o->n, 1, in, NULL);
    p->ncols = nk + 1;
    p->cols = HD_NEWN(o->w->a, struct fe_column, p->ncols);
    p->u.project.exprs = HD_NEWN(o->w->a, struct fe_expr *, p->ncols);
    for (int i = 0; i <= nk; i++) {
        struct fe_expr *e = p->u.project.exprs[i] = i < nk ? o->n->u.agg.keys[i] : x;
        p->cols[i] = (struct fe_column){i < nk ? o->n->cols[i].name : "value", e->type, e->nullable};
    }
    return p;
}

/* in, whose first columns are the keys, and behind its columns a row's number in its group by column `by`, from 1, and
 * the rows of the group. */
static struct fe_node *numbered(const struct ordering *o, struct fe_node *in, int by)
{
    static const enum fe_window_base bases[] = {FE_WINDOW_ROW, FE_WINDOW_ROWS};
    static const char *const names[] = {"row", "rows"};
    int nk = o->n->u.agg.nkeys, added = HD_COUNT(bases);
    struct fe_node *n = rw_node(o->w, FE_WINDOW_OP, o->n, 1, in, NULL);
    struct fe_window *window = n->u.sort.window = HD_NEW(o->w->a, struct fe_window);
    n->u.sort.limit = -1;
    n->u.sort.ngroup = nk;
    n->u.sort.nkeys = n->u.sort.nstated = nk + 1;
    n->u.sort.keys = HD_NEWN(o->w->a, struct fe_sort_key, nk + 1);
    for (int i = 0; i <= nk; i++)
        n->u.sort.keys[i] = (struct fe_sort_key){rw_column(o->w, in, i < nk ? i : by), false, false};
    *window = (struct fe_window){.ncolumns = added, .columns = HD_NEWN(o->w->a, struct fe_window_column, added)};
    n->ncols = in->ncols + added;
    n->cols = HD_NEWN(o->w->a, struct fe_column, n->ncols);
    memcpy(n->cols, in->cols, sizeof *n->cols * (size_t)in->ncols);
    for (int i = 0; i < added; i++) {
        window->columns[i] = (struct fe_window_column){.base = bases[i], .value = -1};
        n->cols[in->ncols + i] = (struct fe_column){names[i], integer, false};
    }
    return n;
}

/* Groups by the first columns of in, with room for aggregates. */
static struct fe_node *grouped(const struct ordering *o, struct fe_node *in, int room)
{
    int nk = o->n->u.agg.nkeys;
    struct fe_node *g = rw_node(o->w, FE_AGGREGATE_OP, o->n, 1, in, NULL);
    g->u.agg.nkeys = g->ncols = nk;
    g->u.agg.keys = rw_columns(o->w, in);
    g->u.agg.aggs = HD_NEWN(o->w->a, struct fe_agg, room + 1);
    g->cols = HD_NEWN(o->w->a, struct fe_column, nk + room + 1);
    memcpy(g->cols, in->cols, sizeof *g->cols * (size_t)nk);
    return g;
}

static int push_max(struct fe_node *g, struct fe_expr *arg)
{
    for (int i = 0; i < g->u.agg.naggs; i++)
        if (fe_expr_eq(g->u.agg.aggs[i].arg, arg))
            return g->u.agg.nkeys + i;
    g->u.agg.aggs[g->u.agg.naggs++] =
        (struct fe_agg){.fn = FE_AGG_MAX, .arg = arg, .type = arg->type, .path = arg->path};
    g->cols[g->ncols] = (struct fe_column){"value", arg->type, true};
    return g->ncols++;
}

/* ---- quantiles --------------------------------------------------------------------------------------------- */

static struct fraction fraction_of(const struct fe_agg *a)
{
    if (!a->q)
        return (struct fraction){1, 2};
    const struct fe_value *v = &a->q->value;
    int64_t x = (int64_t)v->i, y = (int64_t)hd_pow10(v->type.kind == HD_DECIMAL ? v->type.scale : 0);
    struct fraction f = {x, y};
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return (struct fraction){f.num / x, f.den / x};
}

/* (rows - 1) * q, its denominator left out. */
static struct fe_expr *position(const struct ordering *o, struct fraction q, struct fe_expr *rows)
{
    struct fe_expr *before = plus(o, rows, -1);
    return q.num == 1 ? before : op(o, FE_MUL, integer, before, number(o, integer, q.num));
}

/* Rows in front of the one at (rows - 1) * q, or in front of the first one with at least the share q up to it. */
static struct fe_expr *rows_before(const struct ordering *o, const struct fe_agg *a, struct fe_expr *rows)
{
    struct fraction q = fraction_of(a);
    struct fe_expr *den = number(o, integer, q.den);
    if (q.num == 0)
        return number(o, integer, 0);
    if (a->fn != FE_AGG_QUANTILE_DISC)
        return q.den == 1 ? position(o, q, rows) : op(o, FE_DIV, integer, position(o, q, rows), den);
    struct fe_expr *part = op(o, FE_MUL, integer, rows, number(o, integer, q.num));
    return op(o, FE_DIV, integer, plus(o, part, -1), den); /* rounded up, less 1 */
}

static struct fe_expr *is_row(const struct ordering *o, struct fe_expr *row, struct fe_expr *before, int more)
{
    return op(o, FE_EQ, truth, row, plus(o, before, 1 + more));
}

/* Values between two rows are asked for, too. */
static bool is_between(const struct fe_agg *a)
{
    return a->fn != FE_AGG_QUANTILE_DISC && fraction_of(a).den > 1;
}

static bool is_of(const struct ordering *o, int part, int agg)
{
    return o->part[agg] == part;
}

/* rows: keys, a value, its number in its group and how many the group has, the last two columns. */
static struct fe_node *quantile_groups(const struct ordering *o, int part, struct fe_node *rows)
{
    int na = o->n->u.agg.naggs, nk = o->n->u.agg.nkeys;
    struct fe_expr *value = rw_column(o->w, rows, nk), *row = rw_column(o->w, rows, rows->ncols - 2),
                   *all = rw_column(o->w, rows, rows->ncols - 1), *pred = NULL;
    for (int i = 0; i < na; i++) {
        const struct fe_agg *a = &o->n->u.agg.aggs[i];
        for (int more = 0; is_of(o, part, i) && more <= is_between(a); more++)
            pred = either(o, pred, is_row(o, row, rows_before(o, a, all), more));
    }
    struct fe_node *g = grouped(o, filtered(o, rows, pred), 3 * na);
    for (int i = 0; i < na; i++) {
        const struct fe_agg *a = &o->n->u.agg.aggs[i];
        if (!is_of(o, part, i))
            continue;
        struct fe_expr *before = rows_before(o, a, all);
        o->at[i].value = push_max(g, when(o, is_row(o, row, before, 0), value, NULL));
        if (!is_between(a))
            continue;
        o->at[i].next = push_max(g, when(o, is_row(o, row, before, 1), value, NULL));
        o->at[i].rows = push_max(g, all);
    }
    return g;
}

/* lo + (hi - lo) * over / den: exactly, then rounded, of decimals, and of float64 otherwise. */
static struct fe_expr *interpolated(const struct ordering *o, struct fe_expr *lo, struct fe_expr *hi,
                                    struct fe_expr *over, int64_t den, struct hd_type t)
{
    if (t.kind == HD_DECIMAL) {
        struct hd_type sum = hd_decimal(HD_DEC_MAX, lo->type.scale);
        struct fe_expr *k = cast(o, over, wide), *rest = op(o, FE_SUB, wide, number(o, wide, den), k);
        struct fe_expr *all = op(o, FE_ADD, sum, op(o, FE_MUL, sum, lo, rest), op(o, FE_MUL, sum, hi, k));
        return op(o, FE_DIV, t, all, number(o, wide, den));
    }
    struct fe_expr *x = cast(o, lo, real), *y = cast(o, hi, real);
    struct fe_expr *k = op(o, FE_DIV, real, cast(o, over, real), number(o, real, den));
    struct fe_expr *rest = op(o, FE_SUB, real, number(o, real, 1), k);
    struct fe_expr *sum = op(o, FE_ADD, real, op(o, FE_MUL, real, x, rest), op(o, FE_MUL, real, y, k));
    return when(o, op(o, FE_EQ, truth, x, y), x, sum);
}

static struct fe_expr *quantile(const struct ordering *o, const struct fe_node *all, int i, int base)
{
    const struct fe_agg *a = &o->n->u.agg.aggs[i];
    struct fe_expr *lo = rw_column(o->w, all, base + o->at[i].value);
    if (a->fn == FE_AGG_QUANTILE_DISC)
        return a->type.kind == HD_BOOL ? op(o, FE_OF_ORDINAL, a->type, lo, NULL) : lo;
    if (!is_between(a))
        return cast(o, lo, a->type);
    struct fraction q = fraction_of(a);
    struct fe_expr *hi = rw_column(o->w, all, base + o->at[i].next), *rows = rw_column(o->w, all, base + o->at[i].rows);
    struct fe_expr *over = op(o, FE_MOD, integer, position(o, q, rows), number(o, integer, q.den));
    struct fe_expr *at_row = op(o, FE_EQ, truth, over, number(o, integer, 0));
    return when(o, at_row, cast(o, lo, a->type), interpolated(o, lo, hi, over, q.den, a->type));
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

/* Rows that count: those with an argument that the filter lets through. NULL: all. */
static struct fe_expr *condition(const struct ordering *o, const struct fe_agg *a)
{
    struct fe_expr *there = a->arg->nullable ? is_there(o, a->arg) : NULL;
    return a->filter && there ? op(o, FE_AND, truth, a->filter, there) : a->filter ? a->filter : there;
}

static bool same_rows(const struct fe_agg *a, const struct fe_agg *b)
{
    bool filters = a->filter && b->filter ? fe_expr_eq(a->filter, b->filter) : a->filter == b->filter;
    return filters && fe_expr_eq(a->arg, b->arg);
}

static void find_parts(struct ordering *o)
{
    int na = o->n->u.agg.naggs;
    o->part = HD_NEWN(o->w->a, int, na + 1);
    o->at = HD_NEWN(o->w->a, struct columns, na + 1);
    o->parts = HD_NEWN(o->w->a, struct part, na + 1);
    for (int i = 0; i < na; i++) {
        const struct fe_agg *a = &o->n->u.agg.aggs[i];
        o->part[i] = -1;
        if (!fe_agg_is_ordered(a->fn))
            continue;
        int p = 0;
        while (p < o->nparts && !same_rows(a, &o->n->u.agg.aggs[o->parts[p].first]))
            p++;
        if (p == o->nparts)
            o->parts[o->nparts++] = (struct part){.first = i, .whole = !o->n->u.agg.nkeys || !condition(o, a)};
        o->part[i] = p;
    }
}

static void make_part(struct ordering *o, int p)
{
    const struct fe_agg *a = &o->n->u.agg.aggs[o->parts[p].first];
    struct fe_expr *counts = condition(o, a);
    struct fe_node *in = rw_copy(o->w, o->in);
    in = projected(o, counts ? filtered(o, in, counts) : in, orderly(o, a->arg));
    o->parts[p].groups = quantile_groups(o, p, numbered(o, in, o->n->u.agg.nkeys));
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
static struct fe_node *joined(struct ordering *o, struct fe_node *all, struct part *p)
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
        p->u.project.exprs[nk + i] =
            o->part[i] < 0 ? rw_column(o->w, all, o->at[i].value) : quantile(o, all, i, o->parts[o->part[i]].base);
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
    o.in = o.nparts + plain > 1 ? rw_share(w, n->inputs[0], "input") : n->inputs[0];
    struct fe_node *all = plain ? make_rest(&o, rest) : NULL;
    for (int p = 0; p < o.nparts; p++)
        make_part(&o, p);
    if (!all)
        all = o.parts[whole].groups;
    for (int p = 0; p < o.nparts; p++)
        if (plain || p != whole)
            all = joined(&o, all, &o.parts[p]);
    return results(&o, all);
}
