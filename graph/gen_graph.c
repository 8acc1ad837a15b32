/* Drawing, sorting and listing edges; see gen_graph.h.  Compiled without contraction of multiplications and additions,
 * so that the same seed gives the same graph everywhere. */
#include "graph/gen_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tpch/gen_par.h"

#define LARGEST_DEGREE 100000
#define ROUNDS         100 /* of drawing again what was drawn already */

/* ---- weights ------------------------------------------------------------------------------ */

/* The sum of the weights of ranks 0 to x is proportional to cbrt(x + first) - cbrt(first). */
struct law {
    double first;      /* rank at which the power law starts */
    double low, range; /* cbrt(first); cbrt(vertices + first) - low */
    uint64_t vertices, factor, shift; /* rank -> number: numbers tell nothing of degrees */
};

/* By bisection: every machine finds the same double. */
static double cube_root(double x)
{
    double lo = 0, hi = x < 1 ? 1 : x;
    for (int i = 0; i < 200; i++) {
        const double middle = lo + (hi - lo) / 2;
        if (middle * middle * middle < x)
            lo = middle;
        else
            hi = middle;
    }
    return hi;
}

/* The expected degree of rank 0 if the law starts at `first`. */
static double largest_degree(const struct gg_options *o, double first)
{
    const double low = cube_root(first);
    const double share = (cube_root(first + 1) - low) / (cube_root((double)o->vertices + first) - low);
    return 2 * (double)o->edges * share;
}

static double first_of(const struct gg_options *o, double most)
{
    double lo = 0, hi = (double)o->vertices;
    if (largest_degree(o, 0) <= most)
        return 0;
    for (int i = 0; i < 100; i++) {
        const double middle = lo + (hi - lo) / 2;
        if (largest_degree(o, middle) > most)
            lo = middle;
        else
            hi = middle;
    }
    return hi;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014) as a hash of a place. */
