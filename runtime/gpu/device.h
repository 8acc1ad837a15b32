/* A device that kernels run on, as a table of operations. Two implementations exist: the CUDA
 * driver (cuda_device.c), and the SIMT emulator of the tests, so that everything above this
 * header (states, schedule, retries, finishing, results) runs and is tested without a GPU.
 *
 * Addresses are 64-bit device addresses. Work is queued on one stream per device handle and runs
 * in order; only `upload` of much, `download`, `sync`, `poll` and `elapsed` wait. All functions may be called
 * from one thread at a time, between `enter` and `leave`. int results: 0, or -1 with err set: RESOURCE for
 * memory, EXEC for the rest. A kernel that reads or writes where it must not takes the whole device with it: it is *lost*,
 * with all memory and code on it. */
#ifndef HEDDLE_RUNTIME_GPU_DEVICE_H
#define HEDDLE_RUNTIME_GPU_DEVICE_H

#include "runtime/base/err.h"
#include "runtime/cache/bytes.h"

struct rt_device_info {
    char name[128];
    int arch;               /* compute capability, 90 = 9.0; the emulator: 0 */
    int multiprocessors;
    int warps;              /* resident at most, per multiprocessor */
    uint64_t memory;        /* bytes in all */
    uint64_t free_memory;   /* bytes free when the device was opened */
    uint64_t l2_bytes;
    uint32_t shared_bytes;  /* of a block at most, after opting in */
    double bandwidth;       /* of memory, bytes per second as its clock and width say; 0 unknown */
    int driver_version;     /* 12040 = 12.4 */
};

struct rt_function_info {
    int registers;
    uint32_t shared_bytes, local_bytes; /* local: spills and stacks, per thread */
    int blocks;                          /* resident per multiprocessor at the block size asked about */
};

typedef struct rt_module rt_module;     /* opaque, of the implementation */
typedef struct rt_function rt_function;
typedef struct rt_event rt_event;

struct rt_device {
    const struct rt_device_ops *ops;
    struct rt_device_info info;
    bool lost;     /* an error that nothing on the device survives: every operation fails until `reset` */
    char why[256]; /* what it was */
    void *self; /* of the implementation */
};

struct rt_device_ops {
    const char *name; /* "cuda", "emulator" */
    /* The calling thread uses the device from here to there; NULL: needs nothing. */
    void (*enter)(struct rt_device *d);
    void (*leave)(struct rt_device *d);
    /* ---- memory; alignment at least 256 bytes */
    int (*alloc)(struct rt_device *d, size_t n, uint64_t *address, struct hd_err *err);
    void (*free)(struct rt_device *d, uint64_t address);
    int (*set)(struct rt_device *d, uint64_t to, int byte, size_t n, struct hd_err *err);
    int (*upload)(struct rt_device *d, uint64_t to, const void *from, size_t n, struct hd_err *err);
    int (*copy)(struct rt_device *d, uint64_t to, uint64_t from, size_t n, struct hd_err *err);
    int (*download)(struct rt_device *d, void *to, uint64_t from, size_t n, struct hd_err *err); /* waits */
    /* ---- code: what the toolchain (NVRTC; for the emulator the host compiler) made */
    /* Parts become an image: heap memory. NULL: each part is one already. TOOL with the linker's log
     * as detail. */
    int (*link)(struct rt_device *d, const char *name, const struct rt_bytes *parts, int n, struct rt_bytes *image,
                struct hd_err *err);
    int (*load)(struct rt_device *d, const void *image, size_t n, rt_module **out, struct hd_err *err);
    void (*unload)(struct rt_device *d, rt_module *m);
    /* shared_bytes: of a block, that it will be launched with besides what the code declares. */
    int (*find)(struct rt_device *d, rt_module *m, const char *entry, int threads, uint32_t shared_bytes,
                rt_function **out, struct rt_function_info *info, struct hd_err *err);
    /* `params` points to one address per kernel parameter, as cuLaunchKernel takes them, and NULL. */
    int (*launch)(struct rt_device *d, rt_function *f, uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
                  bool cooperative, void **params, struct hd_err *err);
    int (*sync)(struct rt_device *d, struct hd_err *err);
    /* Waits at most `ms`; *done false: still running. For cancelling and deadlines. */
    int (*poll)(struct rt_device *d, double ms, bool *done, struct hd_err *err);
    /* Writes a word although a kernel runs (its own stream): the abort word. */
    int (*poke)(struct rt_device *d, uint64_t to, uint32_t word, struct hd_err *err);
    /* ---- time */
    int (*event)(struct rt_device *d, rt_event **out, struct hd_err *err); /* recorded on the stream now */
    int (*elapsed)(struct rt_device *d, rt_event *from, rt_event *to, double *ms, struct hd_err *err);
    void (*event_free)(struct rt_device *d, rt_event *e);
    /* Makes a lost device anew: nothing is on it, what was found or given before means nothing. Not between `enter`
     * and `leave`. On failure it stays lost. */
    int (*reset)(struct rt_device *d, struct hd_err *err);
    void (*close)(struct rt_device *d);
};

#endif
