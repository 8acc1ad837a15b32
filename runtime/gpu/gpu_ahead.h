/* A compiler that begins before it is asked: while a device opens, which takes as long, the sources are compiled that a
 * program will ask for once it is open. Who asks for one of them waits until it is there, or compiles it where nobody has
 * begun with it. */
#ifndef HEDDLE_RUNTIME_GPU_GPU_AHEAD_H
#define HEDDLE_RUNTIME_GPU_GPU_AHEAD_H

#include "runtime/gpu/gpu.h"

struct rt_gpu_ahead {
    const struct rt_gpu_options *options; /* of the device that opens */
    const char *device; /* the name of its operations */
    int arch;
    const struct rt_spec *spec;
    const struct rt_unit *units;
    struct rt_thread_pool *pool; /* lives longer than what of the compiler it has begun */
    int threads;
    bool fresh; /* no code is asked for in its first tier */
};
/* Takes the compiler over and begins with what the cache lacks of the program. Best effort: without memory or threads *c is
 * what it was. */
void rt_gpu_ahead_begin(struct rt_compiler **c, const struct rt_gpu_ahead *program);

#endif
