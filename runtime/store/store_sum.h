/* Checksums of files. A file of at most 16 MiB: XXH3 (64 bits) of its bytes. A larger one: XXH3
 * of the little-endian XXH3 values of its 16 MiB pieces, so that all threads can help. Written
 * as 16 lower-case hex digits. */
#ifndef HEDDLE_RUNTIME_STORE_SUM_H
#define HEDDLE_RUNTIME_STORE_SUM_H

#include "runtime/store/store_file.h"
#include "runtime/store/store_pool.h"

enum { RT_SUM_TEXT = 17 }; /* digits and NUL */
void rt_sum(const void *p, uint64_t n, char out[RT_SUM_TEXT]);
/* As rt_sum. Shows each piece of RT_SUM_RUN bytes to `look`, in order, right after it was read,
 * so that another look at it costs no memory traffic. NULL: no look. */
enum { RT_SUM_RUN = 1 << 16 };
typedef void (*rt_sum_look)(void *ctx, uint64_t from, uint64_t to);
void rt_sum_looking(const void *p, uint64_t n, rt_sum_look look, void *ctx, char out[RT_SUM_TEXT]);
/* Sums n mapped files into files[].checksum. */
int rt_sum_maps(struct rt_pool *pool, const struct rt_map *maps, int n, struct fe_file *files,
                struct rt_progress *progress, struct hd_err *err);

#endif
