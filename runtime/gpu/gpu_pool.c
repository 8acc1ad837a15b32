/* Device memory that is kept for the next who asks. */
#include <stdlib.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_internal.h"

enum {
    GRAIN = 256,
    WORD = 16,
    LARGE = 2 << 20, /* the driver's own grain */
    SLACK = 8        /* a kept block may be this part too large */
};

/* A block of the device, in use or kept. */
struct block {
    uint64_t address;
    size_t n; /* of the block */
};
struct blocks {
    struct block *v;
    size_t n, cap;
};

struct rt_gpu_pool {
    struct rt_device *d;
    uint64_t budget, held; /* bytes; held: of all blocks */
    bool direct;
    struct blocks used, kept;
};

int rt_gpu_pool_new(struct rt_device *d, uint64_t budget, bool direct, struct rt_gpu_pool **out, struct hd_err *err)
{
    struct rt_gpu_pool *p = hd_try_calloc(1, sizeof *p);
    if (!p)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    p->d = d;
    p->budget = budget;
    p->direct = direct;
    *out = p;
    return 0;
}

static bool add(struct blocks *b, struct block x)
{
    if (b->n == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 64;
        struct block *v = hd_try_realloc(b->v, cap * sizeof *v);
        if (!v)
            return false;
        b->v = v;
        b->cap = cap;
    }
    b->v[b->n++] = x;
    return true;
}

static struct block remove_block(struct blocks *b, size_t i)
{
    struct block x = b->v[i];
    b->v[i] = b->v[--b->n];
    return x;
}

static void free_block(struct rt_gpu_pool *p, struct block b)
{
    p->d->ops->free(p->d, b.address);
    p->held -= b.n;
}

bool rt_gpu_pool_is_direct(const struct rt_gpu_pool *p)
{
    return p->direct;
}

void rt_gpu_pool_clear(struct rt_gpu_pool *p)
{
    while (p->kept.n)
        free_block(p, remove_block(&p->kept, p->kept.n - 1));
}

void rt_gpu_pool_free(struct rt_gpu_pool *p)
{
    if (!p)
        return;
    rt_gpu_pool_clear(p);
    while (p->used.n)
        free_block(p, remove_block(&p->used, p->used.n - 1));
    free(p->used.v);
    free(p->kept.v);
    free(p);
}

/* Sizes in steps of an eighth, so that about equal requests find each other's blocks; for memory
 * checkers to the word in which strings are read (templates/like.cuh). */
static size_t block_size(const struct rt_gpu_pool *p, size_t n)
{
    size_t step = GRAIN;
    if (p->direct)
        return hd_align_up(HD_MAX(n, (size_t)1), WORD);
    while (step * 2 * SLACK <= n && step < LARGE)
        step *= 2;
    return hd_align_up(HD_MAX(n, (size_t)1), step);
}

/* The smaller one, or the first one in memory: who asks for the same as before gets the same, however it was given back. A
 * graph (device.h, batches) then need not change. */
static bool is_better(const struct block *a, const struct block *b)
{
    return a->n < b->n || (a->n == b->n && a->address < b->address);
}

/* The smallest kept block that is not much too large. */
static bool find_kept(struct rt_gpu_pool *p, size_t n, struct block *out)
{
    size_t best = p->kept.n, max = n + n / SLACK;
    for (size_t i = 0; i < p->kept.n; i++) {
        size_t size = p->kept.v[i].n;
        if (size >= n && size <= max && (best == p->kept.n || is_better(&p->kept.v[i], &p->kept.v[best])))
            best = i;
    }
    if (best == p->kept.n)
        return false;
    *out = remove_block(&p->kept, best);
    return true;
}

static bool new_block(struct rt_gpu_pool *p, size_t n, struct block *out)
{
    if (n > p->budget || p->held > p->budget - n)
        return false;
    *out = (struct block){0, n};
    if (p->d->ops->alloc(p->d, n, &out->address, NULL) != 0)
        return false;
    p->held += n;
    return true;
}

bool rt_gpu_pool_alloc(struct rt_gpu_pool *p, size_t n, struct rt_piece *out)
{
    size_t size = block_size(p, n);
    struct block b;
    *out = (struct rt_piece){0};
    if (size < n || hd_fault(HD_FAULT_ALLOC))
        return false;
    if (!find_kept(p, size, &b) && !new_block(p, size, &b)) {
        rt_gpu_pool_clear(p);
        if (!new_block(p, size, &b))
            return false;
    }
    if (!add(&p->used, b)) {
        free_block(p, b);
        return false;
    }
    *out = (struct rt_piece){b.address, n, false};
    return true;
}

void rt_gpu_pool_release(struct rt_gpu_pool *p, struct rt_piece *piece)
{
    uint64_t address = piece->address;
    if (!address)
        return;
    *piece = (struct rt_piece){0};
    for (size_t i = p->used.n; i-- > 0;) {
        if (p->used.v[i].address != address)
            continue;
        struct block b = remove_block(&p->used, i);
        if (p->direct || !add(&p->kept, b))
            free_block(p, b);
        return;
    }
    HD_BUG("device memory that is not the pool's");
}

uint64_t rt_gpu_pool_budget(const struct rt_gpu_pool *p)
{
    return p->budget;
}
