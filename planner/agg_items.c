/* What an aggregate accumulates: items, equal ones shared; avg is sum and count, a distinct argument's groups take a
 * second grouping. And what is known of a sum. */
#include "planner/agg.h"

#include "planner/handle.h"
#include "planner/physical.h"
#include "planner/lower_value.h"
#include "planner/typed.h"

/* ---- sums --------------------------------------------------------------------------------------------- */

/* What up to `rows` values of r add up to; not known beyond 127 bits. More rows than an int64 counts
 * nobody lives to see added up. */
static struct pl_range sum_range(struct pl_range r, double rows)
{
    hd_i128 max = HD_MAX(r.hi, -r.lo), n = (hd_i128)HD_MIN(HD_MAX(rows, 1), 9e18), b;
    if (!r.known || __builtin_mul_overflow(max, n, &b))
        return (struct pl_range){false, 0, 0};
    return (struct pl_range){true, -b, b};
}

/* 64 bits where facts say that no partial sum can wrap, else 128. */
bool sum_known(const struct agg_item *a, double rows, struct pl_val *v)
{
    if (v->type.kind == HD_FLOAT64) {
        v->phys = RT_F64;
        return true;
    }
    if (a->counts) {
        v->phys = RT_I64;
        v->range = (struct pl_range){true, 0, INT64_MAX};
        return true;
    }
    if (!v->range.known)
        v->range = range_of_type(v->type);
    v->range = a->partial ? v->range : sum_range(v->range, rows);
    v->phys = HD_MAX(RT_I64, lx_narrowest(v->range));
    return v->range.known;
}

/* The whole may leave its type, though no partial sum wraps. */
bool leaves_type(const struct pl_val *sum, struct hd_type t)
{
    struct pl_range limit = range_of_type(t);
    return limit.known && !(sum->range.known && sum->range.lo >= limit.lo && sum->range.hi <= limit.hi);
}

/* ---- constants ---------------------------------------------------------------------------------------- */

struct fe_expr *agg_const(struct ctx *c, struct hd_type t, int v, const char *path)
{
    struct fe_expr *e = pl_expr_node(c->a, FE_LIT, t, false, path, 0, NULL, NULL);
    e->value = (struct fe_value){.type = t, .i = v};
    return e;
}

struct handle *agg_or_zero(struct ctx *c, struct handle *h, const char *path)
{
    struct handle **env = HD_NEWN(c->a, struct handle *, 1);
    env[0] = h;
    if (!h->nullable)
        return h;
    return h_expr(
        c,
        pl_expr_node(c->a, FE_COALESCE, h->type, false, path, 2, lx_col(c, 0, h, path), agg_const(c, h->type, 0, path)),
        env);
}

/* ---- items ------------------------------------------------------------------------------------------------ */

/* An avg's sum keeps the scale of its argument. */
static struct hd_type sum_type(struct hd_type t)
{
    if (t.kind == HD_FLOAT64)
        return t;
    return hd_decimal(HD_DEC_MAX, t.kind == HD_DECIMAL ? t.scale : 0);
}

static int push_item(struct agg_plan *p, enum fe_agg_fn fn, struct handle *arg, struct hd_type t, const char *path)
{
    for (int i = 0; i < p->nitems; i++) /* sum(x) and avg(x) share, and so do counts */
        if (p->items[i].fn == fn && p->items[i].arg == arg && hd_type_eq(p->items[i].type, t))
            return i;
    p->items[p->nitems] = (struct agg_item){.fn = fn, .arg = arg, .type = t, .path = path};
    return p->nitems++;
}

static const struct hd_type int64_type = {HD_INT64, 0, 0};

/* COUNT of a column without NULLs is the number of rows. */
static int push_count(struct agg_plan *p, struct handle *arg, const char *path)
{
    bool star = !arg || !arg->nullable;
    return push_item(p, star ? FE_AGG_COUNT_STAR : FE_AGG_COUNT, star ? NULL : arg, int64_type, path);
}

static void push_agg(struct agg_plan *p, int i, const struct fe_agg *a, struct handle *arg)
{
    if (a->fn == FE_AGG_AVG) {
        p->first[2 * i] = push_item(p, FE_AGG_SUM, arg, sum_type(arg->type), a->path);
        p->first[2 * i + 1] = push_count(p, arg, a->path);
    } else if (a->fn == FE_AGG_COUNT || a->fn == FE_AGG_COUNT_STAR) {
        p->first[2 * i] = push_count(p, a->fn == FE_AGG_COUNT ? arg : NULL, a->path);
    } else {
        p->first[2 * i] = push_item(p, a->fn, arg, a->type, a->path);
    }
}

