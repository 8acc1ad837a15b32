/* Batches of the CUDA device as graphs. A batch of the same kernels and sizes as one before is made a graph, a chain of nodes, which
 * later ones launch again; what differs (addresses, parameters, numbers of blocks) is set in its nodes. Where the driver
 * refuses anything of it, batches are queued piece by piece from then on. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/cuda_internal.h"

enum { GRAPHS_MAX = 128 };

struct rt_graph {
    struct rt_graph *next;
    uint64_t hash;
    int n;
    cu_graph_exec exec;
    cu_graph graph; /* whose nodes name those of exec */
    cu_graph_node *node;
    struct rt_queued *item; /* as they are now */
    unsigned char *bytes;
};

/* ---- the same batch ---------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(1099511628211) ^ word >> 29;
}

/* Of what a graph must have in common with a batch. */
static uint64_t hash_of(const struct rt_batch *b)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (int i = 0; i < b->n; i++) {
        const struct rt_queued *q = &b->item[i];
        h = mix(mix(h, (uintptr_t)q->f), q->bytes);
        for (int k = 0; k < q->nparams; k++)
            h = mix(h, q->n[k]);
    }
    return h;
}

static bool is_like(const struct rt_queued *a, const struct rt_queued *b)
{
    bool like = a->f == b->f && a->cooperative == b->cooperative && a->nparams == b->nparams && a->bytes == b->bytes;
    for (int k = 0; like && k < a->nparams; k++)
        like = a->n[k] == b->n[k];
    return like;
}

static bool fits(const struct rt_graph *g, const struct rt_batch *b, uint64_t hash)
{
    bool like = g->hash == hash && g->n == b->n;
    for (int i = 0; like && i < b->n; i++)
        like = is_like(&g->item[i], &b->item[i]);
    return like;
}

/* The graph that fits, which becomes the first one. */
static struct rt_graph *find(struct rt_graphs *s, const struct rt_batch *b, uint64_t hash)
{
    for (struct rt_graph **at = &s->first; *at; at = &(*at)->next) {
        struct rt_graph *g = *at;
        if (!fits(g, b, hash))
            continue;
        *at = g->next;
        g->next = s->first;
        s->first = g;
        return g;
    }
    return NULL;
}

static bool was_seen(struct rt_graphs *s, uint64_t hash)
{
    for (size_t i = 0; i < RT_GRAPHS_SEEN; i++)
        if (s->seen[i] == hash)
            return true;
    s->seen[s->next_seen++ % RT_GRAPHS_SEEN] = hash;
    return false;
}

/* ---- nodes ------------------------------------------------------------------------------- */

static struct cu_kernel_node kernel_node(const struct rt_queued *q, unsigned char *bytes, void *params[RT_PARAMS])
{
    for (int k = 0; k < q->nparams; k++)
        params[k] = bytes + q->at[k];
    return (struct cu_kernel_node){.f = q->f->f,
                                   .gx = q->blocks,
                                   .gy = 1,
                                   .gz = 1,
                                   .bx = q->threads,
                                   .by = 1,
                                   .bz = 1,
                                   .shared_bytes = q->shared_bytes,
                                   .params = params,
                                   .extra = NULL};
}

static struct cu_set_node set_node(const struct rt_queued *q)
{
    return (struct cu_set_node){
        .to = q->to, .pitch = q->bytes, .value = q->byte, .element_bytes = 1, .width = q->bytes, .height = 1};
}

static int add_node(const struct rt_cuda *c, struct rt_graph *g, int i)
{
    const struct rt_queued *q = &g->item[i];
    const cu_graph_node *after = i ? &g->node[i - 1] : NULL;
    size_t nafter = i > 0;
    void *params[RT_PARAMS];
    if (!q->f) {
        struct cu_set_node p = set_node(q);
        return c->cu->cuGraphAddMemsetNode(&g->node[i], g->graph, after, nafter, &p, c->context);
    }
    struct cu_kernel_node p = kernel_node(q, g->bytes, params);
    int status = c->cu->cuGraphAddKernelNode(&g->node[i], g->graph, after, nafter, &p);
    if (status == 0 && q->cooperative)
        status = c->cu->cuGraphKernelNodeSetAttribute(g->node[i], CU_ATTRIBUTE_COOPERATIVE,
                                                      &(union cu_attribute_value){.cooperative = 1});
    return status;
}

static bool is_as_it_was(const struct rt_queued *a, const unsigned char *abytes, const struct rt_queued *b,
                         const unsigned char *bbytes)
{
    bool same = a->blocks == b->blocks && a->threads == b->threads && a->shared_bytes == b->shared_bytes &&
                a->to == b->to && a->byte == b->byte;
    for (int k = 0; same && k < a->nparams; k++)
        same = memcmp(abytes + a->at[k], bbytes + b->at[k], a->n[k]) == 0;
    return same;
}

