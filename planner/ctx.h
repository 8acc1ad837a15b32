/* Internal to the planner: what is built up while a plan goes through its passes (plan.c).
 *
 * A *stream* is a pipeline under construction together with the columns that are available in
 * it. Columns are *handles*: recipes for a value that turn into load or let steps only where a
 * consumer first asks for them, which is what makes materialisation late. A handle belongs to
 * one pipeline; when a pipeline ends in a state, its consumer gets new handles on the state's
 * fields. */
#ifndef HEDDLE_PLANNER_CTX_H
#define HEDDLE_PLANNER_CTX_H

#include "planner/order_told.h"
#include "planner/pipeline.h"
#include "planner/range.h"
#include "runtime/base/vec.h"

struct agg_item;
struct est_node;
struct pl_node;
struct stored;

/* A lowered value: a physical expression with what the planner knows about it. */
struct pl_val {
    int expr;
    enum rt_phys phys;
    bool nullable;
    struct hd_type type;
    struct pl_range range;
    const struct fe_table *dict_table; /* phys I32 code of this dictionary; NULL: plain value */
    int dict_column;
    bool is_const;           /* value is known now: cval */
    struct fe_value cval;
};

enum handle_kind {
    H_SLOT,   /* computed already */
    H_COLUMN, /* column of a table at `row` */
    H_FIELD,  /* field of a state at `row` */
    H_LOOKUP, /* row of `table` found by key index `keyidx` from det[0], known to exist */
    H_EXPR,   /* logical expression over env */
    H_PHYS    /* physical expression `val` */
};

/* Row handles are handles too: I32 values that name a row of `table` or of state `state`. */
struct handle {
    enum handle_kind kind;
    struct hd_type type;
    bool nullable;
    int slot; /* -1 until loaded */
    struct pl_val val;          /* valid once slot >= 0, or H_PHYS */
    struct handle *row;         /* H_COLUMN, H_FIELD */
    const struct fe_table *table;
    int column;
    int state, field;
    const struct fe_expr *expr; /* H_EXPR */
    struct handle **env;
    /* For row handles: what determines the row. det[]: the handles of a unique lookup's keys. */
    bool is_row, row_nullable;
    int ndet;
    struct handle **det;
    int eq_column; /* of a row: this column of it equals eq (join condition); -1 */
    struct handle *eq;
    int keyidx;    /* row found through this key index of `table`, -1 */
    bool null_ext; /* a column of a null-extended side: not usable to prove anything */
    struct handle *what;            /* H_FIELD of no state (known.h): what is kept in it, */
    const struct agg_item *sum;     /* or what is added up there, */
    double sum_rows;                /* of so many rows at most */
    double share;  /* of rows for which a computed boolean holds, once somebody has asked */
    bool has_share;
    int stamp;     /* of the last walk that saw it, */
    bool known;    /* and what that found */
};

/* What one pipeline has at hand, before there is one. */
struct at_hand {
    struct handle *source;           /* row of the table that it scans; NULL: it reads a state */
    HD_VEC(struct handle *) lookups; /* rows found by unique key in it */
    struct handle *parent,
        *child; /* of the last join by a foreign key's index: rows of both sides, where no parent comes twice */
};

struct stream {
    int pipeline; /* index into ctx->pipelines; -1: none yet, what is known of its rows alone (flow.h) */
    struct at_hand *at; /* of a stream without pipeline */
    int ncols;
    struct handle **cols;
    double est;      /* estimated rows */
    double max_rows; /* proven upper bound */
    /* At most one row per value of this row handle (NULL: unknown), or per combination of
     * these columns (nunique > 0). */
    struct handle *unique_row;
    int nunique;
    struct handle **unique;
    bool ordered; /* rows come in an order that the result must keep */
    const struct stored *rows; /* that it reads, of a KEEP; a KEEP itself has no pipeline */
};

/* What a handle was before it was loaded inside a fold, behind which it is to be loaded again. */
struct pl_folded {
    struct handle *h;
    struct pl_val val;
};

struct open_pipeline {
    struct rt_pipeline spec;
    int source_slot;
    HD_VEC(struct pl_slot) slots;
    HD_VEC(struct pl_step) steps;
    struct pl_sink sink;
    int level;       /* steps so far that open one */
    int queue_bytes; /* of a GPU block's shared memory for these, at most */
    int counted_slots; /* that were there when the next level's room was looked at (cut.c) */
    HD_VEC(struct handle *) lookups; /* rows found by unique key in this pipeline */
    double est; /* of rows at the current end */
    bool framed;
    struct pl_loop loop;
    bool first_match; /* as in struct pl_pipeline */
    struct pl_open_fold {
        struct handle *parent; /* of the fold that is open; NULL: none is */
        int step, nlookups; /* that opens it; of `lookups`, those that were there before */
        int parent_slot, number; /* of the parent's row, and of its number among the long ones, -1: it is none */
        HD_VEC(struct pl_folded) loaded;
    } fold;
};

struct shared_state {
    int uses;
    struct pl_node *keep; /* of several uses, once there */
};

/* Of a shared subplan that the planner made: its costs, and those of computing it at each use. */
struct shared_told {
    const struct fe_node *n;
    double together, at_each;
};

/* Expressions that are evaluated once for each entry of a dictionary, by address. */
struct planned_maps {
    const struct fe_expr **places;
    int cap, n;
};

/* A dictionary map that exists already: (table, column, expression) -> state. */
struct dict_map {
    const struct fe_table *table;
    int column;
    const struct fe_expr *expr;
    struct pl_val proto;
    int state;
};

/* Numbers by hash, each plus 1; 0 is a free place. */
struct pl_index {
    int *places;
    int cap, n;
};

/* A pipeline that runs, or a state that is finished: the other is -1. */
struct pl_turn {
    int pipeline, state;
};

struct ctx {
    struct hd_arena *a;
    const struct fe_plan *plan;
    struct pl_options opt;
    struct hd_err *err;
    HD_VEC(struct pl_expr) exprs;
    HD_VEC(int) weights; /* of expressions, 0 not known (parts.c) */
    HD_VEC(struct rt_arg) args;
    struct pl_index arg_index, site_index;
    int nwords;
    HD_VEC(struct rt_state) states;
    HD_VEC(double) state_rows; /* of each: rows at most, proven */
    HD_VEC(int) appended;      /* states in which several streams end, in the order in which they were made */
    HD_VEC(struct open_pipeline *) pipelines;
    HD_VEC(struct pl_turn) turns; /* pipelines and finishes in the order in which they can take place */
    HD_VEC(struct rt_site) sites;
    HD_VEC(const char *) notes;
    struct planned_maps *maps_planned;
    HD_VEC(struct dict_map) maps;
    int stamp;     /* of the last walk over handles */
    HD_VEC(struct order_told) told; /* of joins whose order was looked at */
    HD_VEC(struct order_counted) counted; /* nodes of which samples tell more than facts */
    struct est_node *est; /* [node id]: estimates made so far */
    bool **need; /* [node id][output column]: asked for by somebody above */
    bool *ordered; /* [node id]: the result shows this node's row order */
    struct shared_state *shared;
    HD_VEC(struct shared_told) shared_told;
    int nnodes;              /* of the physical plan */
    struct pl_node *physical;
    struct stored **flows;   /* [physical node]: what is known of the rows of a KEEP (flow.c) */
    struct ctx *scratch;     /* where expressions are lowered for what is known of them (known.c) */
    struct pl_node *at;      /* that is being lowered: states are its */
    struct stored **kept;    /* [physical node]: rows of a KEEP, once computed */
    struct pl_program *program;
};

#endif
