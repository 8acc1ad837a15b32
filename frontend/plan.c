#include "frontend/plan.h"

static const char *const relop_names[] = {
#define T_REL(id, name) name,
#include "frontend/relops.def"
};
static const char *const agg_names[] = {
#define T_AGG(id, name, ...) name,
#include "frontend/aggs.def"
};
static const char *const kind_names[] = {"inner", "left", "right", "full", "semi", "anti", "mark"};
static const char *const match_names[] = {">=", ">", "<=", "<"};
static const char *const strategy_names[] = {"auto", "hash", "direct", "index", "loop", "radix", "merge", "band"};

const char *fe_relop_name(enum fe_relop op)
{
    return relop_names[op];
}
bool fe_agg_is_moment(enum fe_agg_fn fn)
{
    static const bool moments[FE_AGG_COUNT_OF] = {
#define T_MOMENT(id, ...) [FE_AGG_##id] = true,
#define T_AGG(id, ...)
#include "frontend/aggs.def"
    };
    return moments[fn];
}

bool fe_agg_is_ordered(enum fe_agg_fn fn)
{
    static const bool ordered[FE_AGG_COUNT_OF] = {
#define T_ORDERED(id, ...) [FE_AGG_##id] = true,
#define T_AGG(id, ...)
#include "frontend/aggs.def"
    };
    return ordered[fn];
}

enum fe_merge fe_agg_merge(enum fe_agg_fn fn)
{
    static const enum fe_merge merges[FE_AGG_COUNT_OF] = {
#define T_AGG(id, name, args, distinct, how) [FE_AGG_##id] = FE_MERGES_##how,
#include "frontend/aggs.def"
    };
    return merges[fn];
}

const char *fe_agg_name(enum fe_agg_fn fn)
{
    return agg_names[fn];
}
const char *fe_join_kind_name(enum fe_join_kind k)
{
    return kind_names[k];
}
const char *fe_strategy_name(enum fe_strategy s)
{
    return strategy_names[s];
}
const char *fe_match_name(enum fe_match m)
{
    return match_names[m];
}

static void visit_scans(struct fe_node *n, void (*visit)(void *ctx, struct fe_node *scan), void *ctx)
{
    if (n->op == FE_SCAN_OP)
        visit(ctx, n);
    for (int i = 0; i < n->ninputs; i++)
        visit_scans(n->inputs[i], visit, ctx);
}

void fe_plan_scans(const struct fe_plan *p, void (*visit)(void *ctx, struct fe_node *scan), void *ctx)
{
    for (int i = 0; i < p->nshared; i++)
        visit_scans(p->shared[i], visit, ctx);
    visit_scans(p->root, visit, ctx);
}
