/* Internal to the join files: one join being lowered. */
#ifndef HEDDLE_PLANNER_JOIN_H
#define HEDDLE_PLANNER_JOIN_H

#include "planner/key_pack.h"
#include "planner/physical.h"
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

/* join_build.c: build a state from the build side and probe it. */
struct built {
    enum rt_state_kind kind;
    int state;
    bool unique, dedupe;
    struct pack pack;
    bool packed;
    int nkeys, ncols; /* columns of the build stream */
    struct handle **bkeys;
    struct pl_val *bv;
    struct kept kept;
    int *keep_of;         /* build column -> position among kept columns, -1 */
    struct handle **same; /* build column equal to a probe key: that handle */
    double keys, fanout;  /* estimates: distinct keys, build rows a matching probe row meets */
    double max_rows, max_per_key; /* proven: of the build side, of one key */
};
int jb_build(struct ctx *c, struct join *j, struct stream *b, struct stream *s, struct built *t, bool existence,
             bool all_rows);
/* Appends the probe of t to j->s as kind `how`; fills j->bcols. mark: slot of a BOOL (MARK). */
int jb_probe(struct ctx *c, struct join *j, struct built *t, enum pl_probe_kind how, struct handle **mark);

/* Conjuncts on pairs. */
int join_filter_rest(struct ctx *c, struct join *j);
/* Adds the lookup (PL_WAY_KEY, PL_WAY_FK) to j->s; fills j->bcols and applies the build scan's filter. */
int join_lookup(struct ctx *c, struct join *j, enum pl_probe_kind how);
int join_expand_all(struct ctx *c, struct join *j, enum pl_probe_kind how, struct stored *st);
int join_mark_output(struct ctx *c, struct join *j, struct handle *mark, struct stream *out);
/* Kinds that need a second look at the probe rows. b: the build side's rows where a table is built. */
int join_twice(struct ctx *c, struct join *j, struct stream *b, struct stream *out);
int join_output(struct ctx *c, struct join *j, struct stream *out);
#endif
