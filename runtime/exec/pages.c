#include "runtime/exec/pages.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/base/fault.h"

enum { MAX_KEPT = 64 };

struct rt_pages {
    pthread_mutex_t lock;
    struct rt_extent v[MAX_KEPT];
    int n;
    size_t keep, kept; /* dirty bytes */
};

struct rt_pages *rt_pages_new(size_t keep)
{
    struct rt_pages *c = hd_try_calloc(1, sizeof *c);
    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->keep = keep;
    return c;
}

void rt_pages_free(struct rt_pages *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n; i++)
        munmap(c->v[i].p, c->v[i].size);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Maps one huge page more than needed and gives the margins back. */
static bool map_extent(size_t size, bool huge, struct rt_extent *e)
{
    if (hd_fault(HD_FAULT_MMAP))
        return false;
    unsigned char *p =
        mmap(NULL, size + RT_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    size_t before = hd_align_up((uintptr_t)p, RT_HUGE_PAGE) - (uintptr_t)p;
    if (before)
        munmap(p, before);
    if (before < RT_HUGE_PAGE)
        munmap(p + before + size, RT_HUGE_PAGE - before);
    *e = (struct rt_extent){p + before, size, 0};
    if (huge)
        madvise(e->p, size, MADV_HUGEPAGE);
    return true;
}

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* The one whose used part comes closest to what is wanted. */
static bool reuse_kept(struct rt_pages *c, size_t size, size_t want, struct rt_extent *e)
{
    int best = -1;
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->n; i++)
        if (c->v[i].size >= size && (best < 0 || distance(c->v[i].dirty, want) < distance(c->v[best].dirty, want)))
            best = i;
    if (best >= 0) {
        *e = c->v[best];
        c->v[best] = c->v[--c->n];
        c->kept -= e->dirty;
    }
    pthread_mutex_unlock(&c->lock);
    return best >= 0;
}

bool rt_pages_get(struct rt_pages *c, size_t size, size_t want, bool huge, struct rt_extent *e)
{
    size = hd_align_up(size, RT_HUGE_PAGE);
    return (c && reuse_kept(c, size, want, e)) || map_extent(size, huge, e);
}

/* Under the lock: keeps as much of the extent as there is room for. */
static bool keep_extent(struct rt_pages *c, struct rt_extent *e)
{
    size_t room = c->keep - c->kept;
    if (c->n == MAX_KEPT || room < RT_HUGE_PAGE || e->dirty == 0)
        return false;
    if (e->dirty > room) {
        e->dirty = room & ~(size_t)(RT_HUGE_PAGE - 1);
        madvise(e->p + e->dirty, e->size - e->dirty, MADV_DONTNEED);
    }
    c->kept += e->dirty;
    c->v[c->n++] = *e;
    return true;
}

void rt_pages_put(struct rt_pages *c, struct rt_extent *e)
{
    bool kept = false;
    if (c) {
        pthread_mutex_lock(&c->lock);
        kept = keep_extent(c, e);
        pthread_mutex_unlock(&c->lock);
    }
    if (!kept)
        munmap(e->p, e->size);
    *e = (struct rt_extent){NULL, 0, 0};
}
