#include "runtime/store/store_sum.h"

#include <stdio.h>
#include <stdlib.h>
#define XXH_STATIC_LINKING_ONLY /* the state on the stack */
#include <xxhash.h>

#include "runtime/base/fault.h"

static const uint64_t piece_size = (uint64_t)16 << 20;

static uint64_t npieces(uint64_t n)
{
    return n ? (n + piece_size - 1) / piece_size : 1;
}

static uint64_t sum_piece(const void *p, uint64_t n, uint64_t piece)
{
    uint64_t at = piece * piece_size;
    return XXH3_64bits((const char *)p + at, (size_t)HD_MIN(piece_size, n - at));
}

static void text(uint64_t sum, char out[RT_SUM_TEXT])
{
    snprintf(out, RT_SUM_TEXT, "%016llx", (unsigned long long)sum);
}

void rt_sum(const void *p, uint64_t n, char out[RT_SUM_TEXT])
{
    if (n <= piece_size) {
        text(XXH3_64bits(p, (size_t)n), out);
        return;
    }
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (uint64_t k = 0; k < npieces(n); k++) {
        uint64_t sum = sum_piece(p, n, k);
        XXH3_64bits_update(&state, &sum, sizeof sum);
    }
    text(XXH3_64bits_digest(&state), out);
}

static uint64_t sum_runs(const char *p, uint64_t from, uint64_t to, rt_sum_look look, void *ctx)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (uint64_t at = from, end; at < to; at = end) {
        end = HD_MIN(to, at + RT_SUM_RUN);
        XXH3_64bits_update(&state, p + at, (size_t)(end - at));
        look(ctx, at, end);
    }
    return XXH3_64bits_digest(&state);
}

void rt_sum_looking(const void *p, uint64_t n, rt_sum_look look, void *ctx, char out[RT_SUM_TEXT])
{
    XXH3_state_t state;
    if (!look) {
        rt_sum(p, n, out);
        return;
    }
    if (n <= piece_size) {
        text(sum_runs(p, 0, n, look, ctx), out);
        return;
    }
    XXH3_64bits_reset(&state);
    for (uint64_t at = 0; at < n; at += piece_size) {
        uint64_t sum = sum_runs(p, at, HD_MIN(n, at + piece_size), look, ctx);
        XXH3_64bits_update(&state, &sum, sizeof sum);
    }
    text(XXH3_64bits_digest(&state), out);
}

struct job {
    const struct rt_map *maps;
    int n;
    uint64_t *first; /* number of each file's first piece; n + 1 of them */
    uint64_t *sums;  /* of the pieces */
};

static int sum_task(void *ctx, int worker, int64_t task, struct hd_err *err)
{
    struct job *j = ctx;
    (void)worker;
    (void)err;
    int lo = 0, hi = j->n;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (j->first[mid] <= (uint64_t)task)
            lo = mid;
        else
            hi = mid;
    }
    j->sums[task] = sum_piece(j->maps[lo].p, j->maps[lo].n, (uint64_t)task - j->first[lo]);
    return 0;
}

static void finish(const struct job *j, struct fe_file *files)
{
    for (int k = 0; k < j->n; k++) {
        uint64_t n = j->first[k + 1] - j->first[k];
        const uint64_t *sums = j->sums + j->first[k];
        text(n == 1 ? sums[0] : XXH3_64bits(sums, n * sizeof *sums), files[k].checksum);
    }
}

int rt_sum_maps(struct rt_pool *pool, const struct rt_map *maps, int n, struct fe_file *files,
                struct rt_progress *progress, struct hd_err *err)
{
    struct job j = {.maps = maps, .n = n};
    j.first = hd_try_calloc((size_t)n + 1, sizeof *j.first);
    for (int k = 0; j.first && k < n; k++)
        j.first[k + 1] = j.first[k] + npieces(maps[k].n);
    if (j.first)
        j.sums = hd_try_malloc((size_t)j.first[n] * sizeof *j.sums);
    int rc = -1;
    if (j.sums)
        rc = rt_pool_run(pool, (int64_t)j.first[n], sum_task, &j, progress, "checksums", err);
    else
        HD_FAIL(err, RESOURCE, NULL, "out of memory");
    if (rc == 0)
        finish(&j, files);
    free(j.first);
    free(j.sums);
    return rc;
}
