/* An execution with one state and nothing around it, for tests of states: on the emulator, or on
 * a GPU. */
#ifndef HEDDLE_TESTS_SIMT_STATES_H
#define HEDDLE_TESTS_SIMT_STATES_H

#include "runtime/gpu/gpu_internal.h"
#include "templates/abi.h"

struct states_bench {
    struct rt_gpu_exec x;
    struct hd_err err;
};
/* The device that all share. seed: of the emulator's interleavings. False: there is no GPU. */
bool states_open_emulator(uint64_t seed);
bool states_open_cuda(void);
void states_close(void);

void states_bench_init(struct states_bench *b, const struct rt_spec *spec, struct rt_gpu_state *live,
                       struct hd_arena *arena);
/* Nothing that was taken is left. */
void states_bench_check(const struct states_bench *b);
/* Prints the error and exits unless rc is 0. */
void states_ok(int rc, const struct states_bench *b);

/* A copy, until the bench is checked. */
uint64_t states_to_device(struct states_bench *b, const void *p, size_t n);

#endif
