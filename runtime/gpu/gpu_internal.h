/* Internal to the device executor: the live form of a program while it runs on a device.
 *
 *   gpu_exec.c     the schedule: launches, progress, retries, cancelling, statistics
 *   gpu_args.c     the args vector with device addresses
 *   gpu_resident.c columns on the device, shared by executions, evicted when memory is short
 *   gpu_memory.c   a pool over rt_device memory, accounted against the execution's limit
 *   gpu_state*.c   a state's life: init, room, reset, finish, free     (kernels: templates/finish)
 *   gpu_result.c   the rows of the result state as host rows
 */
#ifndef HEDDLE_RUNTIME_GPU_INTERNAL_H
#define HEDDLE_RUNTIME_GPU_INTERNAL_H

#include "runtime/gpu/device.h"
#include "runtime/spec.h"
#include "templates/launch.cuh"

/* A piece of device memory; address 0: none. */
struct rt_piece {
    uint64_t address;
    size_t n;
};

/* A state while the program runs. Addresses are the device's. What is set after FINISH is
 * marked; the layouts are those of runtime/spec.h and templates/abi.def. */
struct rt_gpu_state {
    const struct rt_state *s;
    struct rt_piece rows_at;       /* rows while they are appended; dense rows; groups */
    struct rt_piece moved;         /* rows after sorting or grouping, if not in place */
    struct rt_piece bits_at, matches_at, fields_at, offsets_at, slots_at, cursor_at, texts_at;
    uint64_t rows, nrows;          /* finished: address of row 0, number of rows */
    uint64_t capacity;             /* rows there is room for while filling */
    uint64_t mask;                 /* HASH (finished), AGG_HASH: slots - 1 */
    uint64_t *field, *valid;       /* DIRECT: addresses of the arrays, per field; 0 none */
    uint64_t asked;                /* rows there are while filling, as rt_gpu_state_full found */
    uint64_t before;               /* rows appended by earlier pipelines: a retry starts again from here */
    struct rt_piece snapshot;      /* AGG_*: its contents before the running pipeline, if an earlier one filled it */
    bool started, finished;
};

struct rt_gpu_exec {
    struct rt_device *d;
    struct rt_gpu_memory *memory;
    const struct rt_spec *spec;
    struct hd_arena *arena;        /* of the size of the spec */
    struct rt_gpu_state *state;    /* per spec state */
    struct rt_gpu_finish *finish;  /* the fixed kernels, loaded on first use */
    uint64_t first_rows;           /* not 0: rows that states have room for at first, in place of the planner's
                                      estimate (tests of overflow) */
};

/* ---- memory (gpu_memory.c). RESOURCE error names the state's path (NULL: none). */
int rt_gpu_take(struct rt_gpu_exec *x, const struct rt_state *s, size_t n, struct rt_piece *out, struct hd_err *err);
void rt_gpu_give(struct rt_gpu_exec *x, struct rt_piece *p); /* empties p */

/* ---- states. Called by the schedule:
 * start   before each pipeline that fills the state: the first time it allocates for the estimate and clears;
 *         later times it remembers what is there, so that a retry can undo the pipeline
 * sink    what the kernel gets
 * full    after a launch: *needed is 0, or the number of rows the state must have room for; then
 * retry   undoes the pipeline and makes room for that many; the schedule launches again
 * finish  RT_FINISH      release RT_FREE and the end */
int rt_gpu_state_start(struct rt_gpu_exec *x, int state, struct hd_err *err);
void rt_gpu_state_sink(const struct rt_gpu_exec *x, int state, struct hdd_sink_state *out);
int rt_gpu_state_full(struct rt_gpu_exec *x, int state, uint64_t *needed, struct hd_err *err);
int rt_gpu_state_retry(struct rt_gpu_exec *x, int state, uint64_t needed, struct hd_err *err);
int rt_gpu_state_finish(struct rt_gpu_exec *x, int state, struct hd_err *err);
void rt_gpu_state_free(struct rt_gpu_exec *x, int state);

/* ---- fixed kernels (templates/finish/<module>.cu): compiled like pipelines, cached like them. The schedule's owner
 * gives the function that turns source into an image; the emulator's uses the host compiler. */
int rt_gpu_finish_function(struct rt_gpu_exec *x, const char *module, const char *entry, rt_function **out,
                           struct hd_err *err);

/* ---- result (gpu_result.c): the finished rows of a ROWS state in host memory from the arena `a`, texts
 * included: addresses in STR fields are host addresses. */
int rt_gpu_rows_to_host(struct rt_gpu_exec *x, int state, struct hd_arena *a, unsigned char **rows, uint64_t *nrows,
                        struct hd_err *err);

#endif
