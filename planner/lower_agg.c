/* Aggregation and DISTINCT: avg is sum and count, a distinct aggregate is two groupings, several
 * distinct arguments are one each, joined by key. The groupings are in agg_stage.c. */
#include "planner/lower_agg.h"

#include "planner/agg.h"
#include "planner/cut.h"
#include "planner/handle.h"
#include "planner/join.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/physical.h"
#include "planner/store.h"
#include "planner/typed.h"

/* (high * 2^64 + low) / n as a value of type t, checked: what an unchecked sum of parts, env[0] and
 * env[1], amounts to. */
static struct fe_expr *of_parts(struct ctx *c, struct handle **env, const struct part *sum, struct hd_type t,
                                struct fe_expr *n, const char *path)
{
    struct hd_type wide = hd_decimal(HD_DEC_MAX, 0);
    struct fe_expr *low = lx_col(c, 0, env[0], path);
    struct fe_expr *high = sum->high ? lx_col(c, 1, env[1], path) : agg_const(c, wide, 0, path);
    struct fe_expr *e = pl_expr_node(c->a, FE_OF_PARTS, t, sum->h->nullable, path, 2, high, low);
    e->args = HD_NEWN(c->a, struct fe_expr *, 3);
    e->args[0] = high;
    e->args[1] = low;
    e->args[e->nargs++] = n;
    return e;
}

static struct handle **part_env(struct ctx *c, const struct part *x, struct handle *count)
{
    struct handle **env = HD_NEWN(c->a, struct handle *, 3);
    env[0] = x->h;
    env[1] = x->high;
    env[2] = count;
    return env;
}

static struct handle *sum_of(struct ctx *c, const struct part *x, struct hd_type t, const char *path)
{
    struct handle **env = part_env(c, x, NULL);
    if (!x->unchecked)
        return x->h;
    return h_expr(c, of_parts(c, env, x, t, agg_const(c, hd_type_of(HD_INT64), 1, path), path), env);
}

/* case when count > 0 then sum / count end: exact, rounded as docs/plan.md says. */
static struct handle *avg_of(struct ctx *c, const struct part *sum, struct handle *count, struct hd_type t,
                             const char *path)
{
    struct handle **env = part_env(c, sum, count);
    struct fe_expr *n = lx_col(c, 2, count, path), *q;
    if (sum->unchecked)
        q = of_parts(c, env, sum, t, n, path);
    else
        q = pl_expr_node(c->a, FE_DIV, t, sum->h->nullable, path, 2, lx_col(c, 0, sum->h, path),
                         t.kind == HD_FLOAT64 ? pl_expr_node(c->a, FE_CAST, t, false, path, 1, n, NULL) : n);
    struct fe_expr *pos =
        pl_expr_node(c->a, FE_GT, hd_type_of(HD_BOOL), false, path, 2, n, agg_const(c, hd_type_of(HD_INT64), 0, path));
    return h_expr(c, pl_expr_node(c->a, FE_CASE, t, true, path, 2, pos, q), env);
}

/* Stage one of a distinct aggregate: group by keys and the distinct argument, the other aggregates
 * as partial results. Afterwards s, keys and the partials describe the input of stage two. */
static int distinct_stage(struct ctx *c, struct pl_node *node, struct agg_plan *p, struct stream *s,
                          struct handle **keys, struct part *partial, struct handle **dist)
{
    const struct fe_node *n = p->n;
    int nk = n->u.agg.nkeys;
    struct handle **k1 = HD_NEWN(c->a, struct handle *, nk + 1);
    memcpy(k1, keys, sizeof *k1 * (size_t)nk);
    k1[nk] = h_expr(c, p->distinct, s->cols);
    struct stage g = {.node = node,
                      .d = node->u.agg.groupings[0],
                      .nkeys = nk + 1,
                      .keys = k1,
                      .naggs = p->nitems,
                      .aggs = p->items,
                      .path = n->path};
    struct handle **kout = HD_NEWN(c->a, struct handle *, nk + 1);
    struct stream mid;
    HD_TRY(run_stage(c, s, &g, &mid, kout, partial));
    memcpy(keys, kout, sizeof *keys * (size_t)nk);
    *dist = kout[nk];
    *s = mid;
    return 0;
}

static struct handle *result_of(struct ctx *c, const struct fe_agg *a, const struct part *x, const struct part *count)
{
    if (a->fn == FE_AGG_AVG)
        return avg_of(c, x, agg_or_zero(c, count->h, a->path), a->type, a->path);
    if (a->fn == FE_AGG_COUNT || a->fn == FE_AGG_COUNT_STAR)
        return agg_or_zero(c, x->h, a->path);
    return sum_of(c, x, a->type, a->path);
}

/* Groups s once: the aggregates without distinct (dist NULL), or those over one distinct argument
 * together with the others if `both`. cols: keys, then aggregates (NULL where not computed). */
