/* Internal to the files of aggregation: one grouping of a stream. */
#ifndef HEDDLE_PLANNER_AGG_H
#define HEDDLE_PLANNER_AGG_H

#include "planner/ctx.h"
#include "planner/physical.h"

/* What is to be accumulated. */
struct agg_item {
    enum fe_agg_fn fn;     /* COUNT_STAR, COUNT, SUM, MIN, MAX */
    struct handle *arg;
    struct handle *high;   /* SUM of partial sums that are kept in halves: arg has the low ones */
    bool partial;          /* SUM: what bounds each of the values bounds their sum, too */
    struct hd_type type;   /* of the result */
    const char *path;
};

/* What a grouping gives of an item. A sum that facts cannot keep within its type never raises while it
 * grows, so that neither order nor partial results matter: it is kept in 128 bits, or in halves where
 * these could wrap, and checked where its value is asked for. */
struct part {
    struct handle *h;
    struct handle *high; /* sum of the values' high words; h then has the sum of the low ones; NULL: h has all */
    bool unchecked;
};

struct stage {
    struct pl_node *node; /* where choices are recorded */
    int nkeys;
    struct handle **keys;
    int naggs;
    struct agg_item *aggs;
    const char *path;
    /* decided */
    int nkept;
    struct handle **kept; /* keys that remain, in order */
    bool *removed;        /* per key */
    bool *by_lookup;      /* removed key that a key index brings back */
    struct pl_val *kv;    /* values of kept keys */
    int nany;             /* other removed keys, carried as ANY */
    struct handle **any;
    bool clustered;
    double groups;
};

/* Ends s in a state of its groups; out reads it. key_out: handles of all keys, agg_out: per item. */
int run_stage(struct ctx *c, struct stream *s, struct stage *g, struct stream *out, struct handle **key_out,
              struct part *agg_out);

/* The groups of an EXTREMES node: keys, then minimum and maximum of arg. */
int agg_extremes(struct ctx *c, struct pl_node *n, struct stream *s, struct handle **keys, struct handle *arg,
                 struct stream *out);

#endif
