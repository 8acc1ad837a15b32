/* As-of joins: the right input is sorted by the keys and then by what is compared, the nearest value first, so that a
 * binary search for a left row's keys and bound ends at its match. */
#include "planner/physical_asof.h"

#include "planner/cost.h"
#include "planner/estimate.h"
#include "planner/need.h"

/* The keys, and behind them what is compared by the match. */
static struct fe_expr **keys_of(struct ctx *c, struct fe_expr *const *keys, int n, struct fe_expr *compared)
{
    struct fe_expr **all = HD_NEWN(c->a, struct fe_expr *, n + 1);
    for (int i = 0; i < n; i++)
        all[i] = keys[i];
    all[n] = compared;
    return all;
}

/* NULL: no key has NULLs on both sides that match each other. */
static const bool *null_equal(struct ctx *c, const struct fe_node *n)
{
    bool *v = HD_NEWN(c->a, bool, n->u.join.nkeys + 1), any = false;
    for (int i = 0; i < n->u.join.nkeys; i++) {
        v[i] = n->u.join.null_equal[i] && n->u.join.lkeys[i]->nullable && n->u.join.rkeys[i]->nullable;
        any |= v[i];
    }
    return any ? v : NULL;
}

static const bool *kept(struct ctx *c, const struct fe_node *n)
{
    bool *keep = HD_NEWN(c->a, bool, n->inputs[1]->ncols + 1);
    for (int i = need_ties(c, n) - 1; i >= 0; i--)
        keep[i] = true;
    return keep;
}

static void tell(struct ctx *c, struct pl_node *p, const struct pl_join *j)
{
    double probe = est_rows(c, j->tprobe), ns = pl_cost_search(est_rows(c, j->tbuild), false, probe, probe, 0);
    pl_decide_way(c, pl_decide(c, p, "build side"), "right", -1, "each left row finds one right row at most");
    pl_decide_way(c, pl_decide(c, p, "way"), "nearest row of a sorted side", ns, NULL);
}

struct pl_node *pl_physical_asof(struct ctx *c, const struct fe_node *n, struct pl_node *const *sides)
{
    int nkeys = n->u.join.nkeys;
    struct pl_node *inputs[2] = {sides[1], sides[0]}; /* rows are sorted before they are searched */
    struct pl_node *p = pl_node_new(c, PL_NODE_JOIN, n, 2, inputs);
    p->u.join = (struct pl_join){.kind = n->u.join.kind,
                                 .written = n->u.join.kind,
                                 .way = PL_WAY_NEAREST,
                                 .asof = n->u.join.match,
                                 .nleft = n->inputs[0]->ncols,
                                 .nbuilt = n->inputs[1]->ncols,
                                 .nkeys = nkeys + 1,
                                 .pkeys = keys_of(c, n->u.join.lkeys, nkeys, n->u.join.asof[0]),
                                 .bkeys = keys_of(c, n->u.join.rkeys, nkeys, n->u.join.asof[1]),
                                 .null_equal = null_equal(c, n),
                                 .keep = kept(c, n),
                                 .want = c->need[n->inputs[0]->id],
                                 .tprobe = n->inputs[0],
                                 .tbuild = n->inputs[1],
                                 .probe = sides[0],
                                 .build = sides[1]};
    tell(c, p, &p->u.join);
    return p;
}
