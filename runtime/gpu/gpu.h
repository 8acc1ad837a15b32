/* The GPU executor: runs a kernel spec (runtime/spec.h) whose pipelines are device code. What it
 * runs on and what compiles the code are handed in (device.h, compiler.h), so that all of it also
 * runs on the tests' emulator. */
#ifndef HEDDLE_RUNTIME_GPU_GPU_H
#define HEDDLE_RUNTIME_GPU_GPU_H

#include "runtime/cache/disk_cache.h"
#include "runtime/exec/cancel.h"
#include "runtime/exec/thread_pool.h"
#include "runtime/exec/stats.h"
#include "runtime/gpu/compiler.h"
#include "runtime/gpu/device.h"
#include "runtime/spec.h"

/* A device with what is kept on it between executions: columns, code, freed memory. Any thread;
 * one execution at a time, others wait. */
struct rt_gpu;
struct rt_gpu_options {
    const char *version;   /* Heddle's, part of the cache's keys */
    const char *cache_dir; /* of compiled code; NULL: nothing on disk */
    uint64_t cache_limit;
    uint64_t memory;       /* bytes of device memory in all; 0: most of what is free */
    uint64_t pin;          /* bytes of page-locked host memory for copies of columns that are streamed; 0: none */
    bool direct_memory;    /* every piece is an allocation of its own, to the byte, for memory
                              checkers */
};
/* Takes the device and the compiler over, on failure too. */
int rt_gpu_open(struct rt_device *d, struct rt_compiler *c, const struct rt_gpu_options *o, struct rt_gpu **out,
                struct hd_err *err);
void rt_gpu_close(struct rt_gpu *g); /* NULL is fine. No code may be in use */
const struct rt_device *rt_gpu_device(const struct rt_gpu *g);
/* Bytes of device memory that it uses at most. */
uint64_t rt_gpu_memory(const struct rt_gpu *g);
/* The compiler's (compiler.h). */
const char *rt_gpu_compiler_trouble(const struct rt_gpu *g);
/* Bytes of device memory that there are for all that is kept on it and for executions. */
uint64_t rt_gpu_room(const struct rt_gpu *g);
/* It is lost, and no execution has made it anew since. Does not wait: one that somebody uses is not. */
bool rt_gpu_is_lost(struct rt_gpu *g);
/* Columns of the table that are on the device are no longer needed. */
void rt_gpu_forget(struct rt_gpu *g, uint64_t table_id);

/* Waits for an event of another library (device.h). */
int rt_gpu_wait(struct rt_gpu *g, void *event, struct hd_err *err);

/* The loaded kernels of a program. */
struct rt_gpu_code;
/* Who gets it. */
enum rt_gpu_code_for {
    RT_CODE_RUN, /* an execution waits: what is neither loaded nor on disk begins in its first tier, where it has one */
    RT_CODE_FRESH, /* an execution waits, and all is compiled in any case; nothing is in the first tier */
    RT_CODE_AHEAD, /* executions on the GPU that come: nothing is in the first tier. With those fixed kernels, too, that other
                    * numbers of rows than are expected would need */
    RT_CODE_BEHIND /* of a program that runs in its first tier: no source is begun with while an execution waits for others */
};
/* Finds or compiles the units, one per pipeline, and the fixed kernels that the states need,
 * several at a time on the thread pool. CANCELLED once stop (may be NULL) is set: the thread pool then drops what it
 * compiles. */
int rt_gpu_code_get(struct rt_gpu *g, const struct rt_spec *spec, const struct rt_unit *units,
                    struct rt_thread_pool *thread_pool, int threads, const struct hd_stop *stop,
                    enum rt_gpu_code_for who, struct rt_gpu_code **out, enum rt_cached *how, struct hd_err *err);
