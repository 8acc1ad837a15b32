#include "runtime/exec/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/fault.h"

enum { MAPPED = 1 << 20, HUGE_PAGE = 2 << 20, ALIGN = 64, HEAP_CHUNK = 1 << 16 };

static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : (uint64_t)1 << 32;
}

void rt_memory_init(struct rt_memory *m, uint64_t limit, struct rt_memory *parent)
{
    atomic_init(&m->used, 0);
    atomic_init(&m->peak, 0);
    m->limit = limit ? limit : machine_memory() / 10 * 8;
    m->parent = parent;
}

bool rt_memory_take(struct rt_memory *m, uint64_t bytes)
{
    uint64_t now = atomic_fetch_add(&m->used, bytes) + bytes;
    if (now > m->limit || (m->parent && !rt_memory_take(m->parent, bytes))) {
        atomic_fetch_sub(&m->used, bytes);
        return false;
    }
    uint64_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
    while (now > peak && !atomic_compare_exchange_weak(&m->peak, &peak, now))
        ;
    return true;
}

void rt_memory_give(struct rt_memory *m, uint64_t bytes)
{
    for (; m; m = m->parent)
        atomic_fetch_sub(&m->used, bytes);
}

uint64_t rt_memory_limit(const struct rt_memory *m)
{
    uint64_t limit = m->limit;
    for (m = m->parent; m; m = m->parent)
        limit = HD_MIN(limit, m->limit);
    return limit;
}

/* Address space without pages, or NULL. */
static void *map(size_t n)
{
    if (hd_fault(HD_FAULT_MMAP))
        return NULL;
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Aligned to huge pages: maps one more than needed and gives the margins back. */
static void *map_huge(size_t n)
{
    unsigned char *p = map(n + HUGE_PAGE);
    if (!p)
        return NULL;
    size_t before = hd_align_up((uintptr_t)p, HUGE_PAGE) - (uintptr_t)p;
    if (before)
        munmap(p, before);
    if (before < HUGE_PAGE)
        munmap(p + before + n, HUGE_PAGE - before);
    return p + before;
}

/* Whole pages for mapped blocks, whole lines for the others. */
static size_t block_bytes(size_t n)
{
    return n >= MAPPED ? hd_align_up(n, 4096) : hd_align_up(n ? n : 1, ALIGN);
}

bool rt_block_new(struct rt_memory *m, size_t n, bool zero, struct rt_block *b)
{
    size_t bytes = block_bytes(n);
    *b = (struct rt_block){NULL, 0};
    if (bytes < n || !rt_memory_take(m, bytes))
        return false;
    if (bytes >= MAPPED) {
        b->p = map_huge(bytes);
        if (b->p && bytes >= HUGE_PAGE)
            madvise(b->p, bytes, MADV_HUGEPAGE);
    } else {
        b->p = hd_fault(HD_FAULT_ALLOC) ? NULL : aligned_alloc(ALIGN, bytes);
        if (b->p && zero)
            memset(b->p, 0, bytes);
    }
    b->n = n;
    if (!b->p)
        rt_memory_give(m, bytes);
    return b->p != NULL;
}

void rt_block_free(struct rt_memory *m, struct rt_block *b)
{
    if (!b->p)
        return;
    size_t bytes = block_bytes(b->n);
    if (bytes >= MAPPED)
        munmap(b->p, bytes);
    else
        free(b->p);
    rt_memory_give(m, bytes);
    *b = (struct rt_block){NULL, 0};
}

bool rt_region_reserve(struct rt_memory *m, struct rt_region *r)
{
    uint64_t limit = HD_MIN(rt_memory_limit(m), (uint64_t)1 << 42);
    r->reserved = hd_align_up((size_t)limit, HUGE_PAGE) + HUGE_PAGE;
    r->base = map_huge(r->reserved);
    atomic_init(&r->used, 0);
    atomic_init(&r->huge, false);
    return r->base != NULL;
}

void *rt_region_take(struct rt_memory *m, struct rt_region *r, size_t n)
{
    if (!rt_memory_take(m, n))
        return NULL;
    size_t at = atomic_fetch_add(&r->used, n);
    if (at + n > r->reserved) {
        atomic_fetch_sub(&r->used, n);
        rt_memory_give(m, n);
        return NULL;
    }
    /* Small regions stay on small pages; the first huge one is the second of the region. */
    if (at + n > MAPPED && !atomic_exchange(&r->huge, true))
        madvise(r->base + HUGE_PAGE, r->reserved - HUGE_PAGE, MADV_HUGEPAGE);
    return r->base + at;
}

void rt_region_trim(struct rt_memory *m, struct rt_region *r, size_t n)
{
    size_t used = atomic_load(&r->used);
    if (n < used) {
        rt_memory_give(m, used - n);
        atomic_store(&r->used, n);
    }
}

void rt_region_free(struct rt_memory *m, struct rt_region *r)
{
    if (!r->base)
        return;
    munmap(r->base, r->reserved);
    rt_memory_give(m, atomic_load(&r->used));
    r->base = NULL;
    atomic_store(&r->used, 0);
}

struct rt_heap_chunk {
    struct rt_heap_chunk *next;
    size_t n;
    char bytes[];
};

void *rt_heap_take(struct rt_memory *m, struct rt_heap *h, size_t n)
{
    if (!h->head || h->cap - h->used < n) {
        size_t cap = HD_MAX(n, (size_t)HEAP_CHUNK);
        if (!rt_memory_take(m, cap))
            return NULL;
        struct rt_heap_chunk *c = hd_try_malloc(sizeof *c + cap);
        if (!c) {
            rt_memory_give(m, cap);
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
        rt_memory_give(m, c->n);
        free(c);
    }
    h->used = h->cap = 0;
}
