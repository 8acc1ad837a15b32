/* Grouping sets are a union of groupings. A set whose keys another one has, too, merges the groups of that one (the one
 * with the fewest keys): counts and sums add up, an average has both, a minimum is one of minima. Where some aggregate
 * cannot be merged, and for sets that no other one contains, groupings are of the input's rows. Groupings of rows that
 * several need are shared subplans (Gray et al., Data Cube, 1997, section 5: distributive and algebraic functions). */
#include "planner/rewrite_groups.h"

#include "planner/typed.h"

enum { MERGED_DIGITS = 28 }; /* of an average's argument: 10^10 of its values cannot reach the end of a sum's type */

struct source {
    const bool *keys; /* of the set */
    int nkeys;
    int parent; /* set whose groups are merged; -1: the input's rows are grouped */
    int same; /* an equal set in front of it, or itself */
    int readers; /* sets that merge its groups, or are equal */
    struct fe_node *rows; /* of the groups, or a reference to them */
    int *value, *sum, *count; /* [aggregate]: column; of an average also of its sum and its count, else -1 */
};

struct sets {
    struct rewriting *w;
    struct fe_node *n;
    struct fe_node *in; /* its input, in a form that can be copied */
    struct fe_node *(*plainly)(struct rewriting *w, struct fe_node *n);
    int count;
    struct source *v;
    bool merged; /* coarser sets from finer ones */
};

bool rw_has_sets(const struct fe_node *n)
{
    bool found = n->op == FE_AGGREGATE_OP && n->u.agg.nsets;
    for (int i = 0; n->op == FE_AGGREGATE_OP && i < n->u.agg.naggs; i++)
        found |= n->u.agg.aggs[i].fn == FE_AGG_GROUPING;
    return found;
}

/* ---- which from which ------------------------------------------------------------------------------------ */

static bool sum_has_room(struct hd_type t)
{
    return hd_type_is_float(t) || t.kind != HD_DECIMAL || t.precision <= MERGED_DIGITS;
}

/* Groups of a finer grouping tell it. */
static bool can_merge(const struct fe_agg *a)
{
    if (a->distinct)
        return false;
    switch (fe_agg_merge(a->fn)) {
    case FE_MERGES_SAME:
    case FE_MERGES_COUNTS:
    case FE_MERGES_SUMS:
    case FE_MERGES_KEYS: return true;
    case FE_MERGES_RATIO: return sum_has_room(a->arg->type);
    case FE_MERGES_BY:
    case FE_MERGES_NOT: break;
    }
    return false;
}

static bool contains(const struct sets *s, int i, int k)
{
    for (int q = 0; q < s->n->u.agg.nkeys; q++)
        if (s->v[k].keys[q] && !s->v[i].keys[q])
            return false;
    return true;
}

static void choose_sources(struct sets *s)
{
    for (int i = 0; i < s->count; i++) {
        struct source *to = &s->v[i];
        to->parent = -1;
        to->same = i;
        for (int k = 0; k < i && to->same == i; k++)
            if (s->v[k].nkeys == to->nkeys && contains(s, k, i))
                to->same = k;
        if (to->same != i) {
            s->v[to->same].readers++;
            continue;
        }
        for (int k = 0; k < s->count && s->merged; k++)
            if (s->v[k].nkeys > to->nkeys && contains(s, k, i) &&
                (to->parent < 0 || s->v[k].nkeys < s->v[to->parent].nkeys))
                to->parent = k;
        if (to->parent >= 0)
            s->v[to->parent].readers++;
    }
}

static void look_at_sets(struct sets *s)
{
    const struct fe_node *n = s->n;
    s->count = HD_MAX(n->u.agg.nsets, 1);
    s->v = HD_NEWN(s->w->a, struct source, s->count);
    bool *all = HD_NEWN(s->w->a, bool, n->u.agg.nkeys + 1);
    for (int i = 0; i < n->u.agg.nkeys; i++)
        all[i] = true;
    s->merged = true;
    for (int i = 0; i < n->u.agg.naggs; i++)
        s->merged &= can_merge(&n->u.agg.aggs[i]);
    for (int i = 0; i < s->count; i++) {
        s->v[i].keys = n->u.agg.nsets ? n->u.agg.sets[i] : all;
        for (int k = 0; k < n->u.agg.nkeys; k++)
            s->v[i].nkeys += s->v[i].keys[k];
    }
    choose_sources(s);
}

