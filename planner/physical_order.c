/* The order in which rows come. */
#include "planner/physical_order.h"

#include "planner/estimate.h"
#include "planner/typed.h"

/* The column of a join's probe side that column e of its output is; false: it is one of the build side, or of none. */
static bool probe_column(const struct pl_join *j, struct fe_expr *e)
{
    bool outputs = j->kind == FE_INNER || j->kind == FE_LEFT;
    if (j->kind == FE_FULL || j->form != PL_FORM_ONCE)
        return false;
    if (outputs && j->swapped) {
        e->col -= j->nleft;
        return e->col >= 0;
    }
    return e->col < j->nleft;
}

bool pl_node_in_order(const struct pl_node *p, const struct fe_expr *e)
{
    struct fe_expr column;
    for (e = pl_uncast(e); e->op == FE_COL; e = pl_uncast(e)) {
        if (p->op == PL_NODE_PROJECT) {
            e = p->n->u.project.exprs[e->col];
        } else if (p->op == PL_NODE_JOIN) {
            column = *e;
            if (!probe_column(&p->u.join, &column))
                return false;
            e = &column;
            p = p->u.join.probe;
            continue;
        } else if (p->op != PL_NODE_FILTER) {
            return (p->op == PL_NODE_SCAN || p->op == PL_NODE_SORT) && est_in_order(p->n, e, false);
        }
        p = p->inputs[0];
    }
    return false;
}
