/* The joins of a typed plan taken apart: relations, the columns of all of them behind each other, and what conditions say
 * of these. order_flatten.c makes it, order_implied.c adds what follows from it, order_facts.c tells it in numbers, and
 * order_build.c makes joins of it again. */
#ifndef HEDDLE_PLANNER_ORDER_QUERY_H
#define HEDDLE_PLANNER_ORDER_QUERY_H

#include "frontend/plan.h"
#include "planner/order_graph.h"
#include "runtime/base/vec.h"

/* A relation: a subplan whose rows are joined. INNER: as part of the inner joins. SEMI, ANTI, MARK, LEFT: as the right
 * side of such a join, which is moved as a whole. */
struct order_source {
    const struct fe_node *orig; /* as it was */
    struct fe_node *inside; /* with what is inside of it ordered */
    struct fe_node *n; /* and filtered, if it is INNER */
    int base; /* its first column; MARK: the last one is the mark */
    enum fe_join_kind kind;
    const struct fe_node *join; /* that it is the right side of, unless INNER */
    order_set reduced_by; /* relations whose filters are in `inside` */
    order_set needs; /* relations on the left of that join's condition */
};

/* A conjunct over the columns of the query. */
struct order_term {
    struct fe_expr *e;
    struct fe_expr *sides[2]; /* of an equality of unlike relations; or NULL */
    bool null_equal;
    order_set relations, of[2]; /* that e, and each side, reads */
    int owner; /* the source, not INNER, whose join's condition it is part of; -1: it is tested of all rows */
    int class; /* of an equality that its class says; -1 */
    bool implied; /* by others: nobody must test it once relations are joined */
    int from; /* the term that it is a part of; -1 */
    double share;
};

struct order_member {
    struct fe_expr *e;
    int relation;
};
/* Expressions that equal each other, of INNER relations. */
struct order_equals {
    HD_VEC(struct order_member) members;
};

struct order_column_of {
    struct fe_column c;
    int relation;
};
struct order_pair {
    order_set left, right;
};

struct order_query {
    struct hd_arena *a;
    const struct fe_plan *plan;
    struct shared_state *shared;
    struct fe_node *(*inside)(void *, const struct fe_node *); /* orders the joins below a relation */
    void *data;
    int *next_id; /* of nodes that are made, so that there are estimates of them */
    const struct fe_node *root;
    struct fe_expr **map; /* [column of root]: over the query's columns */
    HD_VEC(struct order_source) sources;
    HD_VEC(struct order_column_of) columns;
    HD_VEC(struct order_term) terms;
    HD_VEC(struct order_equals) equals;
    HD_VEC(struct order_pair) written; /* joins in the order of the plan, inputs first */
    HD_VEC(struct fe_expr *)
    last; /* conjuncts of the root that may raise: tested of rows that passed all else */
};

#endif
