/* Groupings before there are pipelines: which keys stay, which state the groups go to, and what is known of them. */
#include "planner/flow_agg.h"

#include "planner/agg.h"
#include "planner/cost.h"
#include "planner/dict_map.h"
#include "planner/estimate.h"
#include "planner/flow_fold.h"
#include "planner/flow_join.h"
#include "planner/flow_rows.h"
#include "planner/handle.h"
#include "planner/known.h"
#include "planner/lower_arith.h"
#include "planner/lower_expr.h"
#include "planner/typed.h"

/* ---- keys: functional dependencies ---------------------------------------------------------------- */

/* A kept key from which h's row can be found again: a unique column of that row, or the key of the
 * lookup that found it. Its number and the key index, or -1. */
static int lookup_key(const struct stage *g, const struct pl_removed_key *removed, const struct handle *h, int *index)
{
    if (h->kind != H_COLUMN || h->row->row_nullable)
        return -1;
    for (int i = 0; i < g->nkeys; i++) {
        const struct handle *k = g->keys[i];
        if (removed[i].removed)
            continue;
        if (k->kind == H_COLUMN && k->row == h->row && (*index = key_index_of(h->table, k->column)) >= 0)
            return i;
        if (h->row->ndet == 1 && h->row->keyidx >= 0 && h_plain(h->row->det[0]) == k) {
            *index = h->row->keyidx;
            return i;
        }
    }
    return -1;
}

/* e over the columns of the one row of a table that it reads, one of which is *column afterwards; NULL: it reads others. */
static struct fe_expr *of_row(struct ctx *c, struct handle *const *env, const struct fe_expr *e,
                              const struct handle **column)
{
    if (e->op == FE_COL) {
        const struct handle *h = h_plain(env[e->col]);
        if (h->kind == H_EXPR)
            return of_row(c, h->env, h->expr, column);
        if (h->kind != H_COLUMN || (*column && (*column)->row != h->row))
            return NULL;
        *column = h;
        return pl_col_node(c->a, h->column, h->type, h->nullable, e->path);
    }
    struct fe_expr *to = hd_dup(c->a, e, sizeof *e);
    to->args = HD_NEWN(c->a, struct fe_expr *, e->nargs + 1);
    for (int i = 0; i < e->nargs; i++)
        if (!(to->args[i] = of_row(c, env, e->args[i], column)))
            return NULL;
    return to;
}

static void find_row(struct ctx *c, const struct stage *g, struct pl_removed_key *removed, int i)
{
    struct pl_removed_key *r = &removed[i];
    const struct handle *h = g->keys[i];
    r->row_of = i;
    if (h->kind == H_EXPR) {
        const struct handle *column = NULL;
        r->expr = of_row(c, h->env, h->expr, &column);
        h = r->expr && column ? column : h;
    }
    r->key = lookup_key(g, removed, h, &r->index);
    r->by_lookup = r->key >= 0;
    if (!r->by_lookup)
        return;
    r->table = h->table;
    r->column = h->column;
    r->row = h->row;
    for (int q = i - 1; q >= 0; q--)
        if (removed[q].by_lookup && removed[q].row == h->row)
            r->row_of = removed[q].row_of;
}

/* It must be computed of every row, whoever reads it. */
static bool may_raise(struct handle *const *env, const struct fe_expr *e)
{
    if (e->op == FE_COL)
        return env[e->col]->kind == H_EXPR && may_raise(env[e->col]->env, env[e->col]->expr);
    for (int i = 0; i < e->nargs; i++)
        if (may_raise(env, e->args[i]))
            return true;
    return lx_may_fail(e);
}

static void reduce_keys(struct ctx *c, const struct stage *g, struct pl_grouping *d)
{
    struct handle **rest = HD_NEWN(c->a, struct handle *, g->nkeys + 1);
    struct pl_removed_key *r = d->removed = HD_NEWN(c->a, struct pl_removed_key, g->nkeys + 1);
    d->nkept = g->nkeys;
    for (int i = g->nkeys - 1; i >= 0; i--) { /* later keys tend to hang on earlier ones */
        int n = 0;
        for (int k = 0; k < g->nkeys; k++)
            if (k != i && !r[k].removed)
                rest[n++] = g->keys[k];
        const struct handle *h = g->keys[i];
        bool raises = h->kind == H_EXPR && may_raise(h->env, h->expr);
        r[i].removed = n > 0 && !raises && h_determined(c, g->keys[i], rest, n);
        d->nkept -= r[i].removed;
    }
    for (int i = 0; i < g->nkeys; i++)
        if (r[i].removed)
            find_row(c, g, r, i);
}

