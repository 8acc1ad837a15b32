/* Copies from a table's memory to page-locked memory, by several threads: one copies a mapped file at 5 to 10 GB/s, and
 * the link takes 50. */
#ifndef HEDDLE_RUNTIME_GPU_COPY_H
#define HEDDLE_RUNTIME_GPU_COPY_H

#include "runtime/exec/thread_pool.h"

struct rt_copy_range {
    unsigned char *to;
    const unsigned char *from;
    size_t n;
};

struct rt_copy {
    struct rt_thread_pool *thread_pool;
    int threads;
    int nranges;
    struct rt_copy_range *ranges;
    /* Its own: */
    struct rt_thread_pool_job job;
    _Atomic size_t next; /* piece */
    size_t pieces;
};

/* Other threads begin; the ranges stay as they are until rt_copy_finish, which helps and waits. */
void rt_copy_start(struct rt_copy *c);
void rt_copy_finish(struct rt_copy *c);

#endif
