/* Keys of typed nodes: facts of scanned tables, keys of groupings, and what keeps rows apart. */
#include "planner/order_unique.h"

#include "frontend/catalog.h"
#include "planner/estimate.h"

enum { COLUMNS_MAX = 4096 };

static bool table_is_unique(const struct fe_node *n, const bool *key)
{
    const struct fe_table *t = n->u.scan.table;
    int found = 0;
    for (int i = 0; i < n->ncols; i++) {
        const struct fe_facts *f = &t->cols[n->u.scan.columns[i]].facts;
        if (key[i] && f->known && f->unique)
            return true;
        for (int k = 0; k < t->npk && key[i]; k++)
            found += t->pk[k] == n->u.scan.columns[i];
    }
    return t->npk > 0 && found == t->npk;
}

static bool groups_are_unique(const struct fe_node *n, const bool *key)
{
    for (int i = 0; i < n->u.agg.nkeys; i++)
        if (!key[i])
            return false;
    return n->u.agg.nsets <= 1;
}

static bool project_is_unique(const struct fe_plan *plan, const struct fe_node *n, const bool *key)
{
    bool below[COLUMNS_MAX] = {false};
    for (int i = 0; i < n->ncols; i++)
        if (key[i] && n->u.project.exprs[i]->op == FE_COL)
            below[n->u.project.exprs[i]->col] = true;
    return order_is_unique(plan, n->inputs[0], below);
}

/* Rows of the left side are there once at most. */
static bool join_is_unique(const struct fe_plan *plan, const struct fe_node *n, const bool *key)
{
    bool right[COLUMNS_MAX] = {false}, all = n->u.join.kind == FE_SEMI || n->u.join.kind == FE_ANTI ||
                                             n->u.join.kind == FE_MARK || n->u.join.single || n->u.join.asof[0];
    for (int i = 0; i < n->u.join.nkeys; i++)
        if (n->u.join.rkeys[i]->op == FE_COL && !n->u.join.null_equal[i])
            right[n->u.join.rkeys[i]->col] = true;
    if (!all && n->u.join.kind != FE_INNER && n->u.join.kind != FE_LEFT)
        return false;
    return order_is_unique(plan, n->inputs[0], key) && (all || order_is_unique(plan, n->inputs[1], right));
}

bool order_is_unique(const struct fe_plan *plan, const struct fe_node *n, const bool *key)
{
    switch (n->op) {
    case FE_SCAN_OP: return table_is_unique(n, key);
    case FE_REF_OP: return order_is_unique(plan, plan->shared[n->u.ref.shared], key);
    case FE_AGGREGATE_OP:
    case FE_DISTINCT_OP: return groups_are_unique(n, key);
    case FE_PROJECT_OP: return project_is_unique(plan, n, key);
    case FE_JOIN_OP: return join_is_unique(plan, n, key);
    case FE_FILTER_OP:
    case FE_SORT_OP:
    case FE_TOP_OP:
    case FE_WINDOW_OP:
    case FE_LIMIT_OP: return n->ncols == n->inputs[0]->ncols && order_is_unique(plan, n->inputs[0], key);
    case FE_VALUES_OP:
    case FE_PAIRS_OP:
    case FE_REPEAT_OP:
    case FE_UNION_ALL_OP:
    case FE_UNION_OP:
    case FE_INTERSECT_OP:
    case FE_EXCEPT_OP:
    case FE_RELOP_COUNT: break;
    }
    return false;
}

const struct fe_node *order_grouping_below(const struct fe_node *n)
{
    while (n->op == FE_PROJECT_OP || n->op == FE_FILTER_OP)
        n = n->inputs[0];
    return n->op == FE_AGGREGATE_OP && n->u.agg.nsets <= 1 && n->u.agg.nkeys > 0 ? n : NULL;
}

int order_group_column(const struct fe_node *n, const struct fe_node *grouping, int i)
{
    for (; n != grouping; n = n->inputs[0]) {
        if (n->op != FE_PROJECT_OP)
            continue;
        if (n->u.project.exprs[i]->op != FE_COL)
            return -1;
        i = n->u.project.exprs[i]->col;
    }
    return i;
}

const struct fe_expr *order_group_key(const struct fe_node *n, const struct fe_node *grouping, int i)
{
    i = order_group_column(n, grouping, i);
    return i >= 0 && i < grouping->u.agg.nkeys && !lx_may_fail(grouping->u.agg.keys[i]) ? grouping->u.agg.keys[i]
                                                                                        : NULL;
}
