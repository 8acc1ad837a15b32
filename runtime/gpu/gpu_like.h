/* LIKE patterns in the form that device code reads (templates/like.cuh). */
#ifndef HEDDLE_RUNTIME_GPU_LIKE_H
#define HEDDLE_RUNTIME_GPU_LIKE_H

#include "runtime/base/arena.h"

/* One block of memory without addresses in it. escape 0: none. */
const void *rt_gpu_like(struct hd_arena *a, const char *pattern, size_t n, char escape, size_t *size);

#endif
