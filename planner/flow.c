/* Flows: what is known of the rows of each physical node, inputs first. Joins and groupings are in files of their
 * own; they choose. */
#include "planner/flow.h"

#include "planner/cost.h"
#include "planner/dict_map.h"
#include "planner/flow_agg.h"
#include "planner/flow_join.h"
#include "planner/flow_ranges.h"
#include "planner/flow_rows.h"
#include "planner/lower_window.h"
#include "planner/handle.h"
#include "planner/known.h"
#include "planner/lower_pairs.h"
#include "planner/lower_repeat.h"

static int flow_scanned(struct ctx *c, struct pl_node *n, struct stream *out)
{
    *out = flow_scan(c, n->n);
    return flow_scan_filter(c, n, out->unique_row, out);
}

static void flow_values(struct ctx *c, const struct pl_node *n, struct stream *out)
{
    double rows = (double)fe_values_count(n->n);
    *out = flow_appended(c, n->n, rows, rows);
    if (n->u.values.unique < 0)
        return;
    out->nunique = 1;
    out->unique = hd_dup(c->a, &out->cols[n->u.values.unique], sizeof *out->unique);
}

static int flow_filtered(struct ctx *c, struct pl_node *n, const struct stream *in, struct stream *out)
{
    *out = *in;
    struct handle **env = HD_NEWN(c->a, struct handle *, n->u.filter.first + in->ncols + 1);
    memcpy(env + n->u.filter.first, in->cols, sizeof *env * (size_t)in->ncols);
    n->u.filter.share = HD_NEWN(c->a, double, n->u.filter.n + 1);
    return flow_filter(c, n, out, env, n->u.filter.v, n->u.filter.n, n->u.filter.share);
}

static void flow_project(struct ctx *c, struct pl_node *p, const struct stream *in, struct stream *out)
{
    const struct fe_node *n = p->n;
    *out = *in;
    out->ncols = n->ncols;
    out->cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++) {
        out->cols[i] = h_expr(c, n->u.project.exprs[i], in->cols);
        if (c->need[n->id][i])
            map_plan(c, p, in->cols, n->u.project.exprs[i], in->est);
    }
}

/* So many rows of each group, of which there are no more than their keys have values. */
static int top_rows(struct ctx *c, const struct fe_node *n, const struct stream *in, double *rows)
{
    double groups = 1;
    for (int i = 0; i < n->u.sort.ngroup; i++) {
        struct handle *h = h_expr(c, n->u.sort.keys[i].expr, in->cols);
        double distinct = h_distinct(c, h, in->est);
        struct pl_val v;
        HD_TRY(known_value(c, h, &v));
        if (v.range.known)
            distinct = HD_MIN(distinct, (double)v.range.hi - (double)v.range.lo + 1);
        groups *= HD_MAX(1, distinct);
    }
    *rows = HD_MIN(in->est, HD_MIN(groups, in->est) * (double)fe_limit(n));
    return 0;
}

/* Sorted rows are kept by value. */
/* The first key is a unique column by which the scanned table is sorted, and of each of its rows one comes at most. */
static bool comes_in_order(const struct pl_node *n, const struct stream *in)
{
    const struct fe_node *keys = n->u.sort.keys;
    const struct handle *source = in->at ? in->at->source : NULL;
    if (n->op != PL_NODE_SORT || !n->ordered || !keys || fe_limit(n->n) >= 0 || fe_offset(n->n) > 0 || !source)
        return false;
    const struct fe_sort_key *k = &keys->u.sort.keys[0];
    const struct handle *h = k->expr->op == FE_COL && !k->desc ? h_plain(in->cols[k->expr->col]) : NULL;
    if (!h || h->kind != H_COLUMN || h->row != source || in->unique_row != source)
        return false;
    const struct fe_facts *f = &h->table->cols[h->column].facts;
    return f->known && f->sorted && f->unique;
}

static void choose_order(struct ctx *c, struct pl_node *n, const struct stream *in)
{
    if (!comes_in_order(n, in))
        return;
    int threads = c->opt.on_gpu ? 1 : c->opt.threads;
    double sort = pl_cost_sort(in->est, threads), kept = pl_cost_in_order(in->est, threads);
    struct pl_decision *d = &n->decisions[0];
    n->u.sort.there = kept < sort;
    d->v[0].ns = sort;
    pl_decide_way(c, d, "as it comes", kept, "a table's order");
    d->taken = n->u.sort.there;
}

