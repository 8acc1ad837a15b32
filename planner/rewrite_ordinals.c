#include "planner/rewrite_ordinals.h"

#include "planner/lower_ordinal.h"
#include "planner/typed.h"

static struct pl_range stored_ordinals(const struct fe_node *scan, int col)
{
    const struct fe_table_column *c = &scan->u.scan.table->cols[scan->u.scan.columns[col]];
    if (c->facts.known && c->facts.has_range && !hd_type_is_float(c->type) && c->type.kind != HD_STRING)
        return (struct pl_range){true, c->facts.min, c->facts.max};
    return ordinal_range(c->type);
}

static struct pl_range joined_ordinals(const struct rewriting *w, const struct fe_node *n, int col)
{
    int nl = n->inputs[0]->ncols;
    const struct fe_node *side = n->inputs[col >= nl];
    col -= col >= nl ? nl : 0;
    if (n->u.join.kind == FE_MARK && side == n->inputs[1])
        return ordinal_range(hd_type_of(HD_BOOL));
    return rw_ordinals(w, side, rw_column(w, side, col));
}

static struct pl_range column_ordinals(const struct rewriting *w, const struct fe_node *n, int col)
{
    switch (n->op) {
    case FE_SCAN_OP: return stored_ordinals(n, col);
    case FE_REF_OP: return column_ordinals(w, w->plan->shared[n->u.ref.shared], col);
    case FE_FILTER_OP:
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_REPEAT_OP:
    case FE_LIMIT_OP: return column_ordinals(w, n->inputs[0], col);
    case FE_WINDOW_OP:
        if (col < n->inputs[0]->ncols)
            return column_ordinals(w, n->inputs[0], col);
        break;
    case FE_PROJECT_OP: return rw_ordinals(w, n->inputs[0], n->u.project.exprs[col]);
    case FE_JOIN_OP: return joined_ordinals(w, n, col);
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP:
        if (col < n->u.agg.nkeys)
            return rw_ordinals(w, n->inputs[0], n->u.agg.keys[col]);
        break;
    case FE_PAIRS_OP: return column_ordinals(w, n->inputs[0], col % n->inputs[0]->ncols);
    case FE_UNION_ALL_OP:
    case FE_VALUES_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    return ordinal_range(n->cols[col].type);
}

struct pl_range rw_ordinals(const struct rewriting *w, const struct fe_node *in, const struct fe_expr *e)
{
    if (e->op == FE_CASE && e->nargs == 2) /* of a filter, say */
        return rw_ordinals(w, in, e->args[1]);
    return e->op == FE_COL ? column_ordinals(w, in, e->col) : ordinal_range(e->type);
}
