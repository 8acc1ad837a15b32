/* Graphs of the driver over host memory: chains of launches, whose nodes run in their order.
 * $FAKE_DRIVER_REFUSES, "instantiate", "change" or "launch": that is refused from the third time on. */
#include <stdlib.h>
#include <string.h>

#include "tests/simt/fake_driver.h"

/* Nodes have copies of their parameters; those of a graph that can be launched are copies of the graph's. */
enum { NODES = 64, PARAMETERS = 2, PARAMETER_BYTES = 24 };
struct cu_graph_node_opaque {
    struct cu_kernel_node kernel;
    struct cu_set_node set;
    bool clears;
    unsigned char bytes[PARAMETERS][PARAMETER_BYTES];
};
struct cu_graph_opaque {
    cu_context c;
    int n;
    struct cu_graph_node_opaque node[NODES];
};
struct cu_graph_exec_opaque {
    struct cu_graph_opaque of;
    cu_graph from;
};

/* For the test: graphs that can be launched, and how often some were. */
__attribute__((visibility("default"))) int fake_driver_graphs(int *launches);
static int live_graphs, graph_launches;

int fake_driver_graphs(int *launches)
{
    *launches = graph_launches;
    return live_graphs;
}

static bool refuses(const char *what)
{
    enum { GRANTED = 2 };
    static int asked;
    const char *refused = getenv("FAKE_DRIVER_REFUSES");
    return refused && strcmp(refused, what) == 0 && ++asked > GRANTED;
}

int cuGraphCreate(cu_graph *g, unsigned flags)
{
    CURRENT(c);
    if (flags)
        return INVALID_VALUE;
    *g = calloc(1, sizeof **g);
    (*g)->c = c;
    return OK;
}

int cuGraphDestroy(cu_graph g)
{
    free(g);
    return OK;
}

static int put_kernel(cu_context c, cu_graph_node node, const struct cu_kernel_node *p)
{
    if (((cu_module)p->f)->c != c)
        return INVALID_HANDLE;
    node->kernel = *p;
    memcpy(node->bytes[0], p->params[0], PARAMETER_BYTES);
    return OK;
}

static int put_set(cu_context c, cu_graph_node node, const struct cu_set_node *p)
{
    node->clears = true;
    node->set = *p;
    return p->element_bytes != 1 || p->height != 1 || !fake_on_device(c, p->to, p->width) ? INVALID_VALUE : OK;
}

/* A chain: each node comes after the last one. */
static int new_node(cu_graph_node *node, cu_graph g, const cu_graph_node *after, size_t nafter)
{
    if (g->n == NODES || nafter != (g->n > 0) || (nafter && *after != &g->node[g->n - 1]))
        return INVALID_VALUE;
    *node = &g->node[g->n++];
    return OK;
}

int cuGraphAddKernelNode(cu_graph_node *node, cu_graph g, const cu_graph_node *after, size_t nafter,
                         const struct cu_kernel_node *p)
{
    CURRENT(c);
    int status = new_node(node, g, after, nafter);
    return status ? status : put_kernel(c, *node, p);
}

int cuGraphKernelNodeSetAttribute(cu_graph_node node, int attribute, const union cu_attribute_value *value)
{
    return attribute != CU_ATTRIBUTE_COOPERATIVE || node->clears || value->cooperative != 1 ? INVALID_VALUE : OK;
}

int cuGraphAddMemsetNode(cu_graph_node *node, cu_graph g, const cu_graph_node *after, size_t nafter,
                         const struct cu_set_node *p, cu_context context)
{
    CURRENT(c);
    int status = c != context ? INVALID_CONTEXT : new_node(node, g, after, nafter);
    return status ? status : put_set(c, *node, p);
}

int cuGraphInstantiate(cu_graph_exec *e, cu_graph g, uint64_t flags)
{
    CURRENT(c);
    if (flags || g->c != c)
        return INVALID_VALUE;
    if (refuses("instantiate"))
        return NOT_SUPPORTED;
    *e = calloc(1, sizeof **e);
    (*e)->of = *g;
    (*e)->from = g;
    live_graphs++;
    return OK;
}

static cu_graph_node same_node(cu_graph_exec e, cu_graph_node node)
{
    return &e->of.node[node - e->from->node];
}

int cuGraphExecKernelNodeSetParams(cu_graph_exec e, cu_graph_node node, const struct cu_kernel_node *p)
{
    CURRENT(c);
    return node->clears || refuses("change") ? INVALID_VALUE : put_kernel(c, same_node(e, node), p);
}

int cuGraphExecMemsetNodeSetParams(cu_graph_exec e, cu_graph_node node, const struct cu_set_node *p, cu_context context)
{
    CURRENT(c);
    return c != context || !node->clears || p->width != node->set.width ? INVALID_VALUE
                                                                        : put_set(c, same_node(e, node), p);
}

int cuGraphLaunch(cu_graph_exec e, cu_stream s)
{
    CURRENT(c);
    if (e->of.c != c || s->c != c)
        return INVALID_HANDLE;
    if (refuses("launch"))
        return OUT_OF_MEMORY;
    graph_launches++;
    for (int i = 0; i < e->of.n; i++) {
        cu_graph_node n = &e->of.node[i];
        void *params[] = {n->bytes[0]};
        if (n->clears)
            memset((void *)(uintptr_t)n->set.to, (int)n->set.value, n->set.width);
        else if (cuLaunchKernel(n->kernel.f, n->kernel.gx, n->kernel.gy, n->kernel.gz, n->kernel.bx, n->kernel.by,
                                n->kernel.bz, n->kernel.shared_bytes, s, params, NULL) != OK)
            return INVALID_VALUE;
    }
    return OK;
}

int cuGraphExecDestroy(cu_graph_exec e)
{
    free(e);
    live_graphs--;
    return OK;
}
