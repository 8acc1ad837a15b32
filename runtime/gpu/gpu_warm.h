/* Code that no program brings, the fixed kernels and the libraries, compiled into the cache on disk before a program
 * needs it. Several processes may be at it: entries of the cache are whole or not there. */
#ifndef HEDDLE_RUNTIME_GPU_GPU_WARM_H
#define HEDDLE_RUNTIME_GPU_GPU_WARM_H

#include "runtime/gpu/gpu.h"

struct rt_gpu_warmed {
    int compiled, found; /* sources that were compiled, and that the cache had already */
};
/* All of it for devices of compute capability `arch`, on so many threads; `device` names their kind, as keys have it. Needs
 * no device. TOOL with the compiler's log as detail; RESOURCE where the cache cannot be used or does not keep what is stored.
 */
int rt_gpu_warm(struct rt_compiler *c, const char *device, int arch, const struct rt_gpu_options *o,
                struct rt_thread_pool *pool, int threads, struct rt_gpu_warmed *out, struct hd_err *err);
/* Whether there is a cache to fill, and a process beside this one to compile. */
bool rt_gpu_can_warm(const struct rt_gpu *g);
/* One source that the cache of such a device lacks, from *at on, once nobody waits for a compilation. False: there is none, or
 * stop is set. Any thread, without the device's lock. */
bool rt_gpu_warm_next(struct rt_gpu *g, int *at, const struct hd_stop *stop);

#endif
