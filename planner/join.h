/* Internal to the join files: one join being lowered. */
#ifndef HEDDLE_PLANNER_JOIN_H
#define HEDDLE_PLANNER_JOIN_H

#include "planner/key_pack.h"
#include "planner/physical_table.h"
#include "planner/store.h"

struct join {
    struct pl_node *node;   /* where choices of its table are recorded */
    const struct pl_join *d;
    const struct fe_node *n; /* typed node, NULL: none */
    enum fe_join_kind kind; /* of d, or what it takes to tell existence by other means */
    struct stream s;        /* probe stream */
    struct handle **bcols;  /* build columns as seen from the probe pipeline (NULL: not kept) */
    int nbuild;             /* of them */
    struct handle **pk;     /* probe keys, and their values */
    struct pl_val *pv;
    struct handle *brow;    /* the matched build row */
};

/* join_build.c: a table is built of the build side as d says, and probed. */
struct built {
    const struct pl_table *d;
    int state;  /* -1: none yet, its columns are asked for alone (flow_join.c) */
    int nkeys, ncols; /* columns of the build stream */
    struct handle **bkeys;
    struct pl_val *bv;
    struct kept kept;
    int *keep_of;    /* build column -> position among kept columns, -1 */
    double max_rows; /* proven: of the build side */
};
int jb_build(struct ctx *c, struct join *j, struct stream *b, struct stream *s, struct built *t);
/* Appends the probe of t to j->s as kind `how`; fills j->bcols. mark: slot of a BOOL (MARK). */
int jb_probe(struct ctx *c, struct join *j, struct built *t, enum pl_probe_kind how, struct handle **mark);

/* join_scale.c: the smaller scale at which keys of one scale can be compared, -1: none. */
int join_scale(struct ctx *c, struct handle *build, struct handle *probe, int *scale);
/* The key at that scale; `planning`: h is known and not loaded. */
struct handle *join_at_scale(struct ctx *c, struct handle *h, int scale, bool planning);
void join_tell_scale(struct ctx *c, struct pl_node *n, int from, int to);

/* join_columns.c. Environment of conditions on both sides: left columns, then right ones. */
struct handle **join_env(struct ctx *c, const struct join *j);
/* Fills t->kept: what the probe side must see of build stream b. */
void join_kept(struct ctx *c, const struct join *j, const struct stream *b, struct built *t);
/* The build columns at a row of the table, where it is probed as `how`; fills j->bcols. */
void join_columns(struct ctx *c, struct join *j, const struct built *t, struct handle *row);
/* Rows that come out of the probe: *est goes on from those that come to it. */
void join_rows(struct join *j, const struct built *t, enum pl_probe_kind how, double *est);
/* Columns of the build scan at row; the matched key column becomes the probe's own handle. */
void join_scan_at(struct ctx *c, struct join *j, struct handle *row, struct handle *key, bool same);
/* A declared foreign key from the probe column to the looked-up column: every row has a match. */
bool join_always_matches(const struct handle *key, const struct fe_table *t, int column);
/* PL_WAY_CHILD: share of the probe rows, estimated, that find a row; key: the one that is searched for. */
double pl_child_share(struct ctx *c, const struct pl_join *d, struct handle *key);
/* The stream holds at most one row per value of key. */
bool join_unique_on(struct ctx *c, const struct stream *s, struct handle *key);

/* The columns of rows that were stored, at one of them; fills j->bcols. */
void join_stored_columns(struct ctx *c, struct join *j, const struct stored *st, struct handle *row);
enum pl_probe_kind join_how(enum fe_join_kind k);
/* The probe columns, and the minimum and maximum where the conditions have their columns. */
struct handle **join_extremes_env(struct ctx *c, const struct join *j);
/* The stream of one input of n. */
struct stream *join_stream(const struct pl_node *n, struct stream *in, const struct pl_node *input);
/* The scan that a second pass scans again. */
struct pl_node *join_rescanned(const struct pl_join *d);

/* join_parts.c: the probe rows are stored, to be read part by part; and rows that are stored anyway become parts, if they
 * have the keys. */
int join_store_parts(struct ctx *c, struct join *j);
void join_parts_of(struct ctx *c, const struct join *j, const struct stored *rows);

/* NULL matches NULL in a key. */
bool join_null_equal(const struct pl_join *d, int key);

/* Conjuncts on pairs. */
int join_filter_rest(struct ctx *c, struct join *j);
/* Adds the lookup (PL_WAY_KEY, PL_WAY_FK) to j->s; fills j->bcols and applies the build scan's filter. */
int join_lookup(struct ctx *c, struct join *j, enum pl_probe_kind how);
/* The same for PL_WAY_COLUMN, whose probe row may also be one of a semi, anti or mark join: *mark, its mark. */
int join_search_column(struct ctx *c, struct join *j, enum pl_probe_kind how, struct handle **mark);
/* The same for PL_WAY_BAND, whose step opens a level. */
int join_search_band(struct ctx *c, struct join *j, enum pl_probe_kind how);
/* Rows that come out of it. */
void join_band_rows(const struct ctx *c, struct join *j, enum pl_probe_kind how, double *est);
enum pl_probe_kind join_column_how(const struct join *j);
/* Of that: rows that come out, and the row that is found. */
void join_column_rows(struct ctx *c, struct join *j, struct handle *key, enum pl_probe_kind how, double *est);
struct handle *join_column_row(struct ctx *c, struct join *j, struct handle *key, enum pl_probe_kind how, int slot);
int join_expand_all(struct ctx *c, struct join *j, enum pl_probe_kind how, struct stored *st);
/* Columns of one side where conditions have them. */
struct handle **join_side_env(struct ctx *c, const struct join *j, struct handle *const *cols, bool build);
/* Sorts the build side b, stores it as st, and adds the search for a probe row's matches to j->s; fills j->bcols. */
int join_search(struct ctx *c, struct join *j, struct stream *b, enum pl_probe_kind how, struct stored *st);
/* Loops over pairs in the order of a range (physical.h, `search` of PL_WAY_ALL). The rows of s, whose columns are numbered
 * from lo, are stored sorted by the word of x; before the level opens a probe row has its bounds of that, which are tested
 * on each pair: where rows meet those behind them alone (later), the upper one. */
struct pl_band_slots {
    int low, high;
};
int join_store_in_order(struct ctx *c, struct stream *s, int lo, const struct pl_interval *x, const struct pl_node *n,
                        const bool *want, const bool *by_row, const char *name, struct stored *st);
int join_bound_pairs(struct ctx *c, struct join *j, struct pl_band_slots *b);
int join_filter_band(struct ctx *c, struct join *j, const struct stored *st, struct handle *row, bool later,
                     const struct pl_band_slots *b);
int join_mark_output(struct ctx *c, struct join *j, struct handle *mark, struct stream *out);
/* Kinds that need a second look at the probe rows. b: the build side's rows where a table is built. */
/* A full join that searches a column and has no other condition: in one pass, and one over the table for its rest. */
int join_full_column(struct ctx *c, struct join *j, struct stream *out);
int join_twice(struct ctx *c, struct join *j, struct stream *b, struct stream *out);
int join_output(struct ctx *c, struct join *j, struct stream *out);
#endif