static int flow_sort(struct ctx *c, struct pl_node *n, const struct stream *in, struct stream *out)
{
    int64_t limit = fe_limit(n->n);
    choose_order(c, n, in);
    if (n->u.sort.dropped || n->u.sort.there) {
        *out = *in;
        return 0;
    }
    for (int i = 0; n->u.sort.keys && i < n->u.sort.keys->u.sort.nkeys; i++)
        map_plan(c, n, in->cols, n->u.sort.keys->u.sort.keys[i].expr, in->est);
    if (n->op == PL_NODE_TOP) {
        double rows;
        HD_TRY(top_rows(c, n->n, in, &rows));
        *out = flow_begin(c, NULL, rows);
        out->max_rows = in->max_rows;
    } else {
        *out = flow_begin(c, NULL, limit >= 0 ? HD_MIN(in->est, (double)limit) : in->est);
        out->max_rows = limit >= 0 ? HD_MIN(in->max_rows, (double)limit) : in->max_rows;
    }
    out->unique_row = flow_row(c, NULL);
    out->ncols = n->n->ncols;
    out->cols = HD_NEWN(c->a, struct handle *, out->ncols + 1);
    for (int i = 0; i < out->ncols; i++) {
        struct handle *h = out->cols[i] = h_kept(c, h_plain(in->cols[i]), out->unique_row);
        struct pl_val v;
        if (!hd_type_is_text(h->type))
            continue;
        HD_TRY(known_value(c, h, &v)); /* of texts the order is not their codes' */
        h->val.range.known = false;
    }
    return 0;
}

static void flow_union(struct ctx *c, const struct pl_node *n, const struct stream *in, struct stream *out)
{
    double rows = 0, max = 0;
    for (int i = 0; i < n->ninputs; i++) {
        rows += in[i].est;
        max += in[i].max_rows;
    }
    *out = flow_appended(c, n->n, rows, max);
}

static void flow_keep(struct ctx *c, struct pl_node *n, const struct stream *in, struct stream *out)
{
    struct stored *st = c->flows[n->id] = HD_NEW(c->a, struct stored);
    store_rows(c, in, n->u.keep.want, n->u.keep.looped ? keep_strings_by_row(c, in, n->u.keep.want) : NULL, st);
    n->u.keep.by_row = flow_kept(c, n, &st->kept);
    stored_unique(c, in, st);
    *out = (struct stream){.pipeline = -1, .rows = st};
}

static void flow_read(struct ctx *c, const struct stream *in, struct stream *out)
{
    *out = flow_over(c, in->rows);
    out->rows = in->rows;
}

static int flow_op(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    switch (n->op) {
    case PL_NODE_SCAN: return flow_scanned(c, n, out);
    case PL_NODE_INDEX: return 0;
    case PL_NODE_VALUES: flow_values(c, n, out); return 0;
    case PL_NODE_FILTER: return flow_filtered(c, n, in, out);
    case PL_NODE_PROJECT: flow_project(c, n, in, out); return 0;
    case PL_NODE_REPEAT: flow_repeat(c, n, in, out); return 0;
    case PL_NODE_JOIN: return flow_join(c, n, in, out);
    case PL_NODE_PAIRS: return flow_pairs(c, n, in, out);
    case PL_NODE_EXTREMES: return flow_extremes(c, n, in, out);
    case PL_NODE_RANGES: return flow_ranges(c, n, in, out);
    case PL_NODE_AGGREGATE: return flow_aggregate(c, n, in, out);
    case PL_NODE_MERGE: return flow_merge(c, n, in, out);
    case PL_NODE_SORT:
    case PL_NODE_TOP: return flow_sort(c, n, in, out);
    case PL_NODE_WINDOW: return flow_window(c, n, in, out);
    case PL_NODE_UNION: flow_union(c, n, in, out); return 0;
    case PL_NODE_KEEP: flow_keep(c, n, in, out); return 0;
    case PL_NODE_READ: flow_read(c, in, out); return 0;
    case PL_NODE_OP_COUNT: break;
    }
    HD_BUG("node %d", (int)n->op);
}

static int flow_node(struct ctx *c, struct pl_node *n, struct stream *out)
{
    struct stream *in = HD_NEWN(c->a, struct stream, n->ninputs + 1);
    if (c->flows[n->id]) { /* for another parent */
        *out = (struct stream){.pipeline = -1, .rows = c->flows[n->id]};
        return 0;
    }
    for (int i = 0; i < n->ninputs; i++)
        HD_TRY(flow_node(c, n->inputs[i], &in[i]));
    HD_TRY(flow_op(c, n, in, out));
    if (n->op == PL_NODE_KEEP)
        n->rows = out->rows->est;
    else if (n->op != PL_NODE_INDEX)
        n->rows = out->est;
    return 0;
}

int pl_flow(struct ctx *c)
{
    struct stream rows;
    c->flows = HD_NEWN(c->a, struct stored *, c->nnodes + 1);
    return flow_node(c, c->physical, &rows);
}