static int group_once(struct ctx *c, struct pl_node *node, struct stream *s, struct stream *out, struct handle **cols)
{
    const struct fe_node *n = node->n;
    const struct fe_expr *dist = node->u.agg.distinct;
    bool plain = node->u.agg.plain;
    int nk = n->u.agg.nkeys, na = n->u.agg.naggs;
    struct agg_plan one, two;
    int *map = HD_NEWN(c->a, int, 2 * na + 2);
    struct handle **keys = HD_NEWN(c->a, struct handle *, nk + 1);
    for (int i = 0; i < nk; i++)
        keys[i] = h_expr(c, agg_key(node, i), s->cols);
    agg_plan(c, node, s->cols, &one);
    two = one;
    for (int i = 0; i < one.nitems; i++)
        map[i] = i;
    if (dist) {
        struct handle *dh;
        struct part *partial = HD_NEWN(c->a, struct part, 2 * na + 2);
        HD_TRY(distinct_stage(c, node, &one, s, keys, partial, &dh));
        agg_plan_second(c, &one, partial, dh, &two, map);
    }
    struct stage g = {.node = node,
                      .d = node->u.agg.groupings[dist != NULL],
                      .nkeys = nk,
                      .keys = keys,
                      .naggs = two.nitems,
                      .aggs = two.items,
                      .path = n->path};
    struct part *res = HD_NEWN(c->a, struct part, two.nitems + 1);
    HD_TRY(run_stage(c, s, &g, out, cols, res));
    for (int i = 0; i < na; i++) {
        const struct fe_agg *a = &n->u.agg.aggs[i];
        bool mine = a->distinct ? dist && agg_is_over(n, one.need, i, dist) : plain && one.need[nk + i];
        cols[nk + i] = NULL;
        if (!mine)
            continue;
        const int *f = a->distinct ? &two.first[2 * i] : &one.first[2 * i];
        const struct part *x = &res[a->distinct ? f[0] : map[f[0]]];
        const struct part *cnt = a->fn == FE_AGG_AVG ? &res[a->distinct ? f[1] : map[f[1]]] : NULL;
        cols[nk + i] = result_of(c, a, x, cnt);
    }
    return 0;
}

/* The groups of s with the columns that were computed, keys first, ready to be joined to another
 * pass: cols and s follow if the pipeline is cut for it. */
static int groups_so_far(struct ctx *c, const struct fe_node *n, struct stream *s, struct handle **cols,
                         struct stream *out)
{
    int *at = HD_NEWN(c->a, int, n->ncols + 1), pipeline = s->pipeline;
    *out = *s;
    out->cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    out->ncols = 0;
    for (int i = 0; i < n->ncols; i++)
        if (cols[i]) {
            at[out->ncols] = i;
            out->cols[out->ncols++] = cols[i];
        }
    HD_TRY(cut_before_level(c, out, NULL, NULL, n->path));
    if (out->pipeline == pipeline)
        return 0;
    *s = *out;
    for (int i = 0; i < out->ncols; i++)
        cols[at[i]] = out->cols[i];
    return 0;
}

/* Joins the groups of one pass to those of another by their keys, NULL keys alike. Every group is
 * in both, so an inner join keeps them all. */
static int join_groups(struct ctx *c, struct pl_node *node, const struct pl_join *d, struct stream *s, struct stream *b,
                       struct handle **cols)
{
    const struct fe_node *n = node->n;
    int nk = n->u.agg.nkeys;
    struct join j = {.node = node, .d = d, .kind = FE_INNER};
    struct agg_pass pass;
    HD_TRY(groups_so_far(c, n, s, cols, &j.s));
    agg_pass(c, n, b, &pass);
    if (nk == 0) { /* one row on either side */
        struct stored st;
        HD_TRY(store_stream(c, &pass.build, NULL, d->by_row, "rows", n->path, &st));
        HD_TRY(join_expand_all(c, &j, PL_INNER, &st));
    } else {
        struct built t;
        HD_TRY(jb_build(c, &j, &pass.build, &j.s, &t));
        HD_TRY(jb_probe(c, &j, &t, PL_INNER, NULL));
    }
    for (int i = nk; i < pass.build.ncols; i++)
        cols[pass.at[i]] = j.bcols[i];
    s->pipeline = j.s.pipeline;
    s->est = j.s.est;
    return 0;
}

/* Aggregates that nobody asks for. */
static void fill_output(struct ctx *c, const struct fe_node *n, struct handle **cols, struct stream *out)
{
    for (int i = n->u.agg.nkeys; i < n->ncols; i++)
        if (!cols[i])
            cols[i] = h_phys(c, lx_const(c, &(struct fe_value){.type = n->cols[i].type, .is_null = true}));
    out->cols = cols;
    out->ncols = n->ncols;
}

int lower_aggregate(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    struct handle **cols = HD_NEWN(c->a, struct handle *, n->n->ncols + 1);
    HD_TRY(group_once(c, n, in, out, cols));
    out->cols = cols;
    if (!n->u.agg.part)
        fill_output(c, n->n, cols, out);
    return 0;
}

int lower_merge(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    struct handle **cols = hd_dup(c->a, in[0].cols, sizeof *cols * (size_t)n->n->ncols);
    for (int i = 1; i < n->ninputs; i++)
        HD_TRY(join_groups(c, n, &n->u.merge.joins[i], &in[0], &in[i], cols));
    *out = in[0];
    fill_output(c, n->n, cols, out);
    return 0;
}

int lower_extremes(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    int nk = n->u.extremes.nkeys, first = n->u.extremes.first;
    struct handle **env = HD_NEWN(c->a, struct handle *, first + in->ncols + 1);
    struct handle **keys = HD_NEWN(c->a, struct handle *, nk + 1);
    memcpy(env + first, in->cols, sizeof *env * (size_t)in->ncols);
    for (int i = 0; i < nk; i++)
        keys[i] = h_expr(c, n->u.extremes.keys[i], in->cols);
    return agg_extremes(c, n, in, keys, h_expr(c, n->u.extremes.arg, env), out);
}
