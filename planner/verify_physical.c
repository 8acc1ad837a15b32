/* Rules of the physical plan: the program has what was chosen there. */
#include "planner/physical_table.h"
#include "planner/verify.h"

/* One of the node's states is of this kind. */
static bool holds(const struct vf *v, const struct pl_node *n, enum rt_state_kind kind)
{
    for (int i = 0; i < n->nstates; i++)
        if (v->spec->states[n->states[i]].kind == kind)
            return true;
    return false;
}

static bool holds_groups(const struct vf *v, const struct pl_node *n, const struct pl_grouping *g)
{
    return !g || g->fold || holds(v, n, g->kind);
}

static bool is_as_chosen(const struct vf *v, const struct pl_node *n)
{
    bool ok = true;
    switch (n->op) {
    case PL_NODE_JOIN: return !n->u.join.table || holds(v, n, n->u.join.table->kind);
    case PL_NODE_EXTREMES: return holds_groups(v, n, n->u.extremes.grouping);
    case PL_NODE_AGGREGATE:
        return holds_groups(v, n, n->u.agg.groupings[0]) && holds_groups(v, n, n->u.agg.groupings[1]);
    case PL_NODE_MERGE:
        for (int i = 1; i < n->ninputs; i++)
            ok &= !n->u.merge.joins[i].table || holds(v, n, n->u.merge.joins[i].table->kind);
        return ok;
    case PL_NODE_TOP:
    case PL_NODE_WINDOW:
    case PL_NODE_RANGES:
    case PL_NODE_KEEP: return holds(v, n, RT_STATE_ROWS);
    case PL_NODE_SCAN:
    case PL_NODE_INDEX:
    case PL_NODE_VALUES:
    case PL_NODE_FILTER:
    case PL_NODE_PROJECT:
    case PL_NODE_REPEAT:
    case PL_NODE_PAIRS:
    case PL_NODE_SORT:
    case PL_NODE_UNION:
    case PL_NODE_READ:
    case PL_NODE_OP_COUNT: break;
    }
    return true;
}

/* Counts the states of n and below it; a KEEP has several parents. */
static bool check_node(struct vf *v, const struct pl_node *n, bool *seen, int *owners)
{
    if (seen[n->id])
        return true;
    seen[n->id] = true;
    for (int i = 0; i < n->nstates; i++) {
        VF_CHECK(v, STATE_NODE, n->states[i] >= 0 && n->states[i] < v->spec->nstates);
        owners[n->states[i]]++;
    }
    VF_CHECK(v, STATE_NODE, is_as_chosen(v, n));
    for (int i = 0; i < n->ninputs; i++)
        VF_TRY(check_node(v, n->inputs[i], seen, owners));
    return true;
}

bool vf_physical(struct vf *v)
{
    bool *seen = HD_NEWN(v->arena, bool, v->g->nnodes + 1);
    int *owners = HD_NEWN(v->arena, int, v->spec->nstates + 1);
    VF_TRY(check_node(v, v->g->physical, seen, owners));
    for (int i = 0; i < v->spec->nstates; i++) {
        v->state = i;
        VF_CHECK(v, STATE_NODE, owners[i] == 1);
    }
    v->state = -1;
    return true;
}
