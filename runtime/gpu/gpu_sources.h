/* What is compiled for a program's units. A source costs NVRTC some 30 ms on one core, however
 * small it is; so in a program of many pipelines several small units share one. How they are
 * joined depends on the units alone, so that the same program finds its images in the cache. */
#ifndef HEDDLE_RUNTIME_GPU_GPU_SOURCES_H
#define HEDDLE_RUNTIME_GPU_GPU_SOURCES_H

#include "runtime/base/err.h"
#include "runtime/spec.h"

struct rt_gpu_source {
    const char *name; /* for messages: of its first unit */
    const char *text;
    char *joined;       /* the same if it is of several units: heap */
    size_t size;        /* of that */
    unsigned libraries; /* enum rt_library: of all */
    int nunits;
    const struct rt_unit *first; /* of one that is alone in its source: its first tier; NULL: it has none */
};

struct rt_gpu_sources {
    int n;
    struct rt_gpu_source *v;
    int *of; /* unit -> its source */
};

int rt_gpu_sources_init(struct rt_gpu_sources *s, const struct rt_unit *units, int n, struct hd_err *err);
void rt_gpu_sources_release(struct rt_gpu_sources *s); /* zeroed is fine */

#endif
