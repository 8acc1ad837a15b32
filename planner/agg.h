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

/* agg_items.c: what the groupings of an aggregate accumulate. */
struct agg_plan {
    const struct fe_node *n;
    const bool *need;
    const struct fe_expr *distinct; /* the one distinct argument, or NULL */
    struct agg_item *items;
    int nitems;
    int *first; /* items of aggregate i: first[2 * i], of avg's count first[2 * i + 1] */
};
/* Items of the only grouping, or of the first of two, of rows with columns env. */
void agg_plan(struct ctx *c, const struct pl_node *node, struct handle **env, struct agg_plan *p);
/* Of the second one: sums and counts of the first add up, min and max stay; map: item of each of its partials. */
void agg_plan_second(struct ctx *c, const struct agg_plan *one, const struct part *partial, struct handle *distinct,
                     struct agg_plan *two, int *map);
/* Aggregate i is needed, distinct, and over this argument. */
bool agg_is_over(const struct fe_node *n, const bool *need, int i, const struct fe_expr *arg);
struct fe_expr *agg_const(struct ctx *c, struct hd_type t, int v, const char *path);
struct handle *agg_or_zero(struct ctx *c, struct handle *h, const char *path);
/* Range and width of a sum of up to `rows` values v, in which no partial sum can wrap; false: even 128 bits could. */
bool sum_known(const struct agg_item *a, double rows, struct pl_val *v);
/* The whole may leave its type, though no partial sum wraps. */
bool leaves_type(const struct pl_val *sum, struct hd_type t);

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
