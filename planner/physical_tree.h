/* Internal to the physical planner: making nodes and recording decisions. */
#ifndef HEDDLE_PLANNER_PHYSICAL_TREE_H
#define HEDDLE_PLANNER_PHYSICAL_TREE_H

#include "planner/ctx.h"
#include "planner/physical.h"

/* A node for typed node n with these inputs; rows are n's estimate. */
struct pl_node *pl_node_new(struct ctx *c, enum pl_node_op op, const struct fe_node *n, int ninputs,
                            struct pl_node *const *inputs);
/* Keeps those rows of `in` for which the conjuncts hold; `in` itself if there are none. */
struct pl_node *pl_node_filter(struct ctx *c, struct pl_node *in, const struct fe_expr *const *v, int n, int first,
                               const char *path);
/* Puts the conjuncts that read the build side alone of a join of typed node n below it. */
void pl_filter_build_side(struct ctx *c, const struct fe_node *n, struct pl_join *j);
struct pl_node *pl_node_keep(struct ctx *c, struct pl_node *in, const char *name, const bool *want, const char *path);
struct pl_node *pl_node_read(struct ctx *c, struct pl_node *keep, const char *path);

/* Opens a decision of a node; ways follow, and one of them is taken at the end. */
struct pl_decision *pl_decide(struct ctx *c, struct pl_node *n, const char *name);
void pl_decide_way(struct ctx *c, struct pl_decision *d, const char *name, double ns, const char *why);
/* The same with two numbers that were looked at: they are printed only if somebody wants to see them. */
void pl_decide_detail(struct ctx *c, struct pl_decision *d, const char *name, const char *why, const char *detail,
                      double x, double y);
void pl_decide_take(struct pl_decision *d, const char *name);

#endif
