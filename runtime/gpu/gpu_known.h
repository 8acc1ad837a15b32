/* What a cache remembers of the device that was opened last under a number: enough to know, before the device is open, whether
 * the cache has a program's code. A hint: where it is wrong, code is compiled after all, or a compiler starts in vain. */
#ifndef HEDDLE_RUNTIME_GPU_GPU_KNOWN_H
#define HEDDLE_RUNTIME_GPU_GPU_KNOWN_H

#include "runtime/gpu/gpu.h"

/* Of an open device. Without a cache nothing is remembered. */
void rt_gpu_remember(const struct rt_gpu *g, int number);
/* Whether the cache has code of all units, and of the fixed kernels that the program needs, for that device, whose operations
 * are called `device`. False also where nothing is remembered. */
bool rt_gpu_known_stored(const struct rt_gpu_options *o, int number, const char *device, const struct rt_spec *spec,
                         const struct rt_unit *units);

#endif