/* Aggregate i is needed, distinct, and over this argument. */
bool agg_is_over(const struct fe_node *n, const bool *need, int i, const struct fe_expr *arg)
{
    const struct fe_agg *a = &n->u.agg.aggs[i];
    return a->distinct && need[n->u.agg.nkeys + i] && fe_expr_eq(a->arg, arg);
}

static void plan_items(struct ctx *c, struct agg_plan *p, struct handle **env, bool distinct)
{
    const struct fe_node *n = p->n;
    struct handle **seen = HD_NEWN(c->a, struct handle *, n->u.agg.naggs + 1);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        if (!p->need[n->u.agg.nkeys + i] || a->distinct != distinct)
            continue;
        for (int k = 0; k < i && a->arg && !seen[i]; k++) /* equal arguments share one handle */
            if (seen[k] && fe_expr_eq(n->u.agg.aggs[k].arg, a->arg))
                seen[i] = seen[k];
        if (a->arg && !seen[i])
            seen[i] = h_expr(c, a->arg, env);
        push_agg(p, i, a, seen[i]);
    }
}

/* ---- rows that stand for several ---------------------------------------------------------------------- */

/* The handle of e, one for equal expressions: of value 2 * i or count 2 * i + 1 of aggregate i. */
static struct handle *weighted_handle(struct ctx *c, struct agg_plan *p, struct handle **env, struct handle **seen,
                                      int at)
{
    const struct pl_weighted_agg *w = p->weighted->aggs;
    const struct fe_expr *e = at % 2 ? w[at / 2].count : w[at / 2].value;
    for (int k = 0; k < at && e && !seen[at]; k++) {
        const struct fe_expr *other = k % 2 ? w[k / 2].count : w[k / 2].value;
        if (seen[k] && fe_expr_eq(other, e))
            seen[at] = seen[k];
    }
    if (e && !seen[at])
        seen[at] = h_expr(c, e, env);
    return seen[at];
}

static int push_weighted_count(struct agg_plan *p, struct handle *count, const char *path)
{
    int i = push_item(p, FE_AGG_SUM, count, int64_type, path);
    p->items[i].counts = true;
    return i;
}

static void push_weighted(struct agg_plan *p, int i, struct handle *value, struct handle *count)
{
    const struct fe_agg *a = &p->n->u.agg.aggs[i];
    if (a->fn == FE_AGG_COUNT || a->fn == FE_AGG_COUNT_STAR) {
        p->first[2 * i] = push_weighted_count(p, count, a->path);
        return;
    }
    struct hd_type t = a->fn == FE_AGG_AVG ? sum_type(p->weighted->aggs[i].type) : a->type;
    p->first[2 * i] = push_item(p, a->fn == FE_AGG_AVG ? FE_AGG_SUM : a->fn, value, t, a->path);
    if (a->fn == FE_AGG_AVG)
        p->first[2 * i + 1] = push_weighted_count(p, count, a->path);
}

static void plan_weighted(struct ctx *c, struct agg_plan *p, struct handle **env)
{
    int na = p->n->u.agg.naggs;
    struct handle **seen = HD_NEWN(c->a, struct handle *, 2 * na + 1);
    for (int i = 0; i < na; i++)
        if (p->need[p->n->u.agg.nkeys + i]) {
            struct handle *value = weighted_handle(c, p, env, seen, 2 * i);
            push_weighted(p, i, value, weighted_handle(c, p, env, seen, 2 * i + 1));
        }
}

struct fe_expr *agg_key(const struct pl_node *node, int i)
{
    return node->u.agg.weighted ? node->u.agg.weighted->keys[i] : node->n->u.agg.keys[i];
}

bool agg_is_of_bits(enum fe_agg_fn fn)
{
    return fn == FE_AGG_BIT_OR || fn == FE_AGG_BIT_XOR;
}

/* Stage two's view of stage one's partial: sums and counts add up, others stay. */
static void merge_items(struct agg_plan *two, const struct agg_plan *one, const struct part *partial, int *map)
{
    for (int i = 0; i < one->nitems; i++) {
        const struct agg_item *a = &one->items[i];
        bool stays = a->fn == FE_AGG_MIN || a->fn == FE_AGG_MAX || agg_is_of_bits(a->fn);
        enum fe_agg_fn fn = stays ? a->fn : FE_AGG_SUM;
        map[i] = push_item(two, fn, partial[i].h, a->type, a->path);
        two->items[map[i]].high = partial[i].high;
        two->items[map[i]].partial = true;
    }
}

