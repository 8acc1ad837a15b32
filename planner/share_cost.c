/* Costs by the physical plan: what is scanned, looked up, built and grouped below a node. */
#include "planner/share_cost.h"

#include "planner/cost.h"
#include "planner/ctx.h"
#include "planner/estimate.h"
#include "planner/physical.h"

static const struct pl_node *find(const struct pl_node *p, const struct fe_node *n)
{
    if (p->n == n && p->op != PL_NODE_KEEP && p->op != PL_NODE_READ)
        return p;
    for (int i = 0; i < p->ninputs; i++) {
        const struct pl_node *found = find(p->inputs[i], n);
        if (found)
            return found;
    }
    return NULL;
}

/* A pipeline and the state that it ends in, where rows do not end in the one that is there anyway. */
static double launch(const struct ctx *c)
{
    static const double ns_cpu = 2000, ps_gpu = 4e6;
    return c->opt.on_gpu ? ps_gpu : ns_cpu;
}

/* As it was compared with others. */
static double cost_of_way(const struct pl_node *p)
{
    for (int i = 0; i < p->ndecisions; i++)
        if (strcmp(p->decisions[i].name, "way") == 0 && p->decisions[i].v[p->decisions[i].taken].ns >= 0)
            return p->decisions[i].v[p->decisions[i].taken].ns;
    return 0;
}

static double join(const struct ctx *c, const struct pl_node *p)
{
    const struct pl_rates *r = pl_rates(c->opt.on_gpu);
    const struct pl_join *j = &p->u.join;
    const double probe = j->probe ? j->probe->rows : 0, build = j->build ? j->build->rows : 0;
    switch (j->way) {
    case PL_WAY_BUILD: return pl_cost_build(r, 0, build, probe) + launch(c);
    case PL_WAY_KEY:
    case PL_WAY_FK:
    case PL_WAY_CHILD: return cost_of_way(p);
    case PL_WAY_COLUMN:
    case PL_WAY_BAND:
    case PL_WAY_ALL: return probe * r->probe + p->rows * r->scan;
    case PL_WAY_SEARCH:
    case PL_WAY_NEAREST: return pl_cost_sort(build, 1) + probe * r->random + p->rows * r->scan + launch(c);
    }
    HD_BUG("way %d", (int)j->way);
}

double share_cost_groups(const struct ctx *c, double rows)
{
    return rows * pl_rates(c->opt.on_gpu)->build + launch(c);
}

static double own(const struct ctx *c, const struct pl_node *p)
{
    const struct pl_rates *r = pl_rates(c->opt.on_gpu);
    const double in = p->ninputs ? p->inputs[0]->rows : 0;
    switch (p->op) {
    case PL_NODE_SCAN: return pl_cost_scan(r, (double)p->n->u.scan.table->rows);
    case PL_NODE_JOIN: return join(c, p);
    case PL_NODE_AGGREGATE: return share_cost_groups(c, in) + pl_cost_scan(r, p->rows);
    case PL_NODE_FILTER:
    case PL_NODE_READ: return pl_cost_scan(r, in);
    case PL_NODE_SORT:
    case PL_NODE_WINDOW:
    case PL_NODE_TOP: return pl_cost_sort(in, 1) + launch(c);
    case PL_NODE_EXTREMES:
    case PL_NODE_RANGES:
    case PL_NODE_MERGE:
    case PL_NODE_PAIRS: return in * r->build + launch(c);
    case PL_NODE_KEEP: return in * r->scan + launch(c);
    case PL_NODE_INDEX:
    case PL_NODE_VALUES:
    case PL_NODE_PROJECT:
    case PL_NODE_REPEAT:
    case PL_NODE_UNION:
    case PL_NODE_OP_COUNT: break;
    }
    return 0;
}

/* Rows of a shared subplan are there, whoever reads them. */
static double all(const struct ctx *c, const struct pl_node *p)
{
    double cost = own(c, p);
    const bool there = p->op == PL_NODE_READ && p->inputs[0]->u.keep.uses > 0;
    for (int i = 0; i < p->ninputs && !there; i++)
        cost += all(c, p->inputs[i]);
    return cost;
}

double share_cost(const struct ctx *c, const struct fe_node *n)
{
    const struct pl_node *p = find(c->physical, n);
    return p ? all(c, p) : -1;
}

double share_cost_kept(const struct ctx *c, double rows, int bytes, int uses)
{
    static const double ns_byte = 0.25, ns_row = 2, ps_byte = 0.4;
    const double byte = c->opt.on_gpu ? ps_byte : ns_byte, row = c->opt.on_gpu ? 0 : ns_row;
    return rows * (1 + uses) * (row + bytes * byte) + launch(c);
}

bool share_worth(const struct ctx *c, double together, double at_each)
{
    static const double gain = 0.85, least_ns = 1e5, least_ps = 5e6; /* less than that plans differ in by chance */
    return together < gain * at_each && at_each - together > (c->opt.on_gpu ? least_ps : least_ns);
}
