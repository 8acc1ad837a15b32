/* Pairs of distinct rows of one input. The rows are kept, and each meets those behind it: so a pair comes once, and
 * which of two equal rows stands where says their place. To lowering it is a join without keys, of rows that are kept
 * with themselves. */
#include "planner/lower_pairs.h"

#include "planner/build.h"
#include "planner/cost.h"
#include "planner/cut.h"
#include "planner/flow_rows.h"
#include "planner/handle.h"
#include "planner/join.h"
#include "planner/need.h"
#include "planner/physical_search.h"
#include "planner/typed.h"

static double pairs_of(double rows)
{
    return HD_MAX(1, rows * (rows - 1) / 2);
}

/* Sorts what is kept by a coordinate, if the predicate bounds how far pairs are apart in it and that is cheaper. What it
 * costs, < 0: it cannot be. */
static double choose_order(struct ctx *c, const struct fe_node *n, const struct pl_node *in, bool kept,
                           struct pl_node *p)
{
    struct pl_join *j = &p->u.join;
    j->tjoin = n;
    struct pl_search *s = kept || c->opt.on_gpu ? NULL : pl_find_near(c, j); /* no GPU has been timed */
    if (!s)
        return -1;
    double order = pl_price_near(s, pairs_of(in->rows), in->rows, in->rows, false, j->nrest);
    if (order >= pl_cost_loop(pairs_of(in->rows), j->nrest))
        return order;
    j->search = s;
    p->inputs[0]->u.keep.range = s->range;
    return order;
}

static void tell_way(struct ctx *c, struct pl_node *p, double order)
{
    struct pl_decision *d = pl_decide(c, p, "way");
    pl_decide_way(c, d, "loop", pl_cost_loop(pairs_of(p->inputs[0]->rows), p->u.join.nrest),
                  "each row with those behind it");
    if (order < 0)
        return;
    pl_decide_way(c, d, "loop in order", order, NULL);
    pl_decide_take(d, p->u.join.search ? "loop in order" : "loop");
}

struct pl_node *pl_physical_pairs(struct ctx *c, const struct fe_node *n, struct pl_node *in)
{
    const struct fe_node *rows = n->inputs[0];
    bool kept = in->op == PL_NODE_READ; /* of a shared subplan */
    struct pl_node *keep = kept ? in->inputs[0] : pl_node_keep(c, in, "pairs", c->need[rows->id], n->path);
    keep->u.keep.looped = true;
    struct pl_node *p = pl_node_new(c, PL_NODE_PAIRS, n, 1, &keep);
    struct pl_join *j = &p->u.join;
    *j = (struct pl_join){.kind = FE_INNER, .written = FE_INNER, .strategy = FE_LOOP, .way = PL_WAY_ALL};
    j->nleft = j->nbuilt = rows->ncols;
    j->tprobe = j->tbuild = rows;
    j->probe = j->build = keep;
    if (n->u.pairs.pred)
        pl_conjuncts(c->a, n->u.pairs.pred, &j->rest, &j->nrest);
    tell_way(c, p, choose_order(c, n, in, kept, p));
    return p;
}

static void set_rows(struct join *j, const struct stored *st)
{
    j->s.est = pairs_of(st->est);
    j->s.max_rows = HD_MIN(pairs_of(st->max_rows), 9e18);
    j->s.unique_row = NULL;
    j->s.nunique = 0;
    j->s.ordered = false;
}

int flow_pairs(struct ctx *c, struct pl_node *n, const struct stream *in, struct stream *out)
{
    struct pl_join *d = &n->u.join;
    struct join j = {.node = n, .d = d, .n = n->n, .kind = FE_INNER, .s = flow_over(c, in->rows)};
    set_rows(&j, in->rows);
    join_stored_columns(c, &j, in->rows, flow_row(c, NULL));
    d->rest_share = HD_NEWN(c->a, double, d->nrest + 1);
    for (int i = 0; i < d->nrest; i++)
        HD_TRY(flow_filter(c, n, &j.s, join_env(c, &j), &d->rest[i], 1, &d->rest_share[i]));
    return join_output(c, &j, out);
}

static void note(struct ctx *c, const struct pl_node *n, double pairs)
{
    pb_note(c, "%s: about %.0f pairs, %.2g s of one thread", n->path, pairs,
            pl_cost_loop(pairs, n->u.join.nrest) / 1e9);
}

int lower_pairs(struct ctx *c, const struct pl_node *n, const struct stream *in, struct stream *out)
{
    const struct stored *st = in->rows;
    struct join j = {.node = (struct pl_node *)(uintptr_t)n, .d = &n->u.join, .n = n->n, .kind = FE_INNER};
    j.s = stream_over(c, st, n->path);
    struct open_pipeline *p = pipeline_of(c, &j.s);
    struct pl_band_slots band;
    if (j.d->search)
        HD_TRY(join_bound_pairs(c, &j, &band));
    int slot = pb_slot(c, p, "later row", RT_I32, false), a_n = pb_arg_state(c, RT_ARG_STATE_NROWS, st->state, 0);
    struct pl_step *s = pb_step(c, p, PL_STEP_EXPAND_LATER, n->path);
    s->state = st->state;
    s->slot = slot;
    s->row_slot = p->source_slot;
    s->a_nrows = a_n;
    s->splittable = true;
    cut_open_level(c, &j.s, NULL);
    set_rows(&j, st);
    p->est = j.s.est;
    note(c, n, j.s.est);
    struct handle *later = h_row(c, slot, NULL, st->state, false);
    join_stored_columns(c, &j, st, later);
    if (j.d->search)
        HD_TRY(join_filter_band(c, &j, st, later, true, &band));
    HD_TRY(join_filter_rest(c, &j));
    return join_output(c, &j, out);
}
