/* Join order: where a plan says `"order": "auto"`, joins that may be exchanged are taken apart, searched for the cheapest
 * tree and put together again. What is left as it is, and why: order_flatten.c. Strategies and build sides are chosen
 * afterwards, like those of joins that stay as they are written. */
#include "planner/join_order.h"

#include "frontend/catalog.h"
#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/need.h"
#include "planner/order_build.h"
#include "planner/order_facts.h"
#include "planner/order_flatten.h"
#include "planner/order_implied.h"
#include "planner/order_lazy.h"
#include "planner/order_reduce.h"
#include "planner/order_search.h"
#include "planner/order_tests.h"
#include "planner/order_told.h"
#include "planner/rewrite_node.h"

/* A tree costs this much less than the written one, or that one stays. */
static const double worth_moving = 0.95;

struct ordering {
    struct ctx *c;
    const struct fe_plan *from;
    struct fe_plan *to;
    int next_id, ids; /* of nodes that are made; and room for them */
    struct order_told told; /* of the tree that is being made of */
    const struct order_plan *tree;
    const struct order_query *query;
    const struct order_graph *graph;
};

static struct fe_node *ordered(void *ordering, const struct fe_node *n);

/* ---- the written tree ----------------------------------------------------------------------------------------------- */

static const struct order_plan *plan_of(const struct order_plan *plans, int n, order_set s)
{
    for (int i = n - 1; i >= 0; i--)
        if (plans[i].set == s)
            return &plans[i];
    HD_BUG("no plan of the relations %llx", (unsigned long long)s);
}

static const struct order_plan *written(const struct order_query *q, const struct order_graph *g)
{
    struct order_plan *plans = HD_NEWN(q->a, struct order_plan, q->sources.n + q->written.n);
    int n = 0;
    for (; n < q->sources.n; n++)
        order_leaf(g, n, &plans[n]);
    for (int i = 0; i < q->written.n; i++, n++) {
        const struct order_plan *l = plan_of(plans, n, q->written.v[i].left),
                                *r = plan_of(plans, n, q->written.v[i].right);
        if (!order_join(g, l, r, &plans[n]))
            HD_BUG("a join as it is written lacks what its condition reads");
    }
    return &plans[n - 1];
}

/* ---- one tree of joins ------------------------------------------------------------------------------------------------- */

static void tell_rows(struct ordering *o, const struct fe_node *n, double rows)
{
    o->c->est[n->id].rows = rows;
    o->c->est[n->id].has_rows = true;
    hd_vec_push(o->c->a, &o->c->counted, (struct order_counted){.n = n, .rows = rows});
}

/* Of a side that is the table of a sample. */
static void tell_met(struct ordering *o, const struct fe_node *n, const struct order_plan *side,
                     const struct order_plan *by)
{
    const double met = side->left ? -1 : order_sample_met(o->graph, order_first(side->set), by->set);
    const struct fe_node *scan = met >= 0 ? o->query->sources.v[order_first(side->set)].n : NULL;
    if (scan && node_table(scan))
        hd_vec_push(o->c->a, &o->c->counted,
                    (struct order_counted){.n = n, .rows = -1, .met = node_table(scan), .nmet = met});
}

static void tell(void *ordering, struct fe_node *n, const struct order_plan *p)
{
    static const double alike = 1.25; /* estimates do not tell these apart */
    struct ordering *o = ordering;
    struct order_told t = o->told;
    t.n = n;
    t.rows = p->rows;
    t.top = p == o->tree;
    o->c->est[n->id].rows = p->rows;
    o->c->est[n->id].has_rows = true;
    hd_vec_push(o->c->a, &o->c->told, t);
    tell_met(o, n, p->left, p->right);
    tell_met(o, n, p->right, p->left);
    const bool by_condition = n->u.join.kind == FE_INNER && n->u.join.nkeys == 0 && n->u.join.residual;
    if (p->sampled > alike || p->sampled < 1 / alike || by_condition)
        tell_rows(o, n, p->rows);
}

/* "((orders customer) lineitem)" */
static const char *text_of(const struct order_query *q, const struct order_plan *p)
{
    if (p->left)
        return hd_asprintf(q->a, "(%s %s)", text_of(q, p->left), text_of(q, p->right));
    const struct fe_node *n = q->sources.v[order_first(p->set)].orig;
    if (n->op == FE_SCAN_OP)
        return n->u.scan.alias ? n->u.scan.alias : n->u.scan.table->name;
    return n->op == FE_REF_OP ? q->plan->shared_names[n->u.ref.shared] : fe_relop_name(n->op);
}

