/* Distributing the rows of a state over parts by the top bits of a number in each row, or of a hash of its fields, so
 * that what follows works on pieces that fit a core's own cache. */
#ifndef HEDDLE_RUNTIME_EXEC_PARTITION_H
#define HEDDLE_RUNTIME_EXEC_PARTITION_H

#include <string.h>

#include "runtime/exec/exec_internal.h"
#include "runtime/exec/keys.h"

enum { RT_MAX_PARTS = 512 };

struct rt_parts {
    int n;             /* a power of two; 1: rows stay where they are */
    int offset, shift; /* part of a row: (u64 at offset & mask) >> shift */
    uint64_t mask;
    const struct rt_state *hashed; /* not NULL: its partition says of which fields the number is the hash */
    const unsigned char *rows; /* of all parts */
    uint64_t start[RT_MAX_PARTS + 1];
};

/* Parts for rows and whatever else is touched at random, `bytes` in all. */
int rt_parts_wanted(uint64_t bytes);
/* Needs n, offset, mask, shift of p. rows: n rows, to be distributed into `to`. 0, or -1 once
 * the execution has failed. */
int rt_parts_make(struct rt_exec *x, const struct rt_state *s, struct rt_parts *p, const unsigned char *rows,
                  uint64_t n, unsigned char *to);

/* Rows are multiples of 8 bytes; the frequent sizes without a call. */
static inline void rt_copy_row(unsigned char *to, const unsigned char *from, size_t stride)
{
    switch (stride) {
    case 8: memcpy(to, from, 8); return;
    case 16: memcpy(to, from, 16); return;
    case 24: memcpy(to, from, 24); return;
    case 32: memcpy(to, from, 32); return;
    case 40: memcpy(to, from, 40); return;
    case 48: memcpy(to, from, 48); return;
    case 64: memcpy(to, from, 64); return;
    default: memcpy(to, from, stride); return;
    }
}

#endif