/* Equal keys arrive in one run each: a clustered or unique column of the scanned table. */
static bool is_clustered(const struct stream *s, const struct stage *g)
{
    const struct handle *k = g->d->nkept == 1 ? g->kept[0] : NULL;
    if (!k || k->kind != H_COLUMN || !s->at->source || k->row != s->at->source)
        return false;
    const struct fe_facts *f = &k->table->cols[k->column].facts;
    return f->known && f->nulls == 0 && (f->clustered || f->sorted || f->unique);
}

/* Rows of one group at most: those of the most frequent value of a key column, where no row of its table comes twice. */
static double max_per_group(const struct stream *s, const struct stage *g)
{
    double max = s->max_rows;
    for (int i = 0; i < g->d->nkept; i++) {
        const struct handle *k = g->kept[i];
        if (k->kind != H_COLUMN || k->row != s->unique_row || k->row->row_nullable)
            continue;
        const struct fe_facts *f = &k->table->cols[k->column].facts;
        if (f->known && f->max_mult >= 0 && f->nulls == 0) /* which count no NULLs */
            max = HD_MIN(max, (double)HD_MAX(f->max_mult, 1));
    }
    return max;
}

/* ---- states ------------------------------------------------------------------------------------------ */

static int all_sharable(struct ctx *c, const struct stage *g, bool *sharable)
{
    *sharable = false;
    for (int i = 0; i < g->naggs; i++) {
        const struct agg_item *a = &g->aggs[i];
        struct pl_val v;
        if (g->nany || a->fn == FE_AGG_MIN || a->fn == FE_AGG_MAX || agg_is_of_bits(a->fn))
            return 0;
        if (a->fn != FE_AGG_SUM)
            continue;
        if (a->high)
            return 0;
        HD_TRY(known_value(c, a->arg, &v));
        if (v.type.kind == HD_FLOAT64 || !sum_known(a, g->d->max_rows, &v) || v.phys != RT_I64)
            return 0;
    }
    *sharable = !g->nany;
    return 0;
}

/* Groups that are counted and nothing else: as agg_stage.c makes their rows. */
static int counts_guess(const struct stage *g, double range)
{
    bool many = range * sizeof(int32_t) > PL_BLOCK_GROUPS_BYTES;
    int bytes = many && g->d->max_rows <= UINT8_MAX ? 1 : many && g->d->max_rows <= UINT16_MAX ? 2 : 4;
    bool counts = range > HDD_LANE_GROUPS && g->naggs > 0 && g->nany == 0 && g->d->max_rows <= INT32_MAX;
    for (int i = 0; i < g->naggs; i++)
        counts &= g->aggs[i].fn == FE_AGG_COUNT_STAR;
    return counts ? bytes * g->naggs : 0;
}

static int stride_guess(const struct stage *g, double range)
{
    int counts = counts_guess(g, range);
    return counts ? counts : 8 + 8 * (g->naggs + g->nany) + 8;
}

static int choose_groups(struct ctx *c, const struct stream *s, const struct stage *g, struct pl_grouping *d)
{
    bool packed = pack_keys(c, g->kv, d->nkept, true, &d->pack);
    double range = packed ? (double)d->pack.range : 0;
    struct pl_group_facts f = {.nkeys = g->nkeys,
                               .nkept = d->nkept,
                               .packed = packed,
                               .range = range,
                               .row_bytes = stride_guess(g, range),
                               .rows = s->est,
                               .clustered = d->clustered};
    if (pl_shared_groups_pay(c, &f))
        HD_TRY(all_sharable(c, g, &f.sharable));
    HD_TRY(flow_fold_facts(c, s, g, &f.fold));
    pl_choose_groups(c, g->node, &f, d);
    if (d->kind != RT_STATE_AGG_HASH || d->fold)
        return 0;
    d->word = pl_choose_word_groups(c, g->node, c->opt.on_gpu && pack_word(c, g->kv, d->nkept, &d->pack), f.row_bytes);
    if (!d->word || c->opt.cached_bytes > 0)
        d->parts = pl_choose_group_parts(c, g->node, s->est, d->groups, d->clustered);
    return 0;
}

