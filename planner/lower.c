/* Lowering the physical plan to pipelines: every operator but the breakers extends the stream of its
 * input; breakers end it in a state and open a new pipeline over that state. Inputs are lowered in the
 * order in which a node has them. Joins, aggregates and sorts have files of their own. */
#include "planner/lower.h"

#include "planner/build.h"
#include "planner/handle.h"
#include "planner/join.h"
#include "planner/lower_agg.h"
#include "planner/lower_join.h"
#include "planner/lower_pairs.h"
#include "planner/lower_ranges.h"
#include "planner/lower_repeat.h"
#include "planner/lower_rows.h"
#include "planner/lower_sort.h"
#include "planner/lower_window.h"
#include "planner/lower_value.h"
#include "planner/physical.h"
#include "planner/store.h"

/* ---- simple operators ------------------------------------------------------------------------------ */

static int lower_filter(struct ctx *c, const struct pl_node *n, const struct stream *in, struct stream *s)
{
    *s = *in;
    struct handle **env = HD_NEWN(c->a, struct handle *, n->u.filter.first + s->ncols + 1);
    memcpy(env + n->u.filter.first, s->cols, sizeof *env * (size_t)s->ncols);
    return lx_filter(c, s, env, n->u.filter.v, n->u.filter.share, n->u.filter.n);
}

static int lower_project(struct ctx *c, const struct fe_node *n, const struct stream *in, struct stream *s)
{
    *s = *in;
    struct handle **cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        cols[i] = h_expr(c, n->u.project.exprs[i], s->cols);
    s->cols = cols;
    s->ncols = n->ncols;
    return 0;
}

static int lower_keep(struct ctx *c, const struct pl_node *n, struct stream *in, struct stream *out)
{
    struct stored *st = HD_NEW(c->a, struct stored);
    if (n->u.keep.range)
        HD_TRY(join_store_in_order(c, in, in->ncols, n->u.keep.range, n, n->u.keep.want, n->u.keep.by_row,
                                   n->u.keep.name, st));
    else
        HD_TRY(store_stream(c, in, n->u.keep.want, n->u.keep.by_row, n->u.keep.name, n->path, st));
    c->kept[n->id] = st;
    *out = (struct stream){.pipeline = -1, .rows = st};
    if (n->u.keep.uses)
        pb_note(c, "%s: shared subplan \"%s\" is computed once for %d uses", n->path, n->u.keep.name, n->u.keep.uses);
    return 0;
}

static void lower_read(struct ctx *c, const struct pl_node *n, const struct stream *in, struct stream *out)
{
    *out = stream_over(c, in->rows, n->path);
    out->rows = in->rows;
}

static int lower_node(struct ctx *c, struct pl_node *n, struct stream *out);

static int lower_op(struct ctx *c, struct pl_node *n, struct stream *in, struct stream *out)
{
    switch (n->op) {
    case PL_NODE_SCAN: return lower_scan(c, n, out);
    case PL_NODE_INDEX: return 0; /* its parent looks rows up */
    case PL_NODE_VALUES: return lower_values(c, n, out);
    case PL_NODE_FILTER: return lower_filter(c, n, in, out);
    case PL_NODE_PROJECT: return lower_project(c, n->n, in, out);
    case PL_NODE_REPEAT: return lower_repeat(c, n, in, out);
    case PL_NODE_JOIN: return lower_join(c, n, in, out);
    case PL_NODE_PAIRS: return lower_pairs(c, n, in, out);
    case PL_NODE_EXTREMES: return lower_extremes(c, n, in, out);
    case PL_NODE_RANGES: return lower_ranges(c, n, in, out);
    case PL_NODE_AGGREGATE: return lower_aggregate(c, n, in, out);
    case PL_NODE_MERGE: return lower_merge(c, n, in, out);
    case PL_NODE_SORT:
    case PL_NODE_TOP: return lower_sort(c, n, in, out);
    case PL_NODE_WINDOW: return lower_window(c, n, in, out);
    case PL_NODE_UNION: return lower_appended(c, n->n, in, n->ninputs, out);
    case PL_NODE_KEEP: return lower_keep(c, n, in, out);
    case PL_NODE_READ: lower_read(c, n, in, out); return 0;
    case PL_NODE_OP_COUNT: break;
    }
    HD_BUG("node %d", (int)n->op);
}

static int lower_inputs(struct ctx *c, struct pl_node *n, struct stream **in)
{
    *in = HD_NEWN(c->a, struct stream, n->ninputs + 1);
    for (int i = 0; i < n->ninputs; i++)
        HD_TRY(lower_node(c, n->inputs[i], &(*in)[i]));
    return 0;
}

static int lower_node(struct ctx *c, struct pl_node *n, struct stream *out)
{
    struct stream *in;
    if (c->kept[n->id]) { /* was lowered for another parent */
        *out = (struct stream){.pipeline = -1, .rows = c->kept[n->id]};
        return 0;
    }
    HD_TRY(lower_inputs(c, n, &in));
    c->at = n;
    return lower_op(c, n, in, out);
}

int pl_lower(struct ctx *c)
{
    struct pl_node *root = c->physical, *sort = lower_result_sort(root);
    struct stream *in, s;
    c->kept = HD_NEWN(c->a, struct stored *, c->nnodes + 1);
    if (sort) { /* its state is the result */
        HD_TRY(lower_inputs(c, sort, &in));
        c->at = sort;
        return lower_result(c, root, in);
    }
    HD_TRY(lower_node(c, root, &s));
    return lower_result(c, root, &s);
}
