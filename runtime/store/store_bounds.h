/* What keeps readers of stored arrays inside them: offsets, dictionary codes, row numbers and
 * values are checked against the catalog and against each other. A right checksum does not say
 * that: whoever wrote the file may have been wrong, or hostile. */
#ifndef HEDDLE_RUNTIME_STORE_BOUNDS_H
#define HEDDLE_RUNTIME_STORE_BOUNDS_H

#include "frontend/catalog.h"

/* What a file holds. FREE: bytes that nothing follows. */
enum rt_part_kind {
    RT_PART_FREE,
    RT_PART_VALID,    /* bitmap */
    RT_PART_VALUES,   /* numbers or codes, within min and max */
    RT_PART_ENDS,     /* of texts */
    RT_PART_DICT,     /* offsets of a dictionary */
    RT_PART_KEY,      /* rows by key */
    RT_PART_RANKS,    /* keys as bits, with ranks */
    RT_PART_OFFSETS,  /* children by parent */
    RT_PART_CHILDREN, /* their rows */
};
struct rt_part {
    enum rt_part_kind kind;
    const struct fe_table *table;
    int number;                /* of the column, key index or foreign key */
    uint64_t size, other_size; /* of the file; of what it points into */
    int64_t count;             /* VALID, RANKS: bits seen so far */
};

/* Looks at bytes [from, to) of the part, whose file is at p: pieces come from the start without
 * gaps and begin at multiples of 64 KiB. Parts of the column that it refers to must have passed:
 * its bitmap, text_base, dict_bytes. NULL, or what is wrong. */
enum { RT_PART_PIECE = 1 << 16 };
const char *rt_part_check(struct rt_part *x, const void *p, uint64_t from, uint64_t to);

#endif