static int plan_grouping(struct ctx *c, const struct stream *s, struct stage *g, struct pl_grouping *d)
{
    for (int i = 0; i < g->nkeys; i++)
        g->keys[i] = h_plain(g->keys[i]);
    reduce_keys(c, g, d);
    g->d = d;
    stage_keys(c, g);
    g->kv = HD_NEWN(c->a, struct pl_val, d->nkept + 1);
    d->groups = 1;
    for (int i = 0; i < d->nkept; i++) {
        HD_TRY(known_value(c, g->kept[i], &g->kv[i]));
        d->groups *= h_distinct(c, g->kept[i], s->est);
    }
    d->groups = HD_MIN(d->groups, s->est);
    d->clustered = is_clustered(s, g);
    d->max_rows = max_per_group(s, g);
    return choose_groups(c, s, g, d);
}

/* ---- groups ------------------------------------------------------------------------------------------- */

static struct handle *known_count(struct ctx *c, double rows, struct handle *row)
{
    struct handle *h = h_new(c, H_FIELD, hd_type_of(HD_INT64), false);
    h->row = row;
    h->val = (struct pl_val){.phys = RT_I64, .type = h->type};
    h->val.range = (struct pl_range){true, 0, rows < 9e18 ? (hd_i128)rows : INT64_MAX};
    return h;
}

static struct handle *known_bits(struct ctx *c, struct handle *row)
{
    struct handle *h = known_count(c, 9e18, row);
    h->val.range = range_of_type(h->type);
    h->nullable = h->val.nullable = true;
    return h;
}

static struct handle *known_item(struct ctx *c, const struct agg_item *a, double rows, struct handle *row, bool grouped)
{
    if (a->fn == FE_AGG_SUM)
        return h_summed(c, a, rows, row, !grouped);
    if (a->fn == FE_AGG_COUNT || a->fn == FE_AGG_COUNT_STAR)
        return known_count(c, rows, row);
    if (agg_is_of_bits(a->fn))
        return known_bits(c, row);
    struct handle *h = h_kept(c, a->arg, row);
    h->nullable = h->val.nullable = true;
    return h;
}

/* A key of the groups: a value computed from the index or from the packed keys, or a field. */
static struct handle *known_key(struct ctx *c, const struct stage *g, int k, struct handle *row)
{
    struct pl_val v = g->kv[k];
    v.is_const = false;
    if (g->d->kind == RT_STATE_AGG_DENSE || g->d->word)
        return h_phys(c, v);
    struct handle *h = h_new(c, H_FIELD, g->kept[k]->type, v.nullable);
    h->row = row;
    h->val = v;
    return h;
}

/* Groups s as g says, which is planned here; out has the groups, key_out and agg_out what they hold. */
static int flow_stage(struct ctx *c, struct stream *s, struct stage *g, struct stream *out, struct handle **key_out,
                      struct handle **agg_out)
{
    struct pl_grouping *d = HD_NEW(c->a, struct pl_grouping);
    HD_TRY(plan_grouping(c, s, g, d));
    if (d->fold)
        return flow_fold(c, s, g, out, key_out, agg_out);
    struct handle *row = flow_row(c, NULL);
    *out = flow_begin(c, NULL, g->d->groups);
    out->max_rows = g->nkeys ? s->max_rows : 1;
    out->unique_row = row;
    for (int i = 0, n = 0; i < g->nkeys; i++)
        if (!g->d->removed[i].removed)
            key_out[i] = known_key(c, g, n++, row);
    struct kept any;
    struct handle **anyh = HD_NEWN(c->a, struct handle *, g->nany + 1);
    keep_columns(c, g->any, g->nany, &any);
    d->any_by_row = flow_kept(c, g->node, &any);
    keep_load(c, &any, -1, row, false, anyh);
    for (int i = 0; i < g->nany; i++)
        anyh[i]->val.nullable |= anyh[i]->kind == H_FIELD; /* until a row has stored it */
    stage_restore(c, g, anyh, key_out);
    for (int i = 0; i < g->naggs; i++)
        agg_out[i] = known_item(c, &g->aggs[i], d->max_rows, row, g->nkeys > 0);
    stage_unique(c, g, key_out, out);
    return 0;
}

