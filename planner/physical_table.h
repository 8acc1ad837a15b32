/* Choices that depend on the widths and ranges of computed keys, which lowering finds: the tables of joins and the
 * states of groupings. Lowering asks once for each, hands over the facts, and does what it is told; the answer is
 * recorded at the node. */
#ifndef HEDDLE_PLANNER_PHYSICAL_TABLE_H
#define HEDDLE_PLANNER_PHYSICAL_TABLE_H

#include "planner/physical_tree.h"

/* What is known of a join's build side once its keys are lowered. */
struct pl_table_facts {
    bool packed;      /* the keys are one integer of a range */
    double range;     /* of it */
    double rows;      /* estimated */
    int kept;         /* fields that the probe side sees */
    bool unique;      /* one row for each key at most */
    bool existence;   /* only whether a key is there */
    bool all_rows;    /* rows without a match are asked for, too */
    bool null_equal;  /* NULL keys match each other */
    enum fe_strategy strategy;
};
/* BITMAP, DIRECT, CSR or HASH. */
enum rt_state_kind pl_choose_table(struct ctx *c, struct pl_node *n, const struct pl_table_facts *f);

/* What is known of a grouping once its keys are lowered. */
struct pl_group_facts {
    int nkeys, nkept;      /* keys as written, and those that the others do not determine */
    bool packed;
    double range;
    double row_bytes;      /* of a group, about */
    double rows;           /* estimated, of the input */
    bool sharable;         /* all accumulators can be updated by atomics */
    bool clustered;        /* equal keys arrive in runs */
};
/* Whether it is worth finding out if groups are sharable. */
bool pl_shared_groups_pay(const struct pl_group_facts *f);
/* AGG_SCALAR, AGG_DENSE or AGG_HASH; shared: one copy of the dense groups, updated by atomics. */
enum rt_state_kind pl_choose_groups(struct ctx *c, struct pl_node *n, const struct pl_group_facts *f, bool *shared);

#endif
