/* The tables of joins and the states of groupings: what keys allow, and what is chosen. */
#ifndef HEDDLE_PLANNER_PHYSICAL_TABLE_H
#define HEDDLE_PLANNER_PHYSICAL_TABLE_H

#include "planner/key_pack.h"
#include "planner/physical_tree.h"

/* Rows put side by side by the bits of their keys' hash, so that a table beyond the cache is built and looked at
 * window by window. */
struct pl_parts {
    bool build, probe; /* rows of that side */
    int top, cpu_bits, gpu_bits; /* as in struct rt_partition */
};

/* The table that a join builds of one side. */
struct pl_table {
    enum rt_state_kind kind; /* BITMAP, DIRECT, CSR or HASH; ROWS: sorted by the keys */
    bool existence;     /* only whether a key is there */
    bool unique;        /* one row for each key at most */
    bool *null_equal;   /* by key: NULL matches NULL, and both sides may have it; NULL: no such key */
    int *scale;         /* by key: the scale at which it is compared, -1: its own; NULL: all by their own */
    struct pack pack;   /* of the keys, where the table is addressed by them */
    struct pl_parts parts; /* HASH */
    int *same;          /* [build column]: the key of the probe side that it equals and is taken from, -1: none */
    const bool *by_row; /* [kept build column] by the id of its row, else its value */
    bool ties;          /* ROWS: of rows with equal keys the columns that are kept tell the first one */
    double rate;        /* estimated share of the probe rows that find a match, */
    double fanout;      /* and build rows that such a row meets */
    double max_per_key; /* proven: rows of one key */
};

/* A key that the others determine, and how it comes back. */
struct handle;
struct pl_removed_key {
    bool removed, by_lookup; /* by a row of a table, which a kept key finds; else its value is carried along */
    int key, index;          /* by_lookup: that key's number, and the key index that finds the row */
    int row_of;              /* number of the first removed key that comes from the same row */
    const struct fe_table *table;
    int column; /* of the table, */
    const struct fe_expr *expr; /* or over its columns; NULL: that column */
    const struct handle *row; /* that it came from */
};

/* One grouping: its keys and its state. */
struct pl_grouping {
    enum rt_state_kind kind; /* AGG_SCALAR, AGG_DENSE or AGG_HASH */
    bool shared;             /* AGG_DENSE: one copy, updated by atomics */
    const struct pl_fold_facts
        *fold; /* no state: the rows of each group are added up where their parent is; NULL: a state */
    bool clustered;          /* equal keys arrive in runs */
    int nkept;               /* keys that others do not determine */
    struct pl_removed_key *removed; /* [key] */
    const bool *any_by_row;  /* [removed key that is carried along] by the id of its row */
    bool word;               /* AGG_HASH: the packed keys are the key, and rows are slots */
    struct pack pack;        /* AGG_DENSE, `word`: of the kept keys */
    struct pl_parts parts;   /* AGG_HASH: of the rows that are grouped */
    double groups;           /* estimated */
    double max_rows;         /* of a group, by facts */
};

/* What is known of a join's build side by its keys. */
struct pl_table_facts {
    bool packed;      /* the keys are one integer of a range */
    double range;     /* of it */
    double rows;      /* estimated */
    int kept;         /* fields that the probe side sees */
    bool unique;      /* one row for each key at most */
    bool existence;   /* only whether a key is there */
    bool all_rows;    /* rows without a match are asked for, too */
    bool null_equal;  /* NULL matches NULL in a key that may be NULL on both sides */
    enum fe_strategy strategy;
};
/* Keys address the table, if pl_choose_table is asked. */
bool pl_is_addressed(const struct ctx *c, const struct pl_table_facts *f);
/* BITMAP, DIRECT, CSR or HASH. */
enum rt_state_kind pl_choose_table(struct ctx *c, struct pl_node *n, const struct pl_table_facts *f);

/* What is known of the rows of both sides of a hash table. */
struct pl_parts_facts {
    double build, probe; /* estimated */
    bool kept_order;     /* of the probe rows, which somebody sees */
    bool unique;
    enum fe_strategy strategy;
};
struct pl_parts pl_choose_parts(struct ctx *c, struct pl_node *n, const struct pl_parts_facts *f);

/* Parts of the rows of an AGG_HASH; none but on a GPU, as threads of a CPU put the groups of full tables into parts. */
struct pl_parts pl_choose_group_parts(struct ctx *c, struct pl_node *n, double rows, double groups, bool clustered);

/* Whether the rows of an AGG_HASH are its slots: on a GPU, where the keys are a word and rows are short. */
bool pl_choose_word_groups(struct ctx *c, struct pl_node *n, bool packed, double row_bytes);

/* What is known of groups that are parents, by a foreign key with an index, of the rows that are grouped. */
struct pl_fold_facts {
    bool parented; /* they are */
    const struct fe_table *child; /* whose rows these are, */
    int fk; /* and its foreign key */
    struct pl_node *from; /* the scan of the children, or the join that finds them from their parents */
    struct handle *parent; /* of such a join: its row */
    const char *why_not; /* they cannot be folded, NULL: they can */
    double parents,
        tested; /* rows, estimated: of parents, and of children that a scan would try conditions on in vectors */
    double long_children; /* of parents with too many */
};

/* What is known of a grouping by its keys. */
struct pl_group_facts {
    int nkeys, nkept; /* keys as written, and those that the others do not determine */
    bool packed;
    double range;
    double row_bytes; /* of a group, about */
    double rows; /* estimated, of the input */
    bool sharable; /* all accumulators can be updated by atomics */
    bool clustered; /* equal keys arrive in runs */
    const struct pl_fold_facts *fold;
};
/* Whether it is worth finding out if groups are sharable. */
bool pl_shared_groups_pay(const struct ctx *c, const struct pl_group_facts *f);
/* Sets kind, shared and fold. */
void pl_choose_groups(struct ctx *c, struct pl_node *n, const struct pl_group_facts *f, struct pl_grouping *d);

#endif