/* ---- aggregates --------------------------------------------------------------------------------------- */

/* What the first grouping of two hands to the second; sums beyond 128 bits are two. */
static int known_parts(struct ctx *c, const struct stage *g, struct handle *const *agg, struct part *parts)
{
    for (int i = 0; i < g->naggs; i++) {
        const struct agg_item *a = &g->aggs[i];
        struct pl_val v;
        parts[i].h = agg[i];
        if (a->fn != FE_AGG_SUM)
            continue;
        HD_TRY(known_value(c, a->arg, &v));
        bool fits = sum_known(a, g->d->max_rows, &v);
        parts[i].high = fits ? NULL : agg[i];
        agg[i]->sum = NULL;
        agg[i]->val = (struct pl_val){
            .phys = v.phys, .type = a->type, .nullable = v.nullable || agg[i]->val.nullable, .range = v.range};
    }
    return 0;
}

static int flow_distinct(struct ctx *c, struct pl_node *n, struct agg_plan *one, struct agg_plan *two, int *map,
                         struct stream *s, struct handle **keys)
{
    int nk = n->n->u.agg.nkeys;
    struct handle **k1 = HD_NEWN(c->a, struct handle *, nk + 1), **out = HD_NEWN(c->a, struct handle *, nk + 1);
    struct handle **agg = HD_NEWN(c->a, struct handle *, one->nitems + 1);
    struct part *parts = HD_NEWN(c->a, struct part, one->nitems + 1);
    struct stream groups;
    memcpy(k1, keys, sizeof *k1 * (size_t)nk);
    k1[nk] = h_expr(c, one->distinct, s->cols);
    struct stage g = {
        .node = n, .nkeys = nk + 1, .keys = k1, .naggs = one->nitems, .aggs = one->items, .path = n->path};
    HD_TRY(flow_stage(c, s, &g, &groups, out, agg));
    HD_TRY(known_parts(c, &g, agg, parts));
    n->u.agg.groupings[0] = g.d;
    memcpy(keys, out, sizeof *keys * (size_t)nk);
    agg_plan_second(c, one, parts, out[nk], two, map);
    *s = groups;
    return 0;
}

/* What is known of an average: its type. */
static struct handle *known_result(struct ctx *c, const struct fe_agg *a, struct handle *h)
{
    if (a->fn == FE_AGG_COUNT || a->fn == FE_AGG_COUNT_STAR)
        return agg_or_zero(c, h, a->path);
    if (a->fn != FE_AGG_AVG)
        return h;
    struct pl_val v = {.type = a->type, .phys = a->type.kind == HD_FLOAT64 ? RT_F64 : RT_I128, .nullable = true};
    v.range = range_of_type(a->type);
    return h_phys(c, v);
}

static void flow_results(struct ctx *c, const struct pl_node *n, const struct agg_plan *one, const struct agg_plan *two,
                         const int *map, struct handle *const *agg, struct handle **cols)
{
    int nk = n->n->u.agg.nkeys;
    for (int i = 0; i < n->n->u.agg.naggs; i++) {
        const struct fe_agg *a = &n->n->u.agg.aggs[i];
        bool mine = a->distinct ? one->distinct && agg_is_over(n->n, one->need, i, one->distinct)
                                : n->u.agg.plain && one->need[nk + i];
        int item = !mine ? 0 : a->distinct ? two->first[2 * i] : map[one->first[2 * i]];
        cols[nk + i] = mine ? known_result(c, a, agg[item]) : NULL;
    }
}

