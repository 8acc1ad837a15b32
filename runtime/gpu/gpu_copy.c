#include "runtime/gpu/gpu_copy.h"

#include <string.h>

enum {
    PIECE = 2 << 20, /* bytes that a thread copies at once */
    THREADS = 8      /* more gain nothing */
};

static size_t pieces_of(const struct rt_copy_range *r)
{
    return (r->n + PIECE - 1) / PIECE;
}

static void copy_piece(const struct rt_copy *c, size_t piece)
{
    const struct rt_copy_range *r = c->ranges;
    for (; piece >= pieces_of(r); r++)
        piece -= pieces_of(r);
    size_t at = piece * PIECE;
    memcpy(r->to + at, r->from + at, HD_MIN(r->n - at, (size_t)PIECE));
}

static void copy_some(void *context, int worker HD_UNUSED)
{
    struct rt_copy *c = context;
    for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->pieces;)
        copy_piece(c, i);
}

void rt_copy_start(struct rt_copy *c)
{
    c->pieces = 0;
    for (int i = 0; i < c->nranges; i++)
        c->pieces += pieces_of(&c->ranges[i]);
    atomic_store(&c->next, 0);
    c->job = (struct rt_thread_pool_job){.run = copy_some, .context = c};
    int workers = (int)HD_MIN((size_t)HD_MIN(c->threads, (int)THREADS), c->pieces);
    if (workers > 1)
        rt_thread_pool_start(c->thread_pool, &c->job, 1, workers);
}

void rt_copy_finish(struct rt_copy *c)
{
    copy_some(c, 0);
    rt_thread_pool_finish(c->thread_pool, &c->job);
}
