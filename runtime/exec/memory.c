#include "runtime/exec/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/fault.h"

enum {
    MAPPED = 1 << 20,
    ALIGN = 64,
    HEAP_CHUNK = 1 << 16,
    FILED_STEP_MAX = 4 << 20   /* a region grows by an eighth of what it has there, and no more than this */
};

static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : (uint64_t)1 << 32;
}

void rt_memory_init(struct rt_memory *m, uint64_t limit, struct rt_memory *parent)
{
    atomic_init(&m->used, 0);
    atomic_init(&m->peak, 0);
    atomic_init(&m->resident, 0);
    atomic_init(&m->limited, false);
    m->limit = limit ? limit : machine_memory() / 10 * 8;
    m->parent = parent;
    m->pages = parent ? parent->pages : NULL;
    m->temp = parent ? parent->temp : NULL;
    m->spill = NULL;
    m->filed_beyond = UINT64_MAX;
}

/* How much of every limit may be used, in eighths: all for what is too small for a file; large parts of states leave
 * room for what is touched at random while they are worked on, and both for pages of the file. */
enum share { STATE = 5, SCRATCH = 7, ALL = 8 };

static uint64_t share_of(const struct rt_memory *m, enum share share)
{
    return share == ALL ? m->limit : HD_MIN(m->limit / 8 * share, m->filed_beyond);
}

uint64_t rt_memory_limit(const struct rt_memory *m)
{
    uint64_t limit = m->limit;
    for (m = m->parent; m; m = m->parent)
        limit = HD_MIN(limit, m->limit);
    return limit;
}

static enum share share_for(const struct rt_memory *m, size_t n)
{
    enum { FILED_MIN = RT_SPILL_UNIT, PER_LIMIT = 16 };
    if (!m->spill || n < FILED_MIN)
        return ALL;
    return n <= rt_memory_limit(m) / PER_LIMIT ? SCRATCH : STATE;
}

static bool reserve(struct rt_memory *m, uint64_t bytes, enum share share)
{
    uint64_t now = atomic_fetch_add(&m->used, bytes) + bytes;
    if (now > share_of(m, share) || (m->parent && !reserve(m->parent, bytes, share))) {
        atomic_fetch_sub(&m->used, bytes);
        if (share == ALL)
            atomic_store(&m->limited, true);
        return false;
    }
    uint64_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
    while (now > peak && !atomic_compare_exchange_weak(&m->peak, &peak, now))
        ;
    return true;
}

bool rt_memory_reserve(struct rt_memory *m, uint64_t bytes)
{
    return reserve(m, bytes, ALL);
}

void rt_memory_unreserve(struct rt_memory *m, uint64_t bytes)
{
    for (; m; m = m->parent)
        atomic_fetch_sub(&m->used, bytes);
}

uint64_t rt_memory_left(const struct rt_memory *m)
{
    uint64_t left = UINT64_MAX;
    if (!m->spill)
        return left;
    for (; m; m = m->parent) {
        uint64_t limit = share_of(m, SCRATCH), used = atomic_load(&m->used);
        left = HD_MIN(left, limit > used ? limit - used : 0);
    }
    return left;
}

enum hd_err_class rt_memory_refusal(const struct rt_memory *m, const char *what, char text[RT_REFUSAL_TEXT])
{
    enum hd_err_class c = m->spill ? rt_spill_refusal(m->spill, what, text, RT_REFUSAL_TEXT) : HD_ERR_NONE;
    if (c != HD_ERR_NONE)
        return c;
    if (atomic_load(&m->limited))
        snprintf(text, RT_REFUSAL_TEXT, "the memory limit of %llu bytes is reached (%s)",
                 (unsigned long long)rt_memory_limit(m), what);
    else
        snprintf(text, RT_REFUSAL_TEXT, "the system refused memory (%s); the limit of %llu bytes is not reached", what,
                 (unsigned long long)rt_memory_limit(m));
    return HD_ERR_RESOURCE;
}

/* ---- Files ------------------------------------------------------------------------------- */

