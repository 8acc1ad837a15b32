/* Random undirected simple graphs with a power law of degrees, after Chung and Lu ("Connected components in
 * random graphs with given expected degree sequences", 2002): an edge takes its two ends independently, each
 * vertex with a probability proportional to its weight.  Weights fall with the rank as rank^(-2/3), which makes
 * the share of vertices of degree d fall as d^-2.5; the first weights are flattened so that the largest expected
 * degree is 100,000, or a quarter of the vertices if that is less.  Loops are dropped and repeated edges drawn
 * anew, so that the number of edges is exact.
 *
 * The same options give the same graph on any number of threads.  The library never prints. */
#ifndef GRAPH_GEN_GRAPH_H
#define GRAPH_GEN_GRAPH_H

#include "heddle.h"
#include "tpch/gen_core.h"

struct gg_options {
    int64_t vertices; /* 16 .. 2^31 - 1 */
    int64_t edges; /* 1 .. 2^30 - 1, undirected */
    uint64_t seed;
    int threads; /* <= 0: one per core */
};

/* Neighbours of vertex v (from 0), ascending: neighbour[offset[v]] to before neighbour[offset[v + 1]]. */
struct gg_lists {
    int64_t *offset;
    int32_t *neighbour;
};

struct gg_graph {
    int64_t vertices, edges;
    struct gg_lists all; /* of every edge both directions */
    struct gg_lists up; /* each edge from the end that is lower by (degree, number) */
};

/* Some 28 bytes an edge and 16 a vertex while it works, 12 and 16 later.  0, or -1 with *err filled: out of memory, or
 * more edges than the degrees allow. */
int gg_graph_new(const struct gg_options *o, struct gg_graph **out, struct tg_error *err);
void gg_graph_free(struct gg_graph *g);

static inline int64_t gg_degree(const struct gg_graph *g, int64_t vertex)
{
    return g->all.offset[vertex + 1] - g->all.offset[vertex];
}

struct gg_db_options {
    int threads; /* <= 0: one per core */
    heddle_progress_fn progress; /* may be NULL */
    void *user;
};

/* A database with the tables vertex (id, degree), edge (src, dst; both directions) and edge_up, each ordered by its
 * columns; nothing is left at path on failure.  *cause: the database's own error where it refused, to be freed. */
int gg_db_write(const struct gg_graph *g, heddle_context *context, const char *path, const struct gg_db_options *o,
                struct tg_error *err, heddle_error **cause);

#endif
