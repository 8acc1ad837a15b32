/* The rows of a result as columns of Arrow's layout, which stay on the device. */
#ifndef HEDDLE_RUNTIME_GPU_GPU_COLUMNS_H
#define HEDDLE_RUNTIME_GPU_GPU_COLUMNS_H

#include "runtime/gpu/gpu.h"

/* Addresses of the device; 0: none. */
struct rt_gpu_column {
    uint64_t values;  /* bools: bits; strings: 32-bit offsets, one more than rows */
    uint64_t valid;   /* bits, lowest first, 1 = there */
    uint64_t strings; /* bytes of all */
    int64_t nulls;
};
/* On the heap. */
struct rt_gpu_columns {
    struct rt_gpu *g;
    uint64_t n; /* rows */
    int ncolumns, npieces;
    unsigned life;              /* of the device when they were made */
    struct rt_piece *pieces;    /* their memory */
    struct rt_gpu_column column[];
};

/* Without memory yet: up to four pieces a column. NULL: there is none on the heap. */
struct rt_gpu_columns *rt_gpu_columns_new(struct rt_gpu *g, int n, uint64_t rows);
/* Any thread, while the GPU is open; NULL is fine. */
void rt_gpu_columns_free(struct rt_gpu_columns *c);

#endif