/* What every limit leaves for pages of files, less what a context keeps of used memory (a sixteenth). */
static uint64_t allowed(void *owner)
{
    enum { LEAST = 1 << 20 };
    struct rt_memory *own = owner;
    int64_t resident = atomic_load(&own->resident), left = INT64_MAX;
    for (struct rt_memory *m = own; m; m = m->parent) {
        uint64_t limit = HD_MIN(m->limit - m->limit / 16, (uint64_t)INT64_MAX);
        int64_t others = atomic_load(&m->resident) - resident;
        left = HD_MIN(left, (int64_t)limit - (int64_t)HD_MIN(atomic_load(&m->used), (uint64_t)INT64_MAX) - others);
    }
    return (uint64_t)HD_MAX(left, (int64_t)LEAST);
}

static void moved(void *owner, int64_t bytes)
{
    for (struct rt_memory *m = owner; m; m = m->parent)
        atomic_fetch_add(&m->resident, bytes);
}

bool rt_memory_spill(struct rt_memory *m, const _Atomic int *stopped)
{
    m->spill = m->temp ? rt_spill_new(m->temp, allowed, moved, m, stopped) : NULL;
    return m->spill || !m->temp;
}

void rt_memory_release(struct rt_memory *m)
{
    rt_spill_free(m->spill);
    m->spill = NULL;
}

/* ---- Blocks ------------------------------------------------------------------------------ */

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

static size_t filed_bytes(size_t n)
{
    return hd_align_up(n, RT_SPILL_UNIT);
}

bool rt_block_new(struct rt_memory *m, size_t n, bool zero, struct rt_block *b)
{
    size_t bytes = block_bytes(n);
    enum share share = share_for(m, n);
    *b = (struct rt_block){.n = n};
    if (bytes < n)
        return false;
    if (!reserve(m, bytes, share)) {
        b->p = share != ALL ? rt_spill_map(m->spill, NULL, filed_bytes(n)) : NULL;
        b->filed = b->p != NULL;
        return b->filed;
    }
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
    if (b->filed) {
        rt_spill_unmap(m->spill, b->p, filed_bytes(b->n));
        *b = (struct rt_block){.p = NULL};
        return;
    }
    if (b->extent) {
        struct rt_extent e = {b->p, b->extent, b->touched};
        rt_pages_put(m->pages, &e);
    } else {
        free(b->p);
    }
    rt_memory_unreserve(m, block_bytes(b->n));
    *b = (struct rt_block){.p = NULL};
}

/* ---- Regions ----------------------------------------------------------------------------- */

/* Bytes that a region can have. */
static uint64_t largest_region(const struct rt_memory *m)
{
    uint64_t limit = HD_MIN(rt_memory_limit(m), (uint64_t)1 << 42);
    return m->spill ? limit + rt_temp_room(m->temp) : limit;
}

bool rt_region_reserve(struct rt_memory *m, struct rt_region *r, size_t want)
{
    struct rt_extent e;
    if (!rt_pages_get(m->pages, (size_t)largest_region(m) + RT_HUGE_PAGE, want, false, &e))
        return false;
    r->base = e.p;
    r->reserved = e.size;
    r->dirty = e.dirty;
    r->counted = 0;
    r->in_file = false;
    atomic_init(&r->used, 0);
    atomic_init(&r->backed, 0);
    atomic_init(&r->huge, e.dirty > MAPPED);
    return true;
}

/* Small regions stay on small pages; the first huge one is the second of the region. */
static void use_huge_pages(struct rt_region *r, size_t end)
{
    if (end > MAPPED && !atomic_exchange(&r->huge, true))
        madvise(r->base + RT_HUGE_PAGE, r->reserved - RT_HUGE_PAGE, MADV_HUGEPAGE);
}