static uint64_t random_at(uint64_t seed, uint64_t place)
{
    uint64_t x = seed * UINT64_C(0xd1342543de82ef95) + (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static double most_degree(const struct gg_options *o)
{
    const double quarter = (double)o->vertices / 4;
    return quarter < LARGEST_DEGREE ? quarter : LARGEST_DEGREE;
}

static struct law law_of(const struct gg_options *o)
{
    struct law l = {.first = first_of(o, most_degree(o)), .vertices = (uint64_t)o->vertices};
    l.low = cube_root(l.first);
    l.range = cube_root((double)o->vertices + l.first) - l.low;
    l.shift = random_at(o->seed, UINT64_MAX - 1) % l.vertices;
    l.factor = l.vertices / 2 + l.vertices / 8 + 1;
    while (common_divisor(l.factor, l.vertices) != 1)
        l.factor++;
    return l;
}

static uint64_t vertex_of(const struct law *l, uint64_t random)
{
    const double place = (double)(random >> 11) * 0x1p-53 * l->range + l->low;
    const double rank = place * place * place - l->first;
    uint64_t i = rank > 0 ? (uint64_t)rank : 0;
    if (i >= l->vertices)
        i = l->vertices - 1;
    return (i * l->factor + l->shift) % l->vertices;
}

/* ---- edges -------------------------------------------------------------------------------- */

/* An edge is a number: its lower end, then its higher. */
struct draw {
    const struct gg_options *o;
    struct law law;
    uint64_t place; /* number of the first edge to draw */
    int64_t count;
    uint64_t *out;
    int threads;
};

static void draw_share(void *arg, int index)
{
    const struct draw *d = arg;
    const int64_t begin = d->count / d->threads * index;
    const int64_t end = index == d->threads - 1 ? d->count : d->count / d->threads * (index + 1);
    for (int64_t i = begin; i < end; i++) {
        const uint64_t place = 2 * (d->place + (uint64_t)i);
        const uint64_t a = vertex_of(&d->law, random_at(d->o->seed, place));
        const uint64_t b = vertex_of(&d->law, random_at(d->o->seed, place + 1));
        d->out[i] = a < b ? a << 32 | b : b << 32 | a;
    }
}

/* One pass of a radix sort by the byte at `bit`. */
static void sort_by_byte(const uint64_t *from, int64_t n, int bit, uint64_t *to)
{
    int64_t at[256] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++)
        at[from[i] >> bit & 255]++;
    for (int k = 0; k < 256; k++) {
        const int64_t count = at[k];
        at[k] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++)
        to[at[from[i] >> bit & 255]++] = from[i];
}

/* Sorts keys with two ends below `vertices`; spare has as much room. An even number of passes ends in keys. */
static void sort_keys(uint64_t *keys, int64_t n, int64_t vertices, uint64_t *spare)
{
    int bytes = 1;
    while (bytes < 4 && vertices >> (8 * bytes) != 0)
        bytes++;
    for (int end = 0; end < 64; end += 32)
        for (int i = 0; i < bytes; i++) {
            const bool back = (end / 32 * bytes + i) % 2 == 1;
            sort_by_byte(back ? spare : keys, n, end + 8 * i, back ? keys : spare);
        }
}

/* Two sorted lists into one without loops and repetitions; its length. */
static int64_t unite(const uint64_t *a, int64_t na, const uint64_t *b, int64_t nb, uint64_t *out)
{
    int64_t i = 0, j = 0, n = 0;
    while (i < na || j < nb) {
        const uint64_t key = j == nb || (i < na && a[i] < b[j]) ? a[i++] : b[j++];
        const bool loop = key >> 32 == (key & UINT32_MAX);
        if (!loop && (n == 0 || out[n - 1] != key))
            out[n++] = key;
    }
    return n;
}

/* The edges, sorted, in one of the two buffers; NULL if they cannot all be had. */
static uint64_t *draw_edges(const struct gg_options *o, uint64_t *keys, uint64_t *spare)
{
    struct draw d = {.o = o, .law = law_of(o), .threads = tg_thread_count(o->threads)};
    int64_t have = 0;
    for (int round = 0; have < o->edges && round < ROUNDS; round++) {
        d.count = o->edges - have;
        d.out = keys + have;
        tg_parallel(d.threads, draw_share, &d);
        d.place += (uint64_t)d.count;
        sort_keys(d.out, d.count, o->vertices, spare);
        have = unite(keys, have, d.out, d.count, spare);
        uint64_t *united = spare;
        spare = keys;
        keys = united;
    }
    return have == o->edges ? keys : NULL;
}

/* ---- lists -------------------------------------------------------------------------------- */

/* Counts in offset[v + 1] become ends, as seen from before: offset[v] is where v's list starts. */
static void add_up(int64_t *offset, int64_t vertices)
{
    for (int64_t v = 0; v < vertices; v++)
        offset[v + 1] += offset[v];
}

/* Filling moves the starts to the ends of the lists: back by one. */
static void move_back(int64_t *offset, int64_t vertices)
{
    memmove(offset + 1, offset, (size_t)vertices * sizeof *offset);
    offset[0] = 0;
}

/* Sorted edges list for each vertex first its lower neighbours, then its higher ones, both ascending. */
static void list_all(struct gg_graph *g, const uint64_t *keys)
{
    int64_t *offset = g->all.offset;
    for (int64_t i = 0; i < g->edges; i++) {
        offset[(keys[i] >> 32) + 1]++;
        offset[(keys[i] & UINT32_MAX) + 1]++;
    }
    add_up(offset, g->vertices);
    for (int64_t i = 0; i < g->edges; i++) {
        const uint64_t a = keys[i] >> 32, b = keys[i] & UINT32_MAX;
        g->all.neighbour[offset[a]++] = (int32_t)b;
        g->all.neighbour[offset[b]++] = (int32_t)a;
    }
    move_back(offset, g->vertices);
}

static bool is_up(const struct gg_graph *g, int64_t from, int64_t to)
{
    const int64_t a = gg_degree(g, from), b = gg_degree(g, to);
    return a < b || (a == b && from < to);
}

static void list_up(struct gg_graph *g)
{
    int64_t n = 0;
    for (int64_t v = 0; v < g->vertices; v++) {
        g->up.offset[v] = n;
        for (int64_t i = g->all.offset[v]; i < g->all.offset[v + 1]; i++)
            if (is_up(g, v, g->all.neighbour[i]))
                g->up.neighbour[n++] = g->all.neighbour[i];
    }
    g->up.offset[g->vertices] = n;
}

/* ---- the graph ---------------------------------------------------------------------------- */

static int check(const struct gg_options *o, struct tg_error *err)
{
    if (o->vertices < 16 || o->vertices > INT32_MAX || o->edges < 1 || o->edges >= INT64_C(1) << 30) {
        tg_fail(err, "", 0, "expected 16 to %d vertices and 1 to %d edges", INT32_MAX, (1 << 30) - 1);
        return -1;
    }
    const int64_t most = (int64_t)(most_degree(o) / 8 * (double)o->vertices);
    if (o->edges > most) {
        tg_fail(err, "", 0, "expected at most %lld edges for %lld vertices", (long long)most, (long long)o->vertices);
        return -1;
    }
    return 0;
}

static int fail_memory(struct tg_error *err)
{
    tg_fail(err, "", ENOMEM, "graph");
    return -1;
}

static bool lists_new(struct gg_lists *l, int64_t vertices, int64_t neighbours)
{
    l->offset = calloc((size_t)vertices + 1, sizeof *l->offset);
    l->neighbour = malloc((size_t)neighbours * sizeof *l->neighbour);
    return l->offset != NULL && l->neighbour != NULL;
}

/* Edges first, then the lists of all neighbours, and at last, when the edges are gone, those of higher ones. */
static int fill(struct gg_graph *g, const struct gg_options *o, struct tg_error *err)
{
    const size_t bytes = (size_t)o->edges * sizeof(uint64_t);
    uint64_t *keys = malloc(bytes), *spare = malloc(bytes);
    const uint64_t *edges = keys != NULL && spare != NULL ? draw_edges(o, keys, spare) : NULL;
    int rc = edges != NULL ? 0 : -1;
    if (keys == NULL || spare == NULL)
        fail_memory(err);
    else if (edges == NULL)
        tg_fail(err, "", 0, "so many edges of so few vertices cannot be drawn");
    else if (!lists_new(&g->all, o->vertices, 2 * o->edges))
        rc = fail_memory(err);
    else
        list_all(g, edges);
    free(keys);
    free(spare);
    if (rc == 0 && !lists_new(&g->up, o->vertices, o->edges))
        rc = fail_memory(err);
    if (rc == 0)
        list_up(g);
    return rc;
}

int gg_graph_new(const struct gg_options *o, struct gg_graph **out, struct tg_error *err)
{
    if (check(o, err) != 0)
        return -1;
    struct gg_graph *g = calloc(1, sizeof *g);
    if (g == NULL)
        return fail_memory(err);
    g->vertices = o->vertices;
    g->edges = o->edges;
    if (fill(g, o, err) != 0) {
        gg_graph_free(g);
        return -1;
    }
    *out = g;
    return 0;
}

void gg_graph_free(struct gg_graph *g)
{
    if (g == NULL)
        return;
    free(g->all.offset);
    free(g->all.neighbour);
    free(g->up.offset);
    free(g->up.neighbour);
    free(g);
}
