/* Nodes of the physical plan and the decisions recorded at them. */
#include "planner/physical_tree.h"

#include "planner/estimate.h"

struct pl_node *pl_node_new(struct ctx *c, enum pl_node_op op, const struct fe_node *n, int ninputs,
                            struct pl_node *const *inputs)
{
    struct pl_node *p = HD_NEW(c->a, struct pl_node);
    *p = (struct pl_node){.op = op, .id = c->nnodes++, .n = n, .ninputs = ninputs};
    p->inputs = hd_dup(c->a, inputs, sizeof *inputs * (size_t)ninputs);
    if (n) {
        p->path = n->path;
        p->label = node_table(n) ? node_table(n)->name : fe_relop_name(n->op);
        p->rows = est_rows(c, n);
        p->ordered = c->ordered[n->id];
    }
    return p;
}

/* A node that passes rows of its input on. */
static struct pl_node *node_over(struct ctx *c, enum pl_node_op op, struct pl_node *in, const char *path)
{
    struct pl_node *p = pl_node_new(c, op, NULL, 1, &in);
    p->path = path;
    p->label = in->label;
    p->rows = in->rows;
    p->ordered = in->ordered;
    return p;
}

struct pl_node *pl_node_filter(struct ctx *c, struct pl_node *in, const struct fe_expr *const *v, int n, int first,
                               const char *path)
{
    if (n == 0)
        return in;
    struct pl_node *p = node_over(c, PL_NODE_FILTER, in, path);
    p->u.filter.n = n;
    p->u.filter.first = first;
    p->u.filter.v = hd_dup(c->a, v, sizeof *v * (size_t)n);
    return p;
}

void pl_filter_build_side(struct ctx *c, const struct fe_node *n, struct pl_join *j)
{
    j->build = pl_node_filter(c, j->build, j->build_only, j->nbuild, j->swapped ? 0 : j->nleft, n->path);
    j->nbuild = 0;
}

struct pl_node *pl_node_keep(struct ctx *c, struct pl_node *in, const char *name, const bool *want, const char *path)
{
    struct pl_node *p = node_over(c, PL_NODE_KEEP, in, path);
    p->u.keep.name = name;
    p->u.keep.want = want;
    return p;
}

struct pl_node *pl_node_read(struct ctx *c, struct pl_node *keep, const char *path)
{
    return node_over(c, PL_NODE_READ, keep, path);
}

struct pl_decision *pl_decide(struct ctx *c, struct pl_node *n, const char *name)
{
    hd_grow1(c->a, n->decisions, n->ndecisions);
    struct pl_decision *d = &n->decisions[n->ndecisions++];
    *d = (struct pl_decision){.name = name};
    return d;
}

void pl_decide_way(struct ctx *c, struct pl_decision *d, const char *name, double ns, const char *why)
{
    hd_grow1(c->a, d->v, d->n);
    d->v[d->n++] = (struct pl_alternative){.name = name, .ns = ns, .why = why};
}

void pl_decide_detail(struct ctx *c, struct pl_decision *d, const char *name, const char *why, const char *detail,
                      double x, double y)
{
    pl_decide_way(c, d, name, -1, why);
    d->v[d->n - 1].detail = detail;
    d->v[d->n - 1].numbers[0] = x;
    d->v[d->n - 1].numbers[1] = y;
}

void pl_decide_take(struct pl_decision *d, const char *name)
{
    for (d->taken = 0; d->taken < d->n; d->taken++)
        if (strcmp(d->v[d->taken].name, name) == 0)
            return;
    HD_BUG("%s: %s is no alternative", d->name, name);
}