static const struct order_plan *choose(struct ordering *o, const struct order_query *q, const struct order_graph *g)
{
    const struct order_plan *as_written = written(q, g);
    struct order_found found = {.best = as_written};
    if (q->sources.n > 1)
        found = order_search(q->a, g);
    const bool moved = found.best->cost < as_written->cost * worth_moving;
    o->told = (struct order_told){.moved = moved,
                                  .tree = text_of(q, moved ? found.best : as_written),
                                  .relations = q->sources.n,
                                  .pairs = found.exact ? found.pairs : 0,
                                  .cost = found.best->cost,
                                  .written = as_written->cost};
    return moved ? found.best : as_written;
}

static struct fe_node *joins(struct ordering *o, const struct fe_node *root)
{
    struct order_query q = {.a = o->c->a,
                            .plan = o->from,
                            .shared = o->c->shared,
                            .inside = ordered,
                            .data = o,
                            .next_id = &o->next_id,
                            .root = root};
    if (!order_may_flatten(&q, root))
        return NULL;
    order_flatten(&q);
    order_imply(&q);
    struct fe_node *lazy = order_lazy(o->c, &q);
    if (lazy)
        return ordered(o, lazy);
    order_reduce(o->c, &q);
    order_filter_sources(&q);
    const struct order_graph *g = order_facts(o->c, &q);
    for (int i = 0; i < g->nrelations; i++)
        if (g->relations[i].counted)
            tell_rows(o, q.sources.v[i].n, g->relations[i].rows);
    o->tree = choose(o, &q, g);
    o->query = &q;
    o->graph = g;
    return order_build(&q, o->tree, tell, o);
}

/* ---- plans --------------------------------------------------------------------------------------------------------------- */

static void order_shared(struct ordering *o, int k)
{
    if (!o->to->shared[k])
        o->to->shared[k] = ordered(o, o->from->shared[k]);
}

static struct fe_node *ordered(void *ordering, const struct fe_node *n)
{
    struct ordering *o = ordering;
    struct fe_node *to = joins(o, n);
    if (to)
        return to;
    to = hd_dup(o->c->a, n, sizeof *n);
    to->id = o->next_id++;
    to->inputs = HD_NEWN(o->c->a, struct fe_node *, n->ninputs + 1);
    for (int i = 0; i < n->ninputs; i++)
        to->inputs[i] = ordered(o, n->inputs[i]);
    if (n->op == FE_REF_OP)
        order_shared(o, n->u.ref.shared);
    return to;
}

/* Shared subplans that became part of the plan around them, or that nobody refers to, are rows that nobody asks for. */
static struct fe_node *nothing(struct ctx *c, const struct fe_node *n)
{
    struct fe_node *to = HD_NEW(c->a, struct fe_node);
    *to = (struct fe_node){.op = FE_VALUES_OP, .path = n->path, .ncols = n->ncols, .cols = n->cols};
    return to;
}

void pl_order_joins(struct ctx *c)
{
    enum { MADE_OF_ONE = 32 }; /* joins, filters and projections of a relation, and copies of those */
    const struct fe_plan *p = c->plan;
    struct ordering o = {.c = c, .from = p, .next_id = p->nnodes, .ids = (p->nnodes + 1) * MADE_OF_ONE};
    if (!p->order_auto)
        return;
    c->shared = HD_NEWN(c->a, struct shared_state, p->nshared + 1);
    c->est = HD_NEWN(c->a, struct est_node, o.ids);
    pl_need_columns(c, p->root);
    c->plan = o.to = hd_dup(c->a, p, sizeof *p);
    o.to->shared = HD_NEWN(c->a, struct fe_node *, p->nshared + 1);
    o.to->root = ordered(&o, p->root);
    HD_ASSERT(o.next_id <= o.ids);
    for (int i = 0; i < p->nshared; i++)
        if (!o.to->shared[i])
            o.to->shared[i] = nothing(c, p->shared[i]);
    order_tests(c, o.to->root);
    for (int i = 0; i < p->nshared; i++)
        order_tests(c, o.to->shared[i]);
    rw_renumber(o.to);
    c->shared = HD_NEWN(c->a, struct shared_state, p->nshared + 1);
    c->need = NULL;
    c->est = NULL;
}
