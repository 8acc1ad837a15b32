/* Code on a device, below gpu_code.c: loaded modules by what they were compiled from. All under the device's lock. */
#ifndef HEDDLE_RUNTIME_GPU_MODULES_H
#define HEDDLE_RUNTIME_GPU_MODULES_H

#include "runtime/gpu/gpu_internal.h"

/* A kernel of a module. */
struct rt_gpu_function {
    char *entry;
    rt_function *f;
    struct rt_function_info info;
    uint64_t room; /* rows that its sink's state had to have after an overflow; 0: there was none */
    uint64_t seen; /* the most rows that its sink's state had at the end, and one; 0: none yet */
    uint64_t heap; /* likewise bytes of strings, a row of its source */
    struct rt_gpu_function *next;
};

struct rt_gpu_modules {
    struct rt_gpu_module *list;
    int n;
    struct rt_cache_key base; /* of all but the source */
    struct rt_bytes libraries[RT_NLIBRARIES]; /* as compiled; empty until they are linked with */
    bool has_disk;
    struct rt_disk_cache disk;
};

/* Of all but the source: Heddle's version, the kind of device, the compiler with its options, the compute capability. */
struct rt_cache_key rt_gpu_base_key(const char *version, const char *device, const char *compiler, int arch);
struct rt_cache_key rt_gpu_key(struct rt_cache_key base, const char *text);
struct rt_cache_key rt_gpu_source_key(const struct rt_gpu *g, const char *text);

/* Waits as long as executions wait for code: who compiles what nobody waits for. False: stop is set. */
bool rt_gpu_give_way(const struct rt_gpu *g, const struct hd_stop *stop);

/* One more user of a module that is loaded; it becomes the most recently used. NULL: it is not. */
struct rt_gpu_module *rt_gpu_module_find(struct rt_gpu *g, struct rt_cache_key key);
/* Where code of the source is: loaded, on disk, or nowhere (RT_COMPILED). */
enum rt_cached rt_gpu_module_where(const struct rt_gpu *g, struct rt_cache_key key);
/* The image becomes a module with one user. */
int rt_gpu_module_load(struct rt_gpu *g, struct rt_cache_key key, const struct rt_bytes *image,
                       struct rt_gpu_module **out, struct hd_err *err);
/* One user less. It stays until it is among the many that nobody uses. */
void rt_gpu_module_leave(struct rt_gpu_module *m);
void rt_gpu_modules_drop_unused(struct rt_gpu *g);
/* For blocks of so many threads with so much shared memory. */
int rt_gpu_module_function(struct rt_gpu *g, struct rt_gpu_module *m, const char *entry, int threads,
                           uint32_t shared_bytes, struct rt_gpu_function **out, struct hd_err *err);

#endif
