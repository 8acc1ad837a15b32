/* Checksums of memory that lies in a temporary file, from when it is written for good until it is read: a disk that gives back
 * something else, or a file that was cut, is one error with its place in place of wrong rows. */
#ifndef HEDDLE_RUNTIME_EXEC_CHECKSUMS_H
#define HEDDLE_RUNTIME_EXEC_CHECKSUMS_H

#include "runtime/exec/memory.h"

/* Of n bytes at p, in pieces of RT_SPILL_UNIT from p on. sum NULL: nothing of them was in a file. */
struct rt_checksums {
    const unsigned char *p;
    size_t n, pieces;
    uint64_t *sum; /* XXH3 of 64 bits; 0: the piece is in memory, or not sealed yet */
};

/* Room for them. False: no memory. */
bool rt_checksums_new(const struct rt_memory *m, const void *p, size_t n, struct rt_checksums *out);
void rt_checksums_free(struct rt_checksums *c);
/* Nobody writes the piece from now on. False: it cannot be read (rt_memory_refusal says why). Any thread, a piece each. */
bool rt_checksums_seal(const struct rt_memory *m, struct rt_checksums *c, size_t piece);
/* Whether the sealed pieces that have bytes of [from, to), counted from p, are as they were; they are in memory then. False:
 * rt_memory_refusal says where they are not. Any thread. */
bool rt_checksums_verify(const struct rt_memory *m, const struct rt_checksums *c, size_t from, size_t to);

#endif
