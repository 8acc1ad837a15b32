/* Plans whose programs have, between them, what the rules of planner/verify_rules.def are about. */
#ifndef HEDDLE_TESTS_VERIFY_PLANS_H
#define HEDDLE_TESTS_VERIFY_PLANS_H

#include "tests/unit/planner/planner_fixture.h"

enum plan {
    SCAN,   /* tile, dictionary map, like, set, text, sort */
    GROUP,  /* dense aggregate of few groups, per thread */
    LANES,  /* some of which share words */
    BLOCK,  /* of more, per block */
    HASHED, /* hash aggregate */
    TOTAL,  /* one row */
    RUNS,   /* clustered groups */
    FOLD,
    FOLD_FRAME, /* groups that are parents, without a state; framed, too */
    HOT,    /* heavy groups in memory */
    SHARED, /* one array for all threads */
    SEMI,
    DIRECT,
    CSR,
    HASH,
    LEFT,
    ARRAY,
    RANKS,
    PARENT,
    CHILDREN,
    COLUMN,
    FULL,
    CROSS, /* joins */
    COPIES, /* wide rows */
    ASOF,   /* an as-of join */
    PAIRS,  /* a loop over pairs */
    COUNTS, /* one that counts in a block's shared memory */
    SORTED, /* a search by key and range */
    BAND,   /* a search for a range of a sorted column */
    REACH,  /* a search for intervals */
    NEAREST, /* one that ranks pairs */
    RANGES, /* an aggregate over a range of sorted rows */
    WIDE,   /* 128 bits: sums, scales, comparisons */
    VALUES,
    ENDS,    /* a filter on a sorted column */
    FIRST,   /* the same on a GPU */
    ZONES,   /* one that rules a zone out */
    BOUNDED, /* the first rows of many */
    ORDER,  /* of a sort below the root */
    FRAME,  /* a framed aggregate */
    KEYS,   /* a framed join with many keys */
    DEVICES,
    MARKS, /* HASH and FULL on two devices */
    PLANS
};

struct verify_plan {
    const char *root; /* as px_read takes it */
    int frame_weight; /* 0: the planner's own */
    int fragments, devices; /* 0: one */
    bool on_gpu;
};
extern const struct verify_plan verify_plans[PLANS];

#endif
