/* Internal to the files that lower windows: lower_window.c, lower_window_number.c,
 * lower_window_sums.c, flow_window.c. */
#ifndef HEDDLE_PLANNER_LOWER_WINDOW_IN_H
#define HEDDLE_PLANNER_LOWER_WINDOW_IN_H

#include "planner/build.h"
#include "planner/handle.h"
#include "planner/lower_window.h"

/* Fields that finishing writes. */
enum border { BEGIN, END, PEER_BEGIN, PEER_END, PEERS, BORDERS };

struct window_lowering {
    struct ctx *c;
    const struct fe_node *n;
    const struct fe_window *w;
    int nin, state;
    int *column, *value;  /* field of an input column, of a value; -1: nobody needs it */
    int *high; /* field of the high words of a sum whose low ones `value` has; -1: it has no halves */
    struct pl_range *range; /* of a value */
    int border[BORDERS];
    int *found; /* field of a search; -1: nobody needs it */
    double rows; /* at most; they have numbers of 31 bits */
    /* of the reading pipeline */
    struct open_pipeline *p;
    struct handle *row;
    struct handle **cols; /* of the node, as far as they are lowered */
    int slot[BORDERS]; /* slots with border fields; -1 not loaded yet */
    int *found_slot;
};

/* A column that nobody needs. */
struct handle *lw_absent(struct ctx *c, const struct fe_column *col);
int lw_op2(struct ctx *c, enum fe_op op, enum rt_phys ph, int a, int b);
int lw_choose(struct ctx *c, enum rt_phys ph, int cond, int yes, int no);
int lw_border(struct window_lowering *l, enum border b);
/* A number of the partition, I32, and what is to be added to it: the first row that a search has found is counted from 0. */
int lw_number(struct window_lowering *l, const struct fe_window_at *w, int *out);
int64_t lw_added(const struct window_lowering *l, const struct fe_window_at *w);
struct pl_val lw_as_int64(struct window_lowering *l, int number, int64_t lo);

/* The sum of a frame's values, or their mean, as its type; what leaves that raises. */
int lw_difference(struct window_lowering *l, const struct fe_window_value *w, struct handle **out);
/* The same of the distinct values of value i, which finishing has added up. */
int lw_distinct_sum(struct window_lowering *l, int i, struct handle **out);

#endif
