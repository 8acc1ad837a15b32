/* Internal to the files of aggregation: one grouping of a stream. */
#ifndef HEDDLE_PLANNER_AGG_H
#define HEDDLE_PLANNER_AGG_H

#include "planner/ctx.h"
#include "planner/physical_table.h"

/* What is to be accumulated. */
struct agg_item {
    enum fe_agg_fn fn;     /* COUNT_STAR, COUNT, SUM, MIN, MAX */
    struct handle *arg;
    struct handle *high;   /* SUM of partial sums that are kept in halves: arg has the low ones */
    bool counts;           /* SUM of counts: no more rows than an int64 tells */
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
    const struct pl_weighted *weighted; /* NULL: each row stands for itself */
    struct agg_item *items;
    int nitems;
    int *first; /* items of aggregate i: first[2 * i], of avg's count first[2 * i + 1] */
};
/* Key i of an aggregate, over the columns of its input. */
struct fe_expr *agg_key(const struct pl_node *node, int i);
/* Items of the only grouping, or of the first of two, of rows with columns env. */
void agg_plan(struct ctx *c, const struct pl_node *node, struct handle **env, struct agg_plan *p);
/* Of the second one: sums and counts of the first add up, min and max stay; map: item of each of its partials. */
void agg_plan_second(struct ctx *c, const struct agg_plan *one, const struct part *partial, struct handle *distinct,
                     struct agg_plan *two, int *map);
/* Groups of one pass of several, b, as the side of a join that is built: the keys, and what it computes. */
struct agg_pass {
    struct stream build;
    int *at; /* [build column]: output column of the aggregate */
};
void agg_pass(struct ctx *c, const struct fe_node *n, const struct stream *b, struct agg_pass *p);
/* Aggregate i is needed, distinct, and over this argument. */
bool agg_is_over(const struct fe_node *n, const bool *need, int i, const struct fe_expr *arg);
struct fe_expr *agg_const(struct ctx *c, struct hd_type t, int v, const char *path);
struct handle *agg_or_zero(struct ctx *c, struct handle *h, const char *path);
/* Range and width of a sum of up to `rows` values v, in which no partial sum can wrap; false: even 128 bits could. */
bool agg_is_of_bits(enum fe_agg_fn fn);
bool sum_known(const struct agg_item *a, double rows, struct pl_val *v);
/* The whole may leave its type, though no partial sum wraps. */
bool leaves_type(const struct pl_val *sum, struct hd_type t);

struct stage {
    struct pl_node *node;
    const struct pl_grouping *d; /* what was chosen */
    int nkeys;
    struct handle **keys;
    int naggs;
    struct agg_item *aggs;
    const char *path;
    struct handle **kept; /* keys that others do not determine, in order */
    struct pl_val *kv;    /* their values */
    int nany;             /* other keys that are carried along */
    struct handle **any;
};
/* agg_items.c. Tells the keys apart as g->d says; afterwards keys[] are plain. */
void stage_keys(struct ctx *c, struct stage *g);
/* Brings removed keys back, by lookups and from any[], what was carried along; the kept ones are in key_out. */
void stage_restore(struct ctx *c, const struct stage *g, struct handle *const *any, struct handle **key_out);
/* The kept keys identify a group. */
void stage_unique(struct ctx *c, const struct stage *g, struct handle *const *key_out, struct stream *out);
/* Minimum and maximum of arg for each key of an EXTREMES node. */
struct stage stage_of_extremes(struct ctx *c, struct pl_node *n, struct handle **keys, struct handle *arg,
                               const struct pl_grouping *d);

/* agg_fold.c. The same without a state: s is in an open fold (lower_fold.h), and out goes on with its parents. */
int fold_stage(struct ctx *c, struct stream *s, struct stage *g, struct stream *out, struct handle **key_out,
               struct part *agg_out);

/* Ends s in a state of its groups; out reads it. key_out: handles of all keys, agg_out: per item. */
int run_stage(struct ctx *c, struct stream *s, struct stage *g, struct stream *out, struct handle **key_out,
              struct part *agg_out);

/* The groups of an EXTREMES node: keys, then minimum and maximum of arg. */
int agg_extremes(struct ctx *c, struct pl_node *n, struct stream *s, struct handle **keys, struct handle *arg,
                 struct stream *out);

#endif