/* ---- groupings --------------------------------------------------------------------------------------------- */

static int push(struct fe_node *g, struct fe_agg a, const struct fe_column *like)
{
    bool counts = a.fn == FE_AGG_COUNT || a.fn == FE_AGG_COUNT_STAR;
    g->u.agg.aggs[g->u.agg.naggs++] = a;
    g->cols[g->ncols] = (struct fe_column){like->name, a.type, !counts && like->nullable};
    return g->ncols++;
}

static struct fe_node *grouping(const struct sets *s, struct fe_node *in)
{
    int nk = s->n->u.agg.nkeys, na = s->n->u.agg.naggs;
    struct fe_node *g = rw_node(s->w, FE_AGGREGATE_OP, s->n, 1, in, NULL);
    g->u.agg.keys = HD_NEWN(s->w->a, struct fe_expr *, nk + 1);
    g->u.agg.aggs = HD_NEWN(s->w->a, struct fe_agg, 3 * na + 1);
    g->cols = HD_NEWN(s->w->a, struct fe_column, nk + 3 * na + 1);
    return g;
}

static void push_key(struct fe_node *g, struct fe_expr *e, const char *name)
{
    g->u.agg.keys[g->u.agg.nkeys++] = e;
    g->cols[g->ncols++] = (struct fe_column){name, e->type, e->nullable};
}

static struct hd_type type_of_sum(struct hd_type t)
{
    return hd_type_is_float(t) ? hd_type_of(HD_FLOAT64) : hd_decimal(HD_DEC_MAX, t.kind == HD_DECIMAL ? t.scale : 0);
}

/* What an average is made of, for the sets that merge it. */
static void push_parts(const struct sets *s, struct fe_node *g, struct source *to, int i, struct fe_agg sum,
                       struct fe_agg count)
{
    const struct fe_agg *a = &s->n->u.agg.aggs[i];
    const struct fe_column *c = &s->n->cols[s->n->u.agg.nkeys + i];
    to->sum[i] = to->count[i] = -1;
    if (a->fn != FE_AGG_AVG || !s->merged)
        return;
    sum.fn = FE_AGG_SUM;
    sum.type = type_of_sum(a->arg->type);
    count.fn = FE_AGG_COUNT;
    count.type = hd_type_of(HD_INT64);
    to->sum[i] = push(g, sum, c);
    to->count[i] = push(g, count, c);
}

/* A grouping without keys has one row whether it has aggregates or not, but columns it has to have. */
static void push_anything(const struct sets *s, struct fe_node *g)
{
    if (g->ncols)
        return;
    struct fe_agg a = {.fn = FE_AGG_COUNT_STAR, .type = hd_type_of(HD_INT64), .path = s->n->path};
    push(g, a, &(struct fe_column){"rows", a.type, false});
    g->u.agg.merges = false;
}

static struct fe_node *of_rows(const struct sets *s, struct source *to)
{
    const struct fe_node *n = s->n;
    int nk = n->u.agg.nkeys;
    struct fe_node *g = grouping(s, rw_copy(s->w, s->in));
    for (int k = 0; k < nk; k++)
        if (to->keys[k])
            push_key(g, n->u.agg.keys[k], n->cols[k].name);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        if (a->fn == FE_AGG_GROUPING)
            continue;
        to->value[i] = push(g, *a, &n->cols[nk + i]);
        push_parts(s, g, to, i, *a, *a);
    }
    push_anything(s, g);
    return s->plainly(s->w, g);
}

