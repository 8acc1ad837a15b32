/* A query as a graph of relations and conditions, in numbers alone: how many rows a set of relations has once it is
 * joined, and what each join costs. The typed plan becomes such a graph in order_facts.c, and order_search.c looks for the
 * cheapest tree over it. */
#ifndef HEDDLE_PLANNER_ORDER_GRAPH_H
#define HEDDLE_PLANNER_ORDER_GRAPH_H

#include "runtime/base/arena.h"

typedef uint64_t order_set; /* of relations, by number */
enum { ORDER_RELATIONS = 64 };

static inline order_set order_of(int relation)
{
    return (order_set)1 << relation;
}
static inline int order_first(order_set s)
{
    return __builtin_ctzll(s);
}
static inline bool order_within(order_set a, order_set b)
{
    return (a & ~b) == 0;
}

/* What is known of a column of a relation that conditions compare. */
struct order_column {
    bool there;
    bool sorted;     /* rows of the relation come by it */
    double distinct; /* values in the whole table */
    double heavy;    /* share of the rows that have the most frequent one */
    double children; /* >= 0: a foreign key's index leads from a value to so many rows */
    bool scattered;  /* which lie anywhere */
    bool key;        /* a key index leads from a value to its row */
    bool hashed;     /* values are no integers that address a table */
};

/* Columns that equal each other, directly or by way of others: at most one of a relation. */
struct order_class {
    order_set relations;
    struct order_column *of; /* [relation] */
    bool constant;           /* and a constant: each relation's rows are those with the value already */
};

/* Rows of the relation are told apart by columns of these classes together: a key of several columns. */
struct order_key {
    int relation;
    uint64_t classes;
    double rows;     /* of the whole table */
    double children; /* >= 0: the table is sorted by the key, and so many rows share its first column */
};

/* A condition that is no equality of a class. */
struct order_condition {
    order_set relations;
    bool connects; /* an equality: relations may be joined by it */
    double share;  /* of the pairs that it leaves */
};

/* DEPENDENT relations are right sides of semi, anti, mark and left joins: alone they are joined to a set that has all
 * relations that the condition reads, and there is one row, or none, for each of the other side, times `share`. */
struct order_relation {
    double rows;    /* that its filters leave */
    bool counted;   /* in a sample */
    double scanned; /* that are looked at for them; what it costs if it is no table: `cost` */
    double cost;
    int columns; /* that are read of it */
    order_set reduced_by; /* relations whose filters it has, too, as far as they are about columns that are equal */
    bool dependent;
    order_set needs;
    double share;
    struct order_column on; /* the dependent relation's key, if it has one */
};

/* Rows of a relation, of which it is known which relations of the set `of`, it and those that it refers to, they find with
 * what these filter. */
struct order_sample {
    int relation, size; /* rows */
    order_set of;
    int nsets;
    order_set *sets; /* that rows find, each once, */
    int *counts; /* and how many rows do */
};
enum { ORDER_SAMPLE_FEW = 8 }; /* fewer rows than that tell nothing */

struct order_graph {
    const struct pl_rates *rates; /* of who runs the plan */
    int nrelations, nclasses, nkeys, nconditions, nsamples;
    struct order_relation *relations;
    struct order_class *classes;
    struct order_key *keys;
    struct order_condition *conditions;
    struct order_sample *samples;
    order_set *neighbours; /* [relation] */
};

/* Keys of a part of the right side, and rows that have one of them, with what samples say of these. */
struct order_sieve {
    const struct order_plan *by;
    double rows, sampled;
};
enum { ORDER_SIEVES = 2 }; /* before rows are looked up by several columns */

/* A tree over `set`, by its root; left NULL: a relation. The left side is gone through, the right one looked up. */
struct order_plan {
    order_set set;
    double rows, cost; /* by the graph's rates */
    int driver; /* the relation whose scan rows come from, in its order; -1: none */
    const struct order_plan *left, *right;
    double sampled; /* what samples say of its rows, in place of 1 that averages do */
    /* rows on the left are looked up in these first, one after the other; by NULL: no more */
    struct order_sieve sieves[ORDER_SIEVES];
};

/* Fills g->neighbours: who shares a class or a condition that connects, or needs whom. Parts without a connection get
 * one between their smallest relations, by other conditions where there are such; a cross product has no other way. */
void order_connect(struct hd_arena *a, struct order_graph *g);
/* Rows of the relation that those of `by` lead to, before the relation's own filters; -1: no sample tells. */
double order_sample_met(const struct order_graph *g, int relation, order_set by);
/* Rows of the sample that find all of s. */
double order_sample_found(const struct order_sample *sample, order_set s);
void order_leaf(const struct order_graph *g, int relation, struct order_plan *out);
/* a joined with b, sides as they cost less. False: a dependent relation lacks what it needs. */
bool order_join(const struct order_graph *g, const struct order_plan *a, const struct order_plan *b,
                struct order_plan *out);

#endif
