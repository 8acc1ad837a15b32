/* A scan of rows whose columns are not on the device: chunks of them go there, one after the other, while kernels run
 * over those that have arrived. */
#ifndef HEDDLE_RUNTIME_GPU_STREAM_H
#define HEDDLE_RUNTIME_GPU_STREAM_H

#include "runtime/gpu/gpu_internal.h"

struct rt_gpu_stream;
/* Bytes of the device's memory for chunks of a program; 0: nothing is streamed. */
size_t rt_gpu_stream_bytes(const struct rt_spec *spec);
/* Of rows first .. first + rows - 1 of the source of a pipeline that streams; the first chunks are on their way. To be closed,
 * on failure too. */
int rt_gpu_stream_open(struct rt_gpu_exec *x, const struct rt_pipeline *p, uint64_t first, uint64_t rows,
                       struct rt_gpu_stream **out, struct hd_err *err);
/* The next chunk: what the compute stream is given from now on has its rows, by the args vector. *rows 0: there are no more.
 * Whatever used the chunk before has ended. */
int rt_gpu_stream_next(struct rt_gpu_stream *s, uint64_t *first, uint64_t *rows, struct hd_err *err);
void rt_gpu_stream_close(struct rt_gpu_stream *s); /* NULL is fine */

#endif
