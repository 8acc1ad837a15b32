/* An execution with one state and nothing around it, on the emulator, for tests of states. */
#ifndef HEDDLE_TESTS_SIMT_STATES_H
#define HEDDLE_TESTS_SIMT_STATES_H

#include "runtime/gpu/gpu_internal.h"
#include "templates/abi.h"
#include "tests/simt/sim_device.h"

struct states_bench {
    struct rt_gpu_exec x;
    struct hd_err err;
};
extern uint64_t states_seed; /* of the emulator's interleavings */

/* All share one device. */
void states_bench_init(struct states_bench *b, const struct rt_spec *spec,
                       struct rt_gpu_state *live, struct hd_arena *arena);
void states_bench_close(void);
/* Prints the error and exits unless rc is 0. */
void states_ok(int rc, const struct states_bench *b);
/* Memory that kernels may read: on the emulator any is. */
uint64_t states_to_device(struct states_bench *b, const void *p, size_t n);

#endif
