/* Query memory. Everything that grows with data is taken here, so that the limit of a statement
 * and of its context hold and a refusal is an ordinary error. Blocks of a megabyte and more come
 * straight from the system, on huge pages: touching fresh 4 KiB pages runs at about 1 GB/s, huge
 * pages at about 10. */
#ifndef HEDDLE_RUNTIME_EXEC_MEMORY_H
#define HEDDLE_RUNTIME_EXEC_MEMORY_H

#include <stdatomic.h>

#include "runtime/base/util.h"
#include "runtime/exec/pages.h"

struct rt_memory {
    _Atomic uint64_t used, peak;
    _Atomic bool limited;     /* a limit has refused something; otherwise it was the system */
    uint64_t limit;           /* bytes */
    struct rt_memory *parent; /* the context's, or NULL */
    struct rt_pages *pages;   /* the parent's, or NULL; a context sets it */
};
/* limit 0: 80 % of the machine's memory. */
void rt_memory_init(struct rt_memory *m, uint64_t limit, struct rt_memory *parent);
/* False: a limit would be passed; nothing is taken. */
bool rt_memory_reserve(struct rt_memory *m, uint64_t bytes);
void rt_memory_unreserve(struct rt_memory *m, uint64_t bytes);
/* Who refused memory, for a message; what: where it was wanted. */
enum { RT_REFUSAL_TEXT = 160 };
const char *rt_memory_refusal(const struct rt_memory *m, const char *what, char text[RT_REFUSAL_TEXT]);

/* A piece of memory, aligned to 64 bytes. p NULL: none. */
struct rt_block {
    void *p;
    size_t n;
    size_t dirty;   /* bytes at the front that need not be zero */
    size_t extent;  /* size of the extent; 0: from malloc */
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