static struct fe_node *of_groups(const struct sets *s, const struct source *from, struct source *to)
{
    const struct fe_node *n = s->n;
    int nk = n->u.agg.nkeys;
    struct fe_node *in = rw_copy(s->w, from->rows), *g = grouping(s, in);
    g->u.agg.merges = true;
    for (int k = 0, at = 0; k < nk; at += from->keys[k++])
        if (to->keys[k])
            push_key(g, rw_column(s->w, in, at), n->cols[k].name);
    for (int i = 0; i < n->u.agg.naggs; i++) {
        struct fe_agg a = n->u.agg.aggs[i];
        if (a.fn == FE_AGG_GROUPING)
            continue;
        bool counts = a.fn == FE_AGG_COUNT || a.fn == FE_AGG_COUNT_STAR, avg = a.fn == FE_AGG_AVG;
        a.arg = counts ? NULL : rw_column(s->w, in, avg ? from->sum[i] : from->value[i]);
        a.rows = avg ? rw_column(s->w, in, from->count[i]) : counts ? rw_column(s->w, in, from->value[i]) : NULL;
        to->value[i] = push(g, a, &n->cols[nk + i]);
        struct fe_agg sum = a, count = a;
        sum.rows = NULL;
        count.arg = NULL;
        push_parts(s, g, to, i, sum, count);
    }
    push_anything(s, g);
    return g;
}

/* Finer sets first: what is merged is there before what merges it. */
static void make_groups(struct sets *s)
{
    int na = s->n->u.agg.naggs;
    for (int nk = s->n->u.agg.nkeys; nk >= 0; nk--)
        for (int i = 0; i < s->count; i++) {
            struct source *to = &s->v[i];
            if (to->nkeys != nk || to->same != i)
                continue;
            to->value = HD_NEWN(s->w->a, int, na + 1);
            to->sum = HD_NEWN(s->w->a, int, na + 1);
            to->count = HD_NEWN(s->w->a, int, na + 1);
            to->rows = to->parent < 0 ? of_rows(s, to) : of_groups(s, &s->v[to->parent], to);
            if (to->readers)
                to->rows = rw_share(s->w, to->rows, "groups");
        }
}

/* ---- rows of the result ------------------------------------------------------------------------------------ */

static struct fe_expr *constant(const struct sets *s, struct fe_value v)
{
    struct fe_expr *e = pl_expr_node(s->w->a, FE_LIT, v.type, v.is_null, s->n->path, 0, NULL, NULL);
    e->value = v;
    return e;
}

static struct fe_expr *which_keys(const struct sets *s, const struct source *of, const struct fe_agg *a)
{
    struct fe_value v = {.type = hd_type_of(HD_INT64)};
    for (int i = 0; i < a->nof; i++)
        v.i = 2 * v.i + !of->keys[a->of[i]];
    return constant(s, v);
}

static struct fe_node *results(const struct sets *s, int set)
{
    const struct fe_node *n = s->n;
    const struct source *of = &s->v[set], *from = &s->v[of->same];
    int nk = n->u.agg.nkeys;
    struct fe_node *rows = rw_copy(s->w, from->rows), *p = rw_node(s->w, FE_PROJECT_OP, n, 1, rows, NULL);
    rw_set_columns(s->w, p, n);
    p->u.project.exprs = HD_NEWN(s->w->a, struct fe_expr *, n->ncols + 1);
    for (int k = 0, at = 0; k < nk; at += of->keys[k++]) {
        struct fe_value null = {.type = n->cols[k].type, .is_null = true};
        p->u.project.exprs[k] = of->keys[k] ? rw_column(s->w, rows, at) : constant(s, null);
    }
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        p->u.project.exprs[nk + i] =
            a->fn == FE_AGG_GROUPING ? which_keys(s, of, a) : rw_column(s->w, rows, from->value[i]);
    }
    return p;
}

struct fe_node *rw_grouping_sets(struct rewriting *w, struct fe_node *n,
                                 struct fe_node *(*plainly)(struct rewriting *w, struct fe_node *n))
{
    struct sets s = {.w = w, .n = n, .plainly = plainly};
    look_at_sets(&s);
    int of_input = 0;
    for (int i = 0; i < s.count; i++)
        of_input += s.v[i].same == i && s.v[i].parent < 0;
    s.in = of_input > 1 ? rw_share(w, n->inputs[0], "input") : n->inputs[0];
    make_groups(&s);
    if (s.count == 1)
        return results(&s, 0);
    struct fe_node *all = rw_node(w, FE_UNION_ALL_OP, n, s.count, NULL, NULL);
    all->inputs = HD_NEWN(w->a, struct fe_node *, s.count);
    for (int i = 0; i < s.count; i++)
        all->inputs[i] = results(&s, i);
    rw_set_columns(w, all, n);
    return all;
}
