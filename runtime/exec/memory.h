/* Query memory. Everything that grows with data is taken here, so that the limit of a statement
 * and of its context hold and a refusal is an ordinary error. Blocks of a megabyte and more come
 * straight from the system, on huge pages: touching fresh 4 KiB pages runs at about 1 GB/s, huge
 * pages at about 10.
 *
 * An execution that may spill (rt_memory_spill) takes what a limit has no more room for from a temporary file (spill.h):
 * regions and large blocks once five eighths of a limit are used, blocks of up to a sixteenth of it, which are tables and
 * buffers that somebody works on, once seven eighths are. What is smaller than RT_SPILL_UNIT is always memory. Pages of
 * the file get what is left. */
#ifndef HEDDLE_RUNTIME_EXEC_MEMORY_H
#define HEDDLE_RUNTIME_EXEC_MEMORY_H

#include <stdatomic.h>

#include "runtime/base/util.h"
#include "runtime/exec/pages.h"
#include "runtime/exec/spill.h"

struct rt_memory {
    _Atomic uint64_t used, peak;
    _Atomic int64_t resident; /* bytes of files that are in memory, not in `used` */
    _Atomic bool limited;     /* a limit has refused something; otherwise it was the system */
    uint64_t limit;           /* bytes */
    struct rt_memory *parent; /* the context's, or NULL */
    struct rt_pages *pages;   /* the parent's, or NULL; a context sets it */
    struct rt_temp *temp;     /* the parent's, or NULL: no files; a context sets it */
    struct rt_spill *spill;   /* of an execution that may spill, else NULL */
    uint64_t filed_beyond; /* for tests: bytes of memory for all that can be in the file; UINT64_MAX: by the limit */
};
/* limit 0: 80 % of the machine's memory. */
void rt_memory_init(struct rt_memory *m, uint64_t limit, struct rt_memory *parent);
/* Of an execution: from now on what does not fit goes into a file, if the context has a place for it. stopped: not 0 once
 * the execution has failed; may be NULL. False: no memory. All must be freed before rt_memory_release. */
bool rt_memory_spill(struct rt_memory *m, const _Atomic int *stopped);
void rt_memory_release(struct rt_memory *m);
/* False: a limit would be passed; nothing is taken. */
bool rt_memory_reserve(struct rt_memory *m, uint64_t bytes);
void rt_memory_unreserve(struct rt_memory *m, uint64_t bytes);
/* The smallest limit of m and its parents. */
uint64_t rt_memory_limit(const struct rt_memory *m);
/* Bytes that an execution that may spill can still take before it does; of another one UINT64_MAX. */
uint64_t rt_memory_left(const struct rt_memory *m);
/* Who refused memory, as the message and the class of an error; what: where it was wanted. */
enum { RT_REFUSAL_TEXT = 400 };
enum hd_err_class rt_memory_refusal(const struct rt_memory *m, const char *what, char text[RT_REFUSAL_TEXT]);

/* A piece of memory, aligned to 64 bytes. p NULL: none. */
struct rt_block {
    void *p;
    size_t n;
    size_t dirty; /* bytes at the front that need not be zero */
    size_t extent; /* size of the extent; 0: from malloc or the file */
    bool filed; /* in the file */
    size_t touched; /* of the extent, by anybody */
};
/* False: no memory. n 0 is allowed and gives a valid address. */
bool rt_block_new(struct rt_memory *m, size_t n, bool zero, struct rt_block *b);
void rt_block_free(struct rt_memory *m, struct rt_block *b);

/* A growing array that never moves: address space for all that the limit allows is reserved at
 * once, bytes are accounted as they are taken. Any thread may take. */
struct rt_region {
    unsigned char *base; /* NULL until the first piece is taken */
    size_t reserved;
    size_t dirty; /* used by anybody so far */
    _Atomic size_t used;
    _Atomic bool huge;
    /* Of an execution that may spill: */
    _Atomic size_t backed; /* bytes at the front that have memory or a place in the file */
    size_t counted; /* of them in memory */
    bool in_file; /* some are not */
    uint64_t filed; /* bytes put into the file so far, of what was freed too */
};
/* want: bytes that will probably be taken, 0 unknown. */
bool rt_region_reserve(struct rt_memory *m, struct rt_region *r, size_t want);
/* The next n bytes; NULL at the limit. The region must be reserved. */
void *rt_region_alloc(struct rt_memory *m, struct rt_region *r, size_t n);
/* Gives back what lies beyond n bytes. No other thread may use the region meanwhile. */
void rt_region_trim(struct rt_memory *m, struct rt_region *r, size_t n);
void rt_region_free(struct rt_memory *m, struct rt_region *r);

/* Bump allocation for strings of one thread. */
struct rt_heap {
    struct rt_heap_chunk *head;
    size_t used, cap;
};
void *rt_heap_alloc(struct rt_memory *m, struct rt_heap *h, size_t n); /* NULL at the limit */
void rt_heap_free(struct rt_memory *m, struct rt_heap *h);

#endif