void agg_plan(struct ctx *c, const struct pl_node *node, struct handle **env, struct agg_plan *p)
{
    int na = node->n->u.agg.naggs;
    *p = (struct agg_plan){.n = node->n, .need = c->need[node->n->id], .distinct = node->u.agg.distinct};
    p->items = HD_NEWN(c->a, struct agg_item, 2 * na + 2);
    p->first = HD_NEWN(c->a, int, 2 * na + 2);
    p->weighted = node->u.agg.weighted;
    if (p->weighted)
        plan_weighted(c, p, env);
    else if (node->u.agg.plain)
        plan_items(c, p, env, false);
}

void agg_plan_second(struct ctx *c, const struct agg_plan *one, const struct part *partial, struct handle *distinct,
                     struct agg_plan *two, int *map)
{
    const struct fe_node *n = one->n;
    int na = n->u.agg.naggs;
    *two = (struct agg_plan){.n = n, .need = one->need};
    two->items = HD_NEWN(c->a, struct agg_item, 4 * na + 4);
    two->first = HD_NEWN(c->a, int, 2 * na + 2);
    merge_items(two, one, partial, map);
    for (int i = 0; i < na; i++)
        if (agg_is_over(n, one->need, i, one->distinct))
            push_agg(two, i, &n->u.agg.aggs[i], distinct);
}

void agg_pass(struct ctx *c, const struct fe_node *n, const struct stream *b, struct agg_pass *p)
{
    p->build = *b;
    p->build.ncols = 0;
    p->build.cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    p->at = HD_NEWN(c->a, int, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        if (i < n->u.agg.nkeys || b->cols[i]) {
            p->at[p->build.ncols] = i;
            p->build.cols[p->build.ncols++] = b->cols[i];
        }
}

/* ---- keys ----------------------------------------------------------------------------------------------- */

void stage_keys(struct ctx *c, struct stage *g)
{
    g->kept = HD_NEWN(c->a, struct handle *, g->nkeys + 1);
    g->any = HD_NEWN(c->a, struct handle *, g->nkeys + 1);
    g->nany = 0;
    for (int i = 0, n = 0; i < g->nkeys; i++) {
        const struct pl_removed_key *r = &g->d->removed[i];
        g->keys[i] = h_plain(g->keys[i]);
        if (!r->removed)
            g->kept[n++] = g->keys[i];
        else if (!r->by_lookup)
            g->any[g->nany++] = g->keys[i];
    }
}

static void read_columns(struct ctx *c, const struct fe_table *t, const struct fe_expr *e, struct handle *row,
                         struct handle **env)
{
    if (e->op == FE_COL && !env[e->col])
        env[e->col] = h_column(c, t, e->col, row);
    for (int i = 0; i < e->nargs; i++)
        read_columns(c, t, e->args[i], row, env);
}

static struct handle *removed_key(struct ctx *c, const struct pl_removed_key *r, struct handle *row)
{
    if (!r->expr)
        return h_column(c, r->table, r->column, row);
    struct handle **env = HD_NEWN(c->a, struct handle *, r->table->ncols + 1);
    read_columns(c, r->table, r->expr, row, env);
    return h_expr(c, r->expr, env);
}

void stage_restore(struct ctx *c, const struct stage *g, struct handle *const *any, struct handle **key_out)
{
    struct handle **rows = HD_NEWN(c->a, struct handle *, g->nkeys + 1);
    for (int i = 0, a = 0; i < g->nkeys; i++) {
        const struct pl_removed_key *r = &g->d->removed[i];
        if (!r->removed)
            continue;
        if (!r->by_lookup) {
            key_out[i] = any[a++];
            continue;
        }
        if (!rows[r->row_of])
            rows[r->row_of] = h_lookup(c, r->table, r->index, key_out[r->key]);
        key_out[i] = removed_key(c, r, rows[r->row_of]);
    }
}

void stage_unique(struct ctx *c, const struct stage *g, struct handle *const *key_out, struct stream *out)
{
    out->nunique = 0;
    out->unique = HD_NEWN(c->a, struct handle *, g->nkeys + 1);
    for (int i = 0; i < g->nkeys; i++)
        if (!g->d->removed[i].removed)
            out->unique[out->nunique++] = key_out[i];
}

struct stage stage_of_extremes(struct ctx *c, struct pl_node *n, struct handle **keys, struct handle *arg,
                               const struct pl_grouping *d)
{
    struct agg_item items[] = {{.fn = FE_AGG_MIN, .arg = arg, .type = arg->type, .path = n->path},
                               {.fn = FE_AGG_MAX, .arg = arg, .type = arg->type, .path = n->path}};
    return (struct stage){.node = n,
                          .d = d,
                          .nkeys = n->u.extremes.nkeys,
                          .keys = keys,
                          .naggs = 2,
                          .aggs = hd_dup(c->a, items, sizeof items),
                          .path = n->path};
}
