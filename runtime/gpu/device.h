/* A device that kernels run on, as a table of operations. Two implementations exist: the CUDA
 * driver (cuda_device.c), and the SIMT emulator of the tests, so that everything above this
 * header (states, schedule, retries, finishing, results) runs and is tested without a GPU.
 *
 * Several devices of one kind may be open at once. Addresses are 64-bit device addresses; no two devices of a kind have
 * the same. Functions of a device may be called from one thread at a time, between `enter` and `leave`; functions of
 * different devices side by side. int results: 0, or -1 with err set: RESOURCE for memory, EXEC for the rest.
 *
 * Work is queued on the streams of a device. What is on one stream runs in the order in which it was queued. What is on
 * different streams, of one device or of several, runs in any order and side by side, unless an event orders it: a
 * stream that waits for an event goes on once all is done that the event's stream had queued when it was recorded, and
 * then sees what that wrote. Operations that name no stream use the compute stream. The host waits in `upload` of much,
 * `download`, `sync`, `poll`, `elapsed`, `stream_sync`, `event_sync`, `free`, `reset` and `close` only. An error of what
 * is queued shows in whatever waits for it, or in any later operation of the device.
 *
 * A kernel that reads or writes where it must not takes the whole device with it: it is *lost*, with all memory, code,
 * events and page-locked memory that were made by it. Another device that waits for an event of a lost one, or copies
 * from or to it, fails with EXEC; it is lost itself only if its own `lost` says so. */
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

/* Launches are on the compute stream; the others are for transfers that run beside kernels. */
enum rt_stream { RT_STREAM_COMPUTE, RT_STREAM_IN, RT_STREAM_OUT, RT_NSTREAMS };

struct rt_device {
    const struct rt_device_ops *ops;
    struct rt_device_info info;
    bool lost;     /* an error that nothing on the device survives: every operation fails until `reset` */
    char why[256]; /* what it was */
    void *self; /* of the implementation */
};

/* EXEC with what it was if the device is lost: to be asked where an operation failed without an error of its own, and
 * before another device takes the error for one of its own. */
static inline int rt_device_alive(const struct rt_device *d, struct hd_err *err)
{
    return d->lost ? HD_FAIL(err, EXEC, NULL, "%s", d->why) : 0;
}

/* Memory on one of several devices. */
struct rt_place {
    struct rt_device *device;
    uint64_t address;
};

