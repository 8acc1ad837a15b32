#include "runtime/exec/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/fault.h"

enum { MAPPED = 1 << 20, ALIGN = 64, HEAP_CHUNK = 1 << 16 };

static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : (uint64_t)1 << 32;
}

void rt_memory_init(struct rt_memory *m, uint64_t limit, struct rt_memory *parent)
{
    atomic_init(&m->used, 0);
    atomic_init(&m->peak, 0);
    atomic_init(&m->limited, false);
    m->limit = limit ? limit : machine_memory() / 10 * 8;
    m->parent = parent;
    m->pages = parent ? parent->pages : NULL;
}

bool rt_memory_reserve(struct rt_memory *m, uint64_t bytes)
{
    uint64_t now = atomic_fetch_add(&m->used, bytes) + bytes;
    if (now > m->limit || (m->parent && !rt_memory_reserve(m->parent, bytes))) {
        atomic_fetch_sub(&m->used, bytes);
        atomic_store(&m->limited, true);
        return false;
    }
    uint64_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
    while (now > peak && !atomic_compare_exchange_weak(&m->peak, &peak, now))
        ;
    return true;
}

void rt_memory_unreserve(struct rt_memory *m, uint64_t bytes)
{
    for (; m; m = m->parent)
        atomic_fetch_sub(&m->used, bytes);
}

/* The smallest of m and its parents. */
static uint64_t smallest_limit(const struct rt_memory *m)
{
    uint64_t limit = m->limit;
    for (m = m->parent; m; m = m->parent)
        limit = HD_MIN(limit, m->limit);
    return limit;
}

const char *rt_memory_refusal(const struct rt_memory *m, const char *what, char text[RT_REFUSAL_TEXT])
{
    if (atomic_load(&m->limited))
        snprintf(text, RT_REFUSAL_TEXT, "the memory limit of %llu bytes is reached (%s)",
                 (unsigned long long)smallest_limit(m), what);
    else
        snprintf(text, RT_REFUSAL_TEXT, "the system refused memory (%s); the limit of %llu bytes is not reached", what,
                 (unsigned long long)smallest_limit(m));
    return text;
}

/* Whole pages for extents, whole lines for the others. */
static size_t block_bytes(size_t n)
{
    return n >= MAPPED ? hd_align_up(n, 4096) : hd_align_up(n ? n : 1, ALIGN);
}

static bool block_of_extent(struct rt_memory *m, struct rt_block *b)
{
    struct rt_extent e;
    if (!rt_pages_get(m->pages, b->n, b->n, true, &e))
        return false;
    b->p = e.p;
    b->extent = e.size;
    b->dirty = HD_MIN(e.dirty, b->n);
    b->touched = HD_MAX(e.dirty, hd_align_up(b->n, 4096));
    return true;
}

static bool block_of_malloc(struct rt_block *b)
{
    b->p = hd_fault(HD_FAULT_ALLOC) ? NULL : aligned_alloc(ALIGN, block_bytes(b->n));
    b->dirty = b->n;
    return b->p != NULL;
}

bool rt_block_new(struct rt_memory *m, size_t n, bool zero, struct rt_block *b)
{
    size_t bytes = block_bytes(n);
    *b = (struct rt_block){.n = n};
    if (bytes < n || !rt_memory_reserve(m, bytes))
        return false;
    if (!(bytes >= MAPPED ? block_of_extent(m, b) : block_of_malloc(b))) {
        rt_memory_unreserve(m, bytes);
        return false;
    }
    if (zero) {
        memset(b->p, 0, b->dirty);
        b->dirty = 0;
    }
    return true;
}

void rt_block_free(struct rt_memory *m, struct rt_block *b)
{
    if (!b->p)
        return;
    if (b->extent) {
        struct rt_extent e = {b->p, b->extent, b->touched};
        rt_pages_put(m->pages, &e);
    } else {
        free(b->p);
    }
    rt_memory_unreserve(m, block_bytes(b->n));
    *b = (struct rt_block){.p = NULL};
}

bool rt_region_reserve(struct rt_memory *m, struct rt_region *r, size_t want)
{
    uint64_t limit = HD_MIN(smallest_limit(m), (uint64_t)1 << 42);
    struct rt_extent e;
    if (!rt_pages_get(m->pages, (size_t)limit + RT_HUGE_PAGE, want, false, &e))
        return false;
    r->base = e.p;
    r->reserved = e.size;
    r->dirty = e.dirty;
    atomic_init(&r->used, 0);
    atomic_init(&r->huge, e.dirty > MAPPED);
    return true;
}

void *rt_region_alloc(struct rt_memory *m, struct rt_region *r, size_t n)
{
    if (!rt_memory_reserve(m, n))
        return NULL;
    size_t at = atomic_fetch_add(&r->used, n);
    if (at + n > r->reserved) {
        atomic_fetch_sub(&r->used, n);
        atomic_store(&m->limited, true); /* all that the limit allows is reserved */
        rt_memory_unreserve(m, n);
        return NULL;
    }
    /* Small regions stay on small pages; the first huge one is the second of the region. */
    if (at + n > MAPPED && !atomic_exchange(&r->huge, true))
        madvise(r->base + RT_HUGE_PAGE, r->reserved - RT_HUGE_PAGE, MADV_HUGEPAGE);
    return r->base + at;
}

void rt_region_trim(struct rt_memory *m, struct rt_region *r, size_t n)
{
    size_t used = atomic_load(&r->used);
    r->dirty = HD_MAX(r->dirty, used);
    if (n < used) {
        rt_memory_unreserve(m, used - n);
        atomic_store(&r->used, n);
    }
}

void rt_region_free(struct rt_memory *m, struct rt_region *r)
{
    if (!r->base)
        return;
    size_t used = atomic_load(&r->used);
    struct rt_extent e = {r->base, r->reserved, HD_MIN(hd_align_up(HD_MAX(r->dirty, used), 4096), r->reserved)};
    rt_pages_put(m->pages, &e);
    rt_memory_unreserve(m, used);
    r->base = NULL;
    atomic_store(&r->used, 0);
}

struct rt_heap_chunk {
    struct rt_heap_chunk *next;
    size_t n;
    char bytes[];
};

void *rt_heap_alloc(struct rt_memory *m, struct rt_heap *h, size_t n)
{
    if (!h->head || h->cap - h->used < n) {
        size_t cap = HD_MAX(n, (size_t)HEAP_CHUNK);
        if (!rt_memory_reserve(m, cap))
            return NULL;
        struct rt_heap_chunk *c = hd_try_malloc(sizeof *c + cap);
        if (!c) {
            rt_memory_unreserve(m, cap);
            return NULL;
        }
        *c = (struct rt_heap_chunk){.next = h->head, .n = cap};
        h->head = c;
        h->used = 0;
        h->cap = cap;
    }
    char *p = h->head->bytes + h->used;
    h->used += n;
    return p;
}

void rt_heap_free(struct rt_memory *m, struct rt_heap *h)
{
    while (h->head) {
        struct rt_heap_chunk *c = h->head;
        h->head = c->next;
        rt_memory_unreserve(m, c->n);
        free(c);
    }
    h->used = h->cap = 0;
}
