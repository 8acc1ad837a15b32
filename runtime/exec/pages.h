/* Large pieces of address space, and a stock of used ones. Fresh pages are dear: the kernel clears
 * each, on huge pages at about 10 GB/s, on 4 KiB pages at 1, in virtual machines at less. So what
 * an execution has given back is kept, up to a limit, for the next. */
#ifndef HEDDLE_RUNTIME_EXEC_PAGES_H
#define HEDDLE_RUNTIME_EXEC_PAGES_H

#include "runtime/base/util.h"

enum { RT_HUGE_PAGE = 2 << 20 };

/* Aligned to huge pages, a multiple of their size. */
struct rt_extent {
    unsigned char *p;
    size_t size;
    size_t dirty; /* bytes at the front that were used before; what follows is zero */
};

struct rt_pages;
struct rt_pages *rt_pages_new(size_t keep); /* NULL: no memory */
void rt_pages_free(struct rt_pages *c);

/* At least size bytes, the first `want` of which will probably be used. huge: on huge pages from
 * the start. c NULL: without a stock. */
bool rt_pages_get(struct rt_pages *c, size_t size, size_t want, bool huge, struct rt_extent *e);
void rt_pages_put(struct rt_pages *c, struct rt_extent *e);

#endif
