#include "runtime/exec/bandwidth.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/fault.h"
#include "runtime/base/util.h"

enum { BYTES = 64 << 20, PIECE = 1 << 20, WORDS = PIECE / 8, PASSES = 12, LANES = 16 };

/* A busy machine is not asked for long: nobody can cancel meanwhile. */
static const double BUSY_S = 0.05;

struct pass {
    uint64_t *words;
    bool write; /* memory is given to a process when it is first written to */
    _Atomic int next;
    _Atomic uint64_t sum;
};

/* Several sums, so that no addition waits for the one before. */
static uint64_t read_piece(const uint64_t *words)
{
    uint64_t sum[LANES] = {0}, all = 0;
    for (int i = 0; i < WORDS; i += LANES)
        for (int k = 0; k < LANES; k++)
            sum[k] += words[i + k];
    for (int k = 0; k < LANES; k++)
        all += sum[k];
    return all;
}

static void draw_pieces(void *context, int worker HD_UNUSED)
{
    struct pass *p = context;
    for (int i; (i = atomic_fetch_add(&p->next, 1)) < BYTES / PIECE;) {
        uint64_t *words = p->words + (size_t)i * WORDS;
        if (p->write)
            memset(words, 1, PIECE);
        else
            atomic_fetch_add(&p->sum, read_piece(words)); /* it is asked for, so it is read */
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(struct rt_thread_pool *pool, int threads, struct pass *p)
{
    struct rt_thread_pool_job job = {.run = draw_pieces, .context = p};
    double start = now();
    atomic_store(&p->next, 0);
    if (threads > 1)
        rt_thread_pool_start(pool, &job, 1, threads);
    draw_pieces(p, 0);
    rt_thread_pool_finish(pool, &job);
    return now() - start;
}

double rt_stream_bandwidth(struct rt_thread_pool *pool, int threads)
{
    struct pass p = {.words = hd_try_malloc(BYTES), .write = true};
    if (!p.words)
        return 0;
    seconds(pool, threads, &p);
    p.write = false;
    double best = seconds(pool, threads, &p), until = now() + BUSY_S;
    for (int i = 1; i < PASSES && now() < until; i++)
        best = HD_MIN(best, seconds(pool, threads, &p));
    free(p.words);
    return best > 0 ? BYTES / best : 0;
}
