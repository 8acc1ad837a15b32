/* Nodes of typed plans that rewriting makes. */
#ifndef HEDDLE_PLANNER_REWRITE_NODE_H
#define HEDDLE_PLANNER_REWRITE_NODE_H

#include "frontend/plan.h"

struct rewriting {
    struct hd_arena *a;
    struct fe_plan *plan; /* the one that is made */
    int cap;              /* of plan's shared subplans */
    int *moved;           /* [shared subplan of the plan as it was]: its number now */
};

/* A node over up to two inputs, without columns. */
struct fe_node *rw_node(const struct rewriting *w, enum fe_relop op, const struct fe_node *of, int ninputs,
                        struct fe_node *x, struct fe_node *y);
/* n's columns = copies of those of `of`. */
void rw_set_columns(const struct rewriting *w, struct fe_node *n, const struct fe_node *of);
/* Column i of n; all of them. */
struct fe_expr *rw_column(const struct rewriting *w, const struct fe_node *n, int i);
struct fe_expr **rw_columns(const struct rewriting *w, const struct fe_node *n);

struct fe_node *rw_copy(const struct rewriting *w, const struct fe_node *n);
/* Appends a shared subplan; its number. */
int rw_add_shared(struct rewriting *w, const char *name, struct fe_node *n);
/* A node that can be copied: n itself where rows cost no more when they are made twice, else a reference to it. */
struct fe_node *rw_share(struct rewriting *w, struct fe_node *n, const char *name);
/* What e is compared by: of an interval its length, else e. */
struct fe_expr *rw_key(const struct rewriting *w, struct fe_expr *e);
/* A join that compares the first nk columns, of expressions lkeys over `left`, with those of `right`, NULL alike, and
 * `by`, which may be NULL, with column `at`. */
struct fe_node *rw_join(const struct rewriting *w, enum fe_join_kind kind, struct fe_node *left, struct fe_node *right,
                        int nk, struct fe_expr *const *lkeys, struct fe_expr *by, int at);
/* Numbers all nodes, once they are there. */
void rw_renumber(struct fe_plan *p);

#endif
