/* The synthetic evaluation tree of test_nifs.c: what the host tells tree.cu through the args
 * vector. Every node has a number within its level. */
#ifndef HEDDLE_TESTS_SIMT_TREE_H
#define HEDDLE_TESTS_SIMT_TREE_H

enum { TREE_LEVELS = 4, TREE_DONATION_BYTES = 2576, TREE_SLOT_BYTES = 48 };

/* Words of the args vector. */
enum tree_word {
    TREE_KEEP,                           /* u8 per row: passes the tile's predicate */
    TREE_FIRST,                          /* + level: u32 per node, number of its first child */
    TREE_FAN = TREE_FIRST + TREE_LEVELS, /* + level: u32 per node, number of children */
    TREE_PARENT = TREE_FAN + TREE_LEVELS,    /* + level: u32 per node */
    TREE_VISITS = TREE_PARENT + TREE_LEVELS, /* + level: u32 per node, counted by the kernel */
    TREE_WRONG = TREE_VISITS + TREE_LEVELS,  /* u32: nodes that came with another tuple */
    TREE_WORDS
};

#endif