/* Takes optimised kernels, fixed ones too, that were loaded since in place of those of the first tier. How many stay in that. */
int rt_gpu_code_optimise(struct rt_gpu *g, const struct rt_unit *units, struct rt_gpu_code *c);
/* Pipelines and fixed modules that run in the first tier and are to be optimised; whether this pipeline runs in it. */
int rt_gpu_code_firsts(const struct rt_gpu_code *c);
bool rt_gpu_code_is_first(const struct rt_gpu_code *c, int pipeline);
/* Where a pipeline's kernel came from, and how long that took. */
enum rt_cached rt_gpu_code_how(const struct rt_gpu_code *c, int pipeline, double *ms);
/* The fixed kernels and libraries that were not loaded when it was made. Lives as long as the code. */
struct rt_gpu_fixed_code {
    const char *name;
    enum rt_cached how;
    double ms;
};
const struct rt_gpu_fixed_code *rt_gpu_code_fixed(const struct rt_gpu_code *c, int *n);
/* False: the device was lost since. Such code can only be released. */
bool rt_gpu_code_valid(const struct rt_gpu *g, const struct rt_gpu_code *c);
void rt_gpu_code_release(struct rt_gpu *g, struct rt_gpu_code *c); /* NULL is fine */

/* What of a program is on the device: what `auto` asks before it chooses. */
struct rt_gpu_ready {
    enum rt_cached code; /* the least of its sources, fixed kernels among them; RT_COMPILED: it is to be compiled */
    uint64_t upload; /* bytes of tables that it reads and that are not there */
    bool fits; /* what it reads of tables has room, chunks of what is streamed too; nothing is mapped */
};
/* Bytes of all that it reads of tables. */
uint64_t rt_gpu_table_bytes(const struct rt_spec *spec);
/* False: others have the device for longer than a millisecond. */
bool rt_gpu_look(struct rt_gpu *g, const struct rt_spec *spec, const struct rt_unit *units, struct rt_gpu_ready *out);
/* Uploads what is not there, part by part, as long as there is room that nothing else has. Others use the device between
 * two parts. CANCELLED once stop is set. */
int rt_gpu_fetch(struct rt_gpu *g, const struct rt_spec *spec, const struct hd_stop *stop, struct hd_err *err);

/* A further device of an execution, with the program's kernels there. */
struct rt_gpu_peer {
    struct rt_gpu *g;
    struct rt_gpu_code *code;
};

struct rt_gpu_columns; /* gpu_columns.h */
struct rt_gpu_send; /* gpu_sent.h */
struct rt_gpu_run_options {
    struct rt_gpu_columns **columns; /* not NULL: the result becomes columns on the device, and no rows */
    /* Is given the rows of the result state piece by piece, texts included, in memory that is used again, while the execution has the
     * device. NULL: nobody wants them. */
    int (*take)(void *taker, const unsigned char *rows, uint64_t n, struct hd_err *err);
    void *taker;
    const struct rt_gpu_send *send; /* not NULL: likewise, rows for other devices */
    const struct rt_gpu_peer *peers; /* devices 1, 2, ... of the schedule: as many as it names. Executions list
                                        devices in one order */
    bool profile; /* the code counts rows and what warps do */
    bool timeline; /* stats has spans and the time of each finish, by events around them */
    bool
        kernel_times; /* likewise the time of each kernel, as it has with a timeline: two events, which take a host as long as
                          a launch */
    int threads; /* of the host, for verifying checksums */
    struct rt_thread_pool *thread_pool;
    uint64_t memory_limit; /* of this execution's states; 0: none but the device's */
    const struct hd_stop *stop; /* may be NULL */
    uint32_t fws_threshold; /* children of a node that stay with its warp under FWS; 0: usual */
    uint32_t warps; /* of a grid, in whole blocks; 0: what suits device and source */
    uint32_t scan_warps; /* for tests of sharing: warps from this number on take nothing from the source;
                                 0: all do */
    uint64_t *room; /* per state: rows that an execution had to make room for after its pipelines overflowed, 0
                                 none; the next one of the program begins with as much, and so does one of
                                 another program with the same kernels on the device. May be NULL */
    uint64_t *
        seen; /* per state that is appended to, or whose groups are hashed: the most rows that an execution brought, and one;
                                 0: none has ended yet. With it an execution goes on where only the device knows how many
                                 rows came, and begins anew if they had no room. May be NULL */
    uint64_t first_rows; /* for tests of overflow: room that states have at first, in rows; 0:
                                 the planner's estimate */
};
/* Runs all actions; g is device 0. *nrows: of the result. stats is filled on failure too, as far as the execution came. An error
 * after which the device is lost ends with the execution: the next one finds a device without columns and code. */
int rt_gpu_run(struct rt_gpu *g, const struct rt_spec *spec, const struct rt_gpu_code *code,
               const struct rt_gpu_run_options *o, uint64_t *nrows, struct rt_exec_stats *stats, struct hd_err *err);

#endif