/* Under the spill's lock: memory for bytes [backed, end) or more, or a place in the file. */
static bool back(struct rt_memory *m, struct rt_region *r, size_t end)
{
    size_t backed = atomic_load(&r->backed);
    size_t step = HD_MIN(HD_MAX(backed, (size_t)RT_SPILL_UNIT), (size_t)RT_HUGE_PAGE);
    size_t n = hd_align_up(HD_MAX(end - backed, step), RT_SPILL_UNIT);
    if (backed + n > r->reserved)
        return false;
    if (reserve(m, n, STATE)) {
        r->counted += n;
        use_huge_pages(r, backed + n);
    } else {
        step = HD_MIN(backed / 8, (size_t)FILED_STEP_MAX);
        n = hd_align_up(HD_MAX(end - backed, step), RT_SPILL_UNIT);
        if (backed + n > r->reserved)
            return false;
        r->in_file = true;
        if (!rt_spill_map(m->spill, r->base + backed, n))
            return false;
        r->filed += n;
    }
    atomic_store(&r->backed, backed + n);
    return true;
}

/* The same with a file behind. What is refused stays refused: nobody asks again. */
static void *alloc_or_spill(struct rt_memory *m, struct rt_region *r, size_t n)
{
    bool ok = true;
    size_t at = atomic_fetch_add(&r->used, n);
    if (at + n > atomic_load(&r->backed)) {
        rt_spill_lock(m->spill);
        ok = at + n <= atomic_load(&r->backed) || back(m, r, at + n);
        rt_spill_unlock(m->spill);
    }
    if (ok)
        return r->base + at;
    atomic_fetch_sub(&r->used, n);
    atomic_store(&m->limited, true);
    return NULL;
}

void *rt_region_alloc(struct rt_memory *m, struct rt_region *r, size_t n)
{
    if (m->spill)
        return alloc_or_spill(m, r, n);
    if (!rt_memory_reserve(m, n))
        return NULL;
    size_t at = atomic_fetch_add(&r->used, n);
    if (at + n > r->reserved) {
        atomic_fetch_sub(&r->used, n);
        atomic_store(&m->limited, true); /* all that the limit allows is reserved */
        rt_memory_unreserve(m, n);
        return NULL;
    }
    use_huge_pages(r, at + n);
    return r->base + at;
}

void rt_region_trim(struct rt_memory *m, struct rt_region *r, size_t n)
{
    size_t used = atomic_load(&r->used);
    r->dirty = HD_MAX(r->dirty, used);
    if (n >= used)
        return;
    if (!m->spill)
        rt_memory_unreserve(m, used - n);
    atomic_store(&r->used, n);
}

void rt_region_free(struct rt_memory *m, struct rt_region *r)
{
    if (!r->base)
        return;
    size_t used = atomic_load(&r->used);
    struct rt_extent e = {r->base, r->reserved, HD_MIN(hd_align_up(HD_MAX(r->dirty, used), 4096), r->reserved)};
    if (r->in_file)
        rt_spill_unmap(m->spill, r->base, r->reserved);
    else
        rt_pages_put(m->pages, &e);
    rt_memory_unreserve(m, m->spill ? r->counted : used);
    r->base = NULL;
    atomic_store(&r->used, 0);
}

/* ---- Heaps ------------------------------------------------------------------------------- */

struct rt_heap_chunk {
    struct rt_heap_chunk *next;
    struct rt_block block;
    char bytes[];
};

/* Chunks in a file are larger, as each is a mapping of its own. */
static struct rt_heap_chunk *new_chunk(struct rt_memory *m, bool filed, size_t n)
{
    struct rt_block b;
    size_t least = filed ? MAPPED : HEAP_CHUNK;
    if (!rt_block_new(m, sizeof(struct rt_heap_chunk) + HD_MAX(n, least), false, &b))
        return NULL;
    struct rt_heap_chunk *c = b.p;
    c->block = b;
    return c;
}

void *rt_heap_alloc(struct rt_memory *m, struct rt_heap *h, size_t n)
{
    if (!h->head || h->cap - h->used < n) {
        struct rt_heap_chunk *c = new_chunk(m, h->head && h->head->block.filed, n);
        if (!c)
            return NULL;
        c->next = h->head;
        h->head = c;
        h->used = 0;
        h->cap = c->block.n - sizeof *c;
    }
    char *p = h->head->bytes + h->used;
    h->used += n;
    return p;
}

void rt_heap_free(struct rt_memory *m, struct rt_heap *h)
{
    while (h->head) {
        struct rt_block b = h->head->block;
        h->head = h->head->next;
        rt_block_free(m, &b);
    }
    h->used = h->cap = 0;
}