static int set_node_params(const struct rt_cuda *c, const struct rt_graph *g, int i)
{
    const struct rt_queued *q = &g->item[i];
    void *params[RT_PARAMS];
    if (!q->f) {
        struct cu_set_node p = set_node(q);
        return c->cu->cuGraphExecMemsetNodeSetParams(g->exec, g->node[i], &p, c->context);
    }
    struct cu_kernel_node p = kernel_node(q, g->bytes, params);
    return c->cu->cuGraphExecKernelNodeSetParams(g->exec, g->node[i], &p);
}

/* Nodes become what the batch has; launches that are queued already keep theirs. */
static int change(const struct rt_cuda *c, struct rt_graph *g, const struct rt_batch *b)
{
    for (int i = 0; i < g->n; i++) {
        const struct rt_queued *q = &b->item[i];
        if (is_as_it_was(&g->item[i], g->bytes, q, b->bytes))
            continue;
        for (int k = 0; k < q->nparams; k++)
            memcpy(g->bytes + g->item[i].at[k], b->bytes + q->at[k], q->n[k]);
        g->item[i] = *q; /* the same sizes in the same order: where parameters lie is the same, too */
        int status = set_node_params(c, g, i);
        if (status != 0)
            return status;
    }
    return 0;
}

/* ---- graphs ------------------------------------------------------------------------------ */

static void free_graph(struct rt_cuda *c, struct rt_graph *g)
{
    if (g->exec)
        c->cu->cuGraphExecDestroy(g->exec);
    if (g->graph)
        c->cu->cuGraphDestroy(g->graph);
    free(g->node);
    free(g->item);
    free(g->bytes);
    free(g);
}

/* With what is queued of them. */
static void drop_from(struct rt_cuda *c, struct rt_graph **at)
{
    if (*at)
        c->cu->cuStreamSynchronize(rt_cuda_compute(c));
    while (*at) {
        struct rt_graph *g = *at;
        *at = g->next;
        free_graph(c, g);
    }
}

static struct rt_graph *new_graph(const struct rt_batch *b, uint64_t hash)
{
    struct rt_graph *g = hd_try_calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->hash = hash;
    g->n = b->n;
    g->node = hd_try_calloc((size_t)b->n, sizeof *g->node);
    g->item = hd_try_calloc((size_t)b->n, sizeof *g->item);
    g->bytes = hd_try_calloc(1, b->used + 1);
    if (g->item)
        memcpy(g->item, b->item, (size_t)b->n * sizeof *g->item);
    if (g->bytes)
        memcpy(g->bytes, b->bytes, b->used);
    return g;
}

static bool make(struct rt_cuda *c, struct rt_graph *g)
{
    if (!g->node || !g->item || !g->bytes || c->cu->cuGraphCreate(&g->graph, 0) != 0)
        return false;
    for (int i = 0; i < g->n; i++)
        if (add_node(c, g, i) != 0)
            return false;
    return c->cu->cuGraphInstantiate(&g->exec, g->graph, 0) == 0;
}

/* In front of the others; the one that was launched least recently makes room. */
static struct rt_graph *add_graph(struct rt_cuda *c, const struct rt_batch *b, uint64_t hash)
{
    struct rt_graphs *s = &c->graphs;
    struct rt_graph *g = new_graph(b, hash);
    if (!g || !make(c, g)) {
        if (g)
            free_graph(c, g);
        s->refused = true;
        return NULL;
    }
    struct rt_graph **at = &s->first;
    for (int i = 0; i < GRAPHS_MAX - 1 && *at; i++)
        at = &(*at)->next;
    drop_from(c, at);
    g->next = s->first;
    s->first = g;
    return g;
}

bool rt_cuda_graph_launch(struct rt_cuda *c, const struct rt_batch *b)
{
    struct rt_graphs *s = &c->graphs;
    if (s->refused || c->d.lost)
        return false;
    uint64_t hash = hash_of(b);
    struct rt_graph *g = find(s, b, hash);
    if (!g && was_seen(s, hash))
        g = add_graph(c, b, hash);
    if (!g)
        return false;
    int status = change(c, g, b);
    if (status == 0)
        status = c->cu->cuGraphLaunch(g->exec, rt_cuda_compute(c));
    s->refused = status != 0;
    return status == 0;
}

void rt_cuda_graphs_forget(struct rt_cuda *c, const struct rt_function *functions)
{
    for (struct rt_graph **at = &c->graphs.first; *at;) {
        struct rt_graph *g = *at;
        bool has = false;
        for (const struct rt_function *f = functions; f && !has; f = f->next)
            for (int i = 0; i < g->n && !has; i++)
                has = g->item[i].f == f;
        if (has) {
            *at = g->next;
            free_graph(c, g);
        } else
            at = &g->next;
    }
}

void rt_cuda_graphs_close(struct rt_cuda *c)
{
    while (c->graphs.first) {
        struct rt_graph *g = c->graphs.first;
        c->graphs.first = g->next;
        free_graph(c, g);
    }
    c->graphs = (struct rt_graphs){.refused = false};
}
