/* Joins that look at all pairs: those without keys, and those that the plan asks it of. */
#include "planner/physical_loop.h"

#include "planner/cost.h"
#include "planner/estimate.h"
#include "planner/typed.h"

double pl_price_loop(const struct ctx *c, const struct pl_join *j)
{
    return pl_cost_loop(est_rows(c, j->tprobe) * est_rows(c, j->tbuild), j->nkeys + j->nrest);
}

void pl_loop_keys(struct ctx *c, const struct fe_node *n, struct pl_join *j)
{
    const struct fe_expr **all = HD_NEWN(c->a, const struct fe_expr *, j->nkeys + j->nrest + 1);
    for (int i = 0; i < j->nkeys; i++) {
        struct fe_expr *left = n->u.join.lkeys[i], *right = pl_expr_shifted(c->a, n->u.join.rkeys[i], j->nleft);
        all[i] = pl_key_equal(c->a, left, right, left->path, n->u.join.null_equal[i]);
    }
    for (int i = 0; i < j->nrest; i++)
        all[j->nkeys + i] = j->rest[i];
    j->rest = all;
    j->nrest += j->nkeys;
    j->nkeys = 0;
}
