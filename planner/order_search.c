/* Enumeration of join trees. Up to ORDER_EXACT relations all trees without cross products are looked at by dynamic
 * programming over pairs of connected sets: DPccp (Moerkotte and Neumann, Analysis of Two Existing and One New Dynamic
 * Programming Algorithm for the Generation of Optimal Bushy Join Trees without Cross Products, VLDB 2006, sections 3.2 and
 * 3.3). What a dependent relation needs is checked at each pair, which is what the hyperedges of DPhyp say (Moerkotte and
 * Neumann, Dynamic Programming Strikes Back, SIGMOD 2008). Beyond that the two trees whose join has fewest rows are joined
 * until one is left: greedy operator ordering (Fegaras, A New Heuristic for Optimizing Large Queries, DEXA 1998). */
#include "planner/order_search.h"

#include <string.h>

/* ---- pairs of connected sets ------------------------------------------------------------------------------------ */

struct pairing {
    int n;
    const order_set *neighbours;
    bool (*pair)(void *, order_set, order_set);
    void *data;
    order_set first; /* the set that others are found for; 0: sets are found themselves */
    bool stopped;
};

static order_set around(const struct pairing *p, order_set s)
{
    order_set all = 0;
    for (order_set rest = s; rest; rest &= rest - 1)
        all |= p->neighbours[order_first(rest)];
    return all & ~s;
}

/* Relation i and those with smaller numbers. */
static order_set up_to(int i)
{
    return order_of(i) | (order_of(i) - 1);
}

static void complements(struct pairing *p, order_set s);

static void found(struct pairing *p, order_set s)
{
    if (!p->first)
        complements(p, s);
    else if (!p->stopped)
        p->stopped = !p->pair(p->data, p->first, s);
}

/* Connected sets that have s and more, without what is left out. */
static void grow(struct pairing *p, order_set s, order_set out)
{
    order_set n = around(p, s) & ~out;
    for (order_set sub = n & (~n + 1); sub && !p->stopped; sub = (sub - n) & n)
        found(p, s | sub);
    for (order_set sub = n & (~n + 1); sub && !p->stopped; sub = (sub - n) & n)
        grow(p, s | sub, out | n);
}

/* Connected sets beside s, of larger numbers than its smallest one. */
static void complements(struct pairing *p, order_set s)
{
    order_set out = up_to(order_first(s)) | s, n = around(p, s) & ~out;
    p->first = s;
    for (int i = p->n - 1; i >= 0; i--) {
        if (!(n & order_of(i)) || p->stopped)
            continue;
        found(p, order_of(i));
        grow(p, order_of(i), out | (up_to(i) & n));
    }
    p->first = 0;
}

/* Calls `pair` for each two connected sets without common relations that an edge leads between, each once, and sets of
 * which they consist before; until it returns false. */
static void each_pair(int n, const order_set *neighbours, bool (*pair)(void *, order_set, order_set), void *data)
{
    struct pairing p = {.n = n, .neighbours = neighbours, .pair = pair, .data = data};
    for (int i = n - 1; i >= 0; i--) {
        found(&p, order_of(i));
        grow(&p, order_of(i), up_to(i));
    }
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

struct table {
    const struct order_graph *g;
    struct order_plan *best; /* [set]; set 0: none yet */
    int pairs;
};

static bool look_at_pair(void *data, order_set s1, order_set s2)
{
    struct table *t = data;
    struct order_plan *a = &t->best[s1], *b = &t->best[s2], *to = &t->best[s1 | s2], joined;
    if (++t->pairs > ORDER_PAIRS)
        return false;
    if (a->set && b->set && order_join(t->g, a, b, &joined) && (!to->set || joined.cost < to->cost)) {
        joined.rows = to->set ? to->rows : joined.rows;
        *to = joined;
    }
    return true;
}

/* ---- greedily ------------------------------------------------------------------------------------------------------ */

static bool connected(const struct order_graph *g, order_set a, order_set b)
{
    for (; a; a &= a - 1)
        if (g->neighbours[order_first(a)] & b)
            return true;
    return false;
}

static bool better(bool connects, const struct order_plan *p, bool best_connects, const struct order_plan *best)
{
    if (!best->set || connects != best_connects)
        return !best->set || connects;
    return p->rows < best->rows || (p->rows == best->rows && p->cost < best->cost);
}

static const struct order_plan *greedy(struct hd_arena *a, const struct order_graph *g)
{
    struct order_plan **trees = HD_NEWN(a, struct order_plan *, g->nrelations);
    for (int i = 0; i < g->nrelations; i++)
        order_leaf(g, i, trees[i] = HD_NEW(a, struct order_plan));
    for (int n = g->nrelations; n > 1; n--) {
        struct order_plan best = {0}, p;
        bool best_connects = false;
        int x = 0, y = 0;
        for (int i = 0; i < n; i++)
            for (int k = i + 1; k < n; k++) {
                bool connects = connected(g, trees[i]->set, trees[k]->set);
                if (!order_join(g, trees[i], trees[k], &p) || !better(connects, &p, best_connects, &best))
                    continue;
                best = p;
                best_connects = connects;
                x = i;
                y = k;
            }
        trees[x] = hd_dup(a, &best, sizeof best);
        trees[y] = trees[n - 1];
    }
    return trees[0];
}

struct order_found order_search(struct hd_arena *a, const struct order_graph *g)
{
    struct order_found f = {0};
    if (g->nrelations <= ORDER_EXACT) {
        struct table t = {.g = g, .best = HD_NEWN(a, struct order_plan, order_of(g->nrelations))};
        for (int i = 0; i < g->nrelations; i++)
            order_leaf(g, i, &t.best[order_of(i)]);
        each_pair(g->nrelations, g->neighbours, look_at_pair, &t);
        struct order_plan *all = &t.best[order_of(g->nrelations) - 1];
        f.pairs = t.pairs;
        f.exact = all->set && t.pairs <= ORDER_PAIRS;
        f.best = all;
    }
    if (!f.exact)
        f.best = greedy(a, g);
    return f;
}
