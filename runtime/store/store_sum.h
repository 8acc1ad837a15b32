/* Checksums of files. A file of at most 16 MiB: XXH3 (64 bits) of its bytes. A larger one: XXH3
 * of the little-endian XXH3 values of its 16 MiB pieces, so that all threads can help. Written
 * as 16 lower-case hex digits. */
#ifndef HEDDLE_RUNTIME_STORE_SUM_H
#define HEDDLE_RUNTIME_STORE_SUM_H

#include "runtime/store/store_file.h"
#include "runtime/store/store_pool.h"

enum { RT_SUM_TEXT = 17 }; /* digits and NUL */
void rt_sum(const void *p, uint64_t n, char out[RT_SUM_TEXT]);
/* Sums n mapped files into files[].checksum. */
int rt_sum_maps(struct rt_pool *pool, const struct rt_map *maps, int n, struct fe_file *files,
                struct rt_progress *progress, struct hd_err *err);

#endif