static void fill_output(struct ctx *c, const struct fe_node *n, struct handle **cols, struct stream *out)
{
    for (int i = n->u.agg.nkeys; i < n->ncols; i++)
        if (!cols[i])
            cols[i] = h_phys(c, lx_const(c, &(struct fe_value){.type = n->cols[i].type, .is_null = true}));
    out->cols = cols;
    out->ncols = n->ncols;
}

static void plan_texts_of(struct ctx *c, struct pl_node *n, const struct stream *in, int i)
{
    const struct pl_weighted_agg *w = n->u.agg.weighted ? &n->u.agg.weighted->aggs[i] : NULL;
    const struct fe_expr *arg = w ? w->value : n->n->u.agg.aggs[i].arg;
    if (arg)
        map_plan(c, n, in->cols, arg, in->est);
    if (w && w->count)
        map_plan(c, n, in->cols, w->count, in->est);
}

static void plan_texts(struct ctx *c, struct pl_node *n, const struct stream *in)
{
    const struct fe_node *a = n->n;
    for (int i = 0; i < a->u.agg.nkeys; i++)
        map_plan(c, n, in->cols, agg_key(n, i), in->est);
    for (int i = 0; i < a->u.agg.naggs; i++)
        if (c->need[a->id][a->u.agg.nkeys + i])
            plan_texts_of(c, n, in, i);
}

int flow_aggregate(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    int nk = n->n->u.agg.nkeys, na = n->n->u.agg.naggs;
    struct agg_plan one, two;
    struct handle **cols = HD_NEWN(c->a, struct handle *, n->n->ncols + 1);
    struct handle **keys = HD_NEWN(c->a, struct handle *, nk + 1);
    int *map = HD_NEWN(c->a, int, 2 * na + 2);
    plan_texts(c, n, in);
    for (int i = 0; i < nk; i++)
        keys[i] = h_expr(c, agg_key(n, i), in->cols);
    agg_plan(c, n, in->cols, &one);
    two = one;
    for (int i = 0; i < one.nitems; i++)
        map[i] = i;
    if (one.distinct)
        HD_TRY(flow_distinct(c, n, &one, &two, map, in, keys));
    struct stage g = {.node = n, .nkeys = nk, .keys = keys, .naggs = two.nitems, .aggs = two.items, .path = n->path};
    struct handle **agg = HD_NEWN(c->a, struct handle *, two.nitems + 1);
    HD_TRY(flow_stage(c, in, &g, out, cols, agg));
    n->u.agg.groupings[one.distinct != NULL] = g.d;
    flow_results(c, n, &one, &two, map, agg, cols);
    out->cols = cols;
    out->ncols = n->n->ncols;
    if (!n->u.agg.part)
        fill_output(c, n->n, cols, out);
    return 0;
}

int flow_merge(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    struct handle **cols = hd_dup(c->a, in[0].cols, sizeof *cols * (size_t)n->n->ncols);
    for (int i = 1; i < n->ninputs; i++)
        HD_TRY(flow_join_groups(c, n, &n->u.merge.joins[i], &in[0], &in[i], cols));
    *out = in[0];
    fill_output(c, n->n, cols, out);
    return 0;
}

int flow_extremes(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    int nk = n->u.extremes.nkeys, first = n->u.extremes.first;
    struct handle **env = HD_NEWN(c->a, struct handle *, first + in->ncols + 1);
    struct handle **keys = HD_NEWN(c->a, struct handle *, nk + 1);
    struct handle **cols = HD_NEWN(c->a, struct handle *, nk + 2);
    memcpy(env + first, in->cols, sizeof *env * (size_t)in->ncols);
    for (int i = 0; i < nk; i++) {
        map_plan(c, n, in->cols, n->u.extremes.keys[i], in->est);
        keys[i] = h_expr(c, n->u.extremes.keys[i], in->cols);
    }
    map_plan(c, n, env, n->u.extremes.arg, in->est);
    struct stage g = stage_of_extremes(c, n, keys, h_expr(c, n->u.extremes.arg, env), NULL);
    HD_TRY(flow_stage(c, in, &g, out, cols, cols + nk));
    n->u.extremes.grouping = g.d;
    out->cols = cols;
    out->ncols = nk + 2;
    return 0;
}
