/* Cuts a plan into fragments for several workers, each of which has the whole database: plans of their own, which any
 * engine of Heddle's plans can run. docs/scale.md says what is distributed how. */
#ifndef HEDDLE_PLANNER_DISTRIBUTE_H
#define HEDDLE_PLANNER_DISTRIBUTE_H

#include "planner/distribute_scheme.h"

struct cJSON;

struct pl_distribute_options {
    int workers;
    bool segments; /* worker k has segment k of tables of so many, and reads no others of them; else all rows of all */
    bool gpus; /* workers are GPUs of one host, side by side, */
    double link; /* with so many bytes a second from one to another; 0: not known */
    double
        memory; /* bytes for the states of a worker: fragments are cut so that they fit, if possible; 0: as is fastest */
    bool streams; /* with memory: tables have no room beside the states, so that each pass reads them over the link */
    bool divide; /* for tests: tables that every worker has whole are divided whatever that costs */
    pl_value_fn value;
    /* As in struct pl_options. */
    int (*touch_dict)(const struct fe_table *t, int column, struct hd_err *err);
};

/* plan: the typed plan of the tree, with values for its parameters. The document lives in the arena. */
int pl_distribute(struct hd_arena *a, const struct fe_plan *plan, const struct cJSON *tree,
                  const struct fe_catalog *cat, const struct pl_distribute_options *opt, struct cJSON **out,
                  struct hd_err *err);

#endif