/* A grid, and what its threads are given: parameters are copied when the launch is queued. */
enum { RT_PARAMS = 2 };
struct rt_launch {
    uint32_t blocks, threads; /* of the grid; of a block */
    uint32_t shared_bytes;    /* of a block, besides what the code declares */
    bool cooperative;         /* all blocks are resident at once */
    int nparams;
    struct {
        const void *p;
        size_t n;
    } param[RT_PARAMS];
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
    /* The caller may change what it uploads at once. */
    int (*upload)(struct rt_device *d, uint64_t to, const void *from, size_t n, struct hd_err *err);
    int (*copy)(struct rt_device *d, uint64_t to, uint64_t from, size_t n, struct hd_err *err);
    int (*download)(struct rt_device *d, void *to, uint64_t from, size_t n, struct hd_err *err); /* waits */
    /* Page-locked memory of the host, at addresses of whole pages, that the transfers of all devices of this kind may
     * use: new memory, or memory that is there already and stays mapped for reading and writing until it is
     * unregistered. Nothing that is queued may use what is freed or unregistered. Registering takes about as long as
     * copying: it is for memory that is used many times. */
    int (*host_alloc)(struct rt_device *d, size_t n, void **p, struct hd_err *err);
    void (*host_free)(struct rt_device *d, void *p);
    int (*host_register)(struct rt_device *d, void *p, size_t n, struct hd_err *err);
    void (*host_unregister)(struct rt_device *d, void *p);
    /* Queued on the stream, beside which the host goes on: it leaves what is uploaded as it is, and does not touch
     * what is downloaded, until the stream has done it. The host's memory is page-locked. */
    int (*upload_async)(struct rt_device *d, enum rt_stream s, uint64_t to, const void *from, size_t n,
                        struct hd_err *err);
    int (*download_async)(struct rt_device *d, enum rt_stream s, void *to, uint64_t from, size_t n, struct hd_err *err);
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
    int (*launch)(struct rt_device *d, rt_function *f, const struct rt_launch *l, struct hd_err *err);
    /* From begin to end kernels and what `set` queues are held back, in their order, until anything else is queued on the
     * compute stream or ordered with it, somebody waits, or batches end. Then they are queued at once: as a graph, where the
     * device has such and has queued the same kernels before. What is wrong with them may not show before that. */
    void (*batch_begin)(struct rt_device *d);
    int (*batch_end)(struct rt_device *d, struct hd_err *err);
    int (*sync)(struct rt_device *d, struct hd_err *err);
    /* Waits at most `ms`; *done false: still running. For cancelling and deadlines. */
    int (*poll)(struct rt_device *d, double ms, bool *done, struct hd_err *err);
    /* Writes a word although a kernel runs (its own stream): the abort word. */
    int (*poke)(struct rt_device *d, uint64_t to, uint32_t word, struct hd_err *err);
    /* ---- time */
    int (*event)(struct rt_device *d, rt_event **out, struct hd_err *err); /* recorded on the compute stream now */
    int (*elapsed)(struct rt_device *d, rt_event *from, rt_event *to, double *ms, struct hd_err *err);
    /* Of `event` and of `record`. A stream that was told to wait for it still does. */
    void (*event_free)(struct rt_device *d, rt_event *e);
    /* ---- order between streams */
    /* An event that is reached when all is done that the stream has queued so far. It has no time. */
    int (*record)(struct rt_device *d, enum rt_stream s, rt_event **out, struct hd_err *err);
    /* What the stream queues from now on starts once e is reached: an event of any device of this kind, which nobody
     * frees meanwhile. */
    int (*stream_wait)(struct rt_device *d, enum rt_stream s, rt_event *e, struct hd_err *err);
    int (*stream_sync)(struct rt_device *d, enum rt_stream s, struct hd_err *err);
    /* Of an event of this device. event_done does not wait. */
    int (*event_done)(struct rt_device *d, rt_event *e, bool *done, struct hd_err *err);
    int (*event_sync)(struct rt_device *d, rt_event *e, struct hd_err *err);
    /* Waits for an event that another library of the process made, which is at the address as the Arrow C Device
     * Interface has it. NULL: there are none of this kind. */
    int (*foreign_sync)(struct rt_device *d, void *event, struct hd_err *err);
    /* Whether the address is in memory of this device, or memory that it shares with the host. */
    bool (*owns)(struct rt_device *d, uint64_t address);
    /* ---- between devices of this kind */
    /* From now on, until one of both is reset or closed, kernels of d may use memory of the other device, and copies
     * between them take the shortest way; the opposite direction is a call of its own. *direct false: the machine has
     * no such way, and kernels must not. Asking again changes nothing. */
    int (*open_peer)(struct rt_device *d, struct rt_device *other, bool *direct, struct hd_err *err);
    /* Queued on a stream of d, which is the device of one place or of both. Needs no `open_peer`: without it the bytes
     * go through the host. Only events order it with what the other device does. */
    int (*copy_peer)(struct rt_device *d, enum rt_stream s, struct rt_place to, struct rt_place from, size_t n,
                     struct hd_err *err);
    /* Makes a lost device anew: nothing is on it, what was found or given before means nothing, and it has no peers.
     * Not between `enter` and `leave`. On failure it stays lost. */
    int (*reset)(struct rt_device *d, struct hd_err *err);
    void (*close)(struct rt_device *d);
};

#endif
